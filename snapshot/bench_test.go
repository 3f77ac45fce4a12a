package snapshot

import (
	"testing"

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

// BenchmarkWrite is what 16 clients cost in a tick: 1000 bodies, one in ten
// moved, everything acknowledged five ticks later.
func BenchmarkWrite(b *testing.B) {
	schema := NewSchema([]*wire.Plan{compile[benchPosition](b), compile[benchRotation](b), compile[benchVelocity](b)})
	cfg := Config{Window: 64, Entities: 1000}
	store := NewStore(schema, cfg)
	var ids []wire.NetworkID
	store.Begin(1)
	for range 1000 {
		ids = append(ids, store.Spawn())
		for row := range 3 {
			store.Set(ids[len(ids)-1], row, make([]uint32, schema.Plan(row).Lanes()))
		}
	}
	store.Commit()
	var views []*View
	for range 16 {
		views = append(views, NewView(store, cfg))
	}
	buf := make([]byte, 1160)
	seq, bytes, lanes := uint64(0), 0, make([]uint32, 4)
	play := func(i int) {
		store.Begin(store.Tick() + 1)
		for k := i % 10; k < len(ids); k += 10 {
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
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1600, "ns/record")
	b.ReportMetric(float64(bytes)/float64(b.N), "bytes/tick")
}
