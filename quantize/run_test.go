package quantize

import (
	"github.com/arche-netcode/netcode/wire"

	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// joysticks is an input such as players hold for many ticks: 4 axes of 8 bits and 5 buttons.
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

// drawRun returns rows as Quantise makes them, most of them near the one before.
func drawRun(t *rapid.T, p *Plan, most int) (rows []uint32, count int) {
	n := p.Lanes()
	count = rapid.IntRange(0, most).Draw(t, "count")
	rows = make([]uint32, count*n)
	v := joysticks{Rot: [4]float32{0, 0, 0, 1}}
	for i := range count {
		switch rapid.IntRange(0, 3).Draw(t, "change") {
		case 0: // the same
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
		require.LessOrEqual(t, bits, p.MaxRunBits(count))
		w.Write(0b101, 3)
		size := w.Finish()

		got := make([]uint32, 20*n)
		r := wire.NewBitReader(buf[:size])
		r.Read(before)
		read, ok := p.ReadRun(&r, got, 20)
		require.True(t, ok)
		require.Equal(t, count, read)
		require.Equal(t, rows, got[:count*n])
		require.Equal(t, uint64(0b101), r.Read(3))
		require.True(t, r.Done())

		for cut := 0; cut*8 < bits+int(before); cut++ {
			r := wire.NewBitReader(buf[:cut])
			r.Read(before)
			_, ok := p.ReadRun(&r, got, 20)
			require.False(t, ok)
			require.True(t, r.Failed())
		}
		if count > 0 {
			r = wire.NewBitReader(buf[:size])
			r.Read(before)
			_, ok = p.ReadRun(&r, got, count-1)
			require.False(t, ok, "more rows than there is room for")
			require.True(t, r.Failed())
		}
	})
}

// TestRunOfAnyLanes takes rows that no value made, at the edges of every kind of lane.
func TestRunOfAnyLanes(t *testing.T) {
	p := mustCompile[everything](t, "Everything")
	rapid.Check(t, func(t *rapid.T) {
		draw := func(from []uint32) []uint32 {
			row := append([]uint32(nil), from...)
			for i, l := range p.lanes {
				if p.ops[l.op].kind == opQuat {
					continue
				}
				if rapid.Bool().Draw(t, "changes") {
					top, now := uint64(1)<<l.bits-1, uint64(from[i])
					edges := []uint64{0, top, top/2 + 1, (now + 1) & top, (now - 1) & top}
					row[i] = uint32(rapid.OneOf(rapid.Uint64Range(0, top), rapid.SampledFrom(edges)).Draw(t, "lane"))
				}
				if l.check != checkNone && !p.legal(&p.lanes[i], row, i) && (l.check != checkMax || uint64(row[i]) > l.max) {
					row[i] = from[i]
					if l.check == checkMax64 || l.check == checkFloat64 {
						row[i-1] = from[i-1]
					}
				}
			}
			return row
		}
		v := everything{Rot: [4]float32{0, 0, 0, 1}, Turns: [2]vec4{{W: 1}, {W: 1}}}
		before := make([]uint32, p.Lanes())
		p.Quantise(unsafe.Pointer(&v), before)
		before = draw(before)
		row, got := draw(before), make([]uint32, p.Lanes())
		buf := make([]byte, 400)
		w := wire.NewBitWriter(buf)
		p.WriteNext(&w, before, row)
		require.LessOrEqual(t, w.Bits(), p.MaxRunBits(2)-p.MaxRunBits(1))
		r := wire.NewBitReader(buf[:w.Finish()])
		require.True(t, p.ReadNext(&r, before, got))
		require.Equal(t, row, got)
		require.True(t, r.Done())
	})
}

// What is repeated costs one bit, and little more where little moves: the reason for runs.
func TestRunOfRepeatsCostsABitARow(t *testing.T) {
	p := mustCompile[joysticks](t, "Joysticks")
	n := p.Lanes()
	rows := make([]uint32, 10*n)
	v := joysticks{MoveX: 100, Attack: true, Tick: 70000, Rot: [4]float32{0, 0, 0, 1}}
	for i := range 10 {
		p.Quantise(unsafe.Pointer(&v), rows[i*n:])
	}
	buf := make([]byte, 1000)
	w := wire.NewBitWriter(buf)
	p.WriteRun(&w, rows, 10)
	require.Equal(t, wire.VarBits(10)+p.Bits()+9, w.Bits())

	for i := range 10 { // a clock that goes on is a field's bit, its lanes' bits and 4 more
		v.Tick++
		p.Quantise(unsafe.Pointer(&v), rows[i*n:])
	}
	w = wire.NewBitWriter(buf)
	p.WriteRun(&w, rows, 10)
	fields := len(p.ops)
	require.Equal(t, wire.VarBits(10)+p.Bits()+9*(1+fields+2+1+wire.VarBits(1)), w.Bits())
}

// TestReadNextRefuses writes by hand what WriteNext never writes.
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

// Every difference of a lane of every width comes back, and no two forms mean the same.
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

func TestRunOfATypeWithoutFields(t *testing.T) {
	p := mustCompile[struct{}](t, "Nothing")
	buf := make([]byte, 4)
	w := wire.NewBitWriter(buf)
	p.WriteRun(&w, nil, 3)
	require.LessOrEqual(t, w.Bits(), p.MaxRunBits(3))
	r := wire.NewBitReader(buf[:w.Finish()])
	count, ok := p.ReadRun(&r, nil, 3)
	require.True(t, ok)
	require.Equal(t, 3, count)
	w = wire.NewBitWriter(buf)
	w.Var(2)
	w.Write(1, 1)
	r = wire.NewBitReader(buf[:w.Finish()])
	_, ok = p.ReadRun(&r, nil, 3)
	require.False(t, ok, "something differs where nothing can")
	require.Equal(t, wire.VarBits(0), p.MaxRunBits(0))
}

func TestRunsAllocateNothing(t *testing.T) {
	p := mustCompile[joysticks](t, "Joysticks")
	rows, count, buf := inputRows(p, 16), 16, make([]byte, 1000)
	got := make([]uint32, len(rows))
	alloctest.Zero(t, 100, func() {
		w := wire.NewBitWriter(buf)
		p.WriteRun(&w, rows, count)
		r := wire.NewBitReader(buf[:w.Finish()])
		if _, ok := p.ReadRun(&r, got, count); !ok {
			t.Fatal("not read")
		}
	})
}

// inputRows returns inputs of a player who moves now and then.
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

// FuzzReadRun: what ReadRun takes, WriteRun gives back bit by bit, and every row is one that Quantise could have made.
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
		count, ok := p.ReadRun(&r, got, limit)
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
		require.LessOrEqual(t, w.Bits(), p.MaxRunBits(count))
		whole := w.Bits() / 8
		w.Finish()
		require.Equal(t, b[:whole], again[:whole])
		for i := range count {
			row := got[i*p.Lanes() : (i+1)*p.Lanes()]
			requireLegalRow(t, p, row)
		}
	})
}

// requireLegalRow wants ReadRow to take the row too.
func requireLegalRow(t *testing.T, p *Plan, row []uint32) {
	buf, again := make([]byte, (p.Bits()+7)/8), make([]uint32, p.Lanes())
	w := wire.NewBitWriter(buf)
	p.WriteRow(&w, row)
	r := wire.NewBitReader(buf[:w.Finish()])
	require.True(t, p.ReadRow(&r, again))
	require.Equal(t, row, again)
}

func BenchmarkRun(b *testing.B) {
	p := mustCompile[joysticks](b, "Joysticks")
	const count = 16
	rows, buf := inputRows(p, count), make([]byte, 1000)
	got := make([]uint32, len(rows))
	w := wire.NewBitWriter(buf)
	report := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/row")
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			w = wire.NewBitWriter(buf)
			p.WriteRun(&w, rows, count)
		}
		report(b)
	})
	n := w.Finish()
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			r := wire.NewBitReader(buf[:n])
			p.ReadRun(&r, got, count)
		}
		report(b)
	})
}
