package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// The components of the benchmarks: 112 bits of a body in three rows.
type benchPosition struct {
	X, Y, Z float32 `net:"min=-256,max=255,step=0.002"`
}
type benchRotation struct {
	Q [4]float32 `net:"quat,bits=9"`
}
type benchVelocity struct {
	X, Y, Z float32 `net:"min=-16,max=16,step=0.02"`
}

// BenchmarkWrite measures the cost of clients in a tick in which some bodies move, the same again
// or others. Everything is acknowledged six ticks later.
func BenchmarkWrite(b *testing.B) {
	b.Run("1000 x 16, others", func(b *testing.B) { benchmarkWrite(b, 1000, 16, 10, 1) })
	b.Run("1000 x 16, a tenth", func(b *testing.B) { benchmarkWrite(b, 1000, 16, 10, 0) })
	b.Run("1000 x 16, all", func(b *testing.B) { benchmarkWrite(b, 1000, 16, 1, 0) })
	b.Run("1000 x 1, a tenth", func(b *testing.B) { benchmarkWrite(b, 1000, 1, 10, 0) })
	b.Run("1000 x 1, others", func(b *testing.B) { benchmarkWrite(b, 1000, 1, 10, 1) })
	b.Run("1000 x 1, all", func(b *testing.B) { benchmarkWrite(b, 1000, 1, 1, 0) })
	b.Run("20000 x 64, a tenth", func(b *testing.B) { benchmarkWrite(b, 20000, 64, 10, 0) })
}

func benchmarkWrite(b *testing.B, entities, clients, step, turn int) {
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](b), compile[benchRotation](b), compile[benchVelocity](b)})
	cfg := Config{Window: 64, Entities: entities}
	store := NewStore(schema, cfg)
	var ids []wire.NetworkID
	store.Begin(1)
	for range entities {
		ids = append(ids, store.Spawn())
		for row := range 3 {
			store.Set(ids[len(ids)-1], row, make([]uint32, schema.Plan(row).Lanes()))
		}
	}
	store.Commit()
	// Which indexes move has no order that a machine could guess.
	for i, to := range rand.New(rand.NewPCG(1, 2)).Perm(entities) {
		ids[i], ids[to] = ids[to], ids[i]
	}
	var views []*View
	for range clients {
		views = append(views, NewView(store, cfg))
	}
	buf := make([]byte, 1160)
	seq, bytes, lanes := uint64(0), 0, make([]uint32, 4)
	play := func(i int) {
		store.Begin(store.Tick() + 1)
		for k := i * turn % step; k < len(ids); k += step {
			lanes[0] = uint32(i) & 0xFF
			store.Set(ids[k], 0, lanes[:3])
			store.Set(ids[k], 2, lanes[:3])
		}
		store.Commit()
	}
	var acks [6][]uint64 // by tick, the sequences sent to every view alike
	send := func() {
		k := int(store.Tick()) % len(acks)
		for _, view := range views {
			for _, sent := range acks[k] {
				view.Acked(sent)
			}
			view.Observe()
		}
		acks[k] = acks[k][:0]
		for i, view := range views {
			next := seq
			for {
				n := view.Write(buf, next+1)
				if n == 0 {
					break
				}
				next++
				bytes += n
				if i == 0 {
					acks[k] = append(acks[k], next)
				}
			}
			if i == len(views)-1 {
				seq = next
			}
		}
	}
	send()
	b.ReportAllocs()
	b.ResetTimer()
	bytes = 0
	for i := range b.N {
		b.StopTimer()
		play(i)
		b.StartTimer()
		send()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(clients*entities/step), "ns/record")
	b.ReportMetric(float64(bytes)/float64(b.N), "bytes/tick")
}
