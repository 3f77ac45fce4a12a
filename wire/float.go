package wire

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
)

// Float16 is an IEEE 754 binary16 number in its wire form: 1 sign bit, 5 exponent bits, 10 fraction bits. It has steps
// of 2^-24 up to 2^-14, and above that 11 significant bits up to MaxFloat16.
type Float16 uint16

// MaxFloat16 is the largest finite magnitude of a Float16.
const MaxFloat16 = 65504

const (
	halfSign     = 0x8000
	halfInfinite = 0x7C00 // larger magnitudes are not finite either
)

// Float16Of returns the half nearest to f, and of two equally near ones the even one. NotFinite comes with zero.
// OutOfRange, for a value that would round beyond MaxFloat16, comes with MaxFloat16 of the same sign. Convert a float32
// to float64 for this: the value is then rounded only once.
func Float16Of(f float64) (Float16, FaultReason) {
	const (
		fraction = 52                    // bits of a float64's fraction
		small    = (1023 - 14) << 52     // 2^-14, the smallest value with full precision
		beyond   = 0x40EF_FE00_0000_0000 // 65520, the smallest value that rounds beyond MaxFloat16
		infinite = 0x7FF0_0000_0000_0000 // float64
		shift    = fraction - 10         // from one fraction to the other
		rebias   = (1023 - 15) << (52)   // from one exponent to the other
		implied  = uint64(1) << fraction // the bit that a float64 does not store
	)
	v := math.Float64bits(f)
	sign, v := Float16(v>>48)&halfSign, v&^(1<<63)
	switch {
	case v >= infinite:
		return 0, NotFinite
	case v >= beyond:
		return sign | halfInfinite - 1, OutOfRange
	case v >= small:
		return sign | Float16(roundEven(v-rebias, shift)), NoFault
	}
	return sign | Float16(roundEven(v&(implied-1)|implied, 1023+fraction-24-uint(v>>fraction))), NoFault
}

// roundEven returns v / 2^shift, rounded to the nearest integer, halves to even.
func roundEven(v uint64, shift uint) uint64 {
	if shift > 63 {
		return 0
	}
	n, half := v>>shift, uint64(1)<<(shift-1)
	if rest := v & (1<<shift - 1); rest > half || rest == half && n&1 == 1 {
		n++
	}
	return n
}

// Finite reports whether h is a number: neither NaN nor infinite.
func (h Float16) Finite() bool { return h&^halfSign < halfInfinite }

