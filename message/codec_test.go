package message

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type (
	empty struct{}
	// mixed has exact fields of every kind, without padding: it is copied.
	mixed struct {
		A int64
		B float64
		C int32
		D float32
		E [2]int16
		F uint16
		G int8
		h uint8
	}
	inner struct{ X, Y, Z float32 }
	outer struct {
		Pos  [2]inner
		Tail [9]int8
		_    [3]byte
	}
	nested struct {
		Pos  [2]inner
		Tail [8]int8
	}
	padded struct {
		A uint8
		B uint32
	}
	skips struct {
		A, B uint32
		C    uint32 `net:"-"`
	}
	switches struct{ A, B bool }
)

func TestWhichTypesAreCopied(t *testing.T) {
	for want, ways := range map[encoding][]encoding{
		byCopy: {codec[mixed](t, "m", nil).encoding, codec[shot](t, "m", nil).encoding, codec[order](t, "m", nil).encoding, codec[nested](t, "m", nil).encoding},
		byPlan: {codec[chat](t, "m", nil).encoding, codec[outer](t, "m", nil).encoding, codec[padded](t, "m", nil).encoding,
			codec[skips](t, "m", nil).encoding, codec[switches](t, "m", nil).encoding, codec[empty](t, "m", nil).encoding},
		bySerialize: {codec[note](t, "m", nil).encoding, codec[measured](t, "m", nil).encoding},
	} {
		for i, got := range ways {
			require.Equal(t, want, got, "%d of way %d", i, want)
		}
	}
}

// twin returns a codec of T that always packs by the plan.
func twin[T any](t testing.TB) *CodecOf[T] {
	c := codec[T](t, "m", nil)
	c.encoding = byPlan
	return c
}

// Copied types have exactly the bits of the plan, in both directions, and refuse the same payloads.
func TestCopiesAreThePlansBits(t *testing.T) {
	t.Run("mixed", func(t *testing.T) { copiesAreThePlansBits[mixed](t) })
	t.Run("shot", func(t *testing.T) { copiesAreThePlansBits[shot](t) })
	t.Run("order", func(t *testing.T) { copiesAreThePlansBits[order](t) })
	t.Run("nested", func(t *testing.T) { copiesAreThePlansBits[nested](t) })
}

func copiesAreThePlansBits[T any](t *testing.T) {
	copied, packed := codec[T](t, "m", nil), twin[T](t)
	require.Equal(t, byCopy, copied.encoding)
	var s Scratch
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.SliceOfN(rapid.Byte(), copied.Size(), copied.Size()).Draw(t, "payload")
		if rapid.IntRange(0, 3).Draw(t, "spoil") == 0 {
			at := rapid.IntRange(0, len(payload)/4-1).Draw(t, "at") * 4
			binary.LittleEndian.PutUint32(payload[at:], rapid.SampledFrom([]uint32{0x7F800000, 0xFF800001, 0x7FF00000, 0xFFF80000}).Draw(t, "bits"))
		}
		var a, b T
		ok := packed.Decode(&s, payload, &b)
		require.Equal(t, ok, copied.Decode(&s, payload, &a))
		require.Equal(t, ok, copied.Check(&s, payload))
		require.Equal(t, ok, packed.Check(&s, payload))
		if !ok {
			refused++
			return
		}
		require.Equal(t, fmt.Sprintf("%x", memoryOf(&b)), fmt.Sprintf("%x", memoryOf(&a)))
		room, roomB := make([]byte, copied.Size()), make([]byte, copied.Size())
		n, err := copied.Encode(&s, room, &a)
		require.NoError(t, err)
		_, err = packed.Encode(&s, roomB, &a)
		require.NoError(t, err)
		require.Equal(t, payload, room[:n])
		require.Equal(t, payload, roomB)
	})
	t.Logf("%d refused", refused)
}

// memoryOf returns the bytes of a copied type in memory.
func memoryOf[T any](m *T) []byte {
	c, _ := NewCodec[T]("m", nil)
	b := make([]byte, c.size)
	copyOut(b, m)
	return b
}

