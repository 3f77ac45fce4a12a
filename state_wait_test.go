package netcode_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/consistent"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// waitGame is a talk whose entities change in each capture, and whose messages say what the place of their entity is at least.
type waitGame struct {
	*talk
	ids     []wire.NetworkID
	place   float32 // Of all entities, with the newest capture.
	handled map[wire.Delivery]int
	early   int
	rng     *rand.Rand
}

func newWaitGame(t *testing.T, config netcode.Config, entities int) *waitGame {
	g := &waitGame{talk: &talk{}, handled: map[wire.Delivery]int{}, rng: rand.New(rand.NewPCG(1, 1))}
	p := protocol()
	netcode.Handle(p, func(ctx *netcode.Context, m *chat) {
		g.handled[ctx.Delivery()]++
		if x, ok := g.X(g.Clients[0], ctx.Entity); !ok || x < float32(m.Number) {
			g.early++
		}
	})
	g.Rig = rig.New(t, p, config)
	g.Joined(p, netcode.Config{})
	g.Change(func(store *snapshot.Store) {
		for range entities {
			id := store.Spawn()
			g.Set(store, id, 0)
			g.ids = append(g.ids, id)
		}
	})
	g.Server.Game = func(store *snapshot.Store) {
		g.place++
		for _, id := range g.ids {
			g.Set(store, id, g.place+float32(g.rng.IntN(1<<12))/(1<<12))
		}
	}
	g.Until(func() bool { _, ok := g.X(g.Clients[0], g.ids[entities-1]); return ok })
	return g
}

// say sends a message about an entity that comes after the state of the next capture. It is called between frames.
func (g *waitGame) say(id wire.NetworkID, how ...netcode.Option) {
	how = append(how, netcode.About(id))
	require.NoError(g.T, netcode.Send(g.Server.Server, netcode.ToAll(), &chat{uint32(g.place) + 1}, how...))
}

// However much is lost and however short the budget, no message is handled before the state of its frame, and no reliable one is
// lost or given up waiting.
func TestMessagesWaitForStateUnderLoss(t *testing.T) {
	for seed := range uint64(6) {
		budget, entities := 16<<10, 40
		if seed >= 3 { // What changes in a tick takes several packets, of which some are lost.
			budget, entities = -1, 600
		}
		g := newWaitGame(t, netcode.Config{SendBudget: budget}, entities)
		g.Tamper = lossy(seed, 5*int(seed))
		rng := rand.New(rand.NewPCG(seed, 3))
		sent := map[wire.Delivery]int{}
		for range 300 {
			g.Step()
			mode := everyMode[rng.IntN(len(everyMode))]
			sent[mode]++
			g.say(g.ids[rng.IntN(len(g.ids))], netcode.Over(mode))
		}
		g.Run(4 * time.Second)
		require.Zero(t, g.early, "seed %d", seed)
		require.Zero(t, g.Clients[0].Stats().Messages.StateLate, "seed %d", seed)
		require.Equal(t, sent[netcode.Reliable], g.handled[netcode.Reliable], "seed %d", seed)
		require.Equal(t, sent[netcode.ReliableOrdered], g.handled[netcode.ReliableOrdered], "seed %d", seed)
		if seed == 0 {
			require.Equal(t, sent[netcode.Unreliable], g.handled[netcode.Unreliable])
		}
		require.Positive(t, g.Clients[0].Stats().Messages.Deferred+uint64(seed/5), "some wait")
	}
}