// Float32 returns the exact value; zero if h is not Finite, as remote bytes may be.
func (h Float16) Float32() float32 {
	if !h.Finite() {
		return 0
	}
	sign, exponent, fraction := uint32(h&halfSign)<<16, uint32(h>>10&31), uint32(h&1023)
	if exponent == 0 {
		v := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(v) | sign)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// Half appends v as a half, 2 bytes. A value that would round beyond MaxFloat16 is clamped and reported. A value that
// is not finite is ErrNotFinite, because a reader would refuse it, and nothing is written.
func (w *Writer) Half(v float32) FaultReason {
	h, reason := Float16Of(float64(v))
	if w.refuse(reason); w.err == nil {
		w.Uint16(uint16(h))
	}
	return reason
}

// refuse sets the writer's error for a value that is not finite.
func (w *Writer) refuse(reason FaultReason) {
	if w.err == nil && reason == NotFinite {
		w.err = ErrNotFinite
	}
}

// Half reads a half. NaN and infinities are ErrMalformed.
func (r *Reader) Half() float32 {
	h := Float16(r.Uint16())
	if !h.Finite() {
		r.err = ErrMalformed
		return 0
	}
	return h.Float32()
}

// Half serializes a half, 2 bytes; see Writer.Half for faults and errors.
func (s *Serializer) Half(v *float32) (reason FaultReason) {
	if s.probe != nil {
		probeFloat(s, v, "f32half")
		return NoFault
	}
	switch s.direction {
	case reading:
		*v = s.reader.Half()
	case writing:
		return s.writer.Half(*v)
	default:
		_, reason = Float16Of(float64(*v))
		s.measureNumber(2, reason)
	}
	return reason
}

// measureNumber adds the size of a number.
func (s *Serializer) measureNumber(size int, reason FaultReason) {
	if s.err == nil && reason == NotFinite {
		s.err = ErrNotFinite
	}
	s.size += size
}

// Snorm8 is a number within [-1, 1] in its wire form, such as the position of a stick: -127 to 127, in steps of 1/127.
// -128 is illegal.
type Snorm8 int8

// axisSteps is the number of steps from the middle to either end.
const axisSteps = 127

// Snorm8Of returns the number nearest to f, and of two equally near ones the one farther from zero, so that both
// directions are symmetric. NotFinite comes with zero; OutOfRange, for a value outside [-1, 1], comes with the nearer
// end.
func Snorm8Of(f float64) (Snorm8, FaultReason) {
	switch {
	case f-f != 0: // NaN, +Inf, -Inf
		return 0, NotFinite
	case f < -1:
		return -axisSteps, OutOfRange
	case f > 1:
		return axisSteps, OutOfRange
	}
	return Snorm8(math.Round(f * axisSteps)), NoFault
}

// Float32 returns the value, within [-1, 1].
func (a Snorm8) Float32() float32 { return float32(a.Float64()) }

// Float64 is Float32 in 64 bits.
func (a Snorm8) Float64() float64 { return float64(max(a, -axisSteps)) / axisSteps }

// Axis appends v as a Snorm8, 1 byte. A value outside [-1, 1] is clamped and reported. A value that is not finite is
// ErrNotFinite, and nothing is written.
func (w *Writer) Axis(v float32) FaultReason {
	a, reason := Snorm8Of(float64(v))
	if w.refuse(reason); w.err == nil {
		w.Int8(int8(a))
	}
	return reason
}

// Axis reads a Snorm8. -128 is ErrMalformed.
func (r *Reader) Axis() float32 {
	a := Snorm8(r.Int8())
	if a < -axisSteps {
		r.err = ErrMalformed
		return 0
	}
	return a.Float32()
}

// Axis serializes a Snorm8, 1 byte; see Writer.Axis for faults and errors.
func (s *Serializer) Axis(v *float32) (reason FaultReason) {
	if s.probe != nil {
		probeFloat(s, v, "f32axis")
		return NoFault
	}
	switch s.direction {
	case reading:
		*v = s.reader.Axis()
	case writing:
		return s.writer.Axis(*v)
	default:
		_, reason = Snorm8Of(float64(*v))
		s.measureNumber(1, reason)
	}
	return reason
}

// Quantised serializes a float within low and high in equal steps of at most step, in as few bytes as their number needs,
// 1 to 4. low and high are rounded to float32. A value outside is clamped and reported; one that is not finite is
// ErrNotFinite. Bounds without 1 to 2^32-1 steps between them panic.
func (s *Serializer) Quantised(v *float32, low, high, step float64) (reason FaultReason) {
	q := stepsOf(low, high, step)
	if s.probe != nil {
		probeFloat(s, v, q.String())
		return NoFault
	}
	if s.direction == reading {
		n := s.reader.little(q.size)
		if n > q.count {
			s.Fail(ErrMalformed)
			n = 0
		}
		*v = q.value(n)
		return NoFault
	}
	n, reason := q.number(float64(*v))
	if reason == NotFinite {
		s.Fail(ErrNotFinite)
	}
	if s.size += q.size; s.direction == writing {
		s.writer.little(n, q.size)
	}
	return reason
}

// steps divides a range of floats into equal steps, as the tags min, max and step of a component do.
type steps struct {
	low, high, step float64
	count           uint64 // steps from low to high
	size            int    // of a number of steps, in bytes
}

// stepsOf returns the steps between two bounds. It panics on bounds without steps.
func stepsOf(low, high, step float64) (q steps) {
	q.low, q.high = float64(float32(low)), float64(float32(high))
	count := math.Ceil((q.high-q.low)/step - 1e-6)
	if !(count >= 1 && count <= math.MaxUint32 && step > 0) {
		panic(misuse(fmt.Sprintf("wire: from %v to %v in steps of %v are no 1 to 2^32-1 steps", low, high, step)))
	}
	q.step, q.count = (q.high-q.low)/count, uint64(count)
	q.size = (bits.Len64(q.count) + 7) / 8
	return q
}

// String returns the kind of such a float, as in a layout.
func (q steps) String() string {
	return "f32[" + formatShort(q.low, 32) + "," + formatShort(q.high, 32) + "," + formatShort(q.step, 64) + "]"
}

// formatShort returns the shortest decimal that reads back as a float of so many bits.
func formatShort(f float64, size int) string { return strconv.FormatFloat(f, 'g', -1, size) }

// number returns the number of steps nearest to f.
func (q *steps) number(f float64) (uint64, FaultReason) {
	switch {
	case f-f != 0: // NaN, +Inf, -Inf
		return 0, NotFinite
	case f < q.low:
		return 0, OutOfRange
	case f > q.high:
		return q.count, OutOfRange
	}
	return uint64(float64((f-q.low)*(float64(q.count)/(q.high-q.low))) + 0.5), NoFault
}

// value returns the float of a number of steps.
func (q *steps) value(n uint64) float32 {
	return float32(min(q.low+float64(float64(n)*q.step), q.high))
}

// PackedFloat serializes a float in steps, as a packed integer: 1 byte up to 120 steps from zero, 2 up to 1143, at most 5.
// A value farther than 2^31-1 steps is clamped and reported; one that is not finite is ErrNotFinite. If packing is off it
// takes 4 bytes. A step that is not above zero panics.
func (s *Serializer) PackedFloat(v *float32, step float64) (reason FaultReason) {
	if !(step > 0 && step <= math.MaxFloat32/math.MaxInt32) {
		panic(misuse(fmt.Sprintf("wire: a packed float in steps of %v", step)))
	}
	if s.probe != nil && !s.debug {
		probeFloat(s, v, "f32packed["+formatShort(step, 64)+"]")
		return NoFault
	}
	n, f := int32(0), float32(0)
	if s.direction != reading {
		n, reason = packedSteps(float64(*v), step)
		if f = float32(float64(n) * step); reason == NotFinite {
			s.Fail(ErrNotFinite)
		}
	}
	if s.debug {
		s.FiniteFloat32(&f)
	} else {
		s.PackedInt32(&n)
		f = float32(float64(n) * step)
	}
	if s.direction == reading {
		*v = f
	}
	return reason
}

// packedSteps returns the number of steps nearest to f.
func packedSteps(f, step float64) (int32, FaultReason) {
	switch n := math.RoundToEven(f / step); {
	case n-n != 0:
		return 0, NotFinite
	case n > math.MaxInt32:
		return math.MaxInt32, OutOfRange
	case n < -math.MaxInt32:
		return -math.MaxInt32, OutOfRange
	default:
		return int32(n), NoFault
	}
}

// misuse is the panic of a call with arguments that no value fits.
type misuse string

// Error implements error.
func (m misuse) Error() string { return string(m) }

// FaultReason tells what was wrong with a field's value.
type FaultReason uint8

// Faults of a value written by game code.
const (
	NoFault    FaultReason = iota
	NotFinite              // NaN or infinite: the field kept its last good value
	OutOfRange             // outside min and max: clamped
	NoRotation             // a quaternion of length 0: the field kept its last good value
)

// String returns the reason in words.
func (r FaultReason) String() string {
	switch r {
	case NoFault:
		return "no fault"
	case NotFinite:
		return "not finite"
	case OutOfRange:
		return "out of range"
	case NoRotation:
		return "a rotation of length 0"
	}
	return "unknown fault"
}
