package message

import (
	"testing"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
)

// Case 15 of the catalogue, a handler that panics in the middle of a batch: its sender is named, once for each message, and
// every other message of the stage is handled.
func TestCase15HandlerPanicsMidBatch(t *testing.T) {
	type report struct {
		sender wire.ClientID
		value  any
	}
	var reports []report
	r := newRig(t, Config{Panicked: func(ctx *Context, value any) { reports = append(reports, report{ctx.Sender, value}) }})
	var seen []uint64
	r.onOrder = func(ctx *Context, m *order) {
		if seen = append(seen, m.Serial); ctx.Sender == 2 {
			panic(m.Serial)
		}
	}
	sources := []*Source{NewSource(1), NewSource(2), NewSource(3)}
	for serial := range uint64(9) {
		r.From(sources[serial%3], 1, 0)
		m := Message{Type: r.order.ID(), Stage: tick.Update}
		if serial > 5 {
			m.Channel, m.Cost = wire.NewChannel(wire.ReliableOrdered, 0), 48
		}
		require.NoError(t, r.Push(&m, r.body(serial)))
	}
	require.Equal(t, 9, r.Drain(tick.Update))
	require.Equal(t, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8}, seen)
	require.Equal(t, []report{{2, uint64(1)}, {2, uint64(4)}, {2, uint64(7)}}, reports)
	require.Equal(t, uint64(3), r.Stats().Panics)
	require.Equal(t, 48, sources[1].TakeFreed(), "a message whose handler panicked is done with")
	require.Zero(t, r.Waiting(tick.Update))

	r.From(sources[0], 1, 0)
	require.NoError(t, r.push(tick.Update, 10))
	require.Equal(t, 1, r.Drain(tick.Update), "the queues are as usable as ever")
}

// The same for what was deferred, for loopback, and for a frame that is delivered again.
func TestCase15PanicsElsewhere(t *testing.T) {
	var senders []wire.ClientID
	r := newRig(t, Config{Local: 9, History: 1, Panicked: func(ctx *Context, _ any) { senders = append(senders, ctx.Sender) }})
	r.onOrder = func(*Context, *order) { panic("game") }
	r.From(NewSource(3), 1, time.Second)
	for range 2 {
		require.NoError(t, r.Push(&Message{Type: r.order.ID(), Stage: tick.Update, NotBefore: 2}, r.body(1)))
	}
	r.Drain(tick.Update)
	r.Begin(time.Second, 2)
	require.Equal(t, 2, r.Drain(tick.Update))
	require.Equal(t, []wire.ClientID{3, 3}, senders)
	require.NoError(t, r.post(Message{Stage: tick.Update}, 1))
	require.Equal(t, []wire.ClientID{3, 3, 9}, senders)
	require.Equal(t, 2, r.Redeliver(0))
	require.Equal(t, []wire.ClientID{3, 3, 9, 3, 3}, senders)

	senders, r.onOrder = nil, func(ctx *Context, m *order) {
		if m.Serial == 1 {
			_ = r.post(Message{Stage: tick.Update}, 2)
			require.Equal(t, uint64(1), m.Serial, "the outer value is its own")
			return
		}
		panic("inner")
	}
	r.From(NewSource(3), 1, time.Second)
	require.NoError(t, r.push(tick.Update, 1))
	r.Drain(tick.Update)
	require.Equal(t, []wire.ClientID{9}, senders, "the panic of a nested handler is not blamed on the outer one's sender")

	silent := newRig(t, Config{})
	silent.onOrder = r.onOrder
	silent.From(NewSource(1), 1, 0)
	require.NoError(t, silent.push(tick.Update, 2))
	require.Equal(t, 1, silent.Drain(tick.Update), "nobody needs to be told")
}

