package wire

import "math"

// A rotation goes on turning as it turned: its prediction is a straight line through the two versions on the sphere of
// quaternions, in whole numbers, so that every machine comes to the same. A component c is held as c × sqrt2 × m, m being
// the largest number of a lane, so that a lane's n is 2n - m and the one left out is the root of what the others leave.
//
// Which component is left out may change meanwhile; the prediction is turned over into the one that the row leaves out.

// rotation is a quaternion in those units, from where it was at T to where it is expected.
type rotation struct {
	lane     int // its first lane; -1: not made yet
	m        int64
	at       [4]int64
	expected [4]int64
	own      *own // what the component's own function predicts
	miss     int  // not of rotations alone: how far off the lane before was
}

// aim predicts the rotation whose first lane is given.
func (q *rotation) aim(lane int, m int64, v *Versions, still bool) {
	if q.lane == lane {
		return
	}
	q.lane, q.m = lane, m
	q.at = components(v.Base[lane:lane+4], m)
	q.expected = q.at
	if q.own != nil && !still {
		q.expected = components(q.own.lanes[lane:lane+4], m)
		return
	}
	if v.Before == nil || still {
		return
	}
	was := components(v.Before[lane:lane+4], m)
	dot := int64(0)
	for i := range was {
		dot += was[i] * q.at[i]
	}
	sign, moved := int64(1), false
	if dot < 0 {
		sign = -1 // the same rotation, written the other way round
	}
	for i := range was {
		step := divide((q.at[i]-sign*was[i])*v.Age, v.Span)
		step = min(max(step, -4*m), 4*m)
		q.expected[i] += step
		moved = moved || step != 0
	}
	if moved {
		q.lengthen()
	}
}

// components are the four components of a row's rotation.
func components(lanes []uint32, m int64) (c [4]int64) {
	rest, at := 2*m*m, 1
	k := int(lanes[0] & 3)
	for i := range c {
		if i == k {
			continue
		}
		c[i] = 2*int64(lanes[at]) - m
		rest -= c[i] * c[i]
		at++
	}
	c[k] = int64(root(uint64(max(rest, 0))))
	return c
}

// lengthen gives the expected quaternion the length that quaternions have.
func (q *rotation) lengthen() {
	square := int64(0)
	for _, c := range q.expected {
		square += c * c
	}
	length := int64(root(uint64(square) << 16))
	if length == 0 {
		q.expected = q.at
		return
	}
	want := int64(root(uint64(2*q.m*q.m) << 16))
	for i, c := range q.expected {
		q.expected[i] = divide(c*want, length)
	}
}

// largest is the component that the expected rotation leaves out.
func (q *rotation) largest() (k int) {
	for i, c := range q.expected {
		if abs(c) > abs(q.expected[k]) {
			k = i
		}
	}
	return k
}

// part is what lane 1 to 3 of a row that leaves out component k is expected to be, and the movement that leads there.
func (q *rotation) part(k, lane int) (predicted, movement int64) {
	i := lane - 1
	if i >= k {
		i++
	}
	predicted = q.number(q.expected[i], q.expected[k])
	return predicted, predicted - q.number(q.at[i], q.at[k])
}

// number is the lane of a component, the one left out being made positive.
func (q *rotation) number(c, left int64) int64 {
	if left < 0 {
		c = -c
	}
	return min(max((c+q.m+1)>>1, 0), q.m)
}

func abs(n int64) int64 { return max(n, -n) }

// root is the whole part of a square root, exact below 2^63.
func root(n uint64) uint64 {
	r := uint64(math.Sqrt(float64(n)))
	for r*r > n {
		r--
	}
	for (r+1)*(r+1) <= n {
		r++
	}
	return r
}
