package record

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/steps"
)

// broken is a writer that fails after the header.
type broken struct{ written int }

func (b *broken) Write(p []byte) (int, error) {
	if b.written++; b.written > 1 {
		return 0, errors.New("the disk is full")
	}
	return len(p), nil
}

// After a recording ends, the server keeps nothing for it, however long it runs.
func TestNothingIsKeptAfterARecording(t *testing.T) {
	p := netcode.NewProtocol()
	server, err := netcode.NewServer(p, netcode.Config{TickRate: 30})
	require.NoError(t, err)
	stopped, frame := 0, 0
	extend.OfServer(server).Extend(extend.ServerHooks{Record: &extend.ServerRecord{
		Name:  "mine",
		Write: func(dst []byte, _ bool) []byte { return dst },
		Stop:  func() { stopped++ },
	}})
	run := func(frames int) {
		for range frames {
			steps.OfServer(server).BeginFrame(time.Duration(frame) * time.Second / 30)
			server.Spawn() // a tick without a change is not captured
			steps.OfServer(server).Send()
			frame++
		}
	}
	stop, err := Start(server, io.Discard, Inputs(), Feature("mine"))
	require.NoError(t, err)
	run(3)
	require.NoError(t, stop())
	require.Equal(t, 1, stopped)
	_ = stop()
	require.Equal(t, 1, stopped)

	r, _ := extend.ExtensionOf[*recording](server)
	client, err := netcode.NewClient(p, netcode.Config{TickRate: 30})
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, netcode.Host(server, client))
		client.Close()
		run(2)
	}
	require.Empty(t, r.players.events)
	require.Empty(t, r.players.later)

	_, err = Start(server, &broken{}, Inputs(), Feature("mine"))
	require.NoError(t, err)
	run(100)
	require.Nil(t, r.writer)
	require.Equal(t, 2, stopped, "an error of the writer ends the recording too")
}
