package quantize

import (
	"github.com/arche-netcode/netcode/wire"
	"math"
)

// A quaternion of length 1 travels as its smallest three components (Hobson, "Quaternion compression"):
// lane 0 says which of x, y, z, w is left out, the largest, whose sign is made positive; lanes 1 to 3 are
// the others, in order, from -1/sqrt2 to 1/sqrt2 in 2^bits-1 steps.
//
// Near ties need care: the component left out comes back as a root of the others' rounding errors, and
// may come back smaller than one of them. A second quantisation would then leave out another one, and
// the row would change without anybody having moved. So a row is legal only if its own value names the
// same component again, by this rule: the first one that is at most half a step smaller than the
// largest. Quantise moves the rare row that is not legal to a legal neighbour, ReadRow refuses it.

// quatEdge is the largest value of a component that is not the largest.
const quatEdge = math.Sqrt2 / 2

// Bounds on the bits of a component. With fewer than 4 a neighbour of a near tie may lie far off; with
// more than 16 a step nears the precision of a float32.
const (
	minQuatBits = 4
	maxQuatBits = 16
)

// quantiseQuat quantises v into the field's four lanes. The fast path is for a length of 1 and a largest
// component that is largest by far: four steps are more than rounding can make of a difference.
func (o *op) quantiseQuat(v *[4]float32, lanes *[4]uint32) wire.FaultReason {
	x, y, z, w := float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])
	if d := float64(x*x) + float64(y*y) + float64(z*z) + float64(w*w) - 1; !(d < o.slack && d > -o.slack) {
		return o.quantiseOddQuat(v, lanes)
	}
	// Magnitudes are compared as integers: the order is the same. Of equal ones the first counts.
	const magnitude = 1<<31 - 1
	most := larger(
		larger(int64(math.Float32bits(v[0])&magnitude)<<2|3, int64(math.Float32bits(v[1])&magnitude)<<2|2),
		larger(int64(math.Float32bits(v[2])&magnitude)<<2|1, int64(math.Float32bits(v[3])&magnitude)<<2),
	)
	k := uint32(^most & 3)
	i, j, l := (k-1)>>31, 1+(k-2)>>31, 2+(k-3)>>31 // the three others, in order
	a, b, c := float64(v[i&3]), float64(v[j&3]), float64(v[l&3])
	limit := float64(math.Float32frombits(uint32(most>>2))) - 4*o.step
	if math.Abs(a) > limit || math.Abs(b) > limit || math.Abs(c) > limit {
		return o.quantiseOddQuat(v, lanes)
	}
	scale := math.Copysign(o.scale, float64(v[k&3]))
	mid := float64(o.count)*0.5 + 0.5
	lanes[0] = k
	lanes[1] = uint32(int64(float64(a*scale) + mid))
	lanes[2] = uint32(int64(float64(b*scale) + mid))
	lanes[3] = uint32(int64(float64(c*scale) + mid))
	return wire.NoFault
}

// larger is max for numbers whose difference does not overflow. Which it is cannot be foreseen, and max is a branch.
func larger(a, b int64) int64 {
	d := a - b
	return a - d&(d>>63)
}

// quantiseOddQuat is quantiseQuat for every value: of another length, without any, near a tie.
func (o *op) quantiseOddQuat(v *[4]float32, lanes *[4]uint32) wire.FaultReason {
	var q [4]float64
	square := 0.0
	for i := range q {
		q[i] = float64(v[i])
		square += float64(q[i] * q[i])
	}
	if square-square != 0 || square == 0 {
		if !o.legalQuat(lanes) { // a row of zeros, which nothing was quantised into yet
			*lanes = [4]uint32{3, uint32(o.count/2 + 1), uint32(o.count/2 + 1), uint32(o.count/2 + 1)}
		}
		if square == 0 {
			return wire.NoRotation
		}
		return wire.NotFinite
	}
	if d := square - 1; !(d < o.slack && d > -o.slack) {
		length := math.Sqrt(square)
		for i := range q {
			q[i] /= length
		}
	}
	k := o.largest(&q)
	o.smallestThree(&q, k, lanes)
	for {
		l := o.again(lanes)
		if l == k {
			return wire.NoFault
		}
		// Move the component that came back too large one step towards zero.
		at := 1 + l
		if l > k {
			at = l
		}
		if uint64(lanes[at]) > o.count/2 {
			lanes[at]--
		} else {
			lanes[at]++
		}
	}
}

// largest returns the index of the component to leave out: the first that is at most half a step smaller
// than the largest.
func (o *op) largest(q *[4]float64) int {
	limit := 0.0
	for _, c := range q {
		limit = max(limit, math.Abs(c))
	}
	limit -= 0.5 * o.step
	k := 0
	for math.Abs(q[k]) < limit {
		k++
	}
	return k
}

// smallestThree writes the row that leaves out component k.
func (o *op) smallestThree(q *[4]float64, k int, lanes *[4]uint32) {
	scale := math.Copysign(o.scale, q[k])
	top := float64(o.count)
	lanes[0] = uint32(k)
	at := 1
	for i, c := range q {
		if i == k {
			continue
		}
		n := float64(c*scale) + (top*0.5 + 0.5)
		lanes[at] = uint32(int64(min(max(n, 0), top)))
		at++
	}
}

// dequantiseQuat returns the value of a row. Sums and products are rounded one by one, in this order,
// on every machine.
func (o *op) dequantiseQuat(lanes *[4]uint32, v *[4]float32) {
	a := float64(float64(lanes[1])*o.step) - quatEdge
	b := float64(float64(lanes[2])*o.step) - quatEdge
	c := float64(float64(lanes[3])*o.step) - quatEdge
	rest := 1 - (float64(float64(a*a)+float64(b*b)) + float64(c*c))
	k := lanes[0]
	i, j, l := (k-1)>>31, 1+(k-2)>>31, 2+(k-3)>>31
	v[k&3] = float32(math.Sqrt(max(rest, 0)))
	v[i&3], v[j&3], v[l&3] = float32(a), float32(b), float32(c)
}

// again returns the component that a row's own value would leave out.
func (o *op) again(lanes *[4]uint32) int {
	var v [4]float32
	o.dequantiseQuat(lanes, &v)
	return o.largest(&[4]float64{float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])})
}

// legalQuat reports whether Quantise can have produced the row.
func (o *op) legalQuat(lanes *[4]uint32) bool {
	if lanes[0] > 3 || uint64(max(lanes[1], lanes[2], lanes[3])) > o.count {
		return false
	}
	// Far from a tie, a whole step and more, no root is needed.
	a := math.Abs(float64(float64(lanes[1])*o.step) - quatEdge)
	b := math.Abs(float64(float64(lanes[2])*o.step) - quatEdge)
	c := math.Abs(float64(float64(lanes[3])*o.step) - quatEdge)
	if near := max(a, b, c) + o.step; near*near <= 1-(a*a+b*b+c*c) {
		return true
	}
	return o.again(lanes) == int(lanes[0])
}
