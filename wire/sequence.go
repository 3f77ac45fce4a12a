package wire

// Sequence is a packet's number as it travels: the 16 low bits of a 64-bit number.
type Sequence uint16

// Before reports whether s comes before other, taking the shorter way around. Two numbers exactly half
// the circle apart are each after the other: neither is before.
func (s Sequence) Before(other Sequence) bool { return int16(s-other) < 0 && s-other != 1<<15 }

// Unwrap returns the 64-bit number with the low bits s that is nearest to near. Of two equally near it
// takes the larger. Numbers start at 0, so close to 0 only what lies above can be meant.
func Unwrap(s Sequence, near uint64) uint64 {
	ahead := uint64(s - Sequence(near))
	if ahead <= 1<<15 || near+ahead < 1<<16 {
		return near + ahead
	}
	return near + ahead - 1<<16
}
