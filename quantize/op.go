package quantize

import (
	"math"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/wire"
)

// opKind says how a field's memory becomes lanes. Hot loops switch on it; there is no call through an
// interface or a function value anywhere on the way.
type opKind uint8

const (
	opBool    opKind = iota // 1 bit
	opInt8                  // whole range, offset so that the order of the numbers is kept
	opInt16                 // the same
	opInt32                 // the same
	opInt64                 // the same, two lanes
	opRange                 // integer with min and max
	opFloat32               // the bits of a finite value
	opFloat64               // the same, two lanes
	opFixed32               // float32 with min, max and step
	opFixed64               // float64 with min, max and step
	opAngle32               // float32, a turn in 2^bits steps
	opAngle64               // float64, a turn in 2^bits steps
	opQuat                  // four float32, smallest three
	opHalf32                // float32 as a half
	opHalf64                // float64 as a half
	opAxis32                // float32 within [-1, 1] in 254 steps
	opAxis64                // float64, the same
	opHandle                // two uint32, an entity of a world: two lanes, of its network id
	opID                    // two uint32, a network id
	opTarget                // the same lanes without memory: a relation's target
)

// op is one field of a plan. Which of the numbers mean something depends on the kind.
type op struct {
	kind        opKind
	size        uint8               // bytes in memory of the field; of one number for a quaternion or an entity
	signed      bool                // integers
	offset      uintptr             // of the field in the component
	lane        int                 // first lane
	min         float64             // fixed: value of number 0
	max         float64             // fixed: value of the largest number
	step        float64             // value of one step
	scale       float64             // steps to a unit
	slack       float64             // quat: how far from 1 a squared length may be and yet count as 1
	flip        uint64              // integers: sign bit, turned over so that unsigned order is the order of the values
	low         uint64              // range: the least value, flipped
	count       uint64              // largest number; 2^bits-1 for angle and quat
	run         int                 // the number, from 1, of the plan's runs of fields that this one begins
	quat        *kernel.QuatNumbers // where rotations go by fours
	extrapolate extrapolateKind     // when the tag asks for another than is usual
	path        string              // of the field within the component
	text        string              // of its kind in Describe
}

// quantiseFixed quantises a float within bounds.
func (o *op) quantiseFixed(f float64, lanes []uint32) wire.FaultReason {
	if f >= o.min && f <= o.max {
		lanes[o.lane] = uint32(int64(float64((f-o.min)*o.scale) + 0.5))
		return wire.NoFault
	}
	return o.outside(f, lanes)
}

// outside quantises what lies outside the bounds: NaN and infinities keep the lane, the rest is clamped.
// It is apart from the hot loop that calls it, which would have to keep its registers elsewhere.
//
//go:noinline
func (o *op) outside(f float64, lanes []uint32) wire.FaultReason {
	switch {
	case f-f != 0: // NaN, +Inf, -Inf
		return wire.NotFinite
	case f < o.min:
		lanes[o.lane] = 0
	default:
		lanes[o.lane] = uint32(o.count)
	}
	return wire.OutOfRange
}

// quantiseFloat64 quantises the bits of a float64 that travels exactly.
func (o *op) quantiseFloat64(v uint64, lanes []uint32) wire.FaultReason {
	if !finite64(uint32(v >> 32)) {
		return wire.NotFinite
	}
	lanes[o.lane], lanes[o.lane+1] = uint32(v), uint32(v>>32)
	return wire.NoFault
}

// turns is how many turns either way the fast path of quantiseAngle takes.
const turns = 1 << 14

// quantiseAngle quantises an angle in radians; any number of turns is the same angle.
func (o *op) quantiseAngle(f float64, lanes []uint32) wire.FaultReason {
	shift := float64(o.count+1) * turns // a whole number of turns: makes truncation round down
	x := float64(f*o.scale) + 0.5 + shift
	if !(x >= 0 && x < 2*shift) {
		if f-f != 0 {
			return wire.NotFinite
		}
		x = float64(math.Mod(f, 2*math.Pi)*o.scale) + 0.5 + shift
	}
	lanes[o.lane] = uint32(uint64(int64(x)) & o.count)
	return wire.NoFault
}

