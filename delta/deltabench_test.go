package delta

import (
	"github.com/arche-netcode/netcode/quantize"

	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The rows of a body that runs on a circle, as the scenario tick has them.
type (
	benchPlace struct {
		X, Y, Z float32 `net:"min=-256,max=255,step=0.002"`
	}
	benchTurn struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	benchSpeed struct {
		X, Y, Z float32 `net:"min=-64,max=64,step=0.02"`
	}
)

const benchBodies = 1000

// circling is the rows of many bodies on circles, one row of each tick for each body.
func circling(tb testing.TB, ticks int) (deltas []*Delta, rows [][][][]uint32) {
	random := rand.New(rand.NewPCG(7, 1))
	plans := []*quantize.Plan{deltaPlan[benchPlace](tb), deltaPlan[benchTurn](tb), deltaPlan[benchSpeed](tb)}
	rows = make([][][][]uint32, len(plans)) // by plan, body and tick
	for _, p := range plans {
		d, err := NewDelta(p, Shipped())
		require.NoError(tb, err)
		d.Prepare()
		deltas = append(deltas, d)
	}
	for range benchBodies {
		x, y, z := random.Float64()*400-200, random.Float64()*400-200, random.Float64()*20
		radius, phase, turn := 1+random.Float64()*9, random.Float64()*2*math.Pi, 0.02+random.Float64()*0.05
		of := make([][][]uint32, len(plans))
		for k := range ticks {
			sin, cos := math.Sincos(phase + turn*float64(k))
			half, rest := math.Sincos(math.Mod(phase+turn*float64(k), 2*math.Pi) / 2)
			speed := radius * turn * 60
			place := benchPlace{float32(x + radius*cos), float32(y + radius*sin), float32(z)}
			rotation := benchTurn{[4]float32{0, 0, float32(half), float32(rest)}}
			velocity := benchSpeed{float32(-speed * sin), float32(speed * cos), 0}
			for i, at := range []unsafe.Pointer{unsafe.Pointer(&place), unsafe.Pointer(&rotation), unsafe.Pointer(&velocity)} {
				lanes := make([]uint32, plans[i].Lanes())
				plans[i].Quantise(at, lanes)
				of[i] = append(of[i], lanes)
			}
		}
		for i := range plans {
			rows[i] = append(rows[i], of[i])
		}
	}
	return deltas, rows
}

// BenchmarkDelta codes the rows of bodies that all move, against what they were so many ticks ago and one before.
func BenchmarkDelta(b *testing.B) {
	const far = 6
	deltas, rows := circling(b, far+2)
	for _, c := range []struct {
		name string
		age  int
		rows []int
	}{
		{"age 1", 1, []int{0, 1, 2}}, {"age 6", far, []int{0, 1, 2}},
		{"place", far, []int{0}}, {"rotation", far, []int{1}}, {"velocity", far, []int{2}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var w Words
			b.ReportAllocs()
			bits := 0
			for i := range b.N {
				body := i % benchBodies
				w.Reset()
				v := quantize.Versions{Age: int64(c.age), Span: 1}
				for _, k := range c.rows {
					of := rows[k][body]
					v.Base, v.Before = of[far-c.age+1], of[far-c.age]
					if changed, moved := deltas[k].Compare(of[far+1], &v); changed != 0 {
						deltas[k].Code(&w, of[far+1], &v, changed, moved)
					}
				}
				bits += w.Bits()
			}
			b.ReportMetric(float64(bits)/float64(b.N), "bits")
		})
	}
}
