package message

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// on pushes an order on a channel, as a message from another process.
func (r *rig) on(t *testing.T, m Message, serial uint64) {
	t.Helper()
	m.Type = r.order.ID()
	if m.Channel.Delivery().Reliable() {
		m.Cost = 48
	}
	require.NoError(t, r.Push(&m, r.body(serial)))
}

// An ordered channel keeps its order, whatever stages its messages name: a later message for an earlier stage waits for
// the next frame. Other channels are independent.
func TestOrderedChannelKeepsItsOrderAcrossStages(t *testing.T) {
	r := newRig(t, Config{})
	seen := r.serials()
	ordered, other := wire.NewChannel(wire.ReliableOrdered, 0), wire.NewChannel(wire.ReliableOrdered, 1)
	frame := func(n int, want ...uint64) {
		t.Helper()
		*seen = nil
		if n > 0 {
			r.Begin(time.Second+time.Duration(n), tick.Tick(1+n))
		}
		for stage := range tick.Stage(tick.NumStages) {
			r.Drain(stage)
		}
		require.Equal(t, want, *seen)
	}
	r.From(NewSource(1), 1, time.Second)
	r.on(t, Message{Stage: tick.PreLateUpdate, Channel: ordered}, 1)
	r.on(t, Message{Stage: tick.Update, Channel: ordered}, 2)
	r.on(t, Message{Stage: tick.EarlyUpdate, Channel: ordered}, 3)
	r.on(t, Message{Stage: tick.EarlyUpdate, Channel: other}, 4)
	r.on(t, Message{Stage: tick.PostLateUpdate, Channel: ordered}, 5)
	frame(0, 4, 1)
	frame(1, 2)
	frame(2, 3, 5)
	require.Zero(t, r.Stats().Undeliverable+r.Stats().DeferredFull)
}

// A sequenced channel never goes back. A deferred message is dropped after a newer one was handled; so is a message for
// a later stage after one of a newer packet. Messages of one packet run in all their stages.
func TestSequencedChannelNeverGoesBack(t *testing.T) {
	r := newRig(t, Config{})
	seen := r.serials()
	source, channel := NewSource(1), wire.NewChannel(wire.UnreliableSequenced, 3)
	drain := func() {
		for stage := range tick.Stage(tick.NumStages) {
			r.Drain(stage)
		}
	}
	r.From(source, 1, time.Second)
	r.on(t, Message{Stage: tick.Update, Channel: channel, NotBefore: 2}, 1)
	r.on(t, Message{Stage: tick.Update, Channel: channel, NotBefore: 3}, 2)
	drain()
	r.Begin(time.Second, 2)
	drain()
	require.Equal(t, []uint64{1}, *seen, "each at its tick, while nothing newer was handled")
	r.From(source, 2, time.Second)
	r.on(t, Message{Stage: tick.PreUpdate, Channel: channel}, 3)
	drain()
	r.Begin(time.Second, 3)
	drain()
	require.Equal(t, []uint64{1, 3}, *seen)
	require.EqualValues(t, 1, r.Stats().Superseded)

	r.From(source, 3, time.Second)
	r.on(t, Message{Stage: tick.PostLateUpdate, Channel: channel}, 4)
	r.From(source, 3, time.Second)
	r.on(t, Message{Stage: tick.Update, Channel: channel}, 5)
	r.on(t, Message{Stage: tick.PreUpdate, Channel: channel}, 6)
	drain()
	require.Equal(t, []uint64{1, 3, 6, 5}, *seen)
	require.EqualValues(t, 2, r.Stats().Superseded)
}

