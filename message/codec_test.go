package message

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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
	for want, ways := range map[way][]way{
		byCopy: {codec[mixed](t, "m", nil).way, codec[shot](t, "m", nil).way, codec[order](t, "m", nil).way, codec[nested](t, "m", nil).way},
		byPlan: {codec[chat](t, "m", nil).way, codec[outer](t, "m", nil).way, codec[padded](t, "m", nil).way,
			codec[skips](t, "m", nil).way, codec[switches](t, "m", nil).way, codec[empty](t, "m", nil).way},
		bySerialize: {codec[note](t, "m", nil).way, codec[measured](t, "m", nil).way},
	} {
		for i, got := range ways {
			require.Equal(t, want, got, "%d of way %d", i, want)
		}
	}
}

// twin returns a codec of T that packs by the plan, whatever T is.
func twin[T any](t testing.TB) *CodecOf[T] {
	c := codec[T](t, "m", nil)
	c.way = byPlan
	return c
}

// Copied types travel as the plan packs them, to the bit, both ways, and are refused where it refuses.
func TestCopiesAreThePlansBits(t *testing.T) {
	t.Run("mixed", func(t *testing.T) { copiesAreThePlansBits[mixed](t) })
	t.Run("shot", func(t *testing.T) { copiesAreThePlansBits[shot](t) })
	t.Run("order", func(t *testing.T) { copiesAreThePlansBits[order](t) })
	t.Run("nested", func(t *testing.T) { copiesAreThePlansBits[nested](t) })
}

func copiesAreThePlansBits[T any](t *testing.T) {
	copied, packed := codec[T](t, "m", nil), twin[T](t)
	require.Equal(t, byCopy, copied.way)
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

// memoryOf returns the bytes of a copied type as they lie in memory.
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

// Case 7 of the catalogue, lying upper bound: that message fails, and nothing is written past the room it asked for.
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

// rude panics over some bytes, and sends one of its kind while it is written.
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
		m.Local = 99 // must not be seen by the next one
	})
	ctx := &Context{Sender: 7, scratch: &Scratch{}}
	for i := range uint32(3) {
		require.True(t, c.Handle(ctx, encode(t, c, chat{From: i, Heat: 0.5, Local: 12})))
	}
	require.Equal(t, []chat{{From: 0, Heat: 0.5}, {From: 1, Heat: 0.5}, {From: 2, Heat: 0.5}}, got)
	require.True(t, codec[shot](t, "shot", nil).Handle(&Context{}, make([]byte, 8)), "nobody is called")
}

// A handler that is called while it runs has a value of its own.
func TestNestedHandlers(t *testing.T) {
	ctx := &Context{scratch: &Scratch{}}
	var c *CodecOf[shot]
	depth := 0
	c = codec(t, "shot", func(ctx *Context, m *shot) {
		want := float32(depth)
		require.Equal(t, want, m.X)
		if depth++; depth < 5 {
			require.True(t, c.Handle(ctx, encode(t, c, shot{X: float32(depth)})))
		}
		require.Equal(t, want, m.X)
		depth--
	})
	require.True(t, c.Handle(ctx, encode(t, c, shot{})))
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
	require.Equal(t, byPlan, c.way)
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
		return // which goes by reflection
	}
	alloctest.Zero(t, 50, turn)
}