// A message about an entity whose state the client is proved to have takes no byte more, and does not wait. A change of a component which
// the client may not see is none to it.
func TestMessageAboutRestingEntityDoesNotWait(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 1)
	id := k.Spawn(1)
	k.Sees(k.Clients[0], id, 1)
	hidden := interest.NewRows(interest.All(), interest.OwnerRows(interest.MaskOf[health](k.Server.Protocol().Schema())))
	k.Server.SetInterest(interest.New(hidden, interest.Despawn))
	k.Run(time.Second)
	var dump []byte
	k.Tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from == k.Server.Conn.LocalAddr() {
			dump = inspect.AppendClientDump(dump, k.Clients[0].Client, packet)
		}
		return packet
	}
	about := func() string {
		k.heard, dump = nil, nil
		require.NoError(t, netcode.Send(k.Server.Server, netcode.ToAll(), &chat{7}, netcode.About(id)))
		for range 3 {
			k.Step()
		}
		require.Equal(t, []string{"1<0:7"}, k.heard)
		return string(dump)
	}
	require.NotContains(t, about(), "after its state")
	k.Change(func(store *snapshot.Store) { store.Set(id, 0, []uint32{5}) }) // its health
	require.NotContains(t, about(), "after its state")
	require.Zero(t, k.Clients[0].Stats().Messages.Deferred)
	k.Server.Game = func(store *snapshot.Store) { k.Set(store, id, 2) }
	require.Contains(t, about(), "after its state", "the check finds what there is to find")
}

// Kick delivers first what was sent, also what waits for the capture of its frame.
func TestKickDeliversMessagesThatWaitForACapture(t *testing.T) {
	for _, mode := range everyMode {
		k := newTalk(t, netcode.Config{}, 1)
		id := k.Spawn(1)
		k.Sees(k.Clients[0], id, 1)
		k.Run(time.Second)
		require.NoError(t, netcode.Send(k.Server.Server, netcode.To(1), &chat{7}, netcode.About(id), netcode.Over(mode)))
		require.NoError(t, netcode.Send(k.Server.Server, netcode.To(1), &chat{8}, netcode.AfterAllState(), netcode.Over(mode)))
		require.True(t, k.Server.Kick(1, "out"))
		k.Run(time.Second)
		require.Equal(t, []string{"1<0:7", "1<0:8"}, k.heard, "%v", mode)
		require.Zero(t, k.Server.Stats().DelayedDropped)
	}
}

type armour struct{ Points uint16 }

// A client that says its state is still to come makes the server wait for no longer than DeferredTime.
func TestStateThatNeverComesIsWaitedForInBounds(t *testing.T) {
	p := protocol()
	netcode.Replicate[armour](p, authority.WrittenBy(authority.OwnerWrites))
	handled := 0
	netcode.Handle(p, func(*netcode.Context, *chat) { handled++ })
	r := rig.New(t, p, netcode.Config{})
	var id wire.NetworkID
	r.Change(func(store *snapshot.Store) { id = store.Spawn() })
	th := rig.NewThief(r, p)
	r.Run(100 * time.Millisecond)
	post := peer.Post{
		Type: wire.FirstUserMessage, Stage: tick.Update, Flags: wire.FlagEntity | wire.FlagState, Entity: id, State: r.Server.Tick() + 30000,
		Channel: wire.NewChannel(wire.Reliable, 0),
	}
	th.Post(&post, []byte{1, 0, 0, 0})
	r.Run(1900 * time.Millisecond)
	require.Zero(t, handled)
	r.Run(200 * time.Millisecond)
	require.Equal(t, 1, handled)
	require.EqualValues(t, 1, r.Server.Stats().Messages.StateLate)
	post.Channel = 0
	for range 100 {
		th.Post(&post, []byte{1, 0, 0, 0})
	}
	r.Run(3 * time.Second)
	require.Equal(t, 1, handled, "what may be lost is dropped")
	require.EqualValues(t, 36, r.Server.Stats().Messages.DeferredFull)
	require.EqualValues(t, 64, r.Server.Stats().Messages.DeferredLate)
	require.Len(t, r.Server.Log, 1, "and nobody is closed")
}

