package quantize

import (
	"math"

	"github.com/arche-netcode/netcode/wire"
)

// opKind selects the conversion of a field in memory to lanes. Hot loops switch on it; there are no interface or function calls.
type opKind uint8

const (
	opBool    opKind = iota // 1 bit
	opInt8                  // full range, offset so that the order is kept
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
	opText                  // wire.Text: see tailField
	opList                  // wire.List, likewise
	opHandle                // two uint32, an entity of a world: two lanes, of its network id
	opID                    // two uint32, a network id
	opTarget                // the same lanes without memory: a relation's target
)

// op is one field of a plan. The kind determines which numbers are used.
type op struct {
	kind        opKind
	size        uint8           // bytes in memory: of the field, or of one number of a quaternion or entity
	signed      bool            // integers
	offset      uintptr         // of the field in the component
	lane        int             // first lane
	min         float64         // fixed: value of lane 0
	max         float64         // fixed: value of the largest lane
	step        float64         // value of one step
	scale       float64         // steps per unit
	slack       float64         // quat: how far a squared length may differ from 1 and still count as 1
	flip        uint64          // integers: XOR of the sign bit, so that unsigned order is the order of the values
	low         uint64          // range: minimum, XOR flip
	count       uint64          // largest lane; 2^bits-1 for angle and quat
	extrapolate extrapolateKind // if tagged
	path        string          // of the field within the component
	text        string          // kind in Describe
	tail        *tailField      // text or list
}

// quantiseFixed quantises a bounded float.
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

// quantiseFloat64 quantises the bits of a float64 that is sent exactly.
func (o *op) quantiseFloat64(v uint64, lanes []uint32) wire.FaultReason {
	if !finite64(uint32(v >> 32)) {
		return wire.NotFinite
	}
	lanes[o.lane], lanes[o.lane+1] = uint32(v), uint32(v>>32)
	return wire.NoFault
}

// turns is the number of turns in either direction that quantiseAngle handles on its fast path.
const turns = 1 << 14

