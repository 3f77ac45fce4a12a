package wire

import "math"

// Axis is a position within [-1, 1] as it travels, such as that of a stick: -127 to 127, in steps of 1/127.
// -128 is no axis.
type Axis int8

// axisSteps is the number of steps from the middle to either end.
const axisSteps = 127

// AxisOf returns the axis nearest to f; of two equally near the one farther from zero, so that left and right
// are alike. NotFinite comes with zero; OutOfRange, for what lies outside of [-1, 1], with the nearer end.
func AxisOf(f float64) (Axis, FaultReason) {
	switch {
	case f-f != 0: // NaN, +Inf, -Inf
		return 0, NotFinite
	case f < -1:
		return -axisSteps, OutOfRange
	case f > 1:
		return axisSteps, OutOfRange
	}
	return Axis(math.Round(f * axisSteps)), NoFault
}

// Float32 returns the value, within [-1, 1].
func (a Axis) Float32() float32 { return float32(a.Float64()) }

// Float64 is Float32 in 64 bits.
func (a Axis) Float64() float64 { return float64(max(a, -axisSteps)) / axisSteps }

// Axis appends v as an axis, 1 byte. A value outside of [-1, 1] is clamped and reported. What is not finite is
// ErrNotFinite, because there is nothing to clamp it to, and nothing is written.
func (w *Writer) Axis(v float32) FaultReason {
	a, reason := AxisOf(float64(v))
	if w.refuse(reason); w.err == nil {
		w.Int8(int8(a))
	}
	return reason
}

// Axis reads an axis. -128 is ErrMalformed.
func (r *Reader) Axis() float32 {
	a := Axis(r.Int8())
	if a < -axisSteps {
		r.err = ErrMalformed
		return 0
	}
	return a.Float32()
}

// Axis serializes an axis, 1 byte; see Writer.Axis for what it reports and refuses.
func (s *Serializer) Axis(v *float32) (reason FaultReason) {
	switch s.direction {
	case reading:
		*v = s.reader.Axis()
	case writing:
		return s.writer.Axis(*v)
	default:
		_, reason = AxisOf(float64(*v))
		s.measureNumber(1, reason)
	}
	return reason
}