// Where clients write nothing, no honest client speaks of its state.
func TestStateOfClientsThatWriteNothingIsMalformed(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil)
	r := rig.New(t, p, netcode.Config{})
	id := r.Spawn(1)
	th := rig.NewThief(r, p)
	th.Post(&peer.Post{Type: wire.FirstUserMessage, Stage: tick.Update, Flags: wire.FlagEntity | wire.FlagState, Entity: id, State: 1}, []byte{1, 0, 0, 0})
	r.Run(100 * time.Millisecond)
	require.EqualValues(t, 1, r.Server.Stats().Malformed)
	require.Contains(t, fmt.Sprint(r.Server.Log), "disconnect 1")
}

// Messages that wait for the capture of their frame allocate nothing once warm.
func TestMessagesThatWaitForStateAllocateNothing(t *testing.T) {
	k := &talk{}
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *chat) {})
	k.Rig = rig.New(t, p, netcode.Config{SendBudget: -1})
	k.Joined(p, netcode.Config{})
	s := k.Server.Server
	id := k.Spawn(1)
	k.Sees(k.Clients[0], id, 1)
	about := []netcode.Option{netcode.About(id)}
	all := []netcode.Option{netcode.AfterAllState(), netcode.Over(netcode.ReliableOrdered)}
	x := float32(1)
	k.Server.Game = func(store *snapshot.Store) { x++; k.Set(store, id, x) }
	frame := func() {
		_ = netcode.Send(s, netcode.ToAll(), &chat{1}, about...)
		_ = netcode.Send(s, netcode.To(1), &chat{2}, about...)
		_ = netcode.Send(s, netcode.To(1), &chat{3}, all...)
		k.Step()
	}
	for range 300 {
		frame()
	}
	alloctest.Zero(t, 200, frame)
	require.Positive(t, k.Clients[0].Stats().Messages.Handled)
}

// TestHiddenStateIsNotRepaired loses packets with entities that are hidden then: no bytes of them are sent after that.
func TestHiddenStateIsNotRepaired(t *testing.T) {
	p := protocol()
	consistent.Register(p)
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	mover, x := r.Spawn(0), float32(0)
	before := func(store *snapshot.Store) { x++; r.Set(store, mover, x) }
	r.Server.Game = before
	r.Run(time.Second)
	var dropped, after [][]byte
	drop := false
	r.Tamper = func(from, to transport.Addr, packet []byte) []byte {
		switch {
		case from != r.Server.Conn.LocalAddr():
			return packet
		case drop:
			dropped = append(dropped, bytes.Clone(packet))
			return nil
		}
		after = append(after, bytes.Clone(packet))
		return packet
	}
	var ids []wire.NetworkID
	r.Server.Game = func(store *snapshot.Store) {
		before(store)
		for drop = true; len(ids) < 8; {
			ids = append(ids, store.Spawn())
			r.Set(store, ids[len(ids)-1], 12345.678+float32(len(ids))*1.37)
		}
	}
	r.Until(func() bool { return len(dropped) > 0 })
	r.Server.Game = before
	for _, id := range ids {
		require.True(t, r.Server.Hide(c.ID(), id))
	}
	r.Run(150 * time.Millisecond)
	drop, after = false, nil
	r.Run(time.Second)
	for _, packet := range after {
		for k := 12; k+24 < len(dropped[0])-16; k++ {
			require.False(t, bytes.Contains(packet, dropped[0][k:k+24]), "bytes of hidden entities are sent after Hide")
		}
	}
}

// TestSavedTicksAreNotComplete has a budget for which the server saves: ticks whose state waits do not count as complete.
func TestSavedTicksAreNotComplete(t *testing.T) {
	p := protocol()
	consistent.Register(p)
	r := rig.New(t, p, netcode.Config{SendBudget: 16 << 10})
	c := r.Joined(p, netcode.Config{})
	random := rand.New(rand.NewPCG(1, 2))
	var ids []wire.NetworkID
	r.Server.Game = func(store *snapshot.Store) {
		for len(ids) < 150 {
			ids = append(ids, store.Spawn())
		}
		for _, id := range ids {
			r.Set(store, id, random.Float32()*1000)
		}
	}
	r.Run(5 * time.Second)
	wrong, seen := 0, map[tick.Tick]bool{}
	for range 600 {
		r.Step()
		n := extend.OfClient(c).Newest()
		for at := n.Tick() - 10; at <= n.Tick()+10; at++ {
			if at > 0 && !seen[at] && n.Complete(at, at) {
				if seen[at] = true; n.Entity(ids[0].Index).Tick < at && n.Entity(ids[149].Index).Tick < at {
					wrong++ // All change in each tick.
				}
			}
		}
	}
	require.Zero(t, wrong, "ticks that count as complete without their changes, of %d", len(seen))
}

