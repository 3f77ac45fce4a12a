package quantize

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// withoutWide is a plan as it is where the processor is not wide.
func withoutWide(p *Plan) *Plan {
	plain := *p
	plain.wide, plain.runs, plain.ops = false, nil, slices.Clone(p.ops)
	for i := range plain.ops {
		plain.ops[i].run, plain.ops[i].quat = 0, nil
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
	// bounded has runs of one to seven fields, of other bounds each, with other things between and behind them.
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

// Fields that lie one behind the other go together: by three or four, by two where that is what is left, and none is alone that need not be.
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

// Where the processor is not made for it no field goes with another, and no rotation by fours; a field that could be more than an int32 goes by itself.
func TestNoRunsWhereTheProcessorIsNotMadeForThem(t *testing.T) {
	p := mustCompile[bounded](t, "Bounded")
	p.wide, p.runs = false, nil
	for i := range p.ops {
		p.ops[i].run, p.ops[i].quat = 0, nil
	}
	p.findRuns()
	require.Empty(t, p.runs)
	for i := range p.ops {
		require.Nil(t, p.ops[i].quat)
	}
	p.wide = true
	p.ops[0].count = 1<<31 - 1
	p.findRuns()
	require.NotEmpty(t, p.runs)
	require.Zero(t, p.ops[0].run)
	require.Zero(t, p.runOf(0))
}

// Rows by whatever the processor has are what they are by plain code, bit for bit: at and next to the bounds and what is halfway between two numbers,
// beyond them and no numbers at all, as many rows as there may be, from any place on. What is wrong with them is told of the same ones, which keep what
// they had where they do, and nothing else is written to.
func TestWideRowsArePlainRows(t *testing.T) {
	p := mustCompile[bounded](t, "Bounded")
	plain := withoutWide(p)
	n, size := p.Lanes(), int(p.Size())
	rapid.Check(t, func(t *rapid.T) {
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
	})
}

// drawFixed is a value of a field: any within its bounds, one next to them, one between two numbers, or an odd one.
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

// drawTurn is a rotation, now and then near a tie or with a length that is not quite 1.
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

// Where the processor is wide all ordinary rows go that way.
func TestOrdinaryRowsAreWide(t *testing.T) {
	if !kernel.Wide() {
		t.Skip("this processor is not wide")
	}
	places, turns, rows := make([]place, 65), make([]turned, 65), make([]int32, 64)
	for i := range places {
		sin, cos := math.Sincos(float64(i) * 0.01)
		places[i], turns[i].Q = place{float32(i), -float32(i), 0.5}, [4]float32{float32(sin), 0, 0, float32(cos)}
	}
	for i := range rows {
		rows[i] = int32(64 - i)
	}
	lanes := make([]uint32, 4*len(rows))
	p, q := mustCompile[place](t, "Place"), mustCompile[turned](t, "Turned")
	require.Equal(t, 64, kernel.FixedRows(&p.runs[0], (*byte)(unsafe.Pointer(&places[0])), 12, &rows[0], len(rows), &lanes[0], 3))
	require.Equal(t, 64, kernel.QuatRows(q.ops[0].quat, (*byte)(unsafe.Pointer(&turns[0])), 16, &rows[0], len(rows), &lanes[0], 4))
}
