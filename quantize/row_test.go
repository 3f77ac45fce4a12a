package quantize

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/wire"
)

// randomise fills every sent field with random bytes: any number, including NaN and infinities; booleans are 0 or 1.
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

// plain sets a float field to a value common in games.
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

// TestLaw checks every field kind: a row's value gives the same row again, without a fault, whatever memory the row
// came from. The row also survives the wire, plain and packed.
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

		buf := make([]byte, 400)
		before := uint(rapid.IntRange(0, 64).Draw(t, "before"))
		w := wire.NewBitWriter(buf)
		w.Write(0, before)
		p.WriteRow(&w, first)
		require.Equal(t, int(before)+p.Bits(), w.Bits())
		w.Write(5, 3)
		p.WriteRow(&w, first)
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

func TestPlansAllocateNothing(t *testing.T) {
	p := mustCompile[everything](t, "Everything")
	v := everything{F32: float32(math.NaN()), Fixed: 9}
	lanes := make([]uint32, p.Lanes())
	buf, bytes, other := make([]byte, 400), make([]byte, 0, 2000), everything{}
	alloctest.Zero(t, 100, func() {
		p.Quantise(unsafe.Pointer(&v), lanes)
		w := wire.NewBitWriter(buf)
		p.WriteRow(&w, lanes)
		r := wire.NewBitReader(buf[:w.Finish()])
		p.ReadRow(&r, lanes)
		p.Dequantise(lanes, unsafe.Pointer(&other))
		p.Compare(unsafe.Pointer(&v), unsafe.Pointer(&other))
		p.AppendFields(bytes, unsafe.Pointer(&v))
		p.Describe(bytes)
	})
}

// FuzzReadRow: WriteRow writes every row that ReadRow accepts unchanged, and its value is legal.
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

// joysticks is a typical input that is held for many ticks: 4 axes of 8 bits and 5 buttons.
type joysticks struct {
	MoveX, MoveY                        int8
	SmashX, SmashY                      int8
	Attack, Special, Shield, Grab, Jump bool
	Aim                                 float32 `net:"angle,bits=10"`
	Item                                uint8   `net:"min=0,max=4"`
	Tick                                uint64
	Rot                                 [4]float32 `net:"quat,bits=9"`
	Throttle                            float32    `net:"axis"`
	Zoom                                float64    `net:"half"`
}

// drawRun draws rows of Quantise, most of them near the previous one.
func drawRun(t *rapid.T, p *Plan, most int) (rows []uint32, count int) {
	n := p.Lanes()
	count = rapid.IntRange(0, most).Draw(t, "count")
	rows = make([]uint32, count*n)
	v := joysticks{Rot: [4]float32{0, 0, 0, 1}}
	for i := range count {
		switch rapid.IntRange(0, 3).Draw(t, "change") {
		case 0: // equal
		case 1:
			v.MoveX += int8(rapid.IntRange(-3, 3).Draw(t, "x"))
			v.Aim += 0.1
			v.Tick++
			v.Throttle, v.Zoom = min(v.Throttle+0.01, 1), v.Zoom+0.5
		case 2:
			v.Jump, v.Item = !v.Jump, rapid.Uint8Range(0, 6).Draw(t, "item")
			v.Tick += rapid.Uint64Range(0, 1<<40).Draw(t, "ticks")
		default:
			v.SmashX, v.Grab = rapid.Int8().Draw(t, "smash"), rapid.Bool().Draw(t, "grab")
			v.Rot = [4]float32{rapid.Float32Range(-1, 1).Draw(t, "q"), 0.3, rapid.Float32Range(-1, 1).Draw(t, "q"), 0.9}
		}
		if i > 0 {
			copy(rows[i*n:], rows[(i-1)*n:i*n])
		}
		p.Quantise(unsafe.Pointer(&v), rows[i*n:(i+1)*n])
	}
	return rows, count
}

