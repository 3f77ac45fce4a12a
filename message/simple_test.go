package message

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// plainCodec is a codec without the functions for simple messages.
type plainCodec struct{ Codec }

func (plainCodec) checkSimple(*Inbound, []byte) (messages, size int) { return 0, 0 }
func (plainCodec) drainSimple(*Inbound, *Context, *queue) bool       { return false }

// simpleRig is an Inbound whose handlers log what they get, and do odd things for some serials.
type simpleRig struct {
	*rig
	sources [2]*Source
	log     []string
	plain   bool
}

func newSimpleRig(t testing.TB, c Config, plain bool) *simpleRig {
	r := &simpleRig{plain: plain, sources: [2]*Source{NewSource(3), NewSource(4)}}
	c.Panicked = func(ctx *Context, value any) { r.log = append(r.log, fmt.Sprint("panic ", value, ctx.Sender)) }
	r.rig = newRig(t, c)
	r.onOrder = r.take
	r.onShot = func(ctx *Context, m *shot) { r.note(ctx, *m) }
	r.onNote = func(ctx *Context, m *note) { r.note(ctx, m.Text) }
	for _, of := range r.registry.Types() {
		r.set(of.Codec)
		if !plain {
			r.AllowSimple(of)
		}
	}
	return r
}

// set gives a type a codec, as the rig needs it.
func (r *simpleRig) set(c Codec) {
	id := r.registry.ByGoType(c.GoType()).ID()
	if r.plain {
		c = plainCodec{c}
	}
	r.SetCodec(id, c)
}

func (r *simpleRig) note(ctx *Context, m any) {
	shown := *ctx
	shown.End, shown.scratch = nil, nil
	r.log = append(r.log, fmt.Sprintf("%+v %v", shown, m))
	ctx.NotBefore, ctx.Entity, ctx.HasCall, ctx.Type = 7, wire.NetworkID{Index: 1}, true, 1 // A handler may spoil its context.
}

func (r *simpleRig) take(ctx *Context, m *order) {
	r.note(ctx, *m)
	switch m.Serial % 16 {
	case 1:
		_ = r.post(Message{Stage: ctx.Stage}, 16) // at once
	case 2:
		_ = r.post(Message{Stage: tick.Stage(m.Serial/16) % tick.NumStages}, 16)
	case 3:
		r.Drop(r.sources[m.Serial/16%2])
	case 4:
		panic(m.Serial)
	case 5:
		_, c := TypeOf[order](&r.registry)
		r.set(c.With(func(ctx *Context, m *order) {
			r.log = append(r.log, "another handler")
			r.take(ctx, m)
		}))
	}
	m.Serial = math.MaxUint64
}

// drawBatch draws a batch of channel 0, with now and then a message that is not simple, or not legal.
func drawBatch(t *rapid.T, r *rig) (batch []byte) {
	var s Scratch
	_, notes := TypeOf[note](&r.registry)
	for range rapid.IntRange(0, 30).Draw(t, "messages") {
		of, body := r.order, make([]byte, 16)
		binary.LittleEndian.PutUint64(body[8:], uint64(rapid.IntRange(0, 255).Draw(t, "serial")))
		switch rapid.IntRange(0, 9).Draw(t, "type") {
		case 0, 1:
			of, body = r.registry.Types()[2], body[:8]
			if rapid.IntRange(0, 9).Draw(t, "illegal") == 0 {
				binary.LittleEndian.PutUint32(body, math.Float32bits(float32(math.NaN())))
			}
		case 2:
			of = r.registry.Types()[0]
			n, err := notes.Encode(&s, body, &note{Text: "ab"})
			require.NoError(t, err)
			body = body[:n]
		}
		stage := byte(rapid.IntRange(0, tick.NumStages-1).Draw(t, "stage"))
		at := len(batch)
		batch = append(append(batch, byte(of.ID()), stage, byte(len(body)), 0), body...)
		switch rapid.IntRange(0, 60).Draw(t, "other") {
		case 0:
			batch[at] = rapid.SampledFrom([]byte{0, 1, 200, 255}).Draw(t, "other type")
		case 1:
			batch[at+1] = rapid.SampledFrom([]byte{7, 8, 12, 0x7F, 0xFF}).Draw(t, "flags")
		case 2:
			batch[at+2]++
		}
	}
	return batch[:max(0, len(batch)-rapid.SampledFrom([]int{0, 0, 0, 1, 18}).Draw(t, "cut"))]
}

// plainSize is CheckSimple, message by message.
func plainSize(r *rig, b []byte) (messages, size int) {
	for {
		h, err := wire.ParseMessageHeader(b[size:])
		if err != nil || h.Flags != 0 || r.Codec(h.Type) == nil {
			return messages, size
		}
		end := size + wire.MessageHeaderSize + int(h.Size)
		if !r.Codec(h.Type).Check(r.Scratch(), b[end-int(h.Size):end]) {
			return messages, size
		}
		messages, size = messages+1, end
	}
}

