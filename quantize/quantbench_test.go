package quantize

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"
)

// BenchmarkQuantiseRows compares QuantiseRows with Quantise row by row, with too many rows for the branch predictor to
// learn.
func BenchmarkQuantiseRows(b *testing.B) {
	places, turns := make([]place, 8192), make([]turned, 8192)
	for i := range turns {
		places[i] = place{rand.Float32() * 100, -rand.Float32() * 100, rand.Float32()}
		sin, cos := math.Sincos(rand.Float64() * math.Pi)
		turns[i].Q = [4]float32{0, 0, float32(sin), float32(cos)}
	}
	rows := make([]int32, 8192)
	for i := range rows {
		rows[i] = int32(i)
	}
	lanes := make([]uint32, 4*len(rows))
	for name, c := range map[string]struct {
		p    *Plan
		base unsafe.Pointer
	}{"place": {mustCompile[place](b, "Place"), unsafe.Pointer(&places[0])}, "turn": {mustCompile[turned](b, "Turn"), unsafe.Pointer(&turns[0])}} {
		size, n := int(c.p.Size()), c.p.Lanes()
		fastest := func(name string, quantise func(rows []int32, lanes []uint32)) {
			b.Run(name, func(b *testing.B) {
				best := time.Hour
				for b.Loop() {
					for from := 0; from < len(rows); from += 128 {
						began := time.Now()
						quantise(rows[from:from+128], lanes[from*n:(from+128)*n])
						best = min(best, time.Since(began))
					}
				}
				b.ReportMetric(float64(best.Nanoseconds())/128, "ns/row")
			})
		}
		plain := withoutWide(c.p)
		fastest(name+"/together", func(rows []int32, lanes []uint32) { c.p.QuantiseRows((*byte)(c.base), size, rows, lanes, nil) })
		fastest(name+"/plain", func(rows []int32, lanes []uint32) { plain.QuantiseRows((*byte)(c.base), size, rows, lanes, nil) })
		fastest(name+"/one by one", func(rows []int32, lanes []uint32) {
			for k, row := range rows {
				c.p.Quantise(unsafe.Add(c.base, int(row)*size), lanes[k*n:(k+1)*n])
			}
		})
	}
}
