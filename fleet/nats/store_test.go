package nats_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/fleet/nats"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// A recording lies in the store, in pieces, and is a recording.
func TestRecordingsAreStored(t *testing.T) {
	t.Parallel()
	n := start(t, nats.Config{Server: "here"})
	h, err := open(t.Context(), n, systems.Offline{}, nats.MatchConfig{ID: "red", Record: []record.Option{}}, nil)
	require.NoError(t, err)
	balls := generic.NewMap2[components.Replicated, Position](&h.world)
	balls.New()
	h.step(t, "a second of a match", func() bool { return h.ticks > 30 })
	h.match.Close()
	require.NoError(t, h.match.End(t.Context()))
	names, err := n.Recordings(t.Context(), "red")
	require.NoError(t, err)
	require.Len(t, names, 1)
	var file bytes.Buffer
	require.NoError(t, n.Recording(t.Context(), names[0], &file))
	server, err := netcode.NewServer(protocol(), netcode.Config{})
	require.NoError(t, err)
	group := systems.NewServer(server, systems.Offline{}, systems.WallClock())
	player, err := record.Play(group.Server, bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.Greater(t, player.Last()-player.First(), netcode.Tick(25))
	require.Error(t, n.Recording(t.Context(), "recording.none.1", io.Discard))
}

// A match that goes on has the entities, the game's own part of the checkpoint and the numbers of the ticks. What a player owned waits for that player,
// and no other one gets it, whatever its id.
func TestAnOrphanHasWhatTheMatchHad(t *testing.T) {
	t.Parallel()
	orphans := make(chan *nats.Orphan, 1)
	here := start(t, nats.Config{Server: "here", Lease: 500 * time.Millisecond, Embed: nats.Embed{Listen: "127.0.0.1:0"}, Orphan: func(o *nats.Orphan) { orphans <- o }})
	l, url := lineTo(t, here.NATS())
	there := start(t, nats.Config{Server: "there", Lease: 500 * time.Millisecond, URL: url})
	h, err := open(t.Context(), there, systems.Offline{}, nats.MatchConfig{
		ID: "m", Data: "castle", Checkpoint: 50 * time.Millisecond, Extra: func() []byte { return []byte("2:1") },
	}, nil)
	require.NoError(t, err)
	h.loop.Step()
	things := generic.NewMap3[components.Replicated, components.Owner, Position](&h.world)
	things.NewWith(&components.Replicated{}, &components.Owner{Client: 5}, &Position{}) // Nobody's any more.
	h.step(t, "it is saved", func() bool { m, _ := here.Match("m"); return m.Saved > 10 && m.Data == "castle" })
	l.set(true)
	var o *nats.Orphan
	h.step(t, "it is an orphan", func() bool {
		select {
		case o = <-orphans:
			return true
		default:
			return false
		}
	})
	l.set(false)
	c, err := o.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, "2:1", string(c.Extra))
	require.Equal(t, "castle", o.Data)
	restored := 0
	next, err := open(t.Context(), here, systems.Offline{}, nats.MatchConfig{Restored: func(entities []netecs.Entity, err error) {
		require.NoError(t, err)
		restored = len(entities)
	}}, o)
	require.NoError(t, err)
	require.Equal(t, c.Tick+1, next.server.Config().FirstTick)
	next.loop.Step()
	require.Equal(t, 1, restored)
	next.step(t, "it goes on", func() bool { return next.ticks > 3 })
	require.Empty(t, next.match.Missing())
}