// TestSimpleMessagesEqualPlainOnes gives two Inbounds with narrow limits the same packets, one by CheckSimple, PushSimple and
// drainSimple, the other message by message.
func TestSimpleMessagesEqualPlainOnes(t *testing.T) {
	if plain.On {
		t.Skip("netcode_plain: the build has no fast path")
	}
	rapid.Check(t, func(rt *rapid.T) {
		config := Config{History: rapid.IntRange(0, 2).Draw(rt, "history"), Local: 50, Limits: Limits{
			PerStage: rapid.IntRange(1, 60).Draw(rt, "per stage"), PerSender: rapid.IntRange(1, 40).Draw(rt, "per sender"),
			SenderBytes: rapid.IntRange(1, 2000).Draw(rt, "sender bytes"), Bytes: rapid.IntRange(100, 6000).Draw(rt, "bytes"),
			Sources: rapid.IntRange(1, 4).Draw(rt, "sources"),
		}}
		fast, slow := newSimpleRig(t, config, false), newSimpleRig(t, config, true)
		rigs := [2]*simpleRig{fast, slow}
		for frame := range rapid.IntRange(1, 4).Draw(rt, "frames") {
			for range rapid.IntRange(0, 5).Draw(rt, "packets") {
				batch, from := drawBatch(rt, fast.rig), rapid.IntRange(0, 1).Draw(rt, "from")
				messages, size := plainSize(slow.rig, batch)
				n, bytes := fast.CheckSimple(batch)
				require.Equal(rt, [2]int{messages, size}, [2]int{n, bytes})
				for _, r := range rigs {
					r.From(r.sources[from], tick.Tick(frame), time.Duration(frame))
				}
				for at := 0; at < size; {
					h, err := wire.ParseMessageHeader(batch[at:])
					require.NoError(rt, err)
					at += wire.MessageHeaderSize + int(h.Size)
					_ = slow.Push(&Message{Type: h.Type, Stage: h.Stage}, batch[at-int(h.Size):at])
				}
				require.Equal(rt, size, fast.PushSimple(batch[:size]))
				clear(batch) // The queue must not refer to the packet.
			}
			last := tick.Stage(rapid.IntRange(0, tick.NumStages-1).Draw(rt, "last stage")) // Later stages wait.
			for stage := range last + 1 {
				require.Equal(rt, slow.Drain(stage), fast.Drain(stage))
				require.Equal(rt, slow.log, fast.log)
			}
			for i := range fast.sources {
				require.Equal(rt, slow.sources[i].Refused(), fast.sources[i].Refused())
			}
			for _, r := range rigs {
				r.Begin(time.Duration(frame)*time.Second, tick.Tick(frame+2))
			}
		}
		got, want := fast.Stats(), slow.Stats()
		got.Grown, want.Grown = 0, 0 // Memory is reserved for a whole batch.
		require.Equal(rt, want, got)
		for i := range config.History + 1 {
			require.Equal(rt, records(slow.Past(i)), records(fast.Past(i)))
		}
	})
}

// records lists the messages of a frame.
func records(f *Frame) (list []string) {
	if f == nil {
		return nil
	}
	f.Each(func(r *Record) bool {
		list = append(list, fmt.Sprintf("%+v", *r))
		return true
	})
	return list
}

// TestTypeOfFindsManyTypes has more types than distinct hashes: each is found, and one that is not registered is not.
func TestTypeOfFindsManyTypes(t *testing.T) {
	var r Registry
	place := goTypePlace(codec[order](t, "order", nil).GoType())
	want := r.Add(Type{Name: "order", Codec: codec[order](t, "order", nil)})
	other := r.Add(Type{Name: "a", Codec: codec[shot](t, "a", nil)})
	_, c := TypeOf[order](&r)
	require.Nil(t, c, "not frozen")
	r.Freeze()
	r.places = [goTypePlaces]*Type{} // Both in the last place: the second one wraps around.
	r.places[place], r.places[(place+1)%goTypePlaces] = other, want
	of, c := TypeOf[order](&r)
	require.Same(t, want, of)
	require.Same(t, want.Codec, Codec(c))
	of, none := TypeOf[note](&r)
	require.Nil(t, of)
	require.Nil(t, none)
}

// TestReplacedHandlerHandlesTheRest has a handler that replaces itself among messages of one type.
func TestReplacedHandlerHandlesTheRest(t *testing.T) {
	r := newRig(t, Config{})
	var got []string
	r.onOrder = func(_ *Context, m *order) {
		got = append(got, fmt.Sprint("first ", m.Serial))
		_, c := TypeOf[order](&r.registry)
		r.SetCodec(r.order.ID(), c.With(func(_ *Context, m *order) { got = append(got, fmt.Sprint("second ", m.Serial)) }))
	}
	r.From(NewSource(1), 1, 0)
	for serial := range uint64(3) {
		require.NoError(t, r.push(tick.Update, serial))
	}
	require.Equal(t, 3, r.Drain(tick.Update))
	require.Equal(t, []string{"first 0", "second 1", "second 2"}, got)
}