// A reliable message about an entity that never comes is dropped after EntityTime. It is not a fault of its sender,
// and later messages of its channel are handled in order.
func TestReliableAboutAnEntityThatNeverComes(t *testing.T) {
	here := map[uint32]Existence{7: NotYet, 8: Exists}
	r := newRig(t, Config{Exists: func(id wire.NetworkID) Existence { return here[id.Index] }})
	seen := r.serials()
	source, ordered := NewSource(1), wire.NewChannel(wire.ReliableOrdered, 0)
	about := func(index uint32) wire.NetworkID { return wire.NetworkID{Index: index, Generation: 1} }
	r.From(source, 1, time.Second)
	r.on(t, Message{Stage: tick.Update, Channel: wire.NewChannel(wire.Reliable, 0), Entity: about(7)}, 1)
	r.on(t, Message{Stage: tick.Update, Channel: ordered, Entity: about(7)}, 2)
	r.on(t, Message{Stage: tick.Update, Channel: ordered, Entity: about(8), NotBefore: 500}, 3)
	r.on(t, Message{Stage: tick.Update, Channel: ordered, Entity: about(7)}, 4)
	r.on(t, Message{Stage: tick.Update, Channel: ordered}, 5)
	r.Drain(tick.Update)
	r.Begin(11*time.Second, 60)
	r.Drain(tick.Update)
	require.Zero(t, source.TakeFreed(), "ten seconds are not too long")
	r.Begin(11*time.Second+1, 61)
	r.Drain(tick.Update)
	require.NoError(t, source.Fault())
	require.Equal(t, 2*48, source.TakeFreed())
	require.Empty(t, *seen, "the one behind waits for its tick, and the last ones for it")
	r.Begin(20*time.Second, 500)
	r.Drain(tick.Update)
	r.Begin(20*time.Second, 501)
	r.Drain(tick.Update)
	require.Equal(t, []uint64{3, 5}, *seen)
	require.NoError(t, source.Fault())
	require.Equal(t, 3*48, source.TakeFreed())
	require.EqualValues(t, 3, r.Stats().Undeliverable)
}

// Messages behind one another, about entities that never come, end at once, whatever their stages are. Others that wait are looked at once
// meanwhile.
func TestMessagesBehindOneAnotherExpireAtOnce(t *testing.T) {
	const many, others = 2000, 1000
	r := newRig(t, Config{Exists: func(wire.NetworkID) Existence { return NotYet }})
	source, about := NewSource(1), wire.NetworkID{Index: 1, Generation: 1}
	r.From(source, 1, time.Second)
	for n := range many {
		r.on(t, Message{Stage: tick.Stage(n % 2), Channel: wire.NewChannel(wire.ReliableOrdered, 0), Entity: about}, uint64(n))
	}
	r.From(source, 1, 11*time.Second)
	for n := range others {
		r.on(t, Message{Channel: wire.NewChannel(wire.Reliable, 0), Entity: about}, uint64(n))
	}
	for stage := range tick.Stage(2) {
		r.Drain(stage)
	}
	before := r.checks
	r.Begin(12*time.Second, 60)
	require.EqualValues(t, many, r.Stats().Undeliverable)
	require.LessOrEqual(t, r.checks-before, many+others)
	require.Equal(t, many*48, source.TakeFreed())
}

// Deferral allocates nothing once warm.
func TestWaitingAllocatesNothing(t *testing.T) {
	r := newRig(t, Config{})
	r.onOrder = func(*Context, *order) {}
	source, now := NewSource(1), tick.Tick(1)
	frame := func() {
		now++
		r.Begin(time.Second, now)
		r.From(source, now, time.Second)
		for range 50 {
			for _, d := range []wire.Delivery{wire.UnreliableSequenced, wire.ReliableOrdered} {
				m := Message{Type: r.order.ID(), Stage: tick.Update, Channel: wire.NewChannel(d, 2), NotBefore: now + 2}
				if err := r.Push(&m, r.body(1)); err != nil {
					panic(err)
				}
			}
		}
		r.Drain(tick.Update)
	}
	for range 20 {
		frame()
	}
	alloctest.Zero(t, 20, frame)
	require.Positive(t, r.Stats().Handled)
}
