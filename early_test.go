package netcode_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/consistent"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// everyMode is all modes of delivery.
var everyMode = []wire.Delivery{netcode.Unreliable, netcode.UnreliableSequenced, netcode.Reliable, netcode.ReliableOrdered}

// secretNumber stands only in messages about hidden entities.
const secretNumber uint32 = 0xDEC0ADDE

// A message that was sent about an entity which is hidden, or dies, before any of its state went out tells nothing: neither
// the entity's id nor what the message says. Who sees the entity gets it, and what comes behind it goes on.
func TestMessageAboutAnEntityNeverShownLeaksNothing(t *testing.T) {
	for name, end := range map[string]func(k *talk, id wire.NetworkID){
		"hidden": func(k *talk, id wire.NetworkID) { require.True(t, k.Server.Hide(1, id)) },
		"dies": func(k *talk, id wire.NetworkID) {
			k.Server.Game = func(store *snapshot.Store) { store.Despawn(id); k.Server.Game = nil }
		},
	} {
		for _, mode := range everyMode {
			t.Run(fmt.Sprint(name, " ", mode), func(t *testing.T) {
				others, budget := 0, -1
				if name == "dies" {
					others, budget = 20, 2<<10
				}
				k := newTalk(t, netcode.Config{SendBudget: budget}, 2)
				var id wire.NetworkID
				leaks := [2]int{}
				k.Tamper = func(_, to transport.Addr, packet []byte) []byte {
					for i, c := range k.Clients {
						dump := string(inspect.AppendClientDump(nil, c.Client, packet))
						if to == c.Conn.LocalAddr() && !id.IsZero() && (strings.Contains(dump, id.String()) || strings.Contains(dump, fmt.Sprint(secretNumber))) {
							leaks[i]++
						}
					}
					return packet
				}
				for range 40 * others { // what is sent before it leaves nothing of the budget for the entity
					require.NoError(t, netcode.Send(k.Server.Server, netcode.ToAll(), &chat{1}))
				}
				k.Run(4 * rig.FrameTime)
				k.Server.Game = func(store *snapshot.Store) {
					for range others {
						k.Set(store, store.Spawn(), 1)
					}
					id = store.Spawn()
					k.Set(store, id, 1)
					k.Server.Game = nil
				}
				k.Server.Late = func() {
					if id.IsZero() {
						return
					}
					require.NoError(t, netcode.Send(k.Server.Server, netcode.ToAll(), &chat{secretNumber}, netcode.About(id), netcode.Over(mode)))
					require.NoError(t, netcode.Send(k.Server.Server, netcode.ToAll(), &chat{7}, netcode.Over(mode)))
					end(k, id)
					k.Server.Late = nil
				}
				k.Run(6 * time.Second)
				require.Zero(t, leaks[0])
				require.Contains(t, k.heard, "1<0:7")
				require.Contains(t, k.heard, "2<0:7")
				require.NotContains(t, k.heard, fmt.Sprintf("1<0:%d", secretNumber))
				seen := 0
				if name == "hidden" {
					seen = 1
					require.Contains(t, k.heard, fmt.Sprintf("2<0:%d", secretNumber))
					require.Positive(t, leaks[1], "the check finds what there is to find")
				}
				require.EqualValues(t, 2-seen, k.Server.Stats().DelayedDropped)
				require.Len(t, k.Server.Log, 2, "nobody is closed")
				for _, c := range k.Clients {
					require.Zero(t, c.Stats().Messages.Undeliverable+c.Stats().Messages.DeferredLate)
				}
			})
		}
	}
}

