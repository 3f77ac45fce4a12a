package message

import (
	"slices"
	"testing"
	"time"

	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// serials collects the messages that handlers receive.
func (r *rig) serials() *[]uint64 {
	seen := &[]uint64{}
	r.onOrder = func(_ *Context, m *order) { *seen = append(*seen, m.Serial) }
	return seen
}

func TestLoopbackByStage(t *testing.T) {
	r := newRig(t, Config{Local: 4})
	seen := r.serials()
	r.Drain(tick.PreUpdate)
	require.NoError(t, r.post(Message{Stage: tick.PreUpdate}, 1))
	require.Equal(t, []uint64{1}, *seen, "same stage: at once")
	require.NoError(t, r.post(Message{Stage: tick.Update}, 2))
	require.NoError(t, r.post(Message{Stage: tick.EarlyUpdate}, 3))
	require.Equal(t, []uint64{1}, *seen)
	require.Equal(t, 1, r.Drain(tick.Update))
	require.Equal(t, []uint64{1, 2}, *seen, "later stage: in this frame")
	r.Begin(2*time.Second, 2)
	require.Equal(t, 1, r.Drain(tick.EarlyUpdate))
	require.Equal(t, []uint64{1, 2, 3}, *seen, "earlier stage: in the next frame")
	require.Equal(t, uint64(1), r.Stats().Immediate)
	require.ErrorIs(t, r.post(Message{Stage: tick.NumStages}, 4), ErrStage)
}

// end is an Endpoint.
type end struct{}

func (end) ID() wire.ClientID { return 4 }
func (end) Tick() tick.Tick   { return 9 }

// A message that must wait is queued; later ones of its ordered channel wait with it.
func TestLoopbackThatMustWait(t *testing.T) {
	r := newRig(t, Config{})
	seen := r.serials()
	ordered := wire.NewChannel(wire.ReliableOrdered, 0)
	r.Drain(tick.Update)
	require.NoError(t, r.post(Message{Stage: tick.Update, Channel: ordered, NotBefore: 3}, 1))
	r.Drain(tick.Update)
	require.NoError(t, r.post(Message{Stage: tick.Update, Channel: ordered}, 2))
	require.NoError(t, r.post(Message{Stage: tick.Update}, 3))
	r.Drain(tick.Update)
	require.Equal(t, []uint64{3}, *seen)
	r.Begin(time.Second, 3)
	r.Drain(tick.Update)
	require.Equal(t, []uint64{3, 1, 2}, *seen)
}

// Case 14 of the catalogue, re-entrant handler: each handler sends the next of a million messages to its own stage. The
// chain is bounded per frame and in depth, and reaches its end.
func TestCase14ChainOfAMillion(t *testing.T) {
	if testing.Short() {
		t.Skip("long; the race detector has nothing to find in one goroutine")
	}
	const chain = 1_000_000
	r := newRig(t, Config{})
	seen, depth, deepest := uint64(0), 0, 0
	r.onOrder = func(ctx *Context, m *order) {
		depth++
		deepest = max(deepest, depth)
		seen++
		if m.Serial < chain {
			_ = r.post(Message{Stage: ctx.Stage}, m.Serial+1)
		}
		depth--
	}
	r.From(NewSource(1), 1, 0)
	require.NoError(t, r.push(tick.Update, 1))
	frames := 0
	for ; seen < chain; frames++ {
		before := seen
		r.Begin(time.Duration(frames)*time.Millisecond, tick.Tick(frames))
		r.Drain(tick.Update)
		require.LessOrEqual(t, seen-before, uint64(MaxNested+1), "in one frame")
		require.Less(t, before, seen, "and it goes on")
	}
	require.Equal(t, MaxNested+1, deepest)
	casebook.Injected(t, seen, "messages to oneself from within a handler")
	require.Zero(t, r.Drain(tick.Update))
}

// A handler that sends ten messages per message is bounded too: by the nested calls of one Drain, and by the queue.
func TestCase14Avalanche(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{Nested: 100, PerStage: 500}})
	seen := 0
	r.onOrder = func(ctx *Context, m *order) {
		seen++
		for range 10 {
			_ = r.post(Message{Stage: ctx.Stage}, 1)
		}
	}
	r.From(NewSource(1), 1, 0)
	require.NoError(t, r.push(tick.Update, 1))
	for i := range 20 {
		before := seen
		r.Begin(time.Duration(i), tick.Tick(i))
		r.Drain(tick.Update)
		require.LessOrEqual(t, seen-before, 500+100)
		require.LessOrEqual(t, r.Waiting(tick.Update), 500)
	}
}

