package quantize

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/internal/rowtest"
)

// withoutWide returns the plan without assembly.
func withoutWide(p *Plan) *Plan {
	plain := *p
	plain.wide, plain.runs, plain.block, plain.quats, plain.ops = false, nil, nil, nil, slices.Clone(p.ops)
	for i := range plain.ops {
		plain.ops[i].run = 0
	}
	return &plain
}

type (
	place struct {
		X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
	}
	turned struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	// bounded has runs of one to seven bounded fields, separated by other fields.
	bounded struct {
		One   float32    `net:"min=0,max=1,step=0.1"`
		On    bool       //
		Two   [2]float32 `net:"min=-1,max=3,step=0.001"`
		Wee   int8       //
		A     float32    `net:"min=-8,max=-7,step=0.001"`
		B     float32    `net:"min=0,max=3e38,step=1e37"`
		Apart int16      //
		C     float32    `net:"min=-1e-30,max=1e-30,step=1e-33"`
		D     float32    `net:"min=1,max=1.5,step=0.001"`
		E     float32    `net:"min=0.3,max=70.7,step=0.07"`
		Q     [4]float32 `net:"quat,bits=12"`
		Five  [5]float32 `net:"min=-512,max=512,step=0.002"`
		Local float32    `net:"-"`
		Six   [6]float32 `net:"min=0,max=10,step=0.003"`
		Deep  float64    `net:"min=0,max=1,step=0.25"`
		Seven [7]float32 `net:"min=-3,max=3,step=1"`
	}
)

// Adjacent fields form runs of three or four, or two if fewer are left; no field is alone unnecessarily.
func TestRunsOfFields(t *testing.T) {
	var fields []int
	p := mustCompile[bounded](t, "Bounded")
	p.wide, p.runs = true, nil
	p.findRuns()
	for i := range p.ops {
		if n := p.ops[i].run; n > 0 {
			fields = append(fields, int(p.runs[n-1].Fields))
		}
	}
	require.Equal(t, []int{2, 2, 3, 3, 2, 4, 2, 4, 3}, fields)
}

// Without assembly there are no runs. A field with more than 2^31 steps is never in a run.
func TestNoRunsWhereTheProcessorIsNotMadeForThem(t *testing.T) {
	p := mustCompile[bounded](t, "Bounded")
	p.wide, p.runs = false, nil
	for i := range p.ops {
		p.ops[i].run = 0
	}
	p.findRuns()
	require.Empty(t, p.runs)
	p.wide = true
	p.ops[0].count = 1<<31 - 1
	p.findRuns()
	require.NotEmpty(t, p.runs)
	require.Zero(t, p.ops[0].run)
	require.Zero(t, p.runOf(0))
}

// The assembly gives the same rows as plain Go, bit for bit: at and near the bounds, half-way between two lanes, out of
// range and NaN, for any number of rows and any offset. The same rows have faults and keep their lanes, and nothing
// else is written.
func TestWideRowsArePlainRows(t *testing.T) { rapid.Check(t, wideRows(t)) }

// FuzzWideRows is TestWideRowsArePlainRows for a fuzzer.
func FuzzWideRows(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(wideRows(f))) }

func wideRows(t testing.TB) func(*rapid.T) {
	p := mustCompile[bounded](t, "Bounded")
	plain := withoutWide(p)
	n, size := p.Lanes(), int(p.Size())
	return func(t *rapid.T) {
		column := make([]bounded, rapid.IntRange(1, 20).Draw(t, "rows"))
		oddity := rapid.SampledFrom([]int{0, 30, 300}).Draw(t, "one odd in")
		for i := range column {
			for k := range p.ops {
				o := &p.ops[k]
				at := unsafe.Add(unsafe.Pointer(&column[i]), o.offset)
				switch o.kind {
				case opFixed32:
					*(*float32)(at) = drawFixed(t, o, oddity)
				case opQuat:
					*(*[4]float32)(at) = drawTurn(t, o, oddity)
				}
			}
		}
		rows := rapid.SliceOfN(rapid.Int32Range(0, int32(len(column)-1)), 0, 40).Draw(t, "which")
		const guard = 5
		wide, single := make([]uint32, len(rows)*n+guard), make([]uint32, len(rows)*n+guard)
		for i := range wide {
			wide[i], single[i] = uint32(i)*0x9E3779B9, uint32(i)*0x9E3779B9
		}
		base := (*byte)(unsafe.Pointer(&column[0]))
		badly := p.QuantiseRows(base, size, rows, wide, nil)
		bad := plain.QuantiseRows(base, size, rows, single, nil)
		require.Equal(t, single, wide)
		slices.Sort(badly)
		slices.Sort(bad)
		require.Equal(t, bad, badly)
	}
}