// angle returns the value of an angle's number, in [-pi, pi) before it is rounded to the field's width.
func (o *op) angle(lane uint32) float64 {
	n := int64(lane)
	if uint64(lane) > o.count/2 {
		n -= int64(o.count) + 1
	}
	return float64(n) * o.step
}

// fixed returns the value of a fixed field's number. The conversions keep compilers from fusing the
// product and the sum, which would give other bits on other machines. The largest number may come out a
// bit above max in a float64, which would be out of bounds at the next quantising.
func (o *op) fixed(lane uint32) float64 { return min(o.min+float64(float64(lane)*o.step), o.max) }

// quantiseRange quantises an integer with min and max, given with its sign extended to 64 bits.
func (o *op) quantiseRange(v uint64, lanes []uint32) (reason wire.FaultReason) {
	v ^= o.flip
	n := v - o.low
	switch {
	case v < o.low:
		n, reason = 0, wire.OutOfRange
	case n > o.count:
		n, reason = o.count, wire.OutOfRange
	}
	lanes[o.lane] = uint32(n)
	if o.count > math.MaxUint32 {
		lanes[o.lane+1] = uint32(n >> 32)
	}
	return reason
}

// ranged returns the value of a ranged integer's number.
func (o *op) ranged(lanes []uint32) uint64 {
	n := uint64(lanes[o.lane])
	if o.count > math.MaxUint32 {
		n |= uint64(lanes[o.lane+1]) << 32
	}
	return (n + o.low) ^ o.flip
}

// bit returns 1 for true.
func bit(b bool) (v uint32) {
	if b {
		v = 1
	}
	return v
}

// halfMax is the number of wire.MaxHalf. A half in a row is numbered in the order of the values: number 0 is -MaxHalf, and -0 comes right before 0.
const halfMax = 2*halfTop - 1

const (
	halfMinus = 0x8000 // the sign of a half
	halfTop   = 0x7C00 // the magnitudes of finite halves
	axisTop   = 127    // steps of an axis from the middle to either end
)

// halfLane returns the number of a finite half.
func halfLane(h wire.Half) uint32 {
	if h&halfMinus != 0 {
		return halfTop - 1 - uint32(h&^halfMinus)
	}
	return halfTop + uint32(h)
}

// halfOfLane is the inverse of halfLane.
func halfOfLane(n uint32) wire.Half {
	if n < halfTop {
		return halfMinus | wire.Half(halfTop-1-n)
	}
	return wire.Half(n - halfTop)
}

// quantiseHalf quantises a float; one that is not finite keeps its lane.
func (o *op) quantiseHalf(f float64, lanes []uint32) wire.FaultReason {
	h, reason := wire.HalfOf(f)
	if reason != wire.NotFinite {
		lanes[o.lane] = halfLane(h)
	}
	return reason
}

// compileHalf makes o a half.
func (o *op) compileHalf() {
	o.kind, o.text, o.count = opHalf32, "f32half", halfMax
	if o.size == 8 {
		o.kind, o.text = opHalf64, "f64half"
	}
}

// quantiseAxis quantises a float; one that is not finite keeps its lane. Number 0 is -1.
func (o *op) quantiseAxis(f float64, lanes []uint32) wire.FaultReason {
	a, reason := wire.AxisOf(f)
	if reason != wire.NotFinite {
		lanes[o.lane] = uint32(int32(a) + axisTop)
	}
	return reason
}

// axisOfLane is the axis of a row's number.
func axisOfLane(n uint32) wire.Axis { return wire.Axis(int32(n) - axisTop) }

// compileAxis makes o an axis.
func (o *op) compileAxis() {
	o.kind, o.text, o.count = opAxis32, "f32axis", 2*axisTop
	if o.size == 8 {
		o.kind, o.text = opAxis64, "f64axis"
	}
}