// Case 32 of the catalogue, one flooder and 63 honest: at twenty times their rate into every stage, nothing of the honest
// is lost, in a frame whose stages all run and in frames of which one never does.
func TestCase32OneFlooder(t *testing.T) {
	const honest, each = 63, 16
	for name, runs := range map[string]func(stage tick.Stage) bool{
		"every stage runs":          func(tick.Stage) bool { return true },
		"fixed update does not run": func(stage tick.Stage) bool { return stage != tick.FixedUpdate },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{})
			got := map[wire.ClientID]int{}
			r.onOrder = func(ctx *Context, _ *order) { got[ctx.Sender]++ }
			sources := make([]*Source, honest+1)
			for i := range sources {
				sources[i] = NewSource(wire.ClientID(i + 1))
			}
			flooder := sources[honest]
			frames := 40
			for frame := range frames {
				r.Begin(time.Duration(frame)*time.Millisecond, tick.Tick(frame))
				for stage := range tick.Stage(tick.NumStages) {
					for i, s := range sources {
						n := each
						if s == flooder {
							n = each * 20
						}
						if stage == tick.FixedUpdate && s != flooder {
							n = i % 2 // a little into the stage that may not run
						}
						r.From(s, 1, 0)
						for range n {
							err := r.push(stage, 1)
							require.True(t, err == nil || s == flooder && err == ErrQuota)
						}
					}
				}
				require.Positive(t, flooder.Refused(), "the end can see who floods")
				for stage := range tick.Stage(tick.NumStages) {
					if runs(stage) {
						r.Drain(stage)
					}
				}
			}
			r.Drain(tick.FixedUpdate)
			for i, s := range sources[:honest] {
				require.Equal(t, frames*(each*6+i%2), got[s.ID()], "honest loss")
				require.Zero(t, s.Refused())
			}
			require.Zero(t, r.Stats().PerStage)
			require.Zero(t, r.Stats().Full)
			require.LessOrEqual(t, got[flooder.ID()], frames*1024)
		})
	}
}

// Case 33 of the catalogue, reliable into a full queue: it is never dropped in silence. Unreliable messages make room, then
// the source has a fault, by which its connection ends.
func TestCase33ReliableIntoAFullQueue(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{PerStage: 4}})
	seen := r.serials()
	source, late := NewSource(1), NewSource(2)
	reliable := Message{Type: r.order.ID(), Stage: tick.Update, Channel: wire.NewChannel(wire.Reliable, 0), Cost: 48}
	r.From(source, 1, 0)
	for serial := range uint64(4) {
		require.NoError(t, r.push(tick.Update, serial))
	}
	for serial := range uint64(4) {
		require.NoError(t, r.Push(&reliable, r.body(10+serial)))
	}
	require.Equal(t, uint64(4), r.Stats().PerStage)
	require.NoError(t, source.Fault())
	r.From(late, 1, 0)
	require.ErrorIs(t, r.push(tick.Update, 20), ErrFull, "an unreliable one is dropped, and that is all")
	require.NoError(t, late.Fault())
	require.ErrorIs(t, r.Push(&reliable, r.body(21)), ErrFull)
	require.ErrorIs(t, late.Fault(), ErrFull)
	require.NoError(t, source.Fault())
	require.Equal(t, uint64(2), r.Stats().Full)
	r.Drain(tick.Update)
	require.Equal(t, []uint64{10, 11, 12, 13}, *seen, "everything that was taken is handled")
	require.Equal(t, 4*48, source.TakeFreed())
	require.Zero(t, source.TakeFreed())
}

// The same where the frame's memory is used up. What is deferred needs no such end: credit bounds it.
func TestCase33ReliableWithoutRoom(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{Bytes: 40, Deferred: 1}})
	reliable := Message{Type: r.order.ID(), Stage: tick.Update, Channel: wire.NewChannel(wire.Reliable, 0), Cost: 48, NotBefore: 100}
	full, many := NewSource(1), NewSource(2)
	r.From(full, 1, time.Second)
	require.NoError(t, r.push(tick.Update, 1))
	require.NoError(t, r.push(tick.Update, 1))
	require.ErrorIs(t, r.Push(&reliable, r.body(1)), ErrFull)
	require.ErrorIs(t, full.Fault(), ErrFull)
	require.Equal(t, uint64(1), r.Stats().Bytes)
	r.Drain(tick.Update)

	r.From(many, 1, time.Second)
	for range 4 {
		require.NoError(t, r.Push(&reliable, r.body(1)))
		r.Drain(tick.Update)
	}
	r.Begin(time.Hour, 2)
	require.NoError(t, many.Fault(), "neither how many nor how long ends a connection")
	require.Zero(t, many.TakeFreed())
	n, _ := many.Deferred()
	require.Equal(t, 4, n)
	r.Begin(time.Hour, 100)
	r.Drain(tick.Update)
	require.Equal(t, 4*48, many.TakeFreed())
}
