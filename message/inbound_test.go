package message

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func TestNewInboundNeedsAFrozenRegistry(t *testing.T) {
	require.Panics(t, func() { NewInbound(Config{}) })
	require.Panics(t, func() { NewInbound(Config{Registry: &Registry{}}) })
}

func TestStageOfTheEnd(t *testing.T) {
	var registry Registry
	registry.Freeze()
	in := NewInbound(Config{Registry: &registry})
	require.Equal(t, tick.Update, in.Stage(), "before the first frame")
	in.Begin(0, 1)
	require.Equal(t, tick.Initialization, in.Stage())
	in.Drain(tick.PreUpdate)
	require.Equal(t, tick.PreUpdate, in.Stage())
	require.Zero(t, in.Drain(tick.NumStages))
	require.Equal(t, tick.PreUpdate, in.Stage())
	require.Zero(t, in.Waiting(200))
}

func TestNoSuchStage(t *testing.T) {
	r := newRig(t, Config{})
	source := NewSource(1)
	r.From(source, 1, 0)
	require.ErrorIs(t, r.push(tick.NumStages, 1), ErrStage)
	require.ErrorIs(t, r.Push(&Message{Stage: 200, Channel: wire.NewChannel(wire.Reliable, 0)}, nil), ErrStage)
	require.ErrorIs(t, source.Fault(), ErrStage)
	require.Equal(t, uint64(2), r.Stats().BadStage)
}

func TestContextOfMessages(t *testing.T) {
	r := newRig(t, Config{Local: 8, End: end{}})
	r.SetLocal(9)
	require.Equal(t, wire.ClientID(9), r.Local().ID())
	var seen []Context
	r.onOrder = func(ctx *Context, _ *order) {
		c := *ctx
		c.scratch = nil
		seen = append(seen, c)
	}
	full := Context{End: end{}, Local: 9, Sender: 2, Tick: 30, Received: 4, NotBefore: 1, Entity: wire.NetworkID{Index: 1, Generation: 2},
		Type: r.order.ID(), Stage: tick.Update, Channel: wire.NewChannel(wire.UnreliableSequenced, 3)}
	plain := Context{End: end{}, Local: 9, Sender: 2, Tick: 30, Received: 4, Type: r.order.ID(), Stage: tick.Update}
	other := plain
	other.Sender, other.Tick = 3, 31
	push := func(c Context) {
		require.NoError(t, r.Push(&Message{Type: c.Type, Stage: c.Stage, Channel: c.Channel, NotBefore: c.NotBefore, Entity: c.Entity}, r.body(1)))
	}
	r.From(NewSource(2), 30, 4)
	push(plain)
	push(full)
	push(plain)
	r.From(NewSource(3), 31, 4)
	push(other)
	r.Drain(tick.Update)
	require.Equal(t, []Context{plain, full, plain, other}, seen, "nothing of one message is seen by the next")
	require.False(t, seen[0].Loopback())
}

// Push takes no more than each limit allows. Of a full stage it drops the oldest.
func TestPushAtItsBounds(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		want   []uint64
	}{
		"messages": {Limits{PerSender: 3}, []uint64{0, 1, 2}},
		"bytes":    {Limits{SenderBytes: 48}, []uint64{0, 1, 2}},
		"stage":    {Limits{PerStage: 3}, []uint64{3, 4, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{Limits: c.limits})
			seen := r.serials()
			r.From(NewSource(1), 1, 0)
			for serial := range uint64(6) {
				_ = r.push(tick.Update, serial)
			}
			r.Drain(tick.Update)
			require.Equal(t, c.want, *seen)
		})
	}
}

func TestLocalMessagesHaveNoQuota(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{PerSender: 1}})
	for i := range uint64(5) {
		require.NoError(t, r.post(Message{Stage: tick.Update}, i))
	}
	require.Equal(t, 5, r.Drain(tick.Update))
}

// Messages pushed during the Drain of their stage wait for the next Drain, even if the queue's memory moves.
func TestPushWhileDraining(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{PerStage: 64}})
	source := NewSource(1)
	count := 0
	r.onOrder = func(ctx *Context, m *order) {
		count++
		want := m.Serial
		r.From(source, 1, 0)
		for i := range uint64(40) {
			require.NoError(t, r.push(tick.Update, 1000+i))
		}
		require.Equal(t, want, m.Serial)
	}
	r.From(source, 1, 0)
	for serial := range uint64(3) {
		require.NoError(t, r.push(tick.Update, serial))
	}
	require.Equal(t, 2, r.Drain(tick.Update), "the third made room")
	require.Equal(t, 64, r.Waiting(tick.Update))
	require.Equal(t, 2, count)
}