// quantiseAngle quantises an angle in radians, modulo full turns.
func (o *op) quantiseAngle(f float64, lanes []uint32) wire.FaultReason {
	shift := float64(o.count+1) * turns // a whole number of turns: truncation then rounds down
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

// angle returns the angle of a lane in [-pi, pi), before it is rounded to the field's width.
func (o *op) angle(lane uint32) float64 {
	n := int64(lane)
	if uint64(lane) > o.count/2 {
		n -= int64(o.count) + 1
	}
	return float64(n) * o.step
}

// fixed returns the value of a fixed field's lane. The conversions prevent fused multiply-add, which would give other
// bits on some machines. The result is clamped: the largest lane may otherwise exceed max slightly and be out of range
// at the next quantisation.
func (o *op) fixed(lane uint32) float64 { return min(o.min+float64(float64(lane)*o.step), o.max) }

// quantiseRange quantises an integer with min and max. v is sign-extended to 64 bits.
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

// ranged returns the value of a ranged integer's lanes.
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

// halfMax is the lane of wire.MaxFloat16. Lanes of halves are in the order of the values: lane 0 is -MaxFloat16, and -0
// directly precedes 0.
const halfMax = 2*halfTop - 1

const (
	halfMinus = 0x8000 // sign bit of a half
	halfTop   = 0x7C00 // number of finite magnitudes of a half
	axisTop   = 127    // steps of an axis from the middle to either end
)

// halfLane returns the lane of a finite half.
func halfLane(h wire.Float16) uint32 {
	if h&halfMinus != 0 {
		return halfTop - 1 - uint32(h&^halfMinus)
	}
	return halfTop + uint32(h)
}

// halfOfLane is the inverse of halfLane.
func halfOfLane(n uint32) wire.Float16 {
	if n < halfTop {
		return halfMinus | wire.Float16(halfTop-1-n)
	}
	return wire.Float16(n - halfTop)
}

// quantiseHalf quantises a float as a half. A value that is not finite keeps its lane.
func (o *op) quantiseHalf(f float64, lanes []uint32) wire.FaultReason {
	h, reason := wire.Float16Of(f)
	if reason != wire.NotFinite {
		lanes[o.lane] = halfLane(h)
	}
	return reason
}

// compileHalf sets o to a half.
func (o *op) compileHalf() {
	o.kind, o.text, o.count = opHalf32, "f32half", halfMax
	if o.size == 8 {
		o.kind, o.text = opHalf64, "f64half"
	}
}

// quantiseAxis quantises a float as an axis. A value that is not finite keeps its lane. Lane 0 is -1.
func (o *op) quantiseAxis(f float64, lanes []uint32) wire.FaultReason {
	a, reason := wire.Snorm8Of(f)
	if reason != wire.NotFinite {
		lanes[o.lane] = uint32(int32(a) + axisTop)
	}
	return reason
}

// axisOfLane returns the axis of a lane.
func axisOfLane(n uint32) wire.Snorm8 { return wire.Snorm8(int32(n) - axisTop) }

// compileAxis sets o to an axis.
func (o *op) compileAxis() {
	o.kind, o.text, o.count = opAxis32, "f32axis", 2*axisTop
	if o.size == 8 {
		o.kind, o.text = opAxis64, "f64axis"
	}
}

// A unit quaternion is sent as its smallest three components (Hobson, "Quaternion compression"). Lane 0 is the index of
// the left-out component, the largest of x, y, z, w; its sign is made positive. Lanes 1 to 3 are the others, in order,
// from -1/sqrt2 to 1/sqrt2 in 2^bits-1 steps.
//
// Near ties need care. The left-out component is decoded as a root, with the rounding errors of the others, and may
// become smaller than one of them. The next quantisation would then leave out another component, and the row would
// change without a movement. So a row is legal only if its own value leaves out the same component by this rule: the
// first one that is at most half a step smaller than the largest. Quantise replaces the rare illegal row by a legal
// neighbour; ReadRow refuses it.

// quatEdge is the maximum of a component other than the largest.
const quatEdge = math.Sqrt2 / 2

// Bounds on the bits of a component. With fewer than 4, the neighbour of a near tie may be far away. With more than 16,
// a step is close to the precision of a float32.
const (
	minQuatBits = 4
	maxQuatBits = 16
)

// quantiseQuat quantises v into the field's four lanes. The fast path needs a length of 1 and a largest component that
// is clearly the largest: by four steps, more than rounding can change.
func (o *op) quantiseQuat(v *[4]float32, lanes *[4]uint32) wire.FaultReason {
	x, y, z, w := float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])
	if d := float64(x*x) + float64(y*y) + float64(z*z) + float64(w*w) - 1; !(d < o.slack && d > -o.slack) {
		return o.quantiseOddQuat(v, lanes)
	}
	// Magnitudes are compared as integers, which have the same order. Of equal ones the first is taken.
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

// larger is max without a branch, for numbers whose difference does not overflow.
func larger(a, b int64) int64 {
	d := a - b
	return a - d&(d>>63)
}

// quantiseOddQuat is quantiseQuat for all other values: another length, length 0, near ties.
func (o *op) quantiseOddQuat(v *[4]float32, lanes *[4]uint32) wire.FaultReason {
	var q [4]float64
	square := 0.0
	for i := range q {
		q[i] = float64(v[i])
		square += float64(q[i] * q[i])
	}
	if square-square != 0 || square == 0 {
		if !o.legalQuat(lanes) { // zeros: there is no last good row yet
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
		// Move the component that became too large one step towards zero.
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

// largest returns the index of the component to leave out: the first that is at most half a step smaller than the
// largest.
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

// smallestThree sets the lanes of a row that leaves out component k.
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

// dequantiseQuat computes the value of a row. Sums and products are rounded one by one, in a fixed order, on every
// machine.
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

// again returns the index of the component that the row's own value leaves out.
func (o *op) again(lanes *[4]uint32) int {
	var v [4]float32
	o.dequantiseQuat(lanes, &v)
	return o.largest(&[4]float64{float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])})
}

// legalQuat reports whether Quantise can produce the row.
func (o *op) legalQuat(lanes *[4]uint32) bool {
	if lanes[0] > 3 || uint64(max(lanes[1], lanes[2], lanes[3])) > o.count {
		return false
	}
	// More than a step away from a tie, no root is needed.
	a := math.Abs(float64(float64(lanes[1])*o.step) - quatEdge)
	b := math.Abs(float64(float64(lanes[2])*o.step) - quatEdge)
	c := math.Abs(float64(float64(lanes[3])*o.step) - quatEdge)
	if near := max(a, b, c) + o.step; near*near <= 1-(a*a+b*b+c*c) {
		return true
	}
	return o.again(lanes) == int(lanes[0])
}
