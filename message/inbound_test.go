package message

import (
	"math"
	"testing"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
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

// Payloads that lie in what Keep returned are not copied again; others are, wherever they lie.
func TestKeep(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{Bytes: 64}})
	seen := r.serials()
	packet := append(append([]byte("head"), r.body(1)...), r.body(2)...)
	r.From(NewSource(1), 1, 0)
	kept := r.Keep(packet)
	require.Equal(t, packet, kept)
	clear(packet)
	require.NoError(t, r.PushPlain(r.order.ID(), tick.Update, kept[4:20]))
	require.NoError(t, r.PushPlain(r.order.ID(), tick.Update, kept[20:36:36]), "one whose capacity hides where it lies")
	require.Len(t, r.cur.bytes, 36+16)
	require.Same(t, &packet[0], &r.Keep(packet)[0], "no room: what was given")
	require.ErrorIs(t, r.push(tick.Update, 3), ErrFull)
	require.NoError(t, r.PushPlain(r.order.ID(), tick.Update, kept[4:20]))
	require.Equal(t, 3, r.Drain(tick.Update))
	require.Equal(t, []uint64{1, 2, 1}, *seen)
	require.NoError(t, r.push(tick.Update, 4), "everything was handled, so the room is there again")
	require.Empty(t, r.Keep(nil))
}

// What a source has kept is bounded by its quota, too: packets full of nothing do not use up the frame.
func TestKeepIsBoundedBySource(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{SenderBytes: 2000, Bytes: 6400, Sources: 2}})
	flooder, honest := NewSource(1), NewSource(2)
	packet := make([]byte, 1200)
	for range 1000 {
		r.From(flooder, 1, 0)
		kept := r.Keep(packet)
		_ = r.PushPlain(r.order.ID(), tick.Update, kept[:16])
	}
	require.LessOrEqual(t, len(r.cur.bytes), 4000)
	r.From(honest, 1, 0)
	require.NoError(t, r.push(tick.Update, 1))
	r.Begin(2*time.Second, 2)
	r.From(flooder, 2, 0)
	require.NotSame(t, &packet[0], &r.Keep(packet)[0], "in the next frame its packets are kept again")
}

// The two ways of Push, with Keep and without, come to the same at every bound.
func TestPushPlainAtItsBounds(t *testing.T) {
	for name, limits := range map[string]Limits{
		"messages": {PerSender: 3}, "bytes": {SenderBytes: 48}, "stage": {PerStage: 3},
	} {
		t.Run(name, func(t *testing.T) {
			var counts [2][]uint64
			for way := range counts {
				r := newRig(t, Config{Limits: limits})
				seen := r.serials()
				r.From(NewSource(1), 1, 0)
				for serial := range uint64(6) {
					body := r.body(serial)
					if way == 1 {
						body = r.Keep(body)
					}
					_ = r.PushPlain(r.order.ID(), tick.Update, body)
				}
				r.Drain(tick.Update)
				counts[way] = *seen
			}
			require.Len(t, counts[0], 3)
			require.Equal(t, counts[0], counts[1])
		})
	}
}

func TestLocalMessagesHaveNoQuota(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{PerSender: 1}})
	for i := range uint64(5) {
		require.NoError(t, r.post(Message{Stage: tick.Update}, i))
	}
	r.From(r.Local(), 1, 0)
	for i := range uint64(5) {
		require.NoError(t, r.push(tick.Update, i))
	}
	require.Equal(t, 10, r.Drain(tick.Update))
}

// Messages that are pushed while their stage is drained wait for the next Drain, whatever that does to the queue's memory.
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
	require.Equal(t, Limits{32768, 32 << 20, 64, 1024, 256 << 10, 64, 16 << 10, 2 * time.Second, 4096}, Limits{PerStage: -1}.WithDefaults())
	chosen := Limits{1, 2, 3, 4, 5, 6, 7, 8, 9}
	require.Equal(t, chosen, chosen.WithDefaults())
}

// A message that fits nothing is refused and leaves no trace.
func TestTooLargeForAnItem(t *testing.T) {
	r := newRig(t, Config{})
	source := NewSource(1)
	r.From(source, 1, 0)
	require.ErrorIs(t, r.PushPlain(r.order.ID(), tick.Update, make([]byte, math.MaxUint16+1)), ErrFull)
	require.ErrorIs(t, r.PushPlain(r.order.ID(), tick.Update, r.Keep(make([]byte, math.MaxUint16+1))), ErrFull)
	require.Zero(t, r.Waiting(tick.Update))
}