func TestRoundTrip(t *testing.T) {
	var s Scratch
	in := mixed{math.MinInt64, -1.5, -1, 2.5, [2]int16{-3, 3}, 9, -128, 200}
	var out mixed
	c := codec[mixed](t, "m", nil)
	require.True(t, c.Decode(&s, encode(t, c, in), &out))
	require.Equal(t, in, out)

	c2, in2, out2 := codec[chat](t, "m", nil), chat{From: 7, Heat: 0.5, Local: 12}, chat{Local: 99}
	require.True(t, c2.Decode(&s, encode(t, c2, in2), &out2))
	require.Equal(t, chat{From: 7, Heat: 0.5}, out2, "what does not travel is zero")

	c3, in3, out3 := codec[note](t, "m", nil), note{Text: "hello", Bits: []uint32{1, 2, 3}}, note{Lie: 3}
	require.True(t, c3.Decode(&s, encode(t, c3, in3), &out3))
	require.Equal(t, in3, out3)

	c4, in4 := codec[measured](t, "m", nil), measured{"twelve bytes"}
	bound, err := c4.SizeBound(&s, &in4)
	require.NoError(t, err)
	require.Equal(t, 13, bound)
	var out4 measured
	require.True(t, c4.Decode(&s, encode(t, c4, in4), &out4))
	require.Equal(t, in4, out4)

	c5 := codec[empty](t, "m", nil)
	require.Empty(t, encode(t, c5, empty{}))
	require.True(t, c5.Check(&s, nil))
	require.False(t, c5.Check(&s, []byte{0}))
}

func TestEncodeTellsWhichFieldCannotTravel(t *testing.T) {
	var s Scratch
	room := make([]byte, 64)
	nan := float32(math.NaN())
	for want, encode := range map[string]func() (int, error){
		"message: m.Heat: out of range: 7, and its tag allows 0 to 1": func() (int, error) { return codec[chat](t, "m", nil).Encode(&s, room, &chat{Heat: 7}) },
		"message: m.Heat: not finite":                                 func() (int, error) { return codec[chat](t, "m", nil).Encode(&s, room, &chat{Heat: nan}) },
		"message: m.Y: not finite":                                    func() (int, error) { return codec[shot](t, "m", nil).Encode(&s, room, &shot{Y: nan}) },
	} {
		_, err := encode()
		var fault *FieldError
		require.ErrorAs(t, err, &fault)
		require.EqualError(t, err, want)
	}
	_, err := codec[shot](t, "m", nil).Encode(&s, room[:7], &shot{})
	require.ErrorAs(t, err, new(*BoundError), "no room")
}