// Entities come, go, are hidden and shown at random under loss, and messages of all modes speak of them. Every reliable
// message is handled once, in order where that is promised, or is about an entity that left the client's sight; none
// comes before its entity, and none is about an entity of which nothing was sent.
func TestMessagesAboutEntitiesAtRandom(t *testing.T) {
	for seed := range uint64(8) {
		k := newTalk(t, netcode.Config{SendBudget: 24 << 10}, 1)
		s, c := k.Server.Server, k.Clients[0]
		rng := rand.New(rand.NewPCG(seed, 11))
		k.Tamper = lossy(seed, 25)
		var ids []wire.NetworkID
		k.Server.Game = func(store *snapshot.Store) {
			for n := len(ids); n < 12; n++ {
				id := store.Spawn()
				k.Set(store, id, 1)
				ids = append(ids, id)
			}
			if i := rng.IntN(len(ids)); rng.IntN(3) == 0 {
				store.Despawn(ids[i])
				ids = append(ids[:i], ids[i+1:]...)
			}
		}
		sent := map[wire.Delivery][]uint32{}
		number := uint32(0)
		for range 600 {
			for range rng.IntN(4) {
				mode := everyMode[rng.IntN(len(everyMode))]
				how := []netcode.Option{netcode.Over(mode)}
				if len(ids) > 0 && rng.IntN(2) == 0 {
					how = append(how, netcode.About(ids[rng.IntN(len(ids))]))
				}
				if rng.IntN(8) == 0 {
					how = append(how, netcode.NotBefore(s.Tick()+tick.Tick(rng.IntN(20))))
				}
				if mode != netcode.UnreliableSequenced && rng.IntN(4) == 0 { // within a packet that one goes by stages
					how = append(how, netcode.AtStage(tick.Stage(rng.IntN(int(tick.NumStages)))))
				}
				number++
				if err := netcode.Send(s, netcode.To(1), &chat{number}, how...); err == nil {
					sent[mode] = append(sent[mode], number)
				} else {
					require.ErrorIs(t, err, errs.ErrNotVisible)
				}
			}
			if len(ids) > 0 {
				if id := ids[rng.IntN(len(ids))]; rng.IntN(3) == 0 {
					s.Hide(1, id)
				} else {
					s.Show(1, id)
				}
			}
			k.Step()
			require.Equal(t, netcode.Connected, c.State(), "seed %d: %v", seed, c.Err())
		}
		k.Tamper, k.Server.Game = nil, nil
		for _, id := range ids {
			s.Show(1, id)
		}
		k.Run(8 * time.Second)
		got := map[string]int{}
		for _, h := range k.heard {
			got[h]++
			require.Equal(t, 1, got[h], "seed %d: %s came twice", seed, h)
		}
		missing := 0
		for _, mode := range everyMode[2:] {
			for _, n := range sent[mode] {
				missing += 1 - got[fmt.Sprintf("1<0:%d", n)]
			}
		}
		stats, there := s.Stats(), c.Stats().Messages
		require.Positive(t, stats.DelayedDropped)
		require.LessOrEqual(t, uint64(missing), stats.DelayedDropped+stats.Recalled+there.Undeliverable, "seed %d", seed)
		require.Positive(t, missing)
		for _, mode := range []wire.Delivery{netcode.UnreliableSequenced, netcode.ReliableOrdered} {
			requireInOrder(t, sent[mode], k.heard, mode)
		}
	}
}

// requireInOrder asserts that of these messages those that were heard were heard in order.
func requireInOrder(t *testing.T, sent []uint32, heard []string, mode wire.Delivery) {
	t.Helper()
	at := map[string]int{}
	for i, h := range heard {
		at[h] = i + 1
	}
	last, before := 0, uint32(0)
	for _, n := range sent {
		i := at[fmt.Sprintf("1<0:%d", n)]
		if i == 0 {
			continue
		}
		require.Greater(t, i, last, "%v: %d came before %d", mode, n, before)
		last, before = i, n
	}
	require.Positive(t, last)
}

