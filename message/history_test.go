package message

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A history equals lists of copies.
func TestHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		past, limit := rapid.IntRange(0, 3).Draw(t, "past"), rapid.IntRange(10, 400).Draw(t, "bytes")
		h := NewHistory(past, limit)
		model, lost, used := [][]Record{nil}, []uint64{0}, 0
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(*rapid.T) {
				h.Begin()
				model, lost, used = append(model, nil), append(lost, 0), 0
			},
			"add": func(t *rapid.T) {
				r := Record{Peer: 3, Message: Message{Type: wire.MessageType(len(model))}, Tick: 7, Payload: rapid.SliceOfN(rapid.Byte(), 1, 60).Draw(t, "payload")}
				h.Add(r)
				last := len(model) - 1
				if used+len(r.Payload) > limit {
					lost[last]++
					return
				}
				used += len(r.Payload)
				kept := r
				kept.Payload = append([]byte{}, r.Payload...)
				clear(r.Payload)
				model[last] = append(model[last], kept)
			},
			"": func(t *rapid.T) {
				require.Nil(t, h.Past(-1))
				for n := range 5 {
					f := h.Past(n)
					if n > past || n >= len(model) {
						require.Nil(t, f)
						continue
					}
					var got []Record
					f.Each(func(m *Record) bool { got = append(got, *m); return true })
					require.Equal(t, model[len(model)-1-n], got)
					require.Equal(t, lost[len(model)-1-n], f.Lost)
				}
			},
		})
	})
}

// All that is handled is kept, in the order in which the handlers start: received, deferred, at once. It allocates nothing.
func TestHistoryHasWhatIsHandled(t *testing.T) {
	r := newRig(t, Config{})
	h := NewHistory(1, 1<<20)
	r.Keep(h)
	r.onOrder = func(_ *Context, m *order) {
		if m.Serial == 1 && r.post(Message{Stage: tick.Update}, 2) != nil {
			panic("post")
		}
	}
	source, now := NewSource(3), tick.Tick(1)
	frame := func() {
		now++
		r.Begin(time.Duration(now), now)
		r.From(source, now, 0)
		m := Message{Type: r.order.ID(), Stage: tick.Update}
		late := Message{Type: r.order.ID(), Stage: tick.Update, NotBefore: now + 1}
		if r.Push(&m, r.body(1)) != nil || r.Push(&late, r.body(3)) != nil {
			panic("push")
		}
		r.Drain(tick.Update)
	}
	for range 6 {
		frame()
	}
	var seen []string
	h.Past(1).Each(func(m *Record) bool {
		seen = append(seen, fmt.Sprint(m.Peer, " ", m.Tick, " ", m.Stage, " ", m.Payload[8]))
		return len(seen) < 2
	})
	require.Equal(t, []string{"3 5 Update 3", "3 6 Update 1"}, seen)
	seen = nil
	h.Past(1).Each(func(m *Record) bool { seen = append(seen, fmt.Sprint(m.Payload[8])); return true })
	require.Equal(t, []string{"3", "1", "2"}, seen)
	alloctest.Zero(t, 20, frame)
}

// Calls and messages of unknown types are passed to Special.
func TestSpecial(t *testing.T) {
	var seen []string
	r := newRig(t, Config{Special: func(ctx *Context, payload []byte) {
		seen = append(seen, fmt.Sprint(ctx.Type, ctx.HasCall, ctx.Call, len(payload)))
	}})
	r.onOrder = func(*Context, *order) { t.Fatal("calls are not for the handler of the type") }
	r.From(NewSource(1), 1, 0)
	require.NoError(t, r.Push(&Message{Type: r.order.ID(), Stage: tick.Update, HasCall: true, Call: 9}, r.body(1)))
	require.NoError(t, r.Push(&Message{Type: 7, Stage: tick.Update, HasCall: true, Call: 9}, []byte("no")))
	require.NoError(t, r.Push(&Message{Type: 7, Stage: tick.Update}, nil))
	require.NoError(t, r.Push(&Message{Type: 200, Stage: tick.Update}, nil))
	require.NoError(t, r.Push(&Message{Type: r.order.ID(), Stage: tick.Update}, []byte{1}))
	require.Equal(t, 5, r.Drain(tick.Update))
	require.Equal(t, []string{fmt.Sprint(r.order.ID(), true, 9, 16), "7 true 9 2", "7 false 0 0"}, seen)
	require.Equal(t, uint64(2), r.Stats().Illegal, "an unknown type, and a payload that nobody checked")
	require.NoError(t, r.post(Message{Stage: tick.Update, HasCall: true, Call: 3}, 1))
	require.Equal(t, 1, r.Drain(tick.Update), "a call to oneself is queued")
	require.Len(t, seen, 4)
	silent := newRig(t, Config{})
	silent.From(NewSource(1), 1, 0)
	require.NoError(t, silent.Push(&Message{Type: 7, Stage: tick.Update}, nil))
	require.Equal(t, 1, silent.Drain(tick.Update))
}
