package delta

import (
	"math"

	"github.com/arche-netcode/netcode/quantize"
)

// A rotation goes on turning as it turned: its extrapolation is a straight line through the two versions on the sphere of
// quaternions, in whole numbers, so that every machine comes to the same. A component c is held as c × sqrt2 × m, m being
// the largest number of a lane, so that a lane's n is 2n - m and the one left out is the root of what the others leave.
//
// Which component is left out may change meanwhile; the extrapolation is turned over into the one that the row leaves out.

// rotation is a quaternion in those units, from where it was at T to where it is expected.
type rotation struct {
	lane     int // its first lane; -1: not made yet
	m        int64
	length   int64 // that quaternions have, times 256
	at       [4]int64
	expected [4]int64
	own      *predicted // what the component's own function extrapolates
	miss     int        // not of rotations alone: how far off the lane before was
}

// aim extrapolates the rotation whose first lane is given.
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

// stay expects the rotation to be what it was. Arrays are copied number by number: a copy of two at once, so soon after
// they were written, would wait for the memory.
func (q *rotation) stay() {
	for i := range q.at {
		q.expected[i] = q.at[i]
	}
}

// goOn turns what is expected, which is what was so at T', into where it goes in a straight line from there.
func (q *rotation) goOn(v *quantize.Baselines) {
	was, at := &q.expected, &q.at
	dot := was[0]*at[0] + was[1]*at[1] + was[2]*at[2] + was[3]*at[3]
	turn := dot >> 63 // below zero it is the same rotation, written the other way round
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

// components fills in the four components of a row's rotation.
func components(c *[4]int64, lanes []uint32, m int64) {
	l := (*[4]uint32)(lanes)
	k := l[0] & 3
	x, y, z := 2*int64(l[1])-m, 2*int64(l[2])-m, 2*int64(l[3])-m
	first, second, third := (k-1)>>31, 1+(k-2)>>31, 2+(k-3)>>31 // the others, in order
	c[first&3], c[second&3], c[third&3] = x, y, z
	c[k] = int64(math.Sqrt(float64(max(2*m*m-x*x-y*y-z*z, 0)))) // exact: below 2^52 no root is rounded up to a whole number
}

// lengthen gives the expected quaternion, the square of whose length is given, the length that quaternions have.
func (q *rotation) lengthen(square int64) {
	length := root(uint64(square) << 16)
	if length == 0 {
		q.stay()
		return
	}
	for i, n := range &q.expected {
		// divide(n*q.length, length) without a branch, which nobody could foresee
		sign := n >> 63
		n = int64((uint64((n^sign-sign)*q.length) + length/2) / length)
		q.expected[i] = n ^ sign - sign
	}
}

// largest is the component that the expected rotation leaves out, the first one where several are as large.
func (q *rotation) largest() (k int) {
	c := &q.expected
	return int(3 - max(abs(c[0])<<2|3, abs(c[1])<<2|2, abs(c[2])<<2|1, abs(c[3])<<2)&3)
}

// part extrapolates lane 1 to 3 of a row that leaves out component k, and returns the movement that leads there too.
func (q *rotation) part(k, lane int) (extrapolated, movement int64) {
	i := lane - 1
	if i >= k {
		i++
	}
	extrapolated = q.number(q.expected[i], q.expected[k])
	return extrapolated, extrapolated - q.number(q.at[i], q.at[k])
}

// number is the lane of a component, the one left out being made positive.
func (q *rotation) number(c, left int64) int64 {
	sign := left >> 63
	return min(max((c^sign-sign+q.m+1)>>1, 0), q.m)
}

func abs(n int64) int64 { return max(n, -n) }

// root is the whole part of a square root, exact below 2^63.
func root(n uint64) uint64 {
	r := uint64(int64(math.Sqrt(float64(int64(n))))) // the processor has no such steps for numbers without a sign
	for r*r > n {
		r--
	}
	for (r+1)*(r+1) <= n {
		r++
	}
	return r
}
