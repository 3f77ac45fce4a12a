package snapshot

import (
	"math"
	"math/rand/v2"
	"unsafe"
)

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