func TestRunRoundTrip(t *testing.T) {
	p := mustCompile[joysticks](t, "Joysticks")
	n := p.Lanes()
	rapid.Check(t, func(t *rapid.T) {
		rows, count := drawRun(t, p, 20)
		before := uint(rapid.IntRange(0, 64).Draw(t, "before"))
		buf := make([]byte, 1000)
		w := wire.NewBitWriter(buf)
		w.Write(0, before)
		p.WriteRun(&w, rows, count)
		bits := w.Bits() - int(before)
		require.LessOrEqual(t, bits, maxRunBits(p, count))
		w.Write(0b101, 3)
		size := w.Finish()

		got := make([]uint32, 20*n)
		r := wire.NewBitReader(buf[:size])
		r.Read(before)
		read, ok := p.ReadRun(&r, got, 20, false)
		require.True(t, ok)
		require.Equal(t, count, read)
		require.Equal(t, rows, got[:count*n])
		require.Equal(t, uint64(0b101), r.Read(3))
		require.True(t, r.Done())

		for cut := 0; cut*8 < bits+int(before); cut++ {
			r := wire.NewBitReader(buf[:cut])
			r.Read(before)
			_, ok := p.ReadRun(&r, got, 20, false)
			require.False(t, ok)
			require.True(t, r.Failed())
		}
		if count > 0 {
			r = wire.NewBitReader(buf[:size])
			r.Read(before)
			_, ok = p.ReadRun(&r, got, count-1, false)
			require.False(t, ok, "more rows than there is room for")
			require.True(t, r.Failed())
		}
	})
}

// TestReadNextRefuses reads encodings that WriteNext never writes.
func TestReadNextRefuses(t *testing.T) {
	type plain struct {
		A uint8
		B bool
		C uint8 `net:"min=0,max=2"`
		D uint64
		E uint8 `net:"min=0,max=200"`
	}
	p := mustCompile[plain](t, "Plain")
	before := []uint32{10, 1, 1, 5, 6, 199}
	small := func(w *wire.BitWriter, z uint64) { w.Write(0, 1); w.Var(z - 1) }
	for name, c := range map[string]struct {
		write func(w *wire.BitWriter)
		want  []uint32
	}{
		"the same":                     {func(w *wire.BitWriter) { w.Write(0, 1) }, before},
		"A one more":                   {func(w *wire.BitWriter) { w.Write(0b11, 2); small(w, 2); w.Write(0, 4) }, []uint32{11, 1, 1, 5, 6, 199}},
		"A far":                        {func(w *wire.BitWriter) { w.Write(0b111, 3); w.Write(200, 8); w.Write(0, 4) }, []uint32{200, 1, 1, 5, 6, 199}},
		"A near, said far":             {func(w *wire.BitWriter) { w.Write(0b111, 3); w.Write(11, 8); w.Write(0, 4) }, nil},
		"A far, said near":             {func(w *wire.BitWriter) { w.Write(0b11, 2); small(w, 120); w.Write(0, 4) }, nil},
		"A by more than there is":      {func(w *wire.BitWriter) { w.Write(0b11, 2); small(w, 1<<40); w.Write(0, 4) }, nil},
		"A changes to itself":          {func(w *wire.BitWriter) { w.Write(0b111, 3); w.Write(10, 8); w.Write(0, 4) }, nil},
		"something, but nothing":       {func(w *wire.BitWriter) { w.Write(0b000001, 6) }, nil},
		"B":                            {func(w *wire.BitWriter) { w.Write(0b101, 3); w.Write(0, 3) }, []uint32{10, 0, 1, 5, 6, 199}},
		"C":                            {func(w *wire.BitWriter) { w.Write(0b1001, 4); w.Write(2, 2); w.Write(0, 2) }, []uint32{10, 1, 2, 5, 6, 199}},
		"C above its maximum":          {func(w *wire.BitWriter) { w.Write(0b1001, 4); w.Write(3, 2); w.Write(0, 2) }, nil},
		"C changes to itself":          {func(w *wire.BitWriter) { w.Write(0b1001, 4); w.Write(1, 2); w.Write(0, 2) }, nil},
		"D's low half":                 {func(w *wire.BitWriter) { w.Write(0b110001, 6); small(w, 1); w.Write(0, 2) }, []uint32{10, 1, 1, 4, 6, 199}},
		"D's high half":                {func(w *wire.BitWriter) { w.Write(0b1010001, 7); small(w, 1); w.Write(0, 1) }, []uint32{10, 1, 1, 5, 5, 199}},
		"D, but neither half":          {func(w *wire.BitWriter) { w.Write(0b010001, 6); w.Write(0, 2) }, nil},
		"E at its maximum":             {func(w *wire.BitWriter) { w.Write(0b100001, 6); small(w, 2) }, []uint32{10, 1, 1, 5, 6, 200}},
		"E above it":                   {func(w *wire.BitWriter) { w.Write(0b100001, 6); small(w, 4) }, nil},
		"E far above it":               {func(w *wire.BitWriter) { w.Write(0b1100001, 7); w.Write(255, 8) }, nil},
		"E around the end of its bits": {func(w *wire.BitWriter) { w.Write(0b1100001, 7); w.Write(0, 8) }, []uint32{10, 1, 1, 5, 6, 0}},
	} {
		buf, got := make([]byte, 40), make([]uint32, p.Lanes())
		w := wire.NewBitWriter(buf)
		c.write(&w)
		bits := w.Bits()
		r := wire.NewBitReader(buf[:w.Finish()])
		require.Equal(t, c.want != nil, p.ReadNext(&r, before, got), name)
		require.Equal(t, c.want == nil, r.Failed(), name)
		if c.want == nil {
			require.Zero(t, r.Remaining(), name)
			continue
		}
		require.Equal(t, c.want, got, name)
		again := make([]byte, 40)
		w = wire.NewBitWriter(again)
		p.WriteNext(&w, before, got)
		require.Equal(t, bits, w.Bits(), name)
		w.Finish()
		require.Equal(t, buf, again, name)
	}
}