// A client that joins a large world over a slow link is told about entities that it gets last. Those entities come before the
// others, and another channel does not wait.
func TestLateJoinWithMessagesAboutTheLastEntity(t *testing.T) {
	k := newTalk(t, netcode.Config{SendBudget: 8 << 10}, 0)
	const entities = 4000
	var ids []wire.NetworkID
	k.Change(func(store *snapshot.Store) {
		for i := range entities {
			ids = append(ids, store.Spawn())
			k.Set(store, ids[i], float32(i)*1.37)
		}
	})
	c := k.Joined(k.Server.Protocol(), netcode.Config{})
	var sent []string
	say := func(how ...netcode.Option) {
		sent = append(sent, fmt.Sprintf("1<0:%d", len(sent)))
		require.NoError(t, netcode.Send(k.Server.Server, netcode.ToAll(), &chat{uint32(len(sent) - 1)}, append(how, netcode.Over(netcode.ReliableOrdered))...))
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for range 100 {
		say(netcode.About(ids[rng.IntN(entities)]))
		say()
	}
	require.NoError(t, netcode.Send(k.Server.Server, netcode.ToSeers(ids[0]), &chat{1 << 20}, netcode.Over(netcode.Reliable)))
	for end := k.Now + time.Minute; len(k.heard) <= len(sent) && k.Now < end; {
		k.Step()
		require.Equal(t, netcode.Connected, c.State(), c.Err())
	}
	stats, _ := k.Server.ClientStats(c.ID())
	require.Less(t, stats.Known, entities/2)
	require.Equal(t, "1<0:1048576", k.heard[0])
	require.Equal(t, sent, k.heard[1:])
	require.Zero(t, c.Stats().Messages.Deferred)
	require.Zero(t, k.Server.Stats().DelayedDropped)
}

// Delayed messages are bounded like messages that wait to be sent. Once some were delayed, delaying more allocates no memory.
func TestDelayedMessagesAreBounded(t *testing.T) {
	k := newTalk(t, netcode.Config{ReliableBytes: 8 << 10, OutboxBytes: 4 << 10}, 1)
	s := k.Server.Server
	id := k.Spawn(1)
	k.Sees(k.Clients[0], id, 1)
	k.Run(time.Second)
	flood := func() {
		require.True(t, s.Hide(1, id))
		require.True(t, s.Show(1, id))
		for mode, want := range map[wire.Delivery]error{netcode.Unreliable: errs.ErrQueueFull, netcode.Reliable: errs.ErrBackPressure} {
			sent := 0
			for ; sent < 1000; sent++ {
				if err := netcode.Send(s, netcode.To(1), &chat{1}, netcode.About(id), netcode.Over(mode)); err != nil {
					require.ErrorIs(t, err, want)
					break
				}
			}
			require.InDelta(t, map[wire.Delivery]int{netcode.Unreliable: 4 << 10 / 20, netcode.Reliable: 8 << 10 / 100}[mode], sent, 1)
		}
	}
	for range 5 {
		k.heard = k.heard[:0]
		flood()
		stats, _ := s.ClientStats(1)
		require.Positive(t, stats.Waiting)
		k.Run(2 * time.Second)
		require.Greater(t, len(k.heard), 8<<10/100+50)
	}
	require.Len(t, k.Server.Log, 1)
	how := []netcode.Option{netcode.About(id), netcode.Over(netcode.ReliableOrdered)}
	frame := func() {
		s.Hide(1, id)
		s.Show(1, id)
		for range 20 {
			_ = netcode.Send(s, netcode.To(1), &chat{1}, how...)
			_ = netcode.Send(s, netcode.ToAll(), &chat{1}, how...)
		}
		k.Now += rig.FrameTime
		steps.OfServer(s).BeginFrame(k.Now)
		s.Hide(1, id)
		steps.OfServer(s).Send()
		steps.OfServer(s).Drain(func(transport.Addr, []byte) {})
	}
	for range 100 {
		frame()
	}
	alloctest.Zero(t, 50, frame)
	require.Greater(t, s.Stats().DelayedDropped, uint64(100*40))

	s.Show(1, id)
	require.NoError(t, netcode.Send(s, netcode.To(1), &chat{1}, how...))
	dropped := s.Stats().DelayedDropped
	require.True(t, s.Kick(1, "out"))
	require.Equal(t, dropped+1, s.Stats().DelayedDropped, "what a client that is gone was not told is counted")
}

// A message about an entity that is made, or shown again, in the same frame comes with the entity, reliable or not. A client
// that had the entity before waits for the record of its new life, however often that is lost.
func TestAMessageAboutANewEntityComesWithIt(t *testing.T) {
	for _, again := range []bool{false, true} {
		for _, mode := range everyMode {
			for _, atOnce := range []bool{false, true} {
				var how netcode.Option
				if atOnce {
					how = netcode.AtOnce()
				}
				k := newTalk(t, netcode.Config{}, 1)
				c, name := k.Clients[0], fmt.Sprint(again, " ", mode, " ", atOnce)
				id := k.Spawn(1)
				k.Run(time.Second)
				require.True(t, k.Server.Hide(1, id))
				k.Run(time.Second)
				k.Server.Game = func(store *snapshot.Store) {
					if !again {
						id = store.Spawn()
					}
					k.Set(store, id, 2)
					k.Server.Game = nil
				}
				k.Server.Late = func() {
					if k.Server.Game != nil {
						return
					}
					k.Server.Show(1, id)
					require.NoError(t, netcode.Send(k.Server.Server, netcode.To(1), &chat{7}, how, netcode.About(id), netcode.Over(mode)))
					k.Server.Late = nil
				}
				if mode.Reliable() {
					k.Tamper = loseState(k, 3)
				}
				there := func() bool { _, ok := k.X(c, id); return ok }
				for !there() {
					require.Empty(t, k.heard, name)
					k.Step()
				}
				k.Step()     // The rig's clients apply what came with the frame.
				if !atOnce { // The state of the frame was captured before: the message follows that of the next tick.
					k.Run(2 * rig.FrameTime)
				}
				require.Equal(t, []string{"1<0:7"}, k.heard, name)
			}
		}
	}
}

// Entities that live for a third of a second take turns for a short budget, and package consistent holds many back until they are
// gone. What is said about those is dropped, and what is said behind it on an ordered channel goes on.
func TestMessagesBehindAnEntityThatIsNeverSentGoOn(t *testing.T) {
	p, heard := protocol(), 0
	consistent.Register(p)
	netcode.Handle(p, func(*netcode.Context, *chat) { heard++ })
	r := rig.New(t, p, netcode.Config{SendBudget: 6 << 10})
	r.Joined(p, netcode.Config{})
	rng := rand.New(rand.NewPCG(1, 1))
	var all, live []wire.NetworkID
	r.Server.Game = func(store *snapshot.Store) {
		for len(all) < 200 {
			all = append(all, store.Spawn())
		}
		for live = append(live, store.Spawn(), store.Spawn(), store.Spawn()); len(live) > 12; live = live[1:] {
			store.Despawn(live[0])
		}
		for _, id := range slices.Concat(all, live) {
			r.Set(store, id, rng.Float32())
		}
	}
	r.Tamper = lossy(7, 10)
	r.Run(time.Second)
	last, gap := r.Now, time.Duration(0)
	for range 60 * 20 {
		before := heard
		require.NoError(t, netcode.Send(r.Server.Server, netcode.ToAll(), &chat{1}, netcode.About(live[len(live)-1]), netcode.Over(netcode.ReliableOrdered)))
		if r.Step(); heard > before {
			last = r.Now
		}
		gap = max(gap, r.Now-last)
	}
	require.Greater(t, r.Server.Stats().DelayedDropped, uint64(300), "many are never sent")
	require.Less(t, gap, 2*time.Second)
}
