package netecs_test

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkCold is a capture of 1000 bodies of which all or some move in two of their three components; the caches are
// others' between two. Of all captures the fastest counts.
func BenchmarkCold(b *testing.B) {
	for name, k := range map[string]int{"all": 1, "one in 10": 10} {
		b.Run(name, func(b *testing.B) {
			p, all := scene(b, 1000)
			other := make([]uint64, 1<<20)
			var took []float64
			for range b.N {
				move(p, all, k)
				p.tick++
				for i := 0; i < len(other); i += 8 {
					other[i]++
				}
				began := time.Now()
				p.capture.Run(p.tick)
				took = append(took, float64(time.Since(began))/float64(p.store.Changed()))
			}
			b.ReportMetric(slices.Min(took), "ns/row")
		})
	}
}
