package quantize

import (
	"github.com/arche-netcode/netcode/wire"

	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// randomise fills every field that travels with random bytes: any number, also NaN and infinities, but
// booleans of 0 and 1.
func randomise(t *rapid.T, p *Plan, v unsafe.Pointer) {
	for i := range p.ops {
		o := &p.ops[i]
		b := memory(v, o.offset, o.bytes())
		copy(b, rapid.SliceOfN(rapid.Byte(), len(b), len(b)).Draw(t, o.path))
		if o.kind == opBool {
			b[0] &= 1
		}
		if rapid.IntRange(0, 2).Draw(t, "plain") == 0 {
			plain(t, o, b)
		}
	}
}

// plain gives a float field a value as games have them.
func plain(t *rapid.T, o *op, b []byte) {
	switch o.kind {
	case opFloat32, opFixed32, opAngle32, opQuat:
		for at := 0; at < len(b); at += 4 {
			*(*float32)(unsafe.Pointer(&b[at])) = float32(rapid.Float64Range(-4, 4).Draw(t, "plain float"))
		}
	case opFloat64, opFixed64, opAngle64:
		*(*float64)(unsafe.Pointer(&b[0])) = rapid.Float64Range(-4, 4).Draw(t, "plain float")
	}
}

// TestLaw is the law of every field kind: a row's value gives the row again, and nothing is wrong with it,
// whatever memory the row was made from. The row also survives the wire, plain and packed.
func TestLaw(t *testing.T) {
	p := mustCompile[everything](t, "Everything")
	rapid.Check(t, func(t *rapid.T) {
		var a, b everything
		first, second := make([]uint32, p.Lanes()), make([]uint32, p.Lanes())
		randomise(t, p, unsafe.Pointer(&a))
		p.Quantise(unsafe.Pointer(&a), first)
		p.Dequantise(first, unsafe.Pointer(&b))
		require.Equal(t, Fault{}, p.Quantise(unsafe.Pointer(&b), second))
		require.Equal(t, first, second)
		p.Dequantise(second, unsafe.Pointer(&a))
		field, equal := p.Compare(unsafe.Pointer(&a), unsafe.Pointer(&b))
		require.True(t, equal, field)

		buf, packed := make([]byte, 400), make([]uint64, (p.Bits()+63)/64)
		before := uint(rapid.IntRange(0, 64).Draw(t, "before"))
		w := wire.NewBitWriter(buf)
		w.Write(0, before)
		p.WriteRow(&w, first)
		require.Equal(t, int(before)+p.Bits(), w.Bits())
		p.Pack(first, packed)
		w.Write(5, 3)
		p.WritePacked(&w, packed)
		r := wire.NewBitReader(buf[:w.Finish()])
		r.Read(before)
		clear(second)
		require.True(t, p.ReadRow(&r, second))
		require.Equal(t, first, second)
		require.Equal(t, uint64(5), r.Read(3))
		clear(second)
		require.True(t, p.ReadRow(&r, second))
		require.Equal(t, first, second)
		require.True(t, r.Done())
	})
}

// finest has the finest steps that each kind of float takes.
type finest struct {
	F32   float32 `net:"min=-1,max=1,step=6.1e-8"`
	Far   float32 `net:"min=8000000,max=8388608,step=0.51"`
	F64   float64 `net:"min=-1,max=1,step=4.7e-10"`
	Far64 float64 `net:"min=4503599627000000,max=4503599627370496,step=8"`
	Angle float32 `net:"angle,bits=24"`
	Angl6 float64 `net:"angle,bits=32"`
	One   float32 `net:"min=0,max=1,step=7"`
	Turn  float32 `net:"angle,bits=1"`
}

// TestLawAtTheFinest draws rows, not values, so that every number of the finest steps has its turn.
func TestLawAtTheFinest(t *testing.T) {
	p := mustCompile[finest](t, "Finest")
	rapid.Check(t, func(t *rapid.T) {
		row, again := make([]uint32, p.Lanes()), make([]uint32, p.Lanes())
		for i := range row {
			top := p.lanes[i].max
			row[i] = uint32(rapid.OneOf(rapid.Uint64Range(0, top), rapid.SampledFrom([]uint64{0, top / 2, top/2 + 1, top})).Draw(t, "lane"))
		}
		var v finest
		p.Dequantise(row, unsafe.Pointer(&v))
		require.Equal(t, Fault{}, p.Quantise(unsafe.Pointer(&v), again))
		require.Equal(t, row, again)
	})
}

func TestReadRowCutAnywhere(t *testing.T) {
	p := mustCompile[everything](t, "Everything")
	v := everything{F32: 1, F64: 2, Fixed: 0.5, Rot: [4]float32{0, 0, 0, 1}}
	lanes, buf := make([]uint32, p.Lanes()), make([]byte, 200)
	p.Quantise(unsafe.Pointer(&v), lanes)
	w := wire.NewBitWriter(buf)
	p.WriteRow(&w, lanes)
	n := w.Finish()
	for cut := range n {
		r := wire.NewBitReader(buf[:cut])
		require.False(t, p.ReadRow(&r, lanes))
		require.True(t, r.Failed())
	}
	for size := range n {
		w := wire.NewBitWriter(buf[:size:size])
		p.WriteRow(&w, lanes)
		require.True(t, w.Overflowed())
	}
}

func TestReadRowRefuses(t *testing.T) {
	p := mustCompile[everything](t, "Everything")
	at := func(path string) int {
		for i := range p.ops {
			if p.ops[i].path == path {
				return p.ops[i].lane
			}
		}
		require.Fail(t, "no such field", path)
		return 0
	}
	v := everything{Rot: [4]float32{0, 0, 0, 1}, Turns: [2]vec4{{W: 1}, {W: 1}}}
	good := make([]uint32, p.Lanes())
	p.Quantise(unsafe.Pointer(&v), good)
	for _, c := range []struct {
		name string
		lane int
		row  []uint32
		ok   bool
	}{
		{"as it is", 0, nil, true},
		{"float32 NaN", at("F32"), []uint32{0x7FC0_0000}, false},
		{"float32 +Inf", at("F32"), []uint32{0x7F80_0000}, false},
		{"float32 -Inf", at("F32"), []uint32{0xFF80_0000}, false},
		{"float32 largest", at("F32"), []uint32{0xFF7F_FFFF}, true},
		{"float32 -0", at("F32"), []uint32{0x8000_0000}, true},
		{"float32 denormal", at("F32"), []uint32{1}, true},
		{"float64 NaN", at("F64"), []uint32{1, 0x7FF0_0000}, false},
		{"float64 -Inf", at("F64"), []uint32{0, 0xFFF0_0000}, false},
		{"float64 largest", at("F64"), []uint32{0xFFFF_FFFF, 0xFFEF_FFFF}, true},
		{"fixed at its maximum", at("Fixed"), []uint32{7}, true},
		{"fixed64 at its maximum", at("Fixed6"), []uint32{100_000_000}, true},
		{"fixed64 above", at("Fixed6"), []uint32{100_000_001}, false},
		{"range at its maximum", at("Small"), []uint32{505}, true},
		{"range above", at("Small"), []uint32{506}, false},
		{"33 bits at their maximum", at("Half"), []uint32{0, 1}, true},
		{"33 bits above", at("Half"), []uint32{1, 1}, false},
		{"64 bits at their maximum", at("Large"), []uint32{2_808_348_672, 4_242_948_624}, true},
		{"quat below the sphere", at("Rot"), []uint32{0, 0, 0, 0}, false},
		{"quat outside", at("Rot"), []uint32{3, 511, 511, 511}, false},
		{"quat not the largest", at("Rot"), []uint32{1, 511, 500, 256}, false},
		{"quat quarter turn", at("Rot"), []uint32{0, 511, 256, 256}, true},
		{"quat quarter turn, said otherwise", at("Rot"), []uint32{1, 511, 256, 256}, false},
		{"the last field above", at("Levels[1]"), []uint32{3}, true},
	} {
		row, got, buf := append([]uint32(nil), good...), make([]uint32, p.Lanes()), make([]byte, 200)
		copy(row[c.lane:], c.row)
		w := wire.NewBitWriter(buf)
		p.WriteRow(&w, row)
		r := wire.NewBitReader(buf[:w.Finish()])
		require.Equal(t, c.ok, p.ReadRow(&r, got), c.name)
		require.Equal(t, c.ok, !r.Failed(), c.name)
		if c.ok {
			require.Equal(t, row, got, c.name)
		}
	}
}

// TestZeroLanesAreAValue: rows begin as zeros, which every kind but the quaternion can hold.
func TestZeroLanesAreAValue(t *testing.T) {
	type plain struct {
		A float32 `net:"min=-5,max=5,step=1"`
		B int8
		C float64
		D uint64 `net:"min=3,max=9"`
	}
	p := mustCompile[plain](t, "Plain")
	var v plain
	p.Dequantise(make([]uint32, p.Lanes()), unsafe.Pointer(&v))
	require.Equal(t, plain{A: -5, B: -128, C: 0, D: 3}, v)
}

func TestPlansAllocateNothing(t *testing.T) {
	p := mustCompile[everything](t, "Everything")
	v := everything{F32: float32(math.NaN()), Fixed: 9}
	lanes, packed := make([]uint32, p.Lanes()), make([]uint64, (p.Bits()+63)/64)
	buf, bytes, other := make([]byte, 400), make([]byte, 0, 2000), everything{}
	alloctest.Zero(t, 100, func() {
		p.Quantise(unsafe.Pointer(&v), lanes)
		w := wire.NewBitWriter(buf)
		p.WriteRow(&w, lanes)
		p.Pack(lanes, packed)
		p.WritePacked(&w, packed)
		r := wire.NewBitReader(buf[:w.Finish()])
		p.ReadRow(&r, lanes)
		p.Dequantise(lanes, unsafe.Pointer(&other))
		p.Compare(unsafe.Pointer(&v), unsafe.Pointer(&other))
		p.AppendFields(bytes, unsafe.Pointer(&v))
		p.Describe(bytes)
	})
}

// FuzzReadRow: what ReadRow takes, WriteRow gives back, and its value is a value.
func FuzzReadRow(f *testing.F) {
	p, err := Compile(reflect.TypeFor[everything](), "Everything")
	require.NoError(f, err)
	lanes, buf := make([]uint32, p.Lanes()), make([]byte, (p.Bits()+7)/8)
	for i, v := range []everything{
		{Rot: [4]float32{0, 0, 0, 1}, Turns: [2]vec4{{W: 1}, {X: 0.5, Y: 0.5, Z: 0.5, W: 0.5}}},
		{F64: -1e300, I64: math.MinInt64, Angle: 3, Rot: [4]float32{1, 1, 0, 0}, Turns: [2]vec4{{X: 1, Z: 1}, {Y: 1}}},
	} {
		p.Quantise(unsafe.Pointer(&v), lanes)
		w := wire.NewBitWriter(buf)
		p.WriteRow(&w, lanes)
		require.Equal(f, len(buf), w.Finish(), i)
		f.Add(append([]byte(nil), buf...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := wire.NewBitReader(b)
		lanes, again := make([]uint32, p.Lanes()), make([]uint32, p.Lanes())
		if !p.ReadRow(&r, lanes) {
			require.True(t, r.Failed())
			return
		}
		out := make([]byte, len(b))
		w := wire.NewBitWriter(out)
		p.WriteRow(&w, lanes)
		w.Finish()
		whole := p.Bits() / 8
		require.Equal(t, b[:whole], out[:whole])
		var v everything
		p.Dequantise(lanes, unsafe.Pointer(&v))
		require.Equal(t, Fault{}, p.Quantise(unsafe.Pointer(&v), again))
		require.Equal(t, lanes, again)
	})
}
