package quantize

import (
	"fmt"
	"math"
)

// BlendMode selects how a component is interpolated between two versions.
type BlendMode uint8

// The modes of a Blend.
const (
	BlendByKind BlendMode = iota // floats linearly, angles and quaternions by the shortest turn, all other fields in a step
	BlendStep                    // a step: each version is shown until the next
	BlendAngles                  // as by kind, but every float is an angle in radians, whatever its tag
	BlendQuats                   // as by kind, but every four consecutive float32 are a quaternion
)

// BlendInput is the input of a Blend: two versions of a row, and a position between them.
type BlendInput struct {
	From, To []uint32 // rows of the two versions
	Part     float64  // 0 is From, 1 is To; above 1 extrapolates beyond To

	// For a Blend with velocities: the rows of the component that has the velocities; nil if a version has none.
	FromSpeed, ToSpeed []uint32
	Seconds            float64 // time from From to To
}

// Blend interpolates between two rows of a plan, field by field, depending on the kind of field. Fields without values
// in between, such as integers, booleans and entities, keep the value of From until Part is 1. It belongs to one
// goroutine.
type Blend struct {
	plan   *Plan
	fields []blendField
	speeds []*op // fields of the velocities, in order; nil without
	custom func(way *BlendInput, dst blendTarget)
}

// blendField is a field that is interpolated.
type blendField struct {
	op   *op
	kind blendKind
	low  float64 // bounds of values beyond To
	high float64
}

type blendKind uint8

const (
	blendNumber blendKind = iota
	blendAngle
	blendQuat
)

// NewBlend returns the Blend of a plan. It returns an error if the plan has handles of the local world, or if
// BlendQuats finds floats that are not quaternions.
func NewBlend(p *Plan, mode BlendMode) (*Blend, error) {
	if len(p.holds) > 0 || p.aimed {
		return nil, fmt.Errorf("%s names entities of a world, which cannot be shown late: "+
			"use a netcode.NetworkID and look the entity up when you draw (systems.ClientSystems.Entity), or make the component a relation", p.name)
	}
	b := &Blend{plan: p}
	if mode == BlendStep {
		return b, nil
	}
	for i := 0; i < len(p.ops); i++ {
		o := &p.ops[i]
		f := blendField{op: o, low: math.Inf(-1), high: math.Inf(1)}
		switch o.kind {
		case opFixed32, opFixed64:
			f.low, f.high = o.min, o.max
		case opAxis32, opAxis64:
			f.low, f.high = -1, 1
		case opFloat32, opFloat64, opHalf32, opHalf64:
		case opAngle32, opAngle64:
			f.kind = blendAngle
		case opQuat:
			f.kind = blendQuat
		default:
			continue
		}
		switch {
		case mode == BlendAngles && f.kind == blendNumber:
			f.kind = blendAngle
		case mode == BlendQuats && f.kind != blendQuat:
			if !p.quatAt(i) {
				return nil, fmt.Errorf("%s.%s: no quaternion: four float32 without a tag or with the tag quat", p.name, o.path)
			}
			f.kind, i = blendQuat, i+3
		}
		b.fields = append(b.fields, f)
	}
	return b, nil
}

// quatAt reports whether fields i to i+3 are exact float32 in adjacent memory.
func (p *Plan) quatAt(i int) bool {
	if i+3 >= len(p.ops) {
		return false
	}
	for k := range 4 {
		if o := &p.ops[i+k]; o.kind != opFloat32 || o.offset != p.ops[i].offset+4*uintptr(k) {
			return false
		}
	}
	return true
}

// NewBlendWithSpeed returns the Blend by kind of a plan whose numbers have velocities, in units per second. The k-th
// number of speed is the velocity of the k-th number of p. Between two versions the path is a cubic Hermite curve;
// beyond To it is straight. The error tells which field does not match.
func NewBlendWithSpeed(p, speed *Plan) (*Blend, error) {
	b, err := NewBlend(p, BlendByKind)
	if err != nil {
		return nil, err
	}
	for i := range speed.ops {
		switch o := &speed.ops[i]; o.kind {
		case opFixed32, opFixed64, opFloat32, opFloat64, opHalf32, opHalf64, opAxis32, opAxis64:
			b.speeds = append(b.speeds, o)
		}
	}
	numbers := 0
	for _, f := range b.fields {
		if f.kind == blendNumber {
			numbers++
		}
	}
	if numbers == 0 || numbers != len(b.speeds) {
		return nil, fmt.Errorf("%s has %d numbers and %s %d: each needs a velocity", p.name, numbers, speed.name, len(b.speeds))
	}
	return b, nil
}

