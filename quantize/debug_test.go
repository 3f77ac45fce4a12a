package quantize

import (
	"github.com/arche-netcode/netcode/wire"

	"encoding/hex"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// everyKind has a field of each kind there is.
type everyKind struct {
	Everything everything
	Sticks     sticks
}

func mustDebug[T any](t testing.TB, name string) *Plan {
	t.Helper()
	p := mustCompile[T](t, name)
	p.Debug()
	return p
}

func TestEveryKindHasEveryKind(t *testing.T) {
	seen := map[opKind]bool{}
	for _, o := range mustCompile[everyKind](t, "EveryKind").ops {
		seen[o.kind] = true
	}
	require.Len(t, seen, int(opAxis64)+1)
}

func TestDebugDescribes(t *testing.T) {
	p := mustCompile[body](t, "Body")
	packed := string(p.Describe(nil))
	require.False(t, p.Debugging())
	p.Debug()
	require.True(t, p.Debugging())
	require.Equal(t, "Body{unpacked;"+packed[len("Body{"):], string(p.Describe(nil)))
	require.Equal(t, 8*(3*4+16), p.Bits())
	p = mustDebug[struct{}](t, "Burning")
	require.Equal(t, "Burning{unpacked}", string(p.Describe(nil)))
	require.Zero(t, p.Bits())
	w, r := wire.NewBitWriter(make([]byte, 2)), wire.NewBitReader([]byte{0xFF})
	w.Write(1, 3)
	p.WriteRow(&w, nil)
	p.Pack(nil, nil)
	p.WritePacked(&w, nil)
	require.Equal(t, 3, w.Bits(), "what has no fields takes no bits")
	r.Read(3)
	require.True(t, p.ReadRow(&r, nil))
	require.Equal(t, 5, r.Remaining())
}

// TestDebugIsReadByEye: the bytes are the fields, at their size, from a byte on.
func TestDebugIsReadByEye(t *testing.T) {
	type seen struct {
		X     float32 `net:"min=-512,max=512,step=0.5"`
		Team  uint16
		On    bool
		Level int8    `net:"min=-3,max=3"`
		Turn  float64 `net:"half"`
	}
	p, v := mustDebug[seen](t, "Seen"), seen{X: 1.5, Team: 0x1234, On: true, Level: -2, Turn: -1}
	lanes, buf := make([]uint32, p.Lanes()), make([]byte, 32)
	require.Equal(t, Fault{}, p.Quantise(unsafe.Pointer(&v), lanes))
	w := wire.NewBitWriter(buf)
	w.Write(1, 1)
	p.WriteRow(&w, lanes)
	require.Equal(t, "01"+"0000c03f"+"3412"+"01"+"fe"+"000000000000f0bf", hex.EncodeToString(buf[:w.Finish()]))
	require.Equal(t, p.AppendFields(nil, unsafe.Pointer(&v)), buf[1:17], "a value that is one of quantising's stands as in memory")
}

// TestDebugLaw: the row survives, plain and packed, at any place; it is what AppendFields says of its value; and
// the cell functions agree with those that work in memory.
func TestDebugLaw(t *testing.T) {
	p, plain := mustDebug[everyKind](t, "EveryKind"), mustCompile[everyKind](t, "EveryKind")
	rapid.Check(t, func(t *rapid.T) {
		var a, b everyKind
		lanes, again := make([]uint32, p.Lanes()), make([]uint32, p.Lanes())
		randomise(t, p, unsafe.Pointer(&a))
		p.Quantise(unsafe.Pointer(&a), lanes)
		p.Dequantise(lanes, unsafe.Pointer(&b))

		buf, words := make([]byte, 1200), make([]uint64, (p.Bits()+63)/64)
		before := uint(rapid.IntRange(0, 64).Draw(t, "before"))
		w := wire.NewBitWriter(buf)
		w.Write(0, before)
		p.WriteRow(&w, lanes)
		start := int(before+7) / 8
		require.Equal(t, start*8+p.Bits(), w.Bits())
		w.Write(5, 3)
		words[0] = math.MaxUint64 // of an earlier row
		p.Pack(lanes, words)
		p.WritePacked(&w, words)
		n := w.Finish()
		require.Equal(t, p.AppendFields(nil, unsafe.Pointer(&b)), buf[start:start+p.Bits()/8])
		require.Equal(t, buf[start:start+p.Bits()/8], buf[n-p.Bits()/8:n])

		r := wire.NewBitReader(buf[:n])
		r.Read(before)
		require.True(t, p.ReadRow(&r, again))
		require.Equal(t, lanes, again)
		require.Equal(t, uint64(5), r.Read(3))
		clear(again)
		require.True(t, p.ReadRow(&r, again))
		require.Equal(t, lanes, again)
		require.True(t, r.Done())
		w = wire.NewBitWriter(buf)
		plain.WriteRow(&w, again)
		r = wire.NewBitReader(buf[:w.Finish()])
		require.True(t, plain.ReadRow(&r, again), "and is one that travels packed")
	})
}

// TestDebugRefuses: bits before the row, and values that quantising does not give.
func TestDebugRefuses(t *testing.T) {
	type strict struct {
		On    bool
		F     float32
		Fixed float32 `net:"min=-1,max=1,step=0.5"`
		Small int16   `net:"min=-5,max=500"`
		Half  float32 `net:"half"`
		Axis  float64 `net:"axis"`
	}
	p, v := mustDebug[strict](t, "Strict"), strict{On: true, F: 1, Fixed: 0.5, Small: -5, Half: 1, Axis: 1}
	good := p.AppendFields(nil, unsafe.Pointer(&v))
	lanes := make([]uint32, p.Lanes())
	read := func(v strict, change func(b []byte)) bool {
		b := p.AppendFields(nil, unsafe.Pointer(&v))
		if change != nil {
			change(b)
			require.NotEqual(t, good, b)
		}
		r := wire.NewBitReader(b)
		ok := p.ReadRow(&r, lanes)
		require.Equal(t, ok, r.Done())
		return ok
	}
	require.True(t, read(v, nil))
	nan := float32(math.NaN())
	for name, bad := range map[string]strict{
		"NaN": {F: nan, Small: 1}, "Inf": {F: float32(math.Inf(1)), Small: 1}, "NaN, fixed": {Fixed: nan, Small: 1}, "above": {Fixed: 1.5, Small: 1},
		"between two steps": {Fixed: 0.25, Small: 1}, "-0": {Fixed: float32(math.Copysign(0, -1)), Small: 1}, "range": {Small: 501}, "range, below": {Small: -6},
		"no half": {Small: 1, Half: 1.0001}, "half Inf": {Small: 1, Half: float32(math.Inf(-1))}, "no axis": {Small: 1, Axis: 0.5}, "axis NaN": {Axis: math.NaN()},
	} {
		require.False(t, read(bad, nil), name)
	}
	require.False(t, read(v, func(b []byte) { b[0] = 7 }), "a boolean of 7")

	shifted := append([]byte{0x11}, good...)
	for start := range uint(8) {
		r := wire.NewBitReader(shifted)
		r.Read(start)
		require.Equal(t, start > 4, p.ReadRow(&r, lanes), "a bit in the padding, row begins after bit %d", start)
	}
	for cut := range good {
		r := wire.NewBitReader(good[:cut])
		require.False(t, p.ReadRow(&r, lanes))
		require.True(t, r.Failed())
		w := wire.NewBitWriter(make([]byte, cut))
		p.WriteRow(&w, lanes)
		require.True(t, w.Overflowed())
	}
}

func TestDebugAllocatesNothing(t *testing.T) {
	p, v := mustDebug[everyKind](t, "EveryKind"), everyKind{}
	lanes, words, buf := make([]uint32, p.Lanes()), make([]uint64, (p.Bits()+63)/64), make([]byte, 1200)
	alloctest.Zero(t, 100, func() {
		p.Quantise(unsafe.Pointer(&v), lanes)
		w := wire.NewBitWriter(buf)
		p.WriteRow(&w, lanes)
		p.Pack(lanes, words)
		p.WritePacked(&w, words)
		r := wire.NewBitReader(buf[:w.Finish()])
		p.ReadRow(&r, lanes)
	})
}

// FuzzReadRowDebug: what ReadRow takes, WriteRow gives back, and it is what memory holds.
func FuzzReadRowDebug(f *testing.F) {
	p, err := Compile(reflect.TypeFor[everyKind](), "EveryKind")
	require.NoError(f, err)
	p.Debug()
	lanes, buf := make([]uint32, p.Lanes()), make([]byte, p.Bits()/8)
	for _, v := range []everyKind{
		{Everything: everything{Rot: [4]float32{0, 0, 0, 1}, Turns: [2]vec4{{W: 1}, {X: 0.5, Y: 0.5, Z: 0.5, W: 0.5}}}},
		{Everything: everything{F64: -1e300, I64: math.MinInt64, Angle: 3}, Sticks: sticks{H: 3, H6: -7, A: [2]float32{1, -1}}},
	} {
		p.Quantise(unsafe.Pointer(&v), lanes)
		w := wire.NewBitWriter(buf)
		p.WriteRow(&w, lanes)
		require.Equal(f, len(buf), w.Finish())
		f.Add(append([]byte(nil), buf...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := wire.NewBitReader(b)
		lanes := make([]uint32, p.Lanes())
		if !p.ReadRow(&r, lanes) {
			require.True(t, r.Failed())
			return
		}
		out := make([]byte, len(b))
		w := wire.NewBitWriter(out)
		p.WriteRow(&w, lanes)
		w.Finish()
		require.Equal(t, b[:p.Bits()/8], out[:p.Bits()/8])
		var v everyKind
		p.Dequantise(lanes, unsafe.Pointer(&v))
		require.Equal(t, out[:p.Bits()/8], p.AppendFields(nil, unsafe.Pointer(&v)))
	})
}

// TestDebugRun: in a run, too, every row is whole.
func TestDebugRun(t *testing.T) {
	p := mustDebug[sticks](t, "Sticks")
	v := []sticks{{H: 1, A6: -1}, {H: 1, A6: -1}, {H: 2, H6: -3, A6: 1}}
	n := p.Lanes()
	rows, back, buf := make([]uint32, 3*n), make([]uint32, 4*n), make([]byte, 200)
	want := []byte{7} // Var of 3: 1 11, and zeros up to the byte
	for i := range v {
		require.Equal(t, Fault{}, p.Quantise(unsafe.Pointer(&v[i]), rows[i*n:(i+1)*n]))
		want = p.AppendFields(want, unsafe.Pointer(&v[i]))
	}
	w := wire.NewBitWriter(buf)
	p.WriteRun(&w, rows, 3)
	require.LessOrEqual(t, w.Bits(), p.MaxRunBits(3))
	require.Equal(t, want, buf[:w.Finish()])
	r := wire.NewBitReader(want)
	count, ok := p.ReadRun(&r, back, 4)
	require.True(t, ok && r.Done())
	require.Equal(t, rows, back[:count*n])
	for cut := range want {
		r := wire.NewBitReader(want[:cut])
		_, ok := p.ReadRun(&r, back, 4)
		require.False(t, ok)
	}
}
