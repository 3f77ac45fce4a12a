package snapshot

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// BenchmarkBody measures the work that is done once for all clients when everything moves. The rows of a body on a
// circle come into the store, and their differences are coded. In the cold cases other data fills the caches between two
// ticks. The fastest tick counts.
func BenchmarkBody(b *testing.B) {
	for _, c := range []struct {
		name    string
		age, of int
		cold    bool
	}{{"warm", 1, 1, false}, {"cold", 1, 1, true}, {"cold, 6 ticks old", 6, 1, true}, {"cold, one in 10", 1, 10, true}} {
		b.Run(c.name, func(b *testing.B) { benchmarkBody(b, c.age, c.of, c.cold, false) })
		b.Run(c.name+", together", func(b *testing.B) { benchmarkBody(b, c.age, c.of, c.cold, true) })
	}
}

func benchmarkBody(b *testing.B, age, of int, cold, together bool) {
	const bodies, period = 1000, 64
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](b), compile[benchRotation](b), compile[benchVelocity](b)})
	store := NewStore(schema, Config{Window: 64, Entities: bodies})
	rows := circles(schema, bodies, period)
	var ids []wire.NetworkID
	play := func() {
		t := store.Tick() + 1
		store.Begin(t)
		for len(ids) < bodies {
			ids = append(ids, store.Spawn())
		}
		for i := range ids {
			if t > 1 && i%of != 0 {
				continue
			}
			for row := range schema.Rows() {
				store.Set(ids[i], row, rows[int(t)%period][row][i*schema.Plan(row).Lanes():][:schema.Plan(row).Lanes()])
			}
		}
		store.Commit()
	}
	for range 16 {
		play()
	}
	other := make([]uint64, 1<<20)
	var sets, codes []float64
	bits, sum := 0, uint64(0)
	for range b.N {
		if cold {
			for i := 0; i < len(other); i += 8 {
				other[i]++
				sum += other[i]
			}
		}
		began := time.Now()
		play()
		set := time.Now()
		for i := 0; together && i < bodies; i += delta.MaxStreams * of {
			sheaf := &store.cache.batch
			sheaf.n = 0
			for k := i; k < min(i+delta.MaxStreams*of, bodies); k += of {
				sheaf.index[sheaf.n] = uint32(k)
				sheaf.n++
			}
			if store.cache.deltas.tick != store.Tick() {
				store.cache.begin()
			}
			sheaf.mask, sheaf.t, sheaf.previous = format.FromWords(7), store.Tick()-tick.Tick(age), store.Tick()-tick.Tick(age)-1
			store.cache.deltas.addAll(store, sheaf)
		}
		for i := 0; i < bodies; i += of {
			n := store.cache.deltas.get(store, uint32(i), format.FromWords(7), store.Tick()-tick.Tick(age), store.Tick()-tick.Tick(age)-1, Mask{})
			bits += int(store.cache.deltas.entries[n].bits)
		}
		codes = append(codes, float64(time.Since(set))/float64(bodies/of))
		sets = append(sets, float64(set.Sub(began))/float64(bodies/of))
	}
	b.ReportMetric(slices.Min(sets), "ns/captured")
	b.ReportMetric(slices.Min(codes), "ns/made")
	b.ReportMetric(float64(bits)/float64(b.N*bodies/of), "bits/body")
}

// circles are the rows of bodies that run on circles, by tick and row, one body's behind the other's.
func circles(schema *Schema, bodies, ticks int) [][][]uint32 {
	rows := make([][][]uint32, ticks)
	for k := range rows {
		random := rand.New(rand.NewPCG(7, 1))
		rows[k] = make([][]uint32, schema.Rows())
		for range bodies {
			x, y, z := random.Float64()*400-200, random.Float64()*400-200, random.Float64()*20
			radius, phase, turn := 1+random.Float64()*9, random.Float64()*2*math.Pi, 0.02+random.Float64()*0.05
			at := math.Mod(phase+turn*float64(k), 2*math.Pi)
			sin, cos := math.Sincos(at)
			half, rest := math.Sincos(at / 2)
			place := benchPosition{float32(x + radius*cos), float32(y + radius*sin), float32(z)}
			rotation := benchRotation{[4]float32{0, 0, float32(half), float32(rest)}}
			velocity := benchVelocity{float32(-radius * sin), float32(radius * cos), 0}
			for i, v := range []unsafe.Pointer{unsafe.Pointer(&place), unsafe.Pointer(&rotation), unsafe.Pointer(&velocity)} {
				lanes := make([]uint32, schema.Plan(i).Lanes())
				schema.Plan(i).Quantise(v, lanes)
				rows[k][i] = append(rows[k][i], lanes...)
			}
		}
	}
	return rows
}
