package message

import (
	"fmt"
	"testing"
	"time"

	"github.com/arche-netcode/netcode/internal/alloctest"
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
	require.Equal(t, 3, r.Redeliver(0))
	require.Equal(t, []wire.ClientID{3, 3, 9, 3, 3, 9}, senders)

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

// Case 32 of the catalogue, some that flood and 63 honest: at twenty times their rate into every stage, nothing of the honest
// is lost, in frames whose stages all run and in frames of which one never does.
func TestCase32Flooders(t *testing.T) {
	for _, flooders := range []int{1, 9, 40} {
		for name, runs := range map[string]func(stage tick.Stage) bool{
			"every stage runs":          func(tick.Stage) bool { return true },
			"fixed update does not run": func(stage tick.Stage) bool { return stage != tick.FixedUpdate },
		} {
			t.Run(fmt.Sprint(flooders, " ", name), func(t *testing.T) { case32(t, flooders, runs) })
		}
	}
}

func case32(t *testing.T, flooders int, runs func(stage tick.Stage) bool) {
	const honest, each, frames = 63, 16, 20
	r := newRig(t, Config{Limits: Limits{PerStage: 8192}})
	got := map[wire.ClientID]int{}
	r.onOrder = func(ctx *Context, _ *order) { got[ctx.Sender]++ }
	sources := make([]*Source, honest+flooders)
	for i := range sources {
		sources[i] = NewSource(wire.ClientID(i + 1))
	}
	for frame := range frames {
		r.Begin(time.Duration(frame)*time.Millisecond, tick.Tick(frame))
		for stage := range tick.Stage(tick.NumStages) {
			for i, s := range sources {
				n := each
				switch {
				case i >= honest:
					n = each * 20
				case stage == tick.FixedUpdate:
					n = i % 2 // a little into the stage that may not run
				}
				r.From(s, 1, 0)
				for range n {
					err := r.push(stage, 1)
					require.True(t, err == nil || i >= honest && err == ErrQuota)
				}
			}
		}
		for stage := range tick.Stage(tick.NumStages) {
			if runs(stage) {
				r.Drain(stage)
			}
		}
	}
	r.Drain(tick.FixedUpdate)
	for i, s := range sources {
		require.NoError(t, s.Fault())
		if i < honest {
			require.Equal(t, frames*(each*6+i%2), got[s.ID()], "honest loss")
			require.Zero(t, s.Refused())
		} else {
			require.Positive(t, s.Refused(), "the end can see who floods")
			require.LessOrEqual(t, got[s.ID()], frames*1024)
		}
	}
	require.Zero(t, r.Stats().Full)
	require.Equal(t, flooders > 9, r.Stats().PerStage > 0, "what is dropped is the flooders' own")
}

// Case 32 with as much as their credit takes, reliable, in one frame: the stage is full, and who made it so is closed, one
// after the other, as many as it takes. Nobody honest is, and nothing of theirs is lost.
func TestCase32ReliableFlooders(t *testing.T) {
	const honest, each = 24, 40
	reliable := wire.NewChannel(wire.Reliable, 0)
	for _, flooders := range []int{1, 9, 40} {
		r := newRig(t, Config{})
		got := map[wire.ClientID]int{}
		r.onOrder = func(ctx *Context, _ *order) { got[ctx.Sender]++ }
		sources := make([]*Source, honest+flooders)
		for i := range sources {
			sources[i] = NewSource(wire.ClientID(i + 1))
		}
		pushed := 0
		for i := len(sources) - 1; i >= 0; i-- {
			s := sources[i]
			r.From(s, 1, 0)
			for n := range 3700 {
				m := Message{Type: r.order.ID(), Stage: tick.Update, Channel: reliable, Cost: 35}
				if i < honest && n%2 == 0 {
					m.Channel, m.Cost = 0, 0
				}
				if i < honest && n == each {
					break
				}
				if err := r.Push(&m, r.body(1)); i < honest {
					require.NoError(t, err)
				}
				pushed++
			}
		}
		r.Drain(tick.Update)
		closed, handled := 0, 0
		for i, s := range sources {
			handled += got[s.ID()]
			switch {
			case i < honest:
				require.NoError(t, s.Fault())
				require.Equal(t, each, got[s.ID()], "honest loss")
			case s.Fault() != nil:
				require.ErrorIs(t, s.Fault(), ErrFull)
				closed++
			default:
				require.Equal(t, 3700, got[s.ID()], "what was taken of those that stay is handled")
			}
		}
		require.Zero(t, r.Stats().PerStage)
		require.Equal(t, flooders > 8, closed > 0)
		require.LessOrEqual(t, closed, max(flooders-8, 0)+1)
		require.Equal(t, uint64(pushed-handled), r.Stats().Evicted+r.Stats().Full)
	}
}

// Case 33 of the catalogue, reliable into a full queue: it is never dropped in silence. Unreliable messages make room, then
// the source has a fault, by which its connection ends.
func TestCase33ReliableIntoAFullQueue(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{PerStage: 4}})
	seen := r.serials()
	source := NewSource(1)
	reliable := Message{Type: r.order.ID(), Stage: tick.Update, Channel: wire.NewChannel(wire.Reliable, 0), Cost: 48}
	r.From(source, 1, 0)
	for serial := range uint64(4) {
		require.NoError(t, r.push(tick.Update, serial))
	}
	for serial := range uint64(4) {
		require.NoError(t, r.Push(&reliable, r.body(10+serial)))
	}
	require.Equal(t, uint64(4), r.Stats().PerStage)
	require.ErrorIs(t, r.push(tick.Update, 20), ErrFull, "an unreliable one is dropped, and that is all")
	require.NoError(t, source.Fault())
	require.ErrorIs(t, r.Push(&reliable, r.body(21)), ErrFull)
	require.ErrorIs(t, source.Fault(), ErrFull)
	require.Equal(t, uint64(2), r.Stats().Full)
	r.Drain(tick.Update)
	require.Equal(t, []uint64{10, 11, 12, 13}, *seen, "everything that was taken is handled")
	require.Equal(t, 4*48, source.TakeFreed())
	require.Zero(t, source.TakeFreed())
}

