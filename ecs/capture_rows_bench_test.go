package netecs_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

type (
	benchPosition struct {
		X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
	}
	benchRotation struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	benchVelocity struct {
		X, Y, Z float32 `net:"min=-64,max=64,step=0.01"`
	}
)

// orbit is a body that moves and turns in each tick, by other numbers each.
type orbit struct {
	p                             *benchPosition
	r                             *benchRotation
	v                             *benchVelocity
	x, y, radius, phase, turn, up float64
}

func (o *orbit) step() {
	o.phase = math.Mod(o.phase+o.turn, 2*math.Pi)
	sin, cos := math.Sincos(o.phase)
	halfSin, halfCos := math.Sincos(o.phase / 2)
	speed := o.radius * o.turn * 60
	*o.p = benchPosition{float32(o.x + o.radius*cos), float32(o.y + o.radius*sin), float32(o.up)}
	o.r.Q = [4]float32{0, 0, float32(halfSin), float32(halfCos)}
	*o.v = benchVelocity{float32(-speed * sin), float32(speed * cos), 0}
}

// BenchmarkMoved is a capture of bodies of which all or some move, in all of three quantised components, with what it reads in its caches, and with
// what others read and wrote. Of all captures the fastest counts, and the median.
func BenchmarkMoved(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		for _, share := range []int{100, 10, 1} {
			for _, cold := range []bool{false, true} {
				name := fmt.Sprintf("%d/%d%%/warm", n, share)
				if cold {
					name = fmt.Sprintf("%d/%d%%/cold", n, share)
				}
				b.Run(name, func(b *testing.B) { benchMoved(b, n, n*share/100, cold) })
			}
		}
	}
}

func benchMoved(b *testing.B, n, moving int, cold bool) {
	schema := schemaOf(b, benchPosition{}, benchRotation{}, benchVelocity{})
	world := ecs.NewWorld(n + 1)
	builder := generic.NewMap4[components.Replicated, benchPosition, benchRotation, benchVelocity](&world)
	query := builder.NewBatchQ(n)
	all := make([]orbit, 0, n)
	random := rand.New(rand.NewPCG(7, 1))
	for query.Next() {
		_, p, r, v := query.Get()
		r.Q[3] = 1
		all = append(all, orbit{
			p: p, r: r, v: v, x: random.Float64()*400 - 200, y: random.Float64()*400 - 200, up: random.Float64() * 20,
			radius: 1 + random.Float64()*9, phase: random.Float64() * 2 * math.Pi, turn: 0.02 + random.Float64()*0.05,
		})
	}
	store := snapshot.NewStore(schema, snapshot.Config{Entities: n})
	capture := netecs.NewCapture(&world, store, schema, 1, nil)
	movers := random.Perm(n)[:moving]
	other := make([]uint64, 1<<20)
	var took []float64
	now := tick.Tick(0)
	run := func() float64 {
		for _, i := range movers {
			all[i].step()
		}
		if cold {
			for i := 0; i < len(other); i += 8 {
				other[i]++
			}
		}
		now++
		began := time.Now()
		capture.Run(now)
		return float64(time.Since(began)) / float64(moving)
	}
	for range 150 { // the rings have been round
		run()
	}
	for b.Loop() {
		took = append(took, run())
	}
	slices.Sort(took)
	b.ReportMetric(took[0], "ns/body")
	b.ReportMetric(took[len(took)/2], "median-ns/body")
}
