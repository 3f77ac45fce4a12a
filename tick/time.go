package tick

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Span is a length of game time in 1/2^32 of a tick. It reaches ±2^31 ticks, more than two years at 30 ticks per second,
// and saturates.
type Span int64

// OneTick is the span of one tick.
const OneTick Span = 1 << 32

// Ticks returns the span of n whole ticks. It saturates at ±2^31.
func Ticks(n Tick) Span {
	if n > math.MaxInt32 {
		return math.MaxInt64
	}
	if n < math.MinInt32 {
		return math.MinInt64
	}
	return Span(n) << 32
}

// SpanOf returns the game time that passes in d at rate ticks per second, rounded towards zero. A rate below 1 counts as
// 1.
func SpanOf(d time.Duration, rate int) Span {
	return muldiv(int64(d), uint64(max(rate, 1))<<32, uint64(time.Second))
}

// Duration returns the time of s at rate ticks per second, rounded towards zero. A rate below 1 counts as 1.
func (s Span) Duration(rate int) time.Duration {
	return time.Duration(muldiv(int64(s), uint64(time.Second), uint64(max(rate, 1))<<32))
}

// Of returns s × part / OneTick, rounded towards zero.
func (s Span) Of(part Span) Span {
	if part < 0 {
		return -muldiv(int64(s), magnitude(int64(part)), uint64(OneTick))
	}
	return muldiv(int64(s), uint64(part), uint64(OneTick))
}

// String returns the span in ticks with at most three decimals, rounded towards zero: "1.5 ticks", "-0.25 ticks", "1
// tick". The verb %#v prints the exact number.
func (s Span) String() string {
	m := magnitude(int64(s))
	text := decimal(s < 0, m>>32, uint32(m))
	if text == "1" || text == "-1" {
		return text + " tick"
	}
	return text + " ticks"
}

// decimal returns whole + fraction/2^32 with at most three decimals, rounded towards zero. Zero has no sign.
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

// Float returns s in ticks. Use it for values that are shown, such as the weight between two versions, and never for a
// moment.
func (s Span) Float() float64 { return float64(s) / float64(OneTick) }

// muldiv returns a × m / d without intermediate overflow. The result saturates at ±MaxInt64, so that it can always be
// negated.
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

// magnitude returns the absolute value of a.
func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// since returns to − from. It saturates.
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

// Time is a moment in game time: a tick that has begun, and the passed part of it. Ticks are whole numbers, so that
// precision does not depend on how long a server runs. The zero value is the beginning, before the first tick.
type Time struct {
	Tick     Tick   // The tick that has begun.
	Fraction uint32 // The passed part of the tick, in 1/2^32.
}

// String returns the moment with at most three decimals, rounded towards the beginning: "tick 120.25". The verb %#v
// prints the exact numbers.
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

// Sub returns the span from u to t. It saturates at ±2^31 ticks.
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

// Compare returns -1 if t is before u, 0 if they are equal, and 1 if t is after u.
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

// Along returns the position of t between the beginnings of two ticks, as a part of OneTick: 0 at from, OneTick at to,
// less or more outside. If to is not after from, the result is 0 before to and OneTick from there on.
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

// Tick numbers a network step, from 1 on. It has 64 bits in memory, so that it never wraps and plain comparison is right.
// A packet has only its 16 low bits (see Near).
type Tick int64

// None is the tick of an event that never happened.
const None Tick = 0

// window is the number of ticks that 16 bits can distinguish.
const window = 1 << 16

// Low returns the 16 low bits of t, as in a packet.
func (t Tick) Low() uint16 { return uint16(t) }

// Near returns the tick with these low bits that is nearest to ref. It is the inverse of Low for every tick in
// (ref-32768, ref+32768]; of two equally near ticks it returns the later. With a small ref the result may be zero or
// negative, which is not a tick: callers that read remote bytes must check.
func Near(low uint16, ref Tick) Tick {
	ahead := low - uint16(ref)
	if ahead <= window/2 {
		return ref + Tick(ahead)
	}
	return ref + Tick(ahead) - window
}