// The same where the queue is full of others' reliable messages: who has the most in it makes room, and not who comes last.
func TestCase33FullOfOthersReliableMessages(t *testing.T) {
	for _, delivery := range []wire.Delivery{wire.Unreliable, wire.Reliable} {
		r := newRig(t, Config{Limits: Limits{PerStage: 12}})
		seen := r.serials()
		sources := []*Source{NewSource(1), NewSource(2), NewSource(3), NewSource(4)}
		push := func(s *Source, d wire.Delivery, serial uint64) error {
			m := Message{Type: r.order.ID(), Stage: tick.Update, Channel: wire.NewChannel(d, 0), Cost: 48}
			if !d.Reliable() {
				m.Cost = 0
			}
			r.From(s, 1, 0)
			return r.Push(&m, r.body(serial))
		}
		for n := range uint64(12) {
			from := []int{0, 1, 1, 2, 2, 2}[n%6] // two, four and six
			require.NoError(t, push(sources[from], wire.Reliable, uint64(from)))
		}
		late := sources[3]
		require.NoError(t, push(late, delivery, 3))
		require.NoError(t, push(late, delivery, 3))
		require.ErrorIs(t, sources[2].Fault(), ErrFull)
		require.EqualValues(t, 6, r.Stats().Evicted, "what it had there went with it")
		for n := range uint64(4) {
			require.NoError(t, push(sources[0], wire.Reliable, 10+n), "there is room for all again")
		}
		if delivery == wire.Unreliable {
			require.ErrorIs(t, push(sources[0], wire.Unreliable, 20), ErrFull, "of who is above his share it is worth no connection")
			require.EqualValues(t, 1, r.Stats().Full)
		}
		require.ErrorIs(t, push(sources[2], wire.Unreliable, 99), ErrFull, "nobody makes room for whose connection is about to end")
		for _, s := range []*Source{sources[0], sources[1], late} {
			require.NoError(t, s.Fault())
		}
		r.Drain(tick.Update)
		counts := map[uint64]int{}
		for _, serial := range *seen {
			counts[serial]++
		}
		require.Equal(t, [4]int{2, 4, 0, 2}, [4]int{counts[0], counts[1], counts[2], counts[3]})
	}
}

// Unreliable messages make room first, those of the source that has the most; what others have is their own.
func TestAFullStageIsSharedEqually(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{PerStage: 90}})
	got := map[wire.ClientID]int{}
	r.onOrder = func(ctx *Context, _ *order) { got[ctx.Sender]++ }
	sources := []*Source{NewSource(1), NewSource(2), NewSource(3)}
	for i, n := range []int{60, 30, 25, 40} {
		r.From(sources[i%3], 1, 0)
		for range n {
			require.NoError(t, r.push(tick.Update, 1))
		}
	}
	r.Drain(tick.Update)
	require.Equal(t, map[wire.ClientID]int{1: 35, 2: 30, 3: 25}, got)
	require.EqualValues(t, 65, r.Stats().PerStage)
}

// Of the bytes of a frame everyone has his own share too.
func TestBytesOfAFrameAreShared(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{Bytes: 1600, Sources: 5}})
	reliable := Message{Type: r.order.ID(), Stage: tick.Update, Channel: wire.NewChannel(wire.Reliable, 0), Cost: 48}
	greedy := NewSource(1)
	r.From(greedy, 1, 0)
	taken := 0
	for r.Push(&reliable, r.body(1)) == nil {
		taken++
	}
	require.Equal(t, (160+800)/16, taken)
	require.ErrorIs(t, greedy.Fault(), ErrFull)
	for id := range wire.ClientID(4) {
		s := NewSource(2 + id)
		r.From(s, 1, 0)
		for range 160 / 16 {
			require.NoError(t, r.Push(&reliable, r.body(1)))
		}
		require.NoError(t, s.Fault())
	}
	require.Equal(t, taken+40, r.Drain(tick.Update))
	r.From(NewSource(9), 1, 0)
	require.NoError(t, r.Push(&reliable, r.body(1)), "what was handled is free again")
}

// What is counted of a full queue follows what is handled and dropped, at no cost but that of the messages, and allocates nothing.
func TestFullStageAllocatesNothing(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{PerStage: 200}})
	sources := []*Source{NewSource(1), NewSource(2), NewSource(3)}
	now := tick.Tick(1)
	frame := func() {
		now++
		r.Begin(time.Duration(now), now)
		for n := range 900 {
			r.From(sources[n%3], now, 0)
			if err := r.push(tick.Update, 1); err != nil {
				panic(err)
			}
			if n%300 == 299 {
				r.Drain(tick.Update)
			}
		}
	}
	for range 5 {
		frame()
	}
	alloctest.Zero(t, 10, frame)
	require.Positive(t, r.Stats().PerStage)
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