// Every difference of a lane of every width is decoded, and no two encodings mean the same.
func TestEveryDifferenceOfALane(t *testing.T) {
	buf := make([]byte, 16)
	for width := uint(1); width <= 10; width++ {
		for before := range uint32(1) << width {
			for now := range uint32(1) << width {
				if before == now {
					continue
				}
				w := wire.NewBitWriter(buf)
				writeLane(&w, width, before, now)
				bits := w.Bits()
				r := wire.NewBitReader(buf[:w.Finish()])
				if got := readLane(&r, width, before); got != now || !r.Done() || bits > int(width)+1 {
					t.Fatalf("%d after %d in %d bits: read %d, %d bits", now, before, width, got, bits)
				}
			}
		}
	}
	for _, c := range [][2]uint32{{0, math.MaxUint32}, {math.MaxUint32, 0}, {0, 1 << 31}, {1 << 31, 0}, {5, 5 + 1<<31}, {7, 1 << 20}} {
		w := wire.NewBitWriter(buf)
		writeLane(&w, 32, c[0], c[1])
		r := wire.NewBitReader(buf[:w.Finish()])
		require.Equal(t, c[1], readLane(&r, 32, c[0]))
	}
}

func TestVarBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 70), rapid.SampledFrom([]uint64{1<<64 - 1, 1<<64 - 4, 1<<64 - 5, 1<<63 - 4})).Draw(t, "v")
		var w wire.BitWriter
		w.Var(v)
		require.Equal(t, w.Bits(), wire.VarBits(v))
	})
}

func TestRunsAllocateNothing(t *testing.T) {
	p := mustCompile[joysticks](t, "Joysticks")
	rows, count, buf := inputRows(p, 16), 16, make([]byte, 1000)
	got := make([]uint32, len(rows))
	alloctest.Zero(t, 100, func() {
		w := wire.NewBitWriter(buf)
		p.WriteRun(&w, rows, count)
		r := wire.NewBitReader(buf[:w.Finish()])
		if _, ok := p.ReadRun(&r, got, count, false); !ok {
			t.Fatal("not read")
		}
	})
}