func TestDeferredUntilTheEntityIsThere(t *testing.T) {
	existence := NotYet
	r := newRig(t, Config{Exists: func(wire.NetworkID) Existence { return existence }})
	seen := r.serials()
	about := Message{Type: r.order.ID(), Stage: tick.Update, Entity: wire.NetworkID{Index: 1, Generation: 1},
		Channel: wire.NewChannel(wire.ReliableOrdered, 0), Cost: 50}
	source := NewSource(1)
	r.From(source, 1, time.Second)
	require.NoError(t, r.Push(&about, r.body(1)))
	plain := about
	plain.Entity = wire.NetworkID{}
	require.NoError(t, r.Push(&plain, r.body(2)), "of the same channel: order is promised")
	plain.Channel = wire.NewChannel(wire.ReliableOrdered, 1)
	require.NoError(t, r.Push(&plain, r.body(3)), "of another")
	require.Equal(t, 1, r.Drain(tick.Update))
	require.Equal(t, []uint64{3}, *seen)
	require.Equal(t, 50, source.TakeFreed())
	existence = Exists
	require.Zero(t, r.Drain(tick.PreUpdate))
	require.Equal(t, 2, r.Drain(tick.Update), "in the same frame, if its stage comes again")
	require.Equal(t, []uint64{3, 1, 2}, *seen)

	existence = NotYet
	require.NoError(t, r.Push(&about, r.body(4)))
	r.Drain(tick.Update)
	existence = Never
	require.Zero(t, r.Drain(tick.Update))
	require.NoError(t, r.Push(&about, r.body(5)))
	require.Zero(t, r.Drain(tick.Update))
	require.NoError(t, source.Fault(), "an entity that is gone is nobody's fault")
	require.Equal(t, uint64(2), r.Stats().Undeliverable)
	require.Equal(t, 4*50, source.TakeFreed())
}

func TestForget(t *testing.T) {
	r := newRig(t, Config{})
	source := NewSource(1)
	r.From(source, 1, time.Second)
	for range 3 {
		require.NoError(t, r.Push(&Message{Type: r.order.ID(), Stage: tick.Update, NotBefore: 50}, r.body(1)))
	}
	r.Drain(tick.Update)
	n, bytes := source.Deferred()
	require.Equal(t, [2]int{3, 48}, [2]int{n, bytes})
	r.Forget(source)
	n, bytes = source.Deferred()
	require.Zero(t, n+bytes)
	r.Begin(time.Hour, 60)
	require.Zero(t, r.Drain(tick.Update))
	require.Empty(t, r.waiting)
}

func TestDueCountsWaitingMessages(t *testing.T) {
	r := newRig(t, Config{})
	r.From(NewSource(1), 1, time.Second)
	require.NoError(t, r.Push(&Message{Type: r.order.ID(), Stage: tick.Update, NotBefore: 50}, r.body(1)))
	require.Zero(t, r.Drain(tick.Update))
	r.Begin(time.Second, 20)
	r.Due(49)
	require.Zero(t, r.Drain(tick.Update))
	r.Due(50)
	r.Begin(time.Second, 21)
	r.Drain(tick.Update)
	require.EqualValues(t, 0, r.Stats().Handled, "until Begin")
	r.Due(50)
	r.Drain(tick.Update)
	require.EqualValues(t, 1, r.Stats().Handled)
}

func TestLimitsHaveDefaults(t *testing.T) {
	require.Equal(t, Limits{32768, 32 << 20, 64, 1024, 256 << 10, 64, 16 << 10, 2 * time.Second, 10 * time.Second, 4096}, Limits{PerStage: -1}.WithDefaults())
	chosen := Limits{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	require.Equal(t, chosen, chosen.WithDefaults())
}

// A message that is too large is refused without a trace.
func TestTooLargeForAnItem(t *testing.T) {
	r := newRig(t, Config{})
	source := NewSource(1)
	r.From(source, 1, 0)
	require.ErrorIs(t, r.Push(&Message{Type: r.order.ID(), Stage: tick.Update}, make([]byte, math.MaxUint16+1)), ErrFull)
	require.Zero(t, r.Waiting(tick.Update))
}

// CountUnhandled counts the reliable messages of the given sources, queued, deferred or carried over. It does not count
// those of other sources.
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
