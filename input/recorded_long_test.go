package input_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/rig"
)

// steered is an input.
type steered struct{ X uint8 }

// A recording of a client that is silent until its session ends is legal.
func TestARecordingOfASilentClientIsLegal(t *testing.T) {
	p := netcode.NewProtocol()
	input.Register[steered](p)
	r := rig.New(t, p, netcode.Config{TickRate: 128})
	r.Joined(p, netcode.Config{TickRate: 128})
	r.Run(time.Second)
	player, err := netcode.NewServer(p, netcode.Config{TickRate: 128})
	require.NoError(t, err)
	whole, feature := true, extend.OfServer(r.Server).Records()[0]
	r.Clients = nil // It sends no more inputs.
	for end := r.Now + 12*time.Second; r.Now < end; {
		r.Step()
		if r.Server.TickDue() {
			require.True(t, extend.OfServer(player).Records()[0].Read(feature.Write(nil, whole), whole), "tick %d, %v before the end", r.Server.Tick(), end-r.Now)
			whole = false
		}
	}
}
