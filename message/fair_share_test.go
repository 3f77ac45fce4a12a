package message

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// What is counted of a source are its reliable messages, in the queues and put aside, also when they are carried over; those of
// others are not.
func TestCountUnhandled(t *testing.T) {
	r := newRig(t, Config{})
	one, two, idle := NewSource(1), NewSource(2), NewSource(3)
	reliable := wire.NewChannel(wire.Reliable, 0)
	push := func(s *Source, ch wire.Channel, stage tick.Stage, before tick.Tick) {
		r.From(s, 1, time.Second)
		m := Message{Type: r.order.ID(), Stage: stage, Channel: ch, NotBefore: before}
		if ch.Delivery().Reliable() {
			m.Cost = 48
		}
		require.NoError(t, r.Push(&m, r.body(1)))
	}
	require.False(t, r.MayHold(one))
	push(one, reliable, tick.Update, 0)
	push(one, reliable, tick.FixedUpdate, 0)
	push(one, reliable, tick.Update, 9)
	push(one, 0, tick.Update, 9)
	push(two, reliable, tick.Update, 9)
	push(two, 0, tick.FixedUpdate, 0)
	count := func() [3]int {
		r.CountUnhandled([]*Source{one, two, idle})
		return [3]int{one.Unhandled(), two.Unhandled(), idle.Unhandled()}
	}
	require.Equal(t, [3]int{3, 1, 0}, count())
	require.Equal(t, [3]int{3, 1, 0}, count(), "each time anew")
	r.Drain(tick.Update)
	require.Equal(t, [3]int{2, 1, 0}, count(), "one is put aside, one waits for its stage")
	r.Begin(2*time.Second, 2)
	require.True(t, r.MayHold(one))
	require.False(t, r.MayHold(idle))
	require.Equal(t, [3]int{2, 1, 0}, count())
	r.Drain(tick.FixedUpdate)
	require.Equal(t, [3]int{1, 1, 0}, count())
	r.Begin(3*time.Second, 9)
	r.Drain(tick.Update)
	require.Equal(t, [3]int{}, count())
	sources := []*Source{one, two, idle}
	alloctest.Zero(t, 100, func() { r.CountUnhandled(sources) })
}
