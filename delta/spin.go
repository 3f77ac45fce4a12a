package delta

import (
	"math"

	"github.com/arche-netcode/netcode/quantize"
)

// Four float32 that are a rotation go on turning as from T' to T, instead of on a straight line: a straight line leaves the sphere of rotations by
// the square of the angle, which is thousands of float32 steps. What goes on turning by an angle follows q[n+1] = 2*cos(angle)*q[n] - q[n-1],
// so that no trigonometry is needed, and every machine gets the same result. Four floats that are no rotation are extrapolated nearly as by a
// straight line: the more slowly their direction changes the nearer.

// mostTurns is the most steps of the size from T' to T that a rotation is extrapolated by.
const mostTurns = 16

// spinTurns returns the number of these steps in the age of T: 0 if it is not whole or too large. Such a rotation is extrapolated linearly.
func spinTurns(age, span int64) int64 {
	if turns := age / span; turns*span == age && turns <= mostTurns {
		return turns
	}
	return 0
}

// spinFactors returns by how much the extrapolated rotation is that of T, and by how much less that of T'. Each operation is rounded on its own.
func spinFactors(base, before *[4]uint32, turns int64) (at, less float64) {
	var a, b [4]float64
	for i := range a {
		a[i], b[i] = float64(math.Float32frombits(base[i])), float64(math.Float32frombits(before[i]))
	}
	square := dot4(&a, &a)
	square = float64(square * dot4(&b, &b))
	cosine := float64(dot4(&a, &b) / math.Sqrt(square))
	twice := cosine + cosine
	at, less = twice, 1
	for ; turns > 1; turns-- {
		at, less = float64(twice*at)-less, at
	}
	return at, less
}

// dot4 returns the sum of the products, in pairs.
func dot4(a, b *[4]float64) float64 {
	return (float64(a[0]*b[0]) + float64(a[1]*b[1])) + (float64(a[2]*b[2]) + float64(a[3]*b[3]))
}

// spinExtrapolation extrapolates one of the four floats.
func spinExtrapolation(base, before uint32, at, less float64) (extrapolated, movement int64) {
	from := orderedFloat(base)
	to := float32(float64(at*float64(math.Float32frombits(base))) - float64(less*float64(math.Float32frombits(before))))
	if to-to != 0 {
		return from, 0
	}
	extrapolated = orderedFloat(math.Float32bits(to))
	return extrapolated, extrapolated - from
}

// spin is the factors of the rotation that was extrapolated last.
type spin struct {
	of       int // its first lane; -1: none
	at, less float64
}

// extrapolate extrapolates lane i, a float. v has T'.
func (s *spin) extrapolate(l *deltaLane, i int, v *quantize.Baselines) (extrapolated, movement int64) {
	turns := int64(0)
	if l.model == quantize.ModelSpin {
		turns = spinTurns(v.Age, v.Span)
	}
	if turns == 0 {
		return floatExtrapolation(v.Base[i], v.Before[i], v.Age, v.Span)
	}
	if s.of != int(l.first) {
		s.of = int(l.first)
		s.at, s.less = spinFactors((*[4]uint32)(v.Base[s.of:]), (*[4]uint32)(v.Before[s.of:]), turns)
	}
	return spinExtrapolation(v.Base[i], v.Before[i], s.at, s.less)
}

// isFloat reports whether a lane of this model is the bits of a float32.
func isFloat(m quantize.LaneModel) bool { return m == quantize.ModelFloat || m == quantize.ModelSpin }
