package delta

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
)

// turningBody returns the bits of a rotation about an axis by an angle.
func turningBody(axis [3]float64, angle float64) (q [4]uint32) {
	sin, cos := math.Sincos(angle / 2)
	for i, a := range axis {
		q[i] = math.Float32bits(float32(a * sin))
	}
	q[3] = math.Float32bits(float32(cos))
	return q
}

// Four floats that turn at constant speed are extrapolated to a few float32 steps, at any age up to mostTurns: a straight line misses by thousands.
func TestARotationOfFloatsGoesOnTurning(t *testing.T) {
	d, err := NewDelta(deltaPlan[goldenRot](t), Shipped())
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(40, 1))
	for range 2000 {
		z, around, speed := 2*r.Float64()-1, 2*math.Pi*r.Float64(), 0.005+0.1*r.Float64()
		flat := math.Sqrt(1 - z*z)
		axis, start := [3]float64{flat * math.Cos(around), flat * math.Sin(around), z}, 2*math.Pi*r.Float64()
		span := 1 + int64(r.IntN(4))
		age := span * int64(1+r.IntN(5))
		before, base := turningBody(axis, start), turningBody(axis, start+speed*float64(span))
		now := turningBody(axis, start+speed*float64(span+age))
		v := quantize.Baselines{Base: base[:], Before: before[:], Age: age, Span: span}
		for i := range now {
			if math.Abs(float64(math.Float32frombits(now[i]))) < 0.1 {
				continue // its steps are too small for this
			}
			at, _ := d.extrapolation(i, &v, nil)
			require.LessOrEqual(t, abs(at-orderedFloat(now[i])), int64(300), "span %d, age %d, lane %d", span, age, i)
			straight, _ := floatExtrapolation(base[i], before[i], age, span)
			if age >= 4 && speed > 0.05 && math.Abs(float64(math.Float32frombits(now[i]))) > 0.5 {
				require.Greater(t, abs(straight-orderedFloat(now[i])), int64(2000))
			}
		}
	}
}

// Other ages are extrapolated as floats are: those that are no multiple of the span, and those of more than mostTurns.
func TestOtherAgesOfARotationAreStraight(t *testing.T) {
	d, err := NewDelta(deltaPlan[goldenRot](t), Shipped())
	require.NoError(t, err)
	before, base := turningBody([3]float64{0, 0, 1}, 1), turningBody([3]float64{0, 0, 1}, 1.1)
	for _, c := range [][2]int64{{3, 2}, {1, 2}, {17, 1}, {68, 4}} {
		v := quantize.Baselines{Base: base[:], Before: before[:], Age: c[0], Span: c[1]}
		for i := range base {
			want, wantMoved := floatExtrapolation(base[i], before[i], c[0], c[1])
			at, moved := d.extrapolation(i, &v, nil)
			require.Equal(t, [2]int64{want, wantMoved}, [2]int64{at, moved})
		}
	}
}

// Which four floats are a rotation is told by their names alone: both ends see them in the description.
func TestRotationsOfFloatsByName(t *testing.T) {
	type xyzw struct{ X, Y, Z, W float32 }
	type nested struct{ P xyzw }
	type shuffled struct{ Y, X, Z, W float32 }
	type three struct {
		Q [3]float32
		W float32
	}
	type tagged struct {
		X    float32 `net:"extrapolate=previous"`
		Y, Z float32
		W    float32
	}
	for _, c := range []struct {
		p     *quantize.Plan
		first []int // of each lane: the first of its rotation, -1 without
	}{
		{deltaPlan[goldenRot](t), []int{0, 0, 0, 0}},
		{deltaPlan[xyzw](t), []int{0, 0, 0, 0}},
		{deltaPlan[nested](t), []int{0, 0, 0, 0}},
		{deltaPlan[goldenPose](t), []int{-1, 1, 1, 1, 1, -1, -1, -1, -1, -1}},
		{deltaPlan[shuffled](t), []int{-1, -1, -1, -1}},
		{deltaPlan[three](t), []int{-1, -1, -1, -1}},
		{deltaPlan[tagged](t), []int{-1, -1, -1, -1}},
	} {
		parsed, err := quantize.ParsePlan(string(c.p.Describe(nil)))
		require.NoError(t, err)
		for i, first := range c.first {
			for _, p := range []*quantize.Plan{c.p, parsed} {
				if l := p.Lane(i); first < 0 {
					require.Equal(t, quantize.ModelFloat, l.Model, "%s, lane %d", c.p.Describe(nil), i)
				} else {
					require.Equal(t, quantize.ModelSpin, l.Model, "%s, lane %d", c.p.Describe(nil), i)
					require.EqualValues(t, first, l.First)
				}
			}
		}
	}
}