// A match that is handed over goes on elsewhere at once, with its last tick.
func TestAMatchIsGivenAway(t *testing.T) {
	t.Parallel()
	orphans := make(chan *nats.Orphan, 1)
	here := start(t, nats.Config{Server: "here", Embed: nats.Embed{Listen: "127.0.0.1:0"}, Orphan: func(o *nats.Orphan) { orphans <- o }})
	there := start(t, nats.Config{Server: "there", URL: here.NATS()})
	network := memory.NewNetwork()
	socket, err := network.Listen(transport.Addr{})
	require.NoError(t, err)
	h, err := open(t.Context(), there, socket, nats.MatchConfig{ID: "m"}, nil)
	require.NoError(t, err)
	client, err := netcode.NewClient(protocol(), netcode.Config{})
	require.NoError(t, err)
	end, err := network.Listen(transport.Addr{})
	require.NoError(t, err)
	clientLoop := systems.NewRunner(nil, systems.NewClient(client, end, systems.WallClock()), 60)
	require.NoError(t, client.ConnectWith(socket.LocalAddr(), []byte("anna")))
	h.step(t, "it runs, with a player", func() bool {
		clientLoop.Step()
		return h.ticks > 5 && client.State() == netcode.Connected
	})
	last := h.server.Store().Tick()
	require.NoError(t, h.match.GiveAway(t.Context()))
	h.step(t, "the player is told", func() bool {
		clientLoop.Step()
		return client.State() == netcode.Disconnected
	})
	require.ErrorIs(t, client.Err(), errs.ReasonShuttingDown)
	require.ErrorIs(t, h.match.GiveAway(t.Context()), nats.ErrTaken)
	require.Zero(t, there.Stats().Lost)
	require.True(t, h.match.Hold(), "it is no match of this process any more")
	o := <-orphans
	c, err := o.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, last, c.Tick)
	next, err := open(t.Context(), here, systems.Offline{}, nats.MatchConfig{}, o)
	require.NoError(t, err)
	next.step(t, "it goes on", func() bool { return next.ticks > 1 })
	require.Equal(t, last+1, next.server.Config().FirstTick)
	require.Equal(t, []string{"anna"}, next.match.Missing())
	m, ok := here.Match("m")
	require.True(t, ok)
	require.Equal(t, "here", m.Server)
	require.NoError(t, there.Close())
	require.Zero(t, here.Stats().Buried, "nobody died")
}

// A frame of a match without messages allocates nothing of its own.
func TestAFrameAllocatesNothing(t *testing.T) {
	n := start(t, nats.Config{Server: "here", Lease: time.Hour})
	h, err := open(t.Context(), n, systems.Offline{}, nats.MatchConfig{ID: "m"}, nil)
	require.NoError(t, err)
	for range 100 {
		h.loop.Step()
	}
	alloctest.Zero(t, 500, h.loop.Step)
}

// A process that has enough takes no match more, and one that was too late to say so leaves it to another.
func TestAProcessThatHasEnough(t *testing.T) {
	t.Parallel()
	taken := make(chan string, 10)
	var full, idle *nats.Node
	orphan := func(name string, n **nats.Node) func(o *nats.Orphan) {
		return func(o *nats.Orphan) {
			taken <- name
			if name == "full" {
				(*n).TakeOver(false)
				if err := o.Refuse(context.Background()); err != nil {
					taken <- err.Error()
				}
			}
		}
	}
	full = start(t, nats.Config{Server: "full", Embed: nats.Embed{Listen: "127.0.0.1:0"}, Orphan: orphan("full", &full)})
	there := start(t, nats.Config{Server: "there", URL: full.NATS()})
	give := func(id string) {
		h, err := open(t.Context(), there, systems.Offline{}, nats.MatchConfig{ID: id}, nil)
		require.NoError(t, err)
		h.step(t, "it runs", func() bool { return h.ticks > 2 })
		require.NoError(t, h.match.GiveAway(t.Context()))
	}
	give("m")
	require.Equal(t, "full", <-taken)
	idle = start(t, nats.Config{Server: "idle", URL: full.NATS(), Orphan: orphan("idle", &idle)})
	require.Equal(t, "idle", <-taken, "what was refused")
	for i := range 5 {
		give(fmt.Sprint("n", i))
		require.Equal(t, "idle", <-taken)
	}
	full.TakeOver(true)
	idle.TakeOver(false)
	eventually(t, "the directory says so", func() bool {
		takers := ""
		for s := range there.Servers {
			if s.Takes {
				takers += s.Name
			}
		}
		return takers == "full"
	})
}
