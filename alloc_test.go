package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// busyRig is a server with 16 clients, 200 moving entities and messages both ways, long enough under way to be warm.
func busyRig(t testing.TB) *rig.Rig { return busyRigWith(t, netcode.Config{SendBudget: -1}) }

func busyRigWith(t testing.TB, config netcode.Config) *rig.Rig {
	p := protocol()
	netcode.Handle(p, func(*message.Context, *chat) {})
	r := rig.New(t, p, config)
	var ids []wire.NetworkID
	r.Change(func(store *snapshot.Store) {
		for i := range 200 {
			ids = append(ids, store.Spawn())
			r.Set(store, ids[i], float32(i))
		}
	})
	for range 16 {
		r.Joined(p, netcode.Config{SendBudget: -1})
	}
	lanes := []uint32{0, 0}
	r.Server.Game = func(store *snapshot.Store) {
		for _, id := range ids {
			lanes[0]++
			lanes[0] &= 0xFFFF
			store.Set(id, 1, lanes)
		}
		_ = netcode.Send(r.Server.Server, netcode.ToAll(), &chat{7})
		_ = netcode.Send(r.Server.Server, netcode.To(3), &chat{8})
		for _, c := range r.Clients {
			_ = netcode.Send(c.Client, netcode.ToServer(), &chat{9})
		}
	}
	for range 1000 { // Until every history went round.
		r.Step()
	}
	return r
}

func TestServerTickAllocatesNothing(t *testing.T) {
	r := busyRig(t)
	alloctest.Zero(t, 200, r.Step, "allocations of a frame of the server and its 16 clients")
	require.Equal(t, 16, len(r.Server.Log))
	for id := range r.Server.Clients {
		stats, _ := r.Server.ClientStats(id)
		require.Equal(t, 200, stats.Known)
	}
}

// A server whose clients write nothing keeps no list of the entities that changed hands.
func TestOwnersThatChangeAllocateNothing(t *testing.T) {
	r := rig.New(t, protocol(), netcode.Config{SendBudget: -1})
	var id wire.NetworkID
	r.Change(func(store *snapshot.Store) {
		id = store.Spawn()
		r.Set(store, id, 1)
	})
	r.Joined(protocol(), netcode.Config{})
	r.Joined(protocol(), netcode.Config{})
	n := 0
	r.Server.Game = func(store *snapshot.Store) {
		n++
		store.SetOwner(id, wire.ClientID(1+n%2))
	}
	for range 400 {
		r.Step()
	}
	alloctest.Zero(t, 200, r.Step)
	require.Empty(t, r.Server.Store().Handovers())
}

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
		now += rig.FrameTime
		steps.OfServer(server).BeginFrame(now)
		steps.OfClient(client).BeginFrame(now)
		for stage := range tick.Stage(tick.NumStages) {
			steps.OfClient(client).Dispatch(stage)
			steps.OfServer(server).Dispatch(stage)
			if stage != tick.Update {
				continue
			}
			_ = input.Set(client, &v)
			_ = netcode.Send(client, netcode.ToServer(), &chat{1})
			_ = netcode.Send(server, netcode.ToAll(), &chat{2}, netcode.AtStage(tick.PostLateUpdate))
			_ = netcode.Send(client, netcode.ToServer(), &chat{3}, netcode.AtStage(tick.Initialization))
			if in, ok := input.Of[step](server, client.ID()); ok && server.TickDue() {
				moved += int(in.X)
			}
		}
		steps.OfClient(client).Send()
		steps.OfServer(server).Send()
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
