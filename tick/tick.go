package tick

// Tick numbers a network step. The first is 1. It is 64 bits wide in memory, so that it never wraps and
// plain comparison is right everywhere; only its 16 low bits travel (see Near).
type Tick int64

// None is the tick of something that never happened.
const None Tick = 0

// window is the number of ticks that the 16 bits in a packet can tell apart.
const window = 1 << 16

// Low returns the 16 bits of t that a packet has.
func (t Tick) Low() uint16 { return uint16(t) }

// Near returns the tick with these low bits that is nearest to ref: the inverse of Low for every tick
// in (ref-32768, ref+32768]. Of two equally near it takes the later one. With a small ref the result
// may be zero or negative, which is no tick: callers that read remote bytes must check.
func Near(low uint16, ref Tick) Tick {
	ahead := low - uint16(ref)
	if ahead <= window/2 {
		return ref + Tick(ahead)
	}
	return ref + Tick(ahead) - window
}
