package message

import (
	"bytes"
	"testing"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// received is a message as a handler saw it, and as the model keeps it.
type received struct {
	ctx     Context
	payload []byte
}

func collect(into *[]received) func(*Context, []byte) {
	return func(ctx *Context, payload []byte) {
		seen := *ctx
		seen.scratch = nil
		*into = append(*into, received{seen, append([]byte{}, payload...)})
	}
}

// model does what Queues promise, in the most obvious way.
type model struct {
	limits   Limits
	stages   [tick.NumStages][]received
	messages map[wire.ClientID]int
	bytes    map[wire.ClientID]int
	stats    Stats
}

func (m *model) beginFrame() {
	m.messages, m.bytes = map[wire.ClientID]int{}, map[wire.ClientID]int{}
}

func (m *model) push(ctx Context, payload []byte) error {
	if ctx.Stage >= tick.NumStages {
		m.stats.Refused++
		return ErrStage
	}
	if len(payload) > m.limits.Bytes {
		m.stats.Refused++
		return ErrTooLarge
	}
	if ctx.Sender != ctx.Local {
		if m.messages[ctx.Sender] == m.limits.PerSender {
			m.stats.PerSender++
			return ErrQuota
		}
		if m.bytes[ctx.Sender]+len(payload) > m.limits.SenderBytes {
			m.stats.SenderBytes++
			return ErrQuota
		}
		m.messages[ctx.Sender]++
		m.bytes[ctx.Sender] += len(payload)
	}
	m.stages[ctx.Stage] = append(m.stages[ctx.Stage], received{ctx, append([]byte{}, payload...)})
	m.stats.Queued++
	// The newest is never dropped, so dropping before or after it comes is the same.
	for len(m.stages[ctx.Stage]) > m.limits.PerStage {
		m.stages[ctx.Stage] = m.stages[ctx.Stage][1:]
		m.stats.PerStage++
	}
	for m.waitingBytes(ctx.Stage) > m.limits.Bytes {
		m.stages[ctx.Stage] = m.stages[ctx.Stage][1:]
		m.stats.Bytes++
	}
	return nil
}

func (m *model) waitingBytes(stage tick.Stage) (sum int) {
	for _, r := range m.stages[stage] {
		sum += len(r.payload)
	}
	return sum
}

func TestQueuesAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{
			PerStage:    rapid.IntRange(1, 40).Draw(t, "per stage"),
			PerSender:   rapid.IntRange(1, 40).Draw(t, "per sender"),
			Bytes:       rapid.IntRange(1, 3000).Draw(t, "bytes"),
			SenderBytes: rapid.IntRange(1, 3000).Draw(t, "sender bytes"),
		}
		q := NewQueues(limits)
		m := &model{limits: limits}
		m.beginFrame()
		count := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "messages") {
					count++
					ctx := Context{
						Sender: wire.ClientID(rapid.IntRange(0, 3).Draw(t, "sender")),
						Type:   wire.MessageType(rapid.Byte().Draw(t, "type")),
						Stage:  tick.Stage(rapid.IntRange(0, int(tick.NumStages)).Draw(t, "stage")) % 9,
						Tick:   tick.Tick(count),
						Local:  0,
					}
					payload := bytes.Repeat([]byte{byte(count)}, rapid.IntRange(0, 300).Draw(t, "size"))
					require.Equal(t, m.push(ctx, payload), q.Push(ctx, payload))
				}
			},
			"drain": func(t *rapid.T) {
				stage := tick.Stage(rapid.IntRange(0, int(tick.NumStages)-1).Draw(t, "stage"))
				var got []received
				n := q.Drain(stage, collect(&got))
				require.Equal(t, len(m.stages[stage]), n)
				require.Equal(t, append([]received(nil), m.stages[stage]...), got)
				m.stats.Handled += uint64(n)
				m.stages[stage] = nil
			},
			"begin frame": func(*rapid.T) {
				q.BeginFrame()
				m.beginFrame()
			},
			"": func(t *rapid.T) {
				require.Equal(t, m.stats, q.Stats())
				for stage := range tick.Stage(tick.NumStages) {
					require.Equal(t, len(m.stages[stage]), q.Waiting(stage))
					require.Less(t, len(q.stages[stage].bytes), 4*(limits.Bytes+firstBytes), "memory is bounded")
				}
			},
		})
	})
}

