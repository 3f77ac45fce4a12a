package wire

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// BenchmarkQuantiseRows is many rows of a column at once against one by one. They are too many for a processor to learn them.
func BenchmarkQuantiseRows(b *testing.B) {
	type place struct {
		X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
	}
	type turn struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	places, turns := make([]place, 8192), make([]turn, 8192)
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
	}{"place": {mustCompile[place](b, "Place"), unsafe.Pointer(&places[0])}, "turn": {mustCompile[turn](b, "Turn"), unsafe.Pointer(&turns[0])}} {
		size, n := int(c.p.Size()), c.p.Lanes()
		b.Run(name+"/together", func(b *testing.B) {
			for b.Loop() {
				c.p.QuantiseRows((*byte)(c.base), size, rows, lanes, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
		})
		b.Run(name+"/one by one", func(b *testing.B) {
			for b.Loop() {
				for k, row := range rows {
					c.p.Quantise(unsafe.Add(c.base, int(row)*size), lanes[k*n:(k+1)*n])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
		})
	}
}
