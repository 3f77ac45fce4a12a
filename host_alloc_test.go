package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
)

// Messages and inputs between a server and its host allocate nothing, and no packet carries them.
func TestHostAllocatesNothingAndSendsNoPacket(t *testing.T) {
	type step struct{ X int8 }
	p := netcode.NewProtocol()
	heard := 0
	netcode.Handle(p, func(*message.Context, *chat) { heard++ })
	input.Register[step](p)
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	require.NoError(t, netcode.Host(server, client))
	now, moved, v := time.Second, 0, step{1}
	frame := func() {
		now += frameTime
		server.BeginFrame(now)
		client.BeginFrame(now)
		for stage := range tick.Stage(tick.NumStages) {
			client.Dispatch(stage)
			server.Dispatch(stage)
			if stage != tick.Update {
				continue
			}
			_ = input.Set(client, &v)
			_ = netcode.Send(client, netcode.ToServer(), &chat{1})
			_ = netcode.Send(server, netcode.ToAll(), &chat{2}, netcode.InStage(netcode.StagePostLateUpdate))
			_ = netcode.Send(client, netcode.ToServer(), &chat{3}, netcode.InStage(netcode.StageInitialization))
			if in, ok := input.Of[step](server, client.ID()); ok && server.TickDue() {
				moved += int(in.X)
			}
		}
		client.Send()
		server.Send()
	}
	for range 200 {
		frame()
	}
	require.InDelta(t, 100, moved, 2)
	require.Equal(t, 3*200-1, heard, "all in the frame that they were sent in, but those for a stage that is over")
	alloctest.Zero(t, 100, frame)
	require.Zero(t, server.Stats().Packets.Sent)
	require.Zero(t, client.Stats().Packets.Sent)
}
