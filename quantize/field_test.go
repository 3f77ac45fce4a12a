package quantize

import (
	"github.com/arche-netcode/netcode/wire"

	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// normalised returns q scaled to length 1.
func normalised(q [4]float32) [4]float32 {
	square := 0.0
	for _, c := range q {
		square += float64(c) * float64(c)
	}
	for i := range q {
		q[i] = float32(float64(q[i]) / math.Sqrt(square))
	}
	return q
}

// quatOp returns a quaternion field with this number of bits per component.
func quatOp(t testing.TB, bits int) *op {
	t.Helper()
	c := compiler{root: "Test", plan: &Plan{}}
	require.NoError(t, c.quat("Rot", 0, tag{mode: tagQuat, bits: bits}))
	return &c.plan.ops[0]
}

// drawQuat draws rotations, often hard ones: ties, near ties, quarter turns, signs, zeros.
func drawQuat(t *rapid.T) [4]float32 {
	var q [4]float32
	common := rapid.Float64Range(0, 1).Draw(t, "common")
	for i := range q {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			q[i] = float32(rapid.Float64Range(-1, 1).Draw(t, "free"))
		case 1:
			q[i] = float32(common)
		case 2:
			q[i] = -float32(common)
		case 3:
			q[i] = float32(common + rapid.Float64Range(-0.3, 0.3).Draw(t, "off")*math.Pow(2, -float64(rapid.IntRange(0, 18).Draw(t, "near"))))
		}
	}
	if q == [4]float32{} {
		q[rapid.IntRange(0, 3).Draw(t, "axis")] = 1
	}
	return normalised(q)
}

// requireQuatLaw checks one value: its row is legal, the row's value gives the same row again, and that value is near
// the original.
func requireQuatLaw(t require.TestingT, o *op, q [4]float32) {
	var lanes, again [4]uint32
	var back [4]float32
	require.Equal(t, wire.NoFault, o.quantiseQuat(&q, &lanes))
	require.True(t, o.legalQuat(&lanes), "%v", q)
	o.dequantiseQuat(&lanes, &back)
	require.Equal(t, wire.NoFault, o.quantiseQuat(&back, &again))
	require.Equal(t, lanes, again, "%v", q)

	// Both signs are the same rotation. The error is half a step in each of three components, plus the resulting error
	// of the fourth; it is larger after the correction of a near tie.
	near, far := 0.0, 0.0
	for i := range q {
		near = max(near, math.Abs(float64(q[i])-float64(back[i])))
		far = max(far, math.Abs(float64(q[i])+float64(back[i])))
	}
	require.Less(t, min(near, far), 3*o.step+1e-6, "%v came back as %v", q, back)
}

func TestQuatLaw(t *testing.T) {
	for bits := minQuatBits; bits <= maxQuatBits; bits++ {
		t.Run(fmt.Sprint(bits), func(t *testing.T) {
			o := quatOp(t, bits)
			rapid.Check(t, func(t *rapid.T) { requireQuatLaw(t, o, drawQuat(t)) })
			random := rand.New(rand.NewPCG(uint64(bits), 7))
			for range 2000 {
				requireQuatLaw(t, o, randomQuat(random))
			}
		})
	}
}

// TestQuatOfEveryRow tries each row of 4 bits: Quantise produces exactly the legal ones.
func TestQuatOfEveryRow(t *testing.T) {
	o := quatOp(t, minQuatBits)
	legal := 0
	for code := range uint32(4 * 16 * 16 * 16) {
		lanes := [4]uint32{code & 3, code >> 2 & 15, code >> 6 & 15, code >> 10}
		var v [4]float32
		var again [4]uint32
		o.dequantiseQuat(&lanes, &v)
		o.quantiseQuat(&v, &again)
		if o.legalQuat(&lanes) {
			legal++
		}
		if !o.legalQuat(&again) || o.legalQuat(&lanes) != (lanes == again) {
			require.Fail(t, "the law does not hold", "%v became %v", lanes, again)
		}
	}
	require.Greater(t, legal, 4*16*16*16/3)
}

func TestQuatOfAnyLength(t *testing.T) {
	o := quatOp(t, 12)
	rapid.Check(t, func(t *rapid.T) {
		q := drawQuat(t)
		scale := float32(math.Pow(10, rapid.Float64Range(-15, 15).Draw(t, "length")))
		long := q
		for i := range long {
			long[i] *= scale
		}
		var a, b [4]uint32
		var x, y [4]float32
		require.Equal(t, wire.NoFault, o.quantiseQuat(&q, &a))
		require.Equal(t, wire.NoFault, o.quantiseQuat(&long, &b))
		o.dequantiseQuat(&a, &x)
		o.dequantiseQuat(&b, &y)
		dot := 0.0
		for i := range x {
			dot += float64(x[i]) * float64(y[i])
		}
		require.InDelta(t, 1, math.Abs(dot), 10*o.step*o.step+1e-6)
	})
}
