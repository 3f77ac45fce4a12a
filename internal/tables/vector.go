package main

import "math"

// Motion for the shipped tables must be the same on every machine. Each product is converted to float64, which prevents
// compilers from fusing it with a sum. Of package math only Sqrt and Floor are used, which are exact.

type vec [3]float64

func (a vec) add(b vec) vec { return vec{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
func (a vec) sub(b vec) vec { return vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

func (a vec) times(s float64) vec {
	return vec{float64(a[0] * s), float64(a[1] * s), float64(a[2] * s)}
}

func (a vec) dot(b vec) float64 {
	return float64(float64(a[0]*b[0])+float64(a[1]*b[1])) + float64(a[2]*b[2])
}

func (a vec) cross(b vec) vec {
	return vec{
		float64(a[1]*b[2]) - float64(a[2]*b[1]),
		float64(a[2]*b[0]) - float64(a[0]*b[2]),
		float64(a[0]*b[1]) - float64(a[1]*b[0]),
	}
}

func (a vec) length() float64 { return math.Sqrt(a.dot(a)) }

// quat is a unit quaternion x, y, z, w.
type quat [4]float64

// spun returns the rotation after turning with angular velocity w for a time.
func (q quat) spun(w vec, seconds float64) quat {
	h := w.times(seconds / 2)
	d := quat{
		float64(h[0]*q[3]) + float64(h[1]*q[2]) - float64(h[2]*q[1]),
		float64(h[1]*q[3]) + float64(h[2]*q[0]) - float64(h[0]*q[2]),
		float64(h[2]*q[3]) + float64(h[0]*q[1]) - float64(h[1]*q[0]),
		-float64(h[0]*q[0]) - float64(h[1]*q[1]) - float64(h[2]*q[2]),
	}
	square := 0.0
	for i := range q {
		q[i] += d[i]
		square += float64(q[i] * q[i])
	}
	length := math.Sqrt(square)
	for i := range q {
		q[i] /= length
	}
	return q
}

// axes returns the body's own axes in the world.
func (q quat) axes() [3]vec {
	x, y, z, w := q[0], q[1], q[2], q[3]
	xx, yy, zz := float64(x*x), float64(y*y), float64(z*z)
	xy, xz, yz := float64(x*y), float64(x*z), float64(y*z)
	wx, wy, wz := float64(w*x), float64(w*y), float64(w*z)
	return [3]vec{
		{1 - float64(2*(yy+zz)), float64(2 * (xy + wz)), float64(2 * (xz - wy))},
		{float64(2 * (xy - wz)), 1 - float64(2*(xx+zz)), float64(2 * (yz + wx))},
		{float64(2 * (xz + wy)), float64(2 * (yz - wx)), 1 - float64(2*(xx+yy))},
	}
}

// sine returns the sine of a number of turns. It sums a series of eleven terms in a fixed order.
func sine(turns float64) float64 {
	turns -= math.Floor(turns + 0.5)
	x := float64(turns * 6.283185307179586)
	square, term, sum := float64(x*x), x, x
	for n := 2.0; n <= 22; n += 2 {
		term = float64(-term*square) / float64(n*(n+1))
		sum += term
	}
	return sum
}

func cosine(turns float64) float64 { return sine(turns + 0.25) }

// dice is a random generator: splitmix64.
type dice uint64

func (d *dice) next() uint64 {
	*d += 0x9E3779B97F4A7C15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// unit returns a number from 0 up to, and without, 1.
func (d *dice) unit() float64 { return float64(d.next()>>11) / (1 << 53) }

// between returns a number from low up to high.
func (d *dice) between(low, high float64) float64 { return low + float64((high-low)*d.unit()) }

// below returns a whole number from 0 to n-1.
func (d *dice) below(n int) int { return int((d.next() >> 33) % uint64(n)) }
