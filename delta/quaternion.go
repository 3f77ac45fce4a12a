package delta

import (
	"math"

	"github.com/arche-netcode/netcode/quantize"
)

// A rotation is extrapolated at constant speed: a straight line through its two versions, projected to the sphere of
// quaternions. All arithmetic is on integers, so that every machine gets the same result. A component c is stored as c
// × sqrt2 × m, where m is the largest value of a lane; lane value n is thus 2n - m. The component left out is the root
// of the remainder.
//
// If the row leaves out another component than T did, the extrapolation is converted to that component.

// rotation is a quaternion in these units, with its baselines and its extrapolation.
type rotation struct {
	lane     int // its first lane; -1: not extrapolated yet
	m        int64
	length   int64 // length of quaternions times 256
	at       [4]int64
	expected [4]int64
	own      *predicted // extrapolation by the component's own function
	miss     int        // miss of the previous lane, of any kind
}

// aim extrapolates the rotation whose first lane is lane.
func (q *rotation) aim(lane int, m int64, v *quantize.Baselines, still bool) {
	if q.lane == lane {
		return
	}
	q.lane = lane
	if q.m != m {
		q.m, q.length = m, int64(root(uint64(2*m*m)<<16))
	}
	components(&q.at, v.Base[lane:], m)
	switch {
	case q.own != nil && !still:
		components(&q.expected, q.own.lanes[lane:], m)
	case v.Before == nil || still:
		q.stay()
	default:
		components(&q.expected, v.Before[lane:], m)
		q.goOn(v)
	}
}

// stay extrapolates the rotation as unchanged. The array is copied number by number: a wider load right after narrow
// stores would stall.
func (q *rotation) stay() {
	for i := range q.at {
		q.expected[i] = q.at[i]
	}
}

// goOn extrapolates the rotation linearly. On entry the expected quaternion is that at T'.
func (q *rotation) goOn(v *quantize.Baselines) {
	was, at := &q.expected, &q.at
	dot := was[0]*at[0] + was[1]*at[1] + was[2]*at[2] + was[3]*at[3]
	turn := dot >> 63 // negative dot product: the same rotation with the opposite sign
	moved, square := int64(0), int64(0)
	for i, n := range was {
		step := at[i] - (n ^ turn - turn)
		if !straight(v) {
			step = min(max(divide(step*v.Age, v.Span), -4*q.m), 4*q.m)
		}
		n = at[i] + step
		was[i] = n
		moved |= step
		square += n * n
	}
	if moved != 0 {
		q.lengthen(square)
	}
}

// components computes the four components of a row's rotation.
func components(c *[4]int64, lanes []uint32, m int64) {
	l := (*[4]uint32)(lanes)
	k := l[0] & 3
	x, y, z := 2*int64(l[1])-m, 2*int64(l[2])-m, 2*int64(l[3])-m
	first, second, third := (k-1)>>31, 1+(k-2)>>31, 2+(k-3)>>31 // the three others, in order
	c[first&3], c[second&3], c[third&3] = x, y, z
	c[k] = int64(math.Sqrt(float64(max(2*m*m-x*x-y*y-z*z, 0)))) // exact: below 2^52 a root is never rounded up to an integer
}

// lengthen scales the expected quaternion to the standard length. square is the square of its present length.
func (q *rotation) lengthen(square int64) {
	length := root(uint64(square) << 16)
	if length == 0 {
		q.stay()
		return
	}
	for i, n := range &q.expected {
		// divide(n*q.length, length) without a branch on the unpredictable sign.
		sign := n >> 63
		n = int64((uint64((n^sign-sign)*q.length) + length/2) / length)
		q.expected[i] = n ^ sign - sign
	}
}

// largest returns the component that the expected rotation leaves out: the first of the largest.
func (q *rotation) largest() (k int) {
	c := &q.expected
	return int(3 - max(abs(c[0])<<2|3, abs(c[1])<<2|2, abs(c[2])<<2|1, abs(c[3])<<2)&3)
}

// part returns the extrapolation of lane 1 to 3 of a row that leaves out component k, and its movement since T.
func (q *rotation) part(k, lane int) (extrapolated, movement int64) {
	i := lane - 1
	if i >= k {
		i++
	}
	extrapolated = q.number(q.expected[i], q.expected[k])
	return extrapolated, extrapolated - q.number(q.at[i], q.at[k])
}

// number returns the lane value of component c. The sign is such that the left-out component is positive.
func (q *rotation) number(c, left int64) int64 {
	sign := left >> 63
	return min(max((c^sign-sign+q.m+1)>>1, 0), q.m)
}

func abs(n int64) int64 { return max(n, -n) }

// root returns the integer square root, exact below 2^63.
func root(n uint64) uint64 {
	r := uint64(int64(math.Sqrt(float64(int64(n))))) // conversions of signed numbers are single instructions
	for r*r > n {
		r--
	}
	for (r+1)*(r+1) <= n {
		r++
	}
	return r
}
