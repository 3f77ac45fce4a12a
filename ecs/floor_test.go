package netecs_test

import (
	"bytes"
	"fmt"
	"testing"
)

// BenchmarkFloor is the cost of comparing the same memory when nothing else is
// done: 40 bytes of components and 12 of Replicated per row.
func BenchmarkFloor(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			// Not zeros: pages that were never written are all the same page.
			world, shadow := bytes.Repeat([]byte{1}, 52*n), bytes.Repeat([]byte{1}, 52*n)
			equal := true
			for b.Loop() {
				equal = equal && bytes.Equal(world, shadow)
			}
			if !equal {
				b.Fatal("differs")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
		})
	}
}