// Case 7 of the catalogue, false upper bound: the message fails, and nothing is written beyond the requested room.
func TestCase07LyingUpperBound(t *testing.T) {
	var s Scratch
	c := codec[note](t, "m", nil)
	for lie := range 12 {
		m := note{Text: "hello", Bits: []uint32{1}, Lie: lie}
		bound, err := c.SizeBound(&s, &m)
		if lie > 11 {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		room := bytes.Repeat([]byte{0xEE}, 64)
		n, err := c.Encode(&s, room[:bound], &m)
		require.Equal(t, bytes.Repeat([]byte{0xEE}, 64-bound), room[bound:], "nothing past the room")
		if lie == 0 {
			require.NoError(t, err)
			require.Equal(t, bound, n)
			continue
		}
		var lied *BoundError
		require.ErrorAs(t, err, &lied)
		require.Equal(t, BoundError{Name: "m", Bound: bound}, *lied)
		casebook.Injected(t, lie, "bytes written beyond a bound")
		require.Zero(t, n)
		require.Contains(t, err.Error(), "more than")
		require.Equal(t, []byte{3, 'a', 'b', 'c', 0}, encode(t, c, note{Text: "abc"}), "the next message goes")
	}
	_, err := c.SizeBound(&s, &note{Lie: 100})
	require.ErrorContains(t, err, "negative")
}

func TestSerializeErrors(t *testing.T) {
	var s Scratch
	_, err := codec[measured](t, "m", nil).SizeBound(&s, &measured{strings.Repeat("x", 41)})
	require.ErrorIs(t, err, wire.ErrTooLong)
	_, err = codec[note](t, "m", nil).Encode(&s, make([]byte, 200), &note{Text: strings.Repeat("x", 65)})
	require.ErrorAs(t, err, new(*SerializeError))
	require.ErrorIs(t, err, wire.ErrTooLong)
	require.Contains(t, err.Error(), "message: m:")
}

// rude panics over some bytes, and sends a message of its own type while it is encoded.
type rude struct {
	V     uint8
	again func()
}

func (r *rude) Serialize(s *wire.Serializer) {
	wire.SerializeEnum(s, &r.V)
	if s.IsReading() && r.V == 13 {
		panic(errors.New("unlucky"))
	}
	if r.again != nil {
		r.again()
	}
}

func TestSerializeThatPanicsOverRemoteBytesRefusesThem(t *testing.T) {
	var s Scratch
	c := codec[rude](t, "m", func(*Context, *rude) {})
	require.True(t, c.Check(&s, []byte{12}))
	require.False(t, c.Check(&s, []byte{13}))
	require.False(t, c.Handle(&Context{}, []byte{13}))
	require.True(t, c.Check(&s, []byte{14}), "and the next are judged as ever")
}

func TestSerializeThatSendsMeanwhile(t *testing.T) {
	var s Scratch
	c := codec[rude](t, "m", nil)
	other := make([]byte, 1)
	room := make([]byte, 1)
	n, err := c.Encode(&s, room, &rude{V: 5, again: func() {
		n, err := c.Encode(&s, other, &rude{V: 6})
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}})
	require.NoError(t, err)
	require.Equal(t, []byte{5, 6}, append(room[:n], other...))
}

func TestNamesAreChecked(t *testing.T) {
	_, err := NewCodec[note]("a{b", nil)
	require.Error(t, err)
	_, err = NewCodec[shot]("", nil)
	require.Error(t, err)
	_, err = NewCodec[struct{ P *int }]("p", nil)
	require.ErrorContains(t, err, "pointer")
}

func TestHandle(t *testing.T) {
	var got []chat
	c := codec(t, "chat", func(ctx *Context, m *chat) {
		require.Equal(t, wire.ClientID(7), ctx.Sender)
		got = append(got, *m)
		m.Local = 99 // the next handler must not see it
	})
	ctx := &Context{Sender: 7, scratch: &Scratch{}}
	for i := range uint32(3) {
		require.True(t, c.Handle(ctx, encode(t, c, chat{From: i, Heat: 0.5, Local: 12})))
	}
	require.Equal(t, []chat{{From: 0, Heat: 0.5}, {From: 1, Heat: 0.5}, {From: 2, Heat: 0.5}}, got)
	require.True(t, codec[shot](t, "shot", nil).Handle(&Context{}, make([]byte, 8)), "nobody is called")
}

func TestEveryCutOfAPayloadIsRefused(t *testing.T) {
	cut := func(c Codec, payload []byte) {
		var s Scratch
		require.True(t, c.Check(&s, payload))
		for n := range payload {
			require.False(t, c.Check(&s, payload[:n]))
			require.False(t, c.Handle(&Context{}, payload[:n]))
		}
		longer := append(bytes.Clone(payload), 0)
		require.False(t, c.Check(&s, longer))
		require.False(t, c.Handle(&Context{}, longer))
	}
	cut(codec(t, "m", func(*Context, *chat) { t.Fatal("called") }), encode(t, codec[chat](t, "m", nil), chat{From: math.MaxUint32, Heat: 1}))
	cut(codec(t, "m", func(*Context, *mixed) { t.Fatal("called") }), encode(t, codec[mixed](t, "m", nil), mixed{A: -1, B: 1}))
	cut(codec(t, "m", func(*Context, *note) { t.Fatal("called") }), encode(t, codec[note](t, "m", nil), note{Text: "abc", Bits: []uint32{1}}))
}

func TestDebugEncoding(t *testing.T) {
	c := codec[mixed](t, "m", nil)
	c.Debug()
	require.Equal(t, byPlan, c.encoding)
	payload := encode(t, c, mixed{A: 2, C: -1})
	require.Equal(t, []byte{2, 0, 0, 0, 0, 0, 0, 0}, payload[:8], "as in memory")
	require.Equal(t, []byte{255, 255, 255, 255}, payload[16:20])
	var s Scratch
	require.True(t, c.Check(&s, payload))
	n := codec[note](t, "m", nil)
	n.Debug()
	require.True(t, n.Check(&s, encode(t, n, note{Text: "a"})))
}

func TestAppendValues(t *testing.T) {
	c := codec[shot](t, "m", nil)
	require.Equal(t, "X=1 Y=2", strings.TrimSpace(string(c.AppendValues(nil, encode(t, c, shot{1, 2})))))
	require.Equal(t, "0102 is not legal", string(c.AppendValues(nil, []byte{1, 2})))
	n := codec[note](t, "m", nil)
	require.Equal(t, "{Text:hi Bits:[] Lie:0}", string(n.AppendValues(nil, encode(t, n, note{Text: "hi"}))))
	require.Contains(t, string(n.AppendValues(nil, []byte{9})), "not legal")
}

func TestCodecsDoNotAllocate(t *testing.T) {
	room := make([]byte, 64)
	ctx := &Context{scratch: &Scratch{}}
	chats := codec(t, "m", func(*Context, *chat) {})
	mixes := codec(t, "m", func(*Context, *mixed) {})
	mixes.setNumber(1)
	m, x := chat{From: 1, Heat: 0.5}, mixed{A: -4}
	turn := func() {
		n, _ := chats.Encode(ctx.scratch, room, &m)
		if !chats.Check(ctx.scratch, room[:n]) || !chats.Handle(ctx, room[:n]) {
			panic("chat")
		}
		n, _ = mixes.Encode(ctx.scratch, room, &x)
		if !mixes.Check(ctx.scratch, room[:n]) || !mixes.Handle(ctx, room[:n]) {
			panic("mixed")
		}
	}
	if poisoning {
		return // which uses reflection
	}
	alloctest.Zero(t, 50, turn)
}

// Case 15 of the catalogue, a handler that panics in the middle of a batch: Panicked gets its sender, once per message,
// and every other message of the stage is handled.
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

// The same for deferred messages and loopback.
func TestCase15PanicsElsewhere(t *testing.T) {
	var senders []wire.ClientID
	r := newRig(t, Config{Local: 9, Panicked: func(ctx *Context, _ any) { senders = append(senders, ctx.Sender) }})
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

// Case 32 of the catalogue, some flooding sources and 63 honest ones: at twenty times their rate into every stage, no
// honest message is lost. All stages run in some frames; in others one never does.
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
					n = i % 2 // a few for the stage that may not run
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

// Case 32 with reliable messages up to the credit, in one frame: the stage is full, and the sources with the most
// messages lose their connections, one after the other. No honest source is closed, and none of their messages is lost.
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

// Case 33 of the catalogue, reliable messages into a full queue: none is dropped silently. Unreliable messages make
// room first, then the source gets a fault, which ends its connection.
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

// The same with a queue full of other sources' reliable messages: the source with the most is closed, not the last to
// send.
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
			from := []int{0, 1, 1, 2, 2, 2}[n%6] // two, four and six messages
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

// The bytes of a frame are shared fairly too.
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

// The counts of a full queue follow handled and dropped messages. Updates take constant time per message and allocate
// nothing.
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

// The same with the frame's memory used up. Deferred messages need no such limit: credit bounds them.
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
