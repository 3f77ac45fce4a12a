package message

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
