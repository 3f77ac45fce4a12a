package wire

import "math"

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
