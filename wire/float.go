package wire

import "math"

// Float16 is a number of IEEE 754 binary16 as it is sent: 1 sign bit, 5 bits of exponent, 10 of fraction.
// It holds 0, steps of 2^-24 up to 2^-14, and above that 11 significant bits up to MaxFloat16.
type Float16 uint16

// MaxFloat16 is the largest magnitude of a Half.
const MaxFloat16 = 65504

const (
	halfSign     = 0x8000
	halfInfinite = 0x7C00 // this magnitude and all above it are no finite numbers
)

// Float16Of returns the half nearest to f; of two equally near the one whose last bit is zero. NotFinite comes
// with zero; OutOfRange, for what would round beyond MaxFloat16, with MaxFloat16 of the same sign. A float32
// is best widened: that loses nothing, and the value is rounded only once.
func Float16Of(f float64) (Float16, FaultReason) {
	const (
		fraction = 52                    // bits of a float64's fraction
		small    = (1023 - 14) << 52     // 2^-14, the least that has its full precision
		beyond   = 0x40EF_FE00_0000_0000 // 65520, the least that rounds beyond MaxFloat16
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

// roundEven returns v / 2^shift, rounded to the nearest integer, of two equally near the even one.
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

// Float32 returns the value, exactly. Of a half that is not Finite, as only remote bytes can be, it is zero.
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

// Float16 appends v as a half, 2 bytes. A value that would round beyond MaxFloat16 is clamped to it and reported.
// A value that is not finite is ErrNotFinite, because no reader would take it, and nothing is written.
func (w *Writer) Half(v float32) FaultReason {
	h, reason := Float16Of(float64(v))
	if w.refuse(reason); w.err == nil {
		w.Uint16(uint16(h))
	}
	return reason
}

// refuse makes a value that is not finite the writer's error.
func (w *Writer) refuse(reason FaultReason) {
	if w.err == nil && reason == NotFinite {
		w.err = ErrNotFinite
	}
}

// Float16 reads a half. NaN and infinities are ErrMalformed.
func (r *Reader) Half() float32 {
	h := Float16(r.Uint16())
	if !h.Finite() {
		r.err = ErrMalformed
		return 0
	}
	return h.Float32()
}

// Float16 serializes a half, 2 bytes; see Writer.Half for what it reports and refuses.
func (s *Serializer) Half(v *float32) (reason FaultReason) {
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

// measureNumber counts the bytes of a number.
func (s *Serializer) measureNumber(size int, reason FaultReason) {
	if s.err == nil && reason == NotFinite {
		s.err = ErrNotFinite
	}
	s.size += size
}

// Snorm8 is a position within [-1, 1] as it is sent, such as that of a stick: -127 to 127, in steps of 1/127.
// -128 is no axis.
type Snorm8 int8

// axisSteps is the number of steps from the middle to either end.
const axisSteps = 127

// Snorm8Of returns the axis nearest to f; of two equally near the one farther from zero, so that left and right
// are alike. NotFinite comes with zero; OutOfRange, for what lies outside of [-1, 1], with the nearer end.
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

// Snorm8 appends v as an axis, 1 byte. A value outside of [-1, 1] is clamped and reported. A value that is not finite is
// ErrNotFinite, because there is nothing to clamp it to, and nothing is written.
func (w *Writer) Axis(v float32) FaultReason {
	a, reason := Snorm8Of(float64(v))
	if w.refuse(reason); w.err == nil {
		w.Int8(int8(a))
	}
	return reason
}

// Snorm8 reads an axis. -128 is ErrMalformed.
func (r *Reader) Axis() float32 {
	a := Snorm8(r.Int8())
	if a < -axisSteps {
		r.err = ErrMalformed
		return 0
	}
	return a.Float32()
}

// Snorm8 serializes an axis, 1 byte; see Writer.Axis for what it reports and refuses.
func (s *Serializer) Axis(v *float32) (reason FaultReason) {
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

// FaultReason tells what was wrong with a field's value.
type FaultReason uint8

// Faults of a value that game code wrote.
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
