package quantize

import (
	"math"
	"slices"
)

// Deviation is the first difference between two rows that exceeds a tolerance.
type Deviation struct {
	Field    string  // its path within the component
	From, To float64 // values of the two rows; of a rotation the components that differ most; of a field that is not a number its lane
}

// Deviates compares two rows field by field. Numbers, angles (the shorter way round) and components of rotations may
// differ by tolerance, in their own units. All other fields must be equal. With tolerance 0 all lanes must be equal.
func (p *Plan) Deviates(from, to []uint32, tolerance float64) (d Deviation, deviates bool) {
	if slices.Equal(from, to) {
		return d, false
	}
	for i := range p.ops {
		o, end := &p.ops[i], len(p.lanes)
		if i+1 < len(p.ops) {
			end = p.ops[i+1].lane
		}
		if slices.Equal(from[o.lane:end], to[o.lane:end]) {
			continue
		}
		d = Deviation{Field: o.path}
		distance := math.Inf(1)
		switch {
		case o.kind == opQuat:
			distance = d.rotations(o.rotation(from), o.rotation(to))
		case o.real():
			d.From, d.To = o.float(from), o.float(to)
			distance = math.Abs(d.To - d.From)
			if o.kind == opAngle32 || o.kind == opAngle64 {
				distance = math.Abs(angleNear(d.To - d.From))
			}
		default:
			d.From, d.To = float64(from[o.lane]), float64(to[o.lane])
		}
		if tolerance == 0 || !(distance <= tolerance) {
			return d, true
		}
	}
	return Deviation{}, false
}

// real reports whether a field is one number other than an integer.
func (o *op) real() bool {
	switch o.kind {
	case opFixed32, opFixed64, opFloat32, opFloat64, opHalf32, opHalf64, opAxis32, opAxis64, opAngle32, opAngle64:
		return true
	}
	return false
}

// rotations finds the components of two rotations that differ most. A rotation equals its negative.
func (d *Deviation) rotations(a, b [4]float32) (most float64) {
	sign, dot := float32(1), float32(0)
	for k := range a {
		dot += a[k] * b[k]
	}
	if dot < 0 {
		sign = -1
	}
	for k := range a {
		if distance := math.Abs(float64(sign*b[k]) - float64(a[k])); !(distance <= most) {
			most, d.From, d.To = distance, float64(a[k]), float64(sign*b[k])
		}
	}
	return most
}

// turnedBy rotates q by a part of the turn from rotation a to rotation b.
func turnedBy(q, b, a [4]float32, part float64) [4]float32 {
	turn := product(b, [4]float32{-a[0], -a[1], -a[2], a[3]}) // b * conj(a)
	if turn[3] < 0 {
		for k := range turn {
			turn[k] = -turn[k]
		}
	}
	square := 0.0
	for k := range turn {
		turn[k] *= float32(part)
		if k == 3 {
			turn[k] += float32(1 - part)
		}
		square += float64(turn[k]) * float64(turn[k])
	}
	if square < 1e-12 {
		return q
	}
	for k := range turn {
		turn[k] = float32(float64(turn[k]) / math.Sqrt(square))
	}
	return product(turn, q)
}

// product returns the product of two quaternions x, y, z, w.
func product(a, b [4]float32) [4]float32 {
	return [4]float32{
		float32(a[3]*b[0]) + float32(a[0]*b[3]) + float32(a[1]*b[2]) - float32(a[2]*b[1]),
		float32(a[3]*b[1]) - float32(a[0]*b[2]) + float32(a[1]*b[3]) + float32(a[2]*b[0]),
		float32(a[3]*b[2]) + float32(a[0]*b[1]) - float32(a[1]*b[0]) + float32(a[2]*b[3]),
		float32(a[3]*b[3]) - float32(a[0]*b[0]) - float32(a[1]*b[1]) - float32(a[2]*b[2]),
	}
}