// float returns the value of a field of one number.
func (o *op) float(lanes []uint32) float64 {
	n := lanes[o.lane]
	switch o.kind {
	case opFixed32, opFixed64:
		return o.fixed(n)
	case opFloat32:
		return float64(math.Float32frombits(n))
	case opFloat64:
		return math.Float64frombits(uint64(n) | uint64(lanes[o.lane+1])<<32)
	case opAngle32, opAngle64:
		return o.angle(n)
	case opHalf32, opHalf64:
		return float64(halfOfLane(n).Float32())
	case opAxis32, opAxis64:
		return axisOfLane(n).Float64()
	}
	return 0
}

// rotation returns the value of a quaternion, tagged or of four exact floats.
func (o *op) rotation(lanes []uint32) (q [4]float32) {
	if o.kind == opQuat {
		o.dequantiseQuat((*[4]uint32)(lanes[o.lane:]), &q)
		return q
	}
	for k := range q {
		q[k] = math.Float32frombits(lanes[o.lane+k])
	}
	return q
}

// line interpolates a number linearly.
func (f *blendField) line(way *BlendInput) float64 {
	from, to := f.op.float(way.From), f.op.float(way.To)
	return f.bounded(from + (to-from)*way.Part)
}

// curve interpolates a number on a cubic Hermite curve with the velocities of both versions. Beyond To it extrapolates
// linearly.
func (f *blendField) curve(way *BlendInput, speed *op) float64 {
	if way.FromSpeed == nil || way.ToSpeed == nil {
		return f.line(way)
	}
	from, to, t := f.op.float(way.From), f.op.float(way.To), way.Part
	a, b := speed.float(way.FromSpeed)*way.Seconds, speed.float(way.ToSpeed)*way.Seconds
	if t > 1 {
		return f.bounded(to + b*(t-1))
	}
	t2 := t * t
	t3 := t2 * t
	return f.bounded((2*t3-3*t2+1)*from + (t3-2*t2+t)*a + (3*t2-2*t3)*to + (t3-t2)*b)
}

// bounded clamps a value beyond To to the bounds of the field.
func (f *blendField) bounded(v float64) float64 {
	limit := math.MaxFloat64
	if f.op.size == 4 {
		limit = math.MaxFloat32
	}
	return min(max(v, f.low, -limit), f.high, limit)
}

// turn interpolates an angle the shorter way round, in [-pi, pi).
func (f *blendField) turn(way *BlendInput) float64 {
	from, to := f.op.float(way.From), f.op.float(way.To)
	return angleNear(from + angleNear(to-from)*way.Part)
}

// angleNear reduces an angle to [-pi, pi).
func angleNear(a float64) float64 {
	if a >= -math.Pi && a < math.Pi {
		return a
	}
	if a = math.Mod(a+math.Pi, 2*math.Pi); a < 0 {
		a += 2 * math.Pi
	}
	return a - math.Pi
}

// rotate interpolates a quaternion along the shorter arc, at constant speed (Shoemake 1985); for a short arc linearly.
// A quaternion of length 0 counts as the other one.
func (f *blendField) rotate(way *BlendInput) [4]float32 {
	from, to := f.op.rotation(way.From), f.op.rotation(way.To)
	var a, b [4]float64
	dot, squareA, squareB := 0.0, 0.0, 0.0
	for k := range a {
		a[k], b[k] = float64(from[k]), float64(to[k])
		dot += a[k] * b[k]
		squareA += a[k] * a[k]
		squareB += b[k] * b[k]
	}
	if squareA == 0 || squareB == 0 {
		if squareB == 0 {
			return from
		}
		return to
	}
	dot /= math.Sqrt(squareA * squareB)
	toB := way.Part
	toA := 1 - toB
	if math.Abs(dot) < 0.9995 {
		arc := math.Acos(math.Abs(dot))
		sin := math.Sin(arc)
		toA, toB = math.Sin(toA*arc)/sin, math.Sin(toB*arc)/sin
	}
	if dot < 0 {
		toB = -toB
	}
	square := 0.0
	for k := range a {
		a[k] = toA*a[k]/math.Sqrt(squareA) + toB*b[k]/math.Sqrt(squareB)
		square += a[k] * a[k]
	}
	if square < 1e-12 {
		return to
	}
	for k := range a {
		to[k] = float32(a[k] / math.Sqrt(square))
	}
	return to
}
