package wire

// FaultReason says what was wrong with a field's value.
type FaultReason uint8

// What can be wrong with a value that game code wrote.
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