// A handler may call Begin, Drain and Forget: the first two do nothing.
func TestCase14HandlerThatTurnsTheLoop(t *testing.T) {
	r := newRig(t, Config{})
	source := NewSource(1)
	var seen []uint64
	r.onOrder = func(ctx *Context, m *order) {
		r.Begin(time.Hour, 99)
		require.Zero(t, r.Drain(tick.Update))
		r.Forget(source)
		require.Equal(t, tick.Update, r.Stage())
		seen = append(seen, m.Serial)
	}
	r.From(source, 1, 0)
	require.NoError(t, r.push(tick.Update, 1))
	require.NoError(t, r.push(tick.Update, 2))
	require.Equal(t, 2, r.Drain(tick.Update))
	require.Equal(t, []uint64{1, 2}, seen)
}

// A connection that ends within a handler loses its deferred messages.
func TestCase14DisconnectFromAHandler(t *testing.T) {
	r := newRig(t, Config{})
	leaver, other := NewSource(1), NewSource(2)
	var seen []uint64
	r.onOrder = func(ctx *Context, m *order) {
		if seen = append(seen, m.Serial); m.Serial == 1 {
			require.Equal(t, 3, r.Drop(leaver))
		}
	}
	r.From(leaver, 1, 0)
	require.NoError(t, r.Push(&Message{Type: r.order.ID(), Stage: tick.PreUpdate, NotBefore: 50}, r.body(9)))
	r.Drain(tick.PreUpdate)
	for _, serial := range []uint64{1, 2} {
		require.NoError(t, r.push(tick.Update, serial))
	}
	require.NoError(t, r.push(tick.PostLateUpdate, 3))
	r.From(other, 1, 0)
	require.NoError(t, r.push(tick.Update, 4))
	require.Equal(t, 2, r.Drain(tick.Update))
	require.Equal(t, []uint64{1, 4}, seen)
	require.Zero(t, r.Drain(tick.PostLateUpdate))
	require.Zero(t, r.Drop(NewSource(3)))
}

// reaction is the messages that a handler posts: at most two, each with its stage.
type reaction struct {
	stage  tick.Stage
	serial uint64
}

func reactions(serial uint64) (list []reaction) {
	for i := range serial * 7 % 3 {
		if child := serial*10 + i; child < 100_000 {
			list = append(list, reaction{tick.Stage(2 + child*31%5%3), child})
		}
	}
	return list
}

// echo is the simplest implementation of PushLocal.
type echo struct {
	stage  tick.Stage
	queues [tick.NumStages][]uint64
	nested int
	depth  int
	limit  int
	seen   []uint64
}

func (e *echo) post(r reaction) {
	if r.stage != e.stage || e.depth > MaxNested || e.depth > 0 && e.nested >= e.limit {
		e.queues[r.stage] = append(e.queues[r.stage], r.serial)
		return
	}
	if e.nested++; e.depth == 0 {
		e.nested = 0
	}
	e.handle(r.serial)
}

func (e *echo) handle(serial uint64) {
	e.depth++
	e.seen = append(e.seen, serial)
	for _, r := range reactions(serial) {
		e.post(r)
	}
	e.depth--
}

func (e *echo) drain(stage tick.Stage) {
	e.stage, e.nested = stage, 0
	due := e.queues[stage]
	e.queues[stage] = nil
	for _, serial := range due {
		e.handle(serial)
	}
}

func TestLoopbackAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := echo{limit: rapid.IntRange(1, 30).Draw(t, "nested")}
		r := newRig(outerTB{}, Config{Limits: Limits{Nested: e.limit, PerStage: 1 << 20}})
		var seen []uint64
		r.onOrder = func(_ *Context, m *order) {
			seen = append(seen, m.Serial)
			for _, next := range reactions(m.Serial) {
				_ = r.post(Message{Stage: next.stage}, next.serial)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"post": func(t *rapid.T) {
				next := reaction{tick.Stage(rapid.IntRange(2, 4).Draw(t, "stage")), rapid.Uint64Range(1, 99).Draw(t, "serial")}
				e.post(next)
				require.NoError(t, r.post(Message{Stage: next.stage}, next.serial))
			},
			"drain": func(t *rapid.T) {
				stage := tick.Stage(rapid.IntRange(2, 4).Draw(t, "stage"))
				e.drain(stage)
				r.Drain(stage)
			},
			"begin": func(*rapid.T) {
				e.stage, e.nested = tick.Initialization, 0
				r.Begin(0, 0)
			},
			"": func(t *rapid.T) {
				require.True(t, slices.Equal(e.seen, seen), "%v and %v", e.seen, seen)
				e.seen, seen = e.seen[:0], seen[:0]
				for stage, queue := range e.queues {
					require.Equal(t, len(queue), r.Waiting(tick.Stage(stage)))
				}
			},
		})
	})
}

// outerTB lets a property create a rig.
type outerTB struct{ testing.TB }

func (outerTB) Helper()               {}
func (outerTB) Errorf(string, ...any) {}
func (outerTB) FailNow()              { panic("a rig cannot be made") }
