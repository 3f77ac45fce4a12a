package message

import (
	"math"
	"testing"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
)

type empty struct{}

func TestEncodeAndHandle(t *testing.T) {
	p := plan[chat](t, "chat")
	var got []chat
	handle := Handler(p, func(ctx *Context, m *chat) {
		require.Equal(t, wire.ClientID(7), ctx.Sender)
		got = append(got, *m)
		m.Local = 99 // must not be seen by the next one
	})
	var e Encoder
	q := NewQueues(Limits{})
	for i := range uint32(3) {
		payload, fault := Encode(&e, p, &chat{From: i, Heat: 0.5, Local: 12})
		require.Zero(t, fault)
		require.Len(t, payload, Size(p))
		require.NoError(t, q.Push(Context{Sender: 7, Type: wire.FirstUserMessage, Stage: tick.Update}, payload))
	}
	require.Equal(t, 3, q.Drain(tick.Update, handle))
	require.Equal(t, []chat{{From: 0, Heat: 0.5}, {From: 1, Heat: 0.5}, {From: 2, Heat: 0.5}}, got)
}

func TestHandlerWithoutQueues(t *testing.T) {
	p := plan[shot](t, "shot")
	var e Encoder
	payload, _ := Encode(&e, p, &shot{1, 2})
	var got shot
	Handler(p, func(_ *Context, m *shot) { got = *m })(&Context{}, payload)
	require.Equal(t, shot{1, 2}, got)
}

func TestMessageWithoutFields(t *testing.T) {
	p := plan[empty](t, "empty")
	var e Encoder
	payload, fault := Encode(&e, p, &empty{})
	require.Zero(t, fault)
	require.Empty(t, payload)
	calls := 0
	handle := Handler(p, func(*Context, *empty) { calls++ })
	handle(&Context{}, payload)
	handle(&Context{}, []byte{0})
	require.Equal(t, 1, calls)
}

func TestEncodeTellsFaults(t *testing.T) {
	p := plan[chat](t, "chat")
	var e Encoder
	_, fault := Encode(&e, p, &chat{Heat: 7})
	require.Equal(t, wire.OutOfRange, fault.Reason)
	require.Equal(t, "Heat", fault.Field())
	_, fault = Encode(&e, p, &chat{Heat: float32(math.NaN())})
	require.Equal(t, wire.NotFinite, fault.Reason)
}

func TestAnotherTypesPlanPanics(t *testing.T) {
	p := plan[chat](t, "chat")
	require.Panics(t, func() { Handler(p, func(*Context, *shot) {}) })
	require.Panics(t, func() { Encode(&Encoder{}, p, &shot{}) })
}

func TestEveryCutOfAPayloadIsRefused(t *testing.T) {
	p := plan[chat](t, "chat")
	var e Encoder
	payload, _ := Encode(&e, p, &chat{From: math.MaxUint32, Heat: 1})
	handle := Handler(p, func(*Context, *chat) { t.Fatal("called") })
	for n := range payload {
		handle(&Context{}, payload[:n])
	}
	handle(&Context{}, append(append([]byte{}, payload...), 0))
}

func FuzzHandler(f *testing.F) {
	p := plan[chat](f, "chat")
	var e Encoder
	payload, _ := Encode(&e, p, &chat{From: 1, Heat: 0.25})
	f.Add(append([]byte{}, payload...))
	f.Add([]byte{})
	f.Add([]byte{255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		Handler(p, func(_ *Context, m *chat) {
			require.Zero(t, m.Local)
			again, fault := Encode(&e, p, m)
			require.Zero(t, fault)
			require.Equal(t, data, again, "one legal encoding")
		})(&Context{}, data)
	})
}

// A handler that is called while it runs has a value of its own, and so has the one after a panic.
func TestNestedCalls(t *testing.T) {
	p := plan[shot](t, "shot")
	var e Encoder
	inner, _ := Encode(&e, p, &shot{3, 4})
	inner = append([]byte{}, inner...)
	outer, _ := Encode(&e, p, &shot{1, 2})
	ctx := &Context{Type: wire.FirstUserMessage, scratch: &scratch{}}
	depth := 0
	var handle func(*Context, []byte)
	handle = Handler(p, func(ctx *Context, m *shot) {
		if depth++; depth == 1 {
			handle(ctx, inner)
			require.Equal(t, shot{1, 2}, *m)
		} else {
			require.Equal(t, shot{3, 4}, *m)
		}
	})
	handle(ctx, outer)
	require.Equal(t, 2, depth)

	depth = 1
	require.Panics(t, func() { Handler(p, func(*Context, *shot) { panic("game") })(ctx, outer) })
	handle(ctx, inner)
	require.Equal(t, 2, depth)
}

func TestCodecDoesNotAllocate(t *testing.T) {
	p := plan[chat](t, "chat")
	var e Encoder
	q := NewQueues(Limits{})
	sum := uint32(0)
	handle := Handler(p, func(_ *Context, m *chat) { sum += m.From })
	turn := func() {
		payload, _ := Encode(&e, p, &chat{From: 1, Heat: 0.5})
		_ = q.Push(Context{Type: wire.FirstUserMessage}, payload)
		q.Drain(tick.Initialization, handle)
	}
	require.Zero(t, testing.AllocsPerRun(50, turn))
	require.NotZero(t, sum)
}

func BenchmarkEncodeHandle(b *testing.B) {
	p := plan[chat](b, "chat")
	var e Encoder
	handle := Handler(p, func(*Context, *chat) {})
	ctx := &Context{Type: wire.FirstUserMessage, scratch: &scratch{}}
	m := chat{From: 1, Heat: 0.5}
	b.ReportAllocs()
	for b.Loop() {
		payload, _ := Encode(&e, p, &m)
		handle(ctx, payload)
	}
}
