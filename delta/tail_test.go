package delta

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

type tailSlot struct {
	Item  uint16
	Label wire.Text[[4]byte]
}

// tailed are rows with texts and lists: beside many lanes, beside one, and alone.
type (
	tailedMany struct {
		X, Y, Z, W float32 `net:"min=-8,max=8,step=0.5"`
		Team       uint8
		Name       wire.Text[[20]byte]
		Slots      wire.List[tailSlot, [4]tailSlot]
	}
	tailedOne struct {
		HP   uint16
		Name wire.Text[[20]byte]
	}
	tailedOnly struct{ Name wire.Text[[20]byte] }
)

// tailRow draws a row of one of these.
func tailRow(t *rapid.T, p *quantize.Plan, name string) []uint32 {
	v := reflect.New(p.Type())
	text := rapid.SampledFrom([]string{"", "A", "Ann", "Anna", "Änn", "Anna of the hills", "a text that is long!"})
	slots := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) tailSlot {
		return tailSlot{Item: rapid.Uint16Range(0, 2).Draw(t, "item"), Label: wire.NewText[[4]byte](rapid.StringN(0, 2, 4).Draw(t, "label"))}
	}), 0, 4)
	switch v := v.Interface().(type) {
	case *tailedMany:
		v.X, v.Team = float32(rapid.IntRange(0, 2).Draw(t, name)), rapid.Uint8Range(0, 2).Draw(t, name)
		v.Name.Set(text.Draw(t, name))
		v.Slots.Set(slots.Draw(t, name)...)
	case *tailedOne:
		v.HP = rapid.Uint16Range(0, 2).Draw(t, name)
		v.Name.Set(text.Draw(t, name))
	case *tailedOnly:
		v.Name.Set(text.Draw(t, name))
	}
	lanes := make([]uint32, p.Lanes())
	p.Quantise(v.UnsafePointer(), lanes)
	return lanes
}

func tailPlans(t testing.TB) (plans []*quantize.Plan) {
	return []*quantize.Plan{mustCompile[tailedMany](t, "Many"), mustCompile[tailedOne](t, "One"), mustCompile[tailedOnly](t, "Only")}
}

// TestTailDeltas: rows with texts and lists are decoded unchanged with the shipped tables, from Code and from Append.
func TestTailDeltas(t *testing.T) {
	for _, p := range tailPlans(t) {
		d, err := NewDelta(p, Shipped())
		require.NoError(t, err)
		d.Prepare()
		t.Run(p.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				v := quantize.Baselines{Base: tailRow(t, p, "base"), Age: rapid.Int64Range(1, 20).Draw(t, "age"), Span: 1}
				if rapid.Bool().Draw(t, "two") {
					v.Before = tailRow(t, p, "before")
				}
				now := tailRow(t, p, "now")
				if reflect.DeepEqual(now, v.Base) {
					t.Skip("nothing differs")
				}
				coding, listing, reading := v, v, v
				var w BitBuffer
				d.Code(&w, now, &coding)
				bits := w.Bits()
				w.Finish()

				list := d.Append(nil, now, &listing)
				buf := make([]byte, 300)
				b := wire.NewBitWriter(buf)
				WriteSymbols(&b, list)
				require.Equal(t, bits, b.Bits())
				again := make([]byte, 300)
				other := wire.NewBitWriter(again)
				other.Words(w.All(), bits)
				other.Finish()
				total := 0
				d.EachField(now, &v, func(_, n int) { total += n })
				require.Equal(t, bits, total)

				r, got := wire.NewBitReader(buf[:b.Finish()]), make([]uint32, p.Lanes())
				require.Equal(t, buf, again)
				require.True(t, d.Read(&r, got, &reading) && r.Done())
				require.Equal(t, now, got)
				require.Equal(t, coding.Miss, reading.Miss)
			})
		})
	}
}