// sack is 5 KiB, so that a few dozen use up the credit.
type sack struct{ A [1280]uint32 }

// A connection does not end for a wait that its sender asked for. One ordered message waits for a tick, and behind it is more than
// the credit takes, in both directions.
func TestWaitingThatWasAskedForIsNoStall(t *testing.T) {
	for _, from := range []string{"server", "client"} {
		t.Run(from, func(t *testing.T) {
			p := protocol()
			handled := 0
			netcode.Handle(p, func(*netcode.Context, *sack) { handled++ }, netcode.Over(netcode.ReliableOrdered))
			r := rig.New(t, p, netcode.Config{SendBudget: -1})
			c := r.Joined(p, netcode.Config{SendBudget: -1})
			r.Run(time.Second)
			var end netcode.Endpoint = r.Server.Server
			to := netcode.To(c.ID())
			if from == "client" {
				end, to = c.Client, netcode.ToServer()
			}
			tamper := lossy(3, 10)
			r.Tamper = tamper
			require.NoError(t, netcode.Send(end, to, &sack{}, netcode.NotBefore(r.Server.Tick()+30*10)))
			for range 40 {
				require.NoError(t, netcode.Send(end, to, &sack{}))
			}
			r.Run(9500 * time.Millisecond)
			require.Zero(t, handled)
			require.Equal(t, netcode.Connected, c.State())
			r.Run(4 * time.Second)
			require.Equal(t, 41, handled)
			require.Zero(t, r.Server.Stats().Stalled+c.Stats().Stalled)
		})
	}
}

// The wait that was asked for excuses nobody for longer, and nobody who does not even acknowledge.
func TestWaitingThatWasAskedForEndsWithItsTick(t *testing.T) {
	for name, silent := range map[string]bool{"grants nothing": false, "acknowledges nothing": true} {
		t.Run(name, func(t *testing.T) {
			p := protocol()
			netcode.Handle[sack](p, nil, netcode.Over(netcode.ReliableOrdered))
			r := rig.New(t, p, netcode.Config{SendBudget: -1})
			th := rig.NewThief(r, p)
			r.Run(100 * time.Millisecond)
			require.NoError(t, netcode.Send(r.Server.Server, netcode.To(1), &sack{}, netcode.NotBefore(r.Server.Tick()+30*3)))
			for range 40 {
				require.NoError(t, netcode.Send(r.Server.Server, netcode.To(1), &sack{}))
			}
			start, ended := r.Now, time.Duration(0)
			r.Server.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) {
				require.ErrorIs(t, reason, errs.ReasonQueueOverflow)
				ended = r.Now - start
			})
			for range 600 {
				r.Step()
				read(th, !silent)
				th.Send(wire.MessageKeepAlive, 0, nil)
			}
			if silent {
				require.InDelta(t, 5.1, ended.Seconds(), 0.3)
			} else {
				require.InDelta(t, 8.1, ended.Seconds(), 0.3)
			}
		})
	}
}

// read takes what came, and acknowledges it with the next packet if it should.
func read(th *rig.Thief, acknowledge bool) {
	for {
		n, _, err := th.Socket.Receive(th.Buf[:])
		require.NoError(th.T, err)
		if n == 0 {
			return
		}
		if in, err := th.Conn.Read(th.Buf[:n], th.Now, nil); err == nil && acknowledge {
			th.Conn.Accept(in, th.Now)
		}
		th.Conn.DetectLost(th.Now, nil)
	}
}