func TestDrainOfNoStage(t *testing.T) {
	q := NewQueues(Limits{})
	require.Zero(t, q.Drain(tick.NumStages, nil))
	require.Zero(t, q.Waiting(200))
	require.ErrorIs(t, q.Push(Context{Stage: 200}, nil), ErrStage)
}

func TestOneFlooderDoesNotPushOutOthers(t *testing.T) {
	q := NewQueues(Limits{})
	honest := Context{Sender: 2, Stage: tick.Update}
	require.NoError(t, q.Push(honest, []byte("first")))
	for range 100_000 {
		_ = q.Push(Context{Sender: 1, Stage: tick.Update}, make([]byte, 200))
	}
	require.NoError(t, q.Push(honest, []byte("last")))
	var got []received
	require.Equal(t, 1026, q.Drain(tick.Update, collect(&got)))
	require.Equal(t, "first", string(got[0].payload))
	require.Equal(t, "last", string(got[1025].payload))
	require.Equal(t, uint64(100_000-1024), q.Stats().PerSender)
	require.Zero(t, q.Stats().PerStage)
}

// A handler that answers itself in the same stage runs once a frame and not for ever.
func TestPushWhileDraining(t *testing.T) {
	q := NewQueues(Limits{})
	require.NoError(t, q.Push(Context{Stage: tick.Update}, []byte{0}))
	echo := func(ctx *Context, payload []byte) {
		before := bytes.Clone(payload)
		for range 100 { // enough to move the queue's memory
			require.NoError(t, q.Push(Context{Stage: tick.PreUpdate}, make([]byte, 100)))
			require.NoError(t, q.Push(*ctx, []byte{payload[0] + 1}))
		}
		require.Equal(t, before, payload, "the payload outlives what its handler pushes")
		require.Zero(t, q.Drain(tick.PreUpdate, nil), "a handler cannot drain")
	}
	require.Equal(t, 1, q.Drain(tick.Update, echo))
	require.Equal(t, 100, q.Waiting(tick.Update))
	require.Equal(t, 100, q.Waiting(tick.PreUpdate))
}

// What a handler pushes may make the queue drop messages that this Drain has not come to.
func TestPushWhileDrainingAFullQueue(t *testing.T) {
	q := NewQueues(Limits{PerStage: 4})
	for i := range 4 {
		require.NoError(t, q.Push(Context{}, []byte{byte(i)}))
	}
	var seen []byte
	q.Drain(tick.Initialization, func(ctx *Context, payload []byte) {
		seen = append(seen, payload[0])
		for i := range 3 {
			require.NoError(t, q.Push(Context{}, []byte{byte(10*len(seen) + i)}))
		}
	})
	require.Equal(t, []byte{0, 3}, seen, "three pushed into one place drop 1 and 2; then 3 drops what it must")
	require.Equal(t, 4, q.Waiting(tick.Initialization))
}

func TestPanicOfAHandlerLeavesTheQueueUsable(t *testing.T) {
	q := NewQueues(Limits{})
	require.NoError(t, q.Push(Context{}, []byte{1}))
	require.NoError(t, q.Push(Context{}, []byte{2}))
	require.Panics(t, func() { q.Drain(0, func(*Context, []byte) { panic("game") }) })
	var got []received
	require.Equal(t, 1, q.Drain(0, collect(&got)))
	require.Equal(t, []byte{2}, got[0].payload)
}

func TestQueuesDoNotAllocate(t *testing.T) {
	q := NewQueues(Limits{})
	payload := make([]byte, 60)
	handled := 0
	handle := func(ctx *Context, payload []byte) { handled += len(payload) }
	frame := func() {
		q.BeginFrame()
		for i := range 700 {
			ctx := Context{Sender: wire.ClientID(1 + i%64), Stage: tick.Stage(i % int(tick.NumStages)), Received: time.Second}
			if q.Push(ctx, payload[:i%60]) != nil {
				panic("push")
			}
		}
		for stage := range tick.Stage(tick.NumStages) {
			q.Drain(stage, handle)
		}
	}
	frame()
	require.Zero(t, testing.AllocsPerRun(20, frame))
	require.NotZero(t, handled)
}

func BenchmarkPushDrain(b *testing.B) {
	q := NewQueues(Limits{})
	payload := make([]byte, 60)
	handle := func(*Context, []byte) {}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_ = q.Push(Context{Sender: wire.ClientID(1 + i%64), Stage: tick.Update}, payload)
		if i%256 == 255 {
			q.Drain(tick.Update, handle)
			q.BeginFrame()
		}
	}
}
