package quantize

import (
	"fmt"
	"math"
)

// BlendMode tells how a component goes from one version to the next.
type BlendMode uint8

// The modes of a Blend.
const (
	BlendByKind BlendMode = iota // floats in a straight line, angles and quaternions by the shortest turn, all else in a step
	BlendStep                    // each version holds until the next
	BlendAngles                  // every float is an angle in radians, whatever its tag tells
	BlendQuats                   // every four float32 that follow each other are a quaternion
)

// BlendInput is the input of a Blend: two versions of a row, and a place between them.
type BlendInput struct {
	From, To []uint32 // The rows of the two versions.
	Part     float64  // 0 is From, 1 is To; above 1 goes on beyond To.

	// For a Blend with velocities only; nil where a version has none.
	FromSpeed, ToSpeed []uint32 // The rows of the component that holds the velocities.
	Seconds            float64  // From From to To.
}

// Blend mixes two rows of a plan into a value: field by field, by their kinds. Fields that cannot lie between two values,
// such as integers, booleans and entities, are those of From until Part is 1. It belongs to one goroutine.
type Blend struct {
	plan   *Plan
	fields []blendField
	speeds []*op // Of the velocities, by number; nil without.
	custom func(way *BlendInput, dst blendTarget)
}

// blendField is a field that can lie between two values.
type blendField struct {
	op   *op
	kind blendKind
	low  float64 // Bounds of what beyond To may lead to.
	high float64
}

type blendKind uint8

const (
	blendNumber blendKind = iota
	blendAngle
	blendQuat
)

// NewBlend returns the blend of a plan. The error tells why the plan has none: it holds entities of a world, or for
// BlendQuats numbers that are no quaternions.
func NewBlend(p *Plan, mode BlendMode) (*Blend, error) {
	if len(p.holds) > 0 || p.aimed {
		return nil, fmt.Errorf("%s names entities of a world, which cannot be shown late", p.name)
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

// quatAt reports whether four exact float32 lie in a row from field i on.
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

// NewBlendWithSpeed returns the blend by kind of a plan whose numbers have velocities, in units a second: the k-th number
// of the plan moves at what the k-th number of the other says. The way between is a cubic Hermite curve, beyond To it is
// straight. The error tells what does not fit.
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

// float is the value of a field of one number.
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

// rotation is the value of a quaternion, tagged or of four exact numbers.
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

// line is a number on the straight way.
func (f *blendField) line(way *BlendInput) float64 {
	from, to := f.op.float(way.From), f.op.float(way.To)
	return f.bounded(from + (to-from)*way.Part)
}

// curve is a number on the cubic Hermite curve through two values with a velocity each; beyond the end it goes straight on.
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

// bounded keeps what lies beyond To within what the field can hold.
func (f *blendField) bounded(v float64) float64 {
	limit := math.MaxFloat64
	if f.op.size == 4 {
		limit = math.MaxFloat32
	}
	return min(max(v, f.low, -limit), f.high, limit)
}

// turn is an angle on the shorter way round, in [-pi, pi).
func (f *blendField) turn(way *BlendInput) float64 {
	from, to := f.op.float(way.From), f.op.float(way.To)
	return angleNear(from + angleNear(to-from)*way.Part)
}

// angleNear is the same angle in [-pi, pi).
func angleNear(a float64) float64 {
	if a >= -math.Pi && a < math.Pi {
		return a
	}
	if a = math.Mod(a+math.Pi, 2*math.Pi); a < 0 {
		a += 2 * math.Pi
	}
	return a - math.Pi
}

// rotate is a quaternion on the shorter arc between two, at an even rate (Shoemake 1985). Where the arc is short it is as
// good as straight. A quaternion of no length is taken for the other.
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
