package tick

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Span is a length of game time in 1/2^32 of a tick. It reaches ±2^31 ticks, which is more than two years at 30 ticks
// a second; what is longer saturates.
type Span int64

// OneTick is the span of one tick.
const OneTick Span = 1 << 32

// Ticks returns the span of n whole ticks; beyond ±2^31 it saturates.
func Ticks(n Tick) Span {
	if n > math.MaxInt32 {
		return math.MaxInt64
	}
	if n < math.MinInt32 {
		return math.MinInt64
	}
	return Span(n) << 32
}

// SpanOf returns how much game time passes in d at rate ticks a second, rounded towards zero. A rate below 1 counts as 1.
func SpanOf(d time.Duration, rate int) Span {
	return muldiv(int64(d), uint64(max(rate, 1))<<32, uint64(time.Second))
}

// Duration returns the time that s takes at rate ticks a second, rounded towards zero. A rate below 1 counts as 1.
func (s Span) Duration(rate int) time.Duration {
	return time.Duration(muldiv(int64(s), uint64(time.Second), uint64(max(rate, 1))<<32))
}

// Of returns the part of s that part is of a tick: s × part / OneTick, rounded towards zero.
func (s Span) Of(part Span) Span {
	if part < 0 {
		return -muldiv(int64(s), magnitude(int64(part)), uint64(OneTick))
	}
	return muldiv(int64(s), uint64(part), uint64(OneTick))
}

// String returns the span in ticks with three decimals at most, rounded towards zero: "1.5 ticks", "-0.25 ticks", "1 tick". The
// verb %#v prints the exact number.
func (s Span) String() string {
	m := magnitude(int64(s))
	text := decimal(s < 0, m>>32, uint32(m))
	if text == "1" || text == "-1" {
		return text + " tick"
	}
	return text + " ticks"
}

// decimal is whole + fraction/2^32 with three decimals at most, rounded towards zero. Zero has no sign.
func decimal(negative bool, whole uint64, fraction uint32) string {
	thousandths := uint64(fraction) * 1000 >> 32
	text := strconv.FormatUint(whole, 10)
	if thousandths > 0 {
		text += "." + strings.TrimRight(strconv.FormatUint(1000+thousandths, 10)[1:], "0")
	}
	if negative && text != "0" {
		return "-" + text
	}
	return text
}

// Float returns s in ticks. It is for values that are shown, such as the weight between two versions: a float alone never
// names a moment.
func (s Span) Float() float64 { return float64(s) / float64(OneTick) }

// muldiv is a × m / d without overflow in between. A result beyond 64 bits saturates, to one above the lowest, so
// that the sign can always be turned.
func muldiv(a int64, m, d uint64) Span {
	high, low := bits.Mul64(magnitude(a), m)
	q := uint64(math.MaxInt64)
	if high < d {
		q, _ = bits.Div64(high, low, d)
		q = min(q, math.MaxInt64)
	}
	if a < 0 {
		return -Span(q)
	}
	return Span(q)
}

// magnitude is a without its sign.
func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// since is to − from; what does not fit saturates.
func since(from, to time.Duration) time.Duration {
	d := to - from
	switch {
	case from < 0 && to >= 0 && d < 0:
		return math.MaxInt64
	case from >= 0 && to < 0 && d >= 0:
		return math.MinInt64
	}
	return d
}

// Time is a moment in game time: a tick that has begun, and how much of it went by. Ticks stay whole numbers however
// long a server runs, so no precision is ever lost. The zero value is the beginning, before the first tick.
type Time struct {
	Tick     Tick   // The tick that has begun.
	Fraction uint32 // Elapsed part of the tick, in 1/2^32.
}

// String returns the moment with three decimals at most, rounded towards the beginning: "tick 120.25". The verb %#v prints the exact
// numbers.
func (t Time) String() string {
	if t.Tick >= 0 {
		return "tick " + decimal(false, uint64(t.Tick), t.Fraction)
	}
	below := magnitude(int64(t.Tick))
	if t.Fraction > 0 {
		below--
	}
	return "tick " + decimal(true, below, -t.Fraction)
}

// Begin returns the moment at which t begins.
func (t Tick) Begin() Time { return Time{Tick: t} }

// Add returns the moment s after t; s may be negative.
func (t Time) Add(s Span) Time {
	fraction := uint64(t.Fraction) + uint64(uint32(s))
	return Time{Tick: t.Tick + Tick(s>>32) + Tick(fraction>>32), Fraction: uint32(fraction)}
}

// Sub returns the span from u to t, which saturates beyond ±2^31 ticks.
func (t Time) Sub(u Time) Span {
	ticks := int64(since(time.Duration(u.Tick), time.Duration(t.Tick)))
	fraction := int64(t.Fraction) - int64(u.Fraction)
	if fraction < 0 && ticks > math.MinInt64 {
		ticks--
		fraction += 1 << 32
	}
	if ticks > math.MaxInt32 || ticks < math.MinInt32 {
		return Ticks(Tick(ticks))
	}
	return Span(ticks<<32 + fraction)
}

// Compare returns -1 if t is before u, 0 if they are the same moment, and 1 if t is after u.
func (t Time) Compare(u Time) int {
	switch {
	case t == u:
		return 0
	case t.Tick < u.Tick || (t.Tick == u.Tick && t.Fraction < u.Fraction):
		return -1
	}
	return 1
}

// Before reports whether t is before u.
func (t Time) Before(u Time) bool { return t.Compare(u) < 0 }

// After reports whether t is after u.
func (t Time) After(u Time) bool { return t.Compare(u) > 0 }

// Along returns where t lies on the way between two versions, as a part of OneTick: 0 when from begins, OneTick when to
// begins, less or more outside of them. The way from a tick to itself or to an earlier one has no length: 0 before its
// end, OneTick from there on.
func (t Time) Along(from, to Tick) Span {
	way := to.Begin().Sub(from.Begin())
	if way <= 0 {
		if t.Before(to.Begin()) {
			return 0
		}
		return OneTick
	}
	return muldiv(int64(t.Sub(from.Begin())), uint64(OneTick), uint64(way))
}

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