// TestTailDeltaBits checks the cost of an unchanged text beside another change, with the shipped tables.
func TestTailDeltaBits(t *testing.T) {
	type plainOne struct{ HP uint16 }
	type quiet struct {
		HP   uint16
		Name wire.Text32
	}
	p, bare := mustCompile[quiet](t, "Quiet"), mustCompile[plainOne](t, "Plain")
	with, err := NewDelta(p, Shipped())
	require.NoError(t, err)
	without, err := NewDelta(bare, Shipped())
	require.NoError(t, err)
	bits := func(d *Delta, base, now []uint32) (n int) {
		d.EachField(now, &quantize.Baselines{Base: base, Age: 1}, func(_, bits int) { n += bits })
		return n
	}
	rows := func(name string, hp uint16) []uint32 {
		v := quiet{HP: hp}
		v.Name.Set(name)
		lanes := make([]uint32, p.Lanes())
		p.Quantise(unsafe.Pointer(&v), lanes) // SAFETY: the plan's type.
		return lanes
	}
	for _, name := range []string{"", "a name of thirty-two bytes......"} {
		more := bits(with, rows(name, 5), rows(name, 6)) - bits(without, []uint32{5}, []uint32{6})
		t.Logf("%q: %d bits more in a change of HP", name, more)
		require.LessOrEqual(t, more, 2)
	}
}

func TestTailCodesWithoutAllocation(t *testing.T) {
	p := tailPlans(t)[0]
	d, err := NewDelta(p, Ready(Shipped()))
	require.NoError(t, err)
	d.Prepare()
	a, b := tailedMany{Team: 1}, tailedMany{Team: 1}
	a.Name.Set("Ann")
	b.Name.Set("Anton")
	b.Slots.Append(tailSlot{Item: 3})
	rows := [2][]uint32{make([]uint32, p.Lanes()), make([]uint32, p.Lanes())}
	p.Quantise(unsafe.Pointer(&a), rows[0]) // SAFETY: the plan's type.
	p.Quantise(unsafe.Pointer(&b), rows[1]) // SAFETY: the same.
	var w BitBuffer
	got, buf := make([]uint32, p.Lanes()), make([]byte, 200)
	alloctest.Zero(t, 200, func() {
		v := quantize.Baselines{Base: rows[0], Age: 1}
		w.Reset()
		d.Code(&w, rows[1], &v)
		bits := w.Bits()
		w.Finish()
		b := wire.NewBitWriter(buf)
		b.Words(w.All(), bits)
		r := wire.NewBitReader(buf[:b.Finish()])
		v.Miss = 0
		if !d.Read(&r, got, &v) {
			t.Error("it does not read")
		}
	})
}

// FuzzTailDelta reads hostile changes of rows with texts and lists.
func FuzzTailDelta(f *testing.F) {
	plans := tailPlans(f)
	bases := [][]uint32{}
	deltas := []*Delta{}
	for _, p := range plans {
		d, err := NewDelta(p, Shipped())
		require.NoError(f, err)
		v := reflect.New(p.Type())
		v.Elem().FieldByName("Name").Addr().MethodByName("Set").Call([]reflect.Value{reflect.ValueOf("Ännchen")})
		base := make([]uint32, p.Lanes())
		p.Quantise(v.UnsafePointer(), base)
		bases, deltas = append(bases, base), append(deltas, d)
	}
	f.Add(byte(0), []byte{0xFF, 0x12, 0x33, 0x44, 0x55})
	f.Add(byte(2), []byte{0x34, 0x12})
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		at := int(which) % len(plans)
		d, base := deltas[at], bases[at]
		r, got := wire.NewBitReader(b), make([]uint32, len(base))
		if !d.Read(&r, got, &quantize.Baselines{Base: base, Age: 1}) {
			return
		}
		require.True(t, plans[at].Legal(got))
		require.NotEqual(t, base, got)
		bits := 8*len(b) - r.Remaining()
		buf := make([]byte, len(b)+8)
		w := wire.NewBitWriter(buf)
		WriteSymbols(&w, d.Append(nil, got, &quantize.Baselines{Base: base, Age: 1}))
		require.Equal(t, bits, w.Bits())
	})
}