// drawFixed draws a value of a field: within its bounds, near one, between two lanes, or a special one.
func drawFixed(t *rapid.T, o *op, oddity int) float32 {
	if oddity > 0 && rapid.IntRange(1, oddity).Draw(t, "odd") == 1 {
		odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, -math.MaxFloat32, float64(math.Nextafter32(float32(o.max), math.MaxFloat32)),
			float64(math.Nextafter32(float32(o.min), -math.MaxFloat32))}
		return float32(rapid.SampledFrom(odd).Draw(t, "what"))
	}
	var v float64
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		v = rapid.SampledFrom([]float64{o.min, o.max, 0, math.Copysign(0, -1), math.SmallestNonzeroFloat32, -1e-40,
			float64(math.Nextafter32(float32(o.max), 0)), float64(math.Nextafter32(float32(o.min), 0))}).Draw(t, "edge")
	case 1:
		v = o.min + (float64(rapid.Uint64Range(0, o.count).Draw(t, "number"))+0.5)*o.step
	default:
		v = rapid.Float64Range(o.min, o.max).Draw(t, "value")
	}
	if f := float32(v); float64(f) >= o.min && float64(f) <= o.max || oddity > 0 {
		return f
	}
	return float32(math.Max(o.min, math.Min(v, o.max)))
}

// drawTurn draws a rotation, sometimes near a tie or with a length slightly different from 1.
func drawTurn(t *rapid.T, o *op, oddity int) (v [4]float32) {
	var c [4]float64
	square := 0.0
	for k := range c {
		c[k] = rapid.Float64Range(-1, 1).Draw(t, "component")
		if oddity > 0 && rapid.IntRange(1, oddity).Draw(t, "tie") == 1 {
			c[k] = rapid.SampledFrom([]float64{1, -1, 1 - 3.9*o.step, 1 - 4.1*o.step, 0, 1e-41, math.NaN(), math.Inf(-1)}).Draw(t, "what")
		}
		square += c[k] * c[k]
	}
	for k := range c {
		v[k] = float32(c[k] / math.Sqrt(square))
	}
	return v
}

// The assembly handles all ordinary rows.
func TestOrdinaryRowsAreWide(t *testing.T) {
	if !kernel.Wide() {
		t.Skip("this processor is not wide")
	}
	places, rows := make([]place, 65), make([]int32, 64)
	for i := range places {
		places[i] = place{float32(i), -float32(i), 0.5}
	}
	for i := range rows {
		rows[i] = int32(64 - i)
	}
	lanes := make([]uint32, 3*len(rows))
	p := mustCompile[place](t, "Place")
	require.Equal(t, 64, kernel.FixedRows(&p.runs[0], (*byte)(unsafe.Pointer(&places[0])), 12, &rows[0], len(rows), &lanes[0], 3))
}

type dequantised struct {
	X, Y  float32    `net:"min=-512,max=511.9,step=0.002"`
	Local uint32     `net:"-"`
	Turn  [4]float32 `net:"quat,bits=9"`
	Exact float32
}

// DequantiseRows gives the same values as Dequantise, and does not touch unsent fields.
func TestDequantiseRowsIsDequantise(t *testing.T) {
	p := deltaPlan[dequantised](t)
	random := rand.New(rand.NewPCG(3, 14))
	const stride = 11
	for n := range 20 {
		lanes := make([]uint32, max(1, n)*stride)
		var want, got [20]dequantised
		for k := range n {
			row := lanes[k*stride:][:p.Lanes()]
			copy(row, drawRow(random, p, nil))
			if k%5 == 0 {
				row[0] = uint32(p.ops[0].count) // the largest lane, whose value may exceed max
			}
			want[k].Local, got[k].Local = uint32(k), uint32(k)
			p.Dequantise(row, unsafe.Pointer(&want[k]))
		}
		memory := unsafe.Slice((*byte)(unsafe.Pointer(&got)), unsafe.Sizeof(got))
		require.True(t, p.DequantiseRows(memory[:n*int(p.Size())], lanes, stride, n))
		require.Equal(t, want, got)
	}
	for _, other := range []*Plan{deltaPlan[rowtest.Health](t), deltaPlan[rowtest.Lone](t)} {
		memory := make([]byte, 8)
		require.False(t, other.DequantiseRows(memory, []uint32{1}, 1, 1))
		require.Equal(t, make([]byte, 8), memory)
	}
}

