package nettest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/transport"
)

// A tick in which every client writes what is its own allocates nothing once warm, on any end.
func TestFramesOfWritesAllocateNothing(t *testing.T) {
	f := newFleet(t, 3, 21, transport.Link{})
	i := 0
	frame := func() {
		i++
		for k := range f.net.Clients {
			at[steered](t, f, k, f.own(k)).X = float32(i%600) / 20
		}
		f.net.Step()
	}
	for f.net.Now() < 20*time.Second { // Until every history went round.
		frame()
	}
	before := authority.StatsOf(f.net.Server).Writes
	moving := alloctest.Count(t, 100, frame)
	require.Greater(t, authority.StatsOf(f.net.Server).Writes, before+100)
	still := alloctest.Count(t, 100, f.net.Step) // What the harness takes to check each frame.
	outside := alloctest.Count(t, 100, func() {  // What the test itself takes to find the ships.
		for k := range f.net.Clients {
			at[steered](t, f, k, f.own(k)).X++
		}
	})
	require.LessOrEqual(t, moving, outside+still, "writes cost nothing beyond a frame at rest")
}