// inputRows returns inputs of a player that moves now and then.
func inputRows(p *Plan, count int) []uint32 {
	random := rand.New(rand.NewPCG(11, 12))
	n := p.Lanes()
	rows := make([]uint32, count*n)
	v := joysticks{Rot: [4]float32{0, 0, 0, 1}}
	for i := range count {
		if random.IntN(3) == 0 {
			v.MoveX += int8(random.IntN(9) - 4)
			v.MoveY += int8(random.IntN(9) - 4)
			v.Jump = random.IntN(2) == 0
		}
		p.Quantise(unsafe.Pointer(&v), rows[i*n:])
	}
	return rows
}

// FuzzReadRun: WriteRun writes every run that ReadRun accepts bit by bit, and Quantise can produce every row.
func FuzzReadRun(f *testing.F) {
	inputs, err := Compile(reflect.TypeFor[joysticks](), "Joysticks")
	require.NoError(f, err)
	all, err := Compile(reflect.TypeFor[everything](), "Everything")
	require.NoError(f, err)
	plans := []*Plan{inputs, all}
	buf := make([]byte, 1000)
	for _, count := range []int{0, 1, 2, 16} {
		w := wire.NewBitWriter(buf)
		inputs.WriteRun(&w, inputRows(inputs, 16), count)
		f.Add(append([]byte(nil), buf[:w.Finish()]...), false)
	}
	rows := make([]uint32, 2*all.Lanes())
	for i, v := range []everything{
		{Rot: [4]float32{0, 0, 0, 1}, Turns: [2]vec4{{W: 1}, {W: 1}}},
		{F64: 2, I64: -3, Angle: 1, Rot: [4]float32{0, 0, 1, 1}, Turns: [2]vec4{{W: 1}, {X: 1}}},
	} {
		all.Quantise(unsafe.Pointer(&v), rows[i*all.Lanes():])
	}
	w := wire.NewBitWriter(buf)
	all.WriteRun(&w, rows, 2)
	f.Add(append([]byte(nil), buf[:w.Finish()]...), true)
	f.Fuzz(func(t *testing.T, b []byte, second bool) {
		p := plans[bit(second)]
		const limit = 20
		r, got := wire.NewBitReader(b), make([]uint32, limit*p.Lanes())
		count, ok := p.ReadRun(&r, got, limit, false)
		require.Equal(t, !ok, r.Failed())
		if !ok {
			require.Zero(t, count)
			require.Zero(t, r.Remaining())
			return
		}
		again := make([]byte, len(b)+8)
		w := wire.NewBitWriter(again)
		p.WriteRun(&w, got, count)
		require.Equal(t, len(b)*8, w.Bits()+r.Remaining())
		require.LessOrEqual(t, w.Bits(), maxRunBits(p, count))
		whole := w.Bits() / 8
		w.Finish()
		require.Equal(t, b[:whole], again[:whole])
		for i := range count {
			row := got[i*p.Lanes() : (i+1)*p.Lanes()]
			requireLegalRow(t, p, row)
		}
	})
}

// requireLegalRow also requires that ReadRow accepts the row.
func requireLegalRow(t *testing.T, p *Plan, row []uint32) {
	buf, again := make([]byte, (p.Bits()+7)/8), make([]uint32, p.Lanes())
	w := wire.NewBitWriter(buf)
	p.WriteRow(&w, row)
	r := wire.NewBitReader(buf[:w.Finish()])
	require.True(t, p.ReadRow(&r, again))
	require.Equal(t, row, again)
}

// maxRunBits returns the maximum length of a run of count rows in bits.
func maxRunBits(p *Plan, count int) int {
	if count == 0 {
		return wire.VarBits(0)
	}
	first := p.bits
	if p.debug {
		first += 7
	}
	return wire.VarBits(uint64(count)) + first + (count-1)*p.maxNextBits()
}