// Differing equals comparing each row, for each number of rows and each single differing byte.
func TestDifferingRowsIsComparing(t *testing.T) {
	for _, size := range []int{0, 1, 2, 7, 8, 9, 11, 12, 13, 15, 16, 17, 40} {
		r := NewRows(size)
		for n := range 65 {
			a := make([]byte, n*size)
			for i := range a {
				a[i] = byte(i*7 + n)
			}
			b := slices.Clone(a)
			require.Zero(t, r.Differing(a, b, n))
			for i := range b {
				b[i] ^= 1 << (i % 8)
				want := uint64(1) << (i / size)
				if got := r.Differing(a, b, n); got != want {
					require.Failf(t, "wrong rows", "%d rows of %d bytes, byte %d: %x", n, size, i, got)
				}
				b[i] = a[i]
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		size, n, first := rapid.IntRange(1, 20).Draw(t, "size"), rapid.IntRange(0, 64).Draw(t, "rows"), rapid.IntRange(0, 7).Draw(t, "first")
		a := rapid.SliceOfN(rapid.Byte(), first+n*size, first+n*size+3).Draw(t, "a")[first:]
		b := slices.Clone(a)
		want := uint64(0)
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, max(len(b)-1, 0)), 0, 70).Draw(t, "other") {
			if i < len(b) {
				b[i]++
			}
		}
		for i := range n {
			if !bytes.Equal(a[i*size:(i+1)*size], b[i*size:(i+1)*size]) {
				want |= 1 << i
			}
		}
		require.Equal(t, want, NewRows(size).Differing(a, b, n))
	})
}

// The same for lanes.
func TestDifferingLanesIsComparing(t *testing.T) {
	a, b := make([]uint32, 3*20), make([]uint32, 3*20)
	b[3*4+2], b[3*19] = 1<<31, 1
	require.Equal(t, uint64(1<<4|1<<19), NewRows(12).DifferingLanes(a, b, 20))
}

// Memory that is too short panics before anything is read.
func TestDifferingRowsNeedsItsMemory(t *testing.T) {
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*7, 12*7), make([]byte, 12*8), 8) })
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*8), make([]byte, 12*7, 12*7), 8) })
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*9-1), make([]byte, 12*9), 9) }, "the last row, which is compared by itself")
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*9), make([]byte, 12*9-1), 9) })
}

// TestFloatsAreCopied checks that CopyFloats equals reading lane by lane, and refuses truncated input and numbers that
// are not finite.
func TestFloatsAreCopied(t *testing.T) { rapid.Check(t, copiedFloats) }

// FuzzCopyFloats is TestFloatsAreCopied for a fuzzer.
func FuzzCopyFloats(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(copiedFloats)) }

func copiedFloats(t *rapid.T) {
	values := rapid.SliceOfN(rapid.Float32(), 0, 50).Draw(t, "values")
	if at := rapid.IntRange(0, 200).Draw(t, "at"); at < len(values) {
		values[at] = rapid.SampledFrom([]float32{
			float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.Float32frombits(0xFF80_0001),
		}).Draw(t, "bad")
	}
	var buf []byte
	bad := false
	for _, v := range values {
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		bad = bad || !finite32(math.Float32bits(v))
	}
	short := rapid.IntRange(0, len(buf)).Draw(t, "short")
	buf = append(buf, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "behind")...)
	lanes := make([]uint32, len(values))
	require.Equal(t, !bad, CopyFloats(lanes, buf))
	for i, v := range values {
		require.Equal(t, math.Float32bits(v), lanes[i])
	}
	if short < 4*len(values) {
		require.False(t, CopyFloats(lanes, buf[:short]))
	}
}

// A single number that is not finite is refused, in every position and length.
func TestOneFloatThatIsNotFiniteIsRefused(t *testing.T) {
	for n := 1; n <= 20; n++ {
		for at := range n {
			for _, bad := range []uint32{0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0xFF80_0001} {
				buf, lanes := []byte(nil), make([]uint32, n)
				for i := range n {
					v := math.Float32bits(float32(i) - 1.5)
					if i == at {
						v = bad
					}
					buf = binary.LittleEndian.AppendUint32(buf, v)
				}
				require.False(t, CopyFloats(lanes, buf), "%#x at %d of %d", bad, at, n)
			}
		}
	}
}

func BenchmarkCopyFloats(b *testing.B) {
	buf, lanes := make([]byte, 28*40), make([]uint32, 280)
	for b.Loop() {
		if !CopyFloats(lanes, buf) {
			b.Fatal("refused")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/28, "ns/row")
}
