package tick

import (
	"math"
	"time"
)

// Clock turns time into fixed steps. It never reads the time itself: callers pass it in, so a virtual
// clock is as good as the wall.
//
// Steps lie on the grid start + n/rate, computed from whole seconds and a remainder and never by adding
// up rounded intervals: a clock of 30 Hz makes exactly 30 steps a second, for ever.
type Clock struct {
	tick    Tick          // newest step begun
	start   time.Duration // time of the grid's step 0, moved up by whole seconds
	done    int64         // grid steps since start that were made or slipped
	rate    int64         // steps a second
	catchUp int           // most steps one Advance may ask for
	slipped uint64        // grid steps given up after stalls
	running bool          // the first Advance has come
}

// NewClock returns a clock of rate steps a second that makes up for at most catchUp steps in one
// Advance. Values below 1 count as 1.
func NewClock(rate int, catchUp int) Clock {
	return Clock{rate: int64(max(rate, 1)), catchUp: max(catchUp, 1)}
}

// Advance moves the clock to now and returns how many steps are due: the caller runs that many, the
// last of which is Tick(). The first call starts the clock and returns 1. After a stall at most catchUp
// steps are asked for, the rest slips and is counted. Time that goes backwards is no step. A step may be taken up to a microsecond before its
// time, so that frames of the clock's own rate, which begin at rounded times, take one each.
func (c *Clock) Advance(now time.Duration) (steps int) {
	if !c.running {
		c.running = true
		c.start = now
		c.tick++
		return 1
	}
	if now-c.start >= time.Second { // So that the product below cannot overflow however long the clock runs.
		seconds := (now - c.start) / time.Second
		c.start += seconds * time.Second
		c.done -= int64(seconds) * c.rate
	}
	due := int64(now-c.start+slack)*c.rate/int64(time.Second) - c.done
	if due <= 0 {
		return 0
	}
	c.done += due
	if most := int64(c.catchUp); due > most {
		c.slipped += uint64(due - most)
		due = most
	}
	c.tick += Tick(due)
	return int(due)
}

// slack is the time by which a step may be early. Frames of a rate that does not divide a second begin at rounded times: a
// clock of the same rate would take no step in one frame and two in the next.
const slack = time.Microsecond

// Tick returns the newest step begun; None before the first Advance.
func (c *Clock) Tick() Tick { return c.tick }

// Time returns the newest step begun, and the part of it that has passed at a moment; a moment before the step began is one of an earlier step. It is the
// zero Time before the first Advance.
func (c *Clock) Time(at time.Duration) Time {
	if !c.running {
		return Time{}
	}
	return c.tick.Begin().Add(SpanOf(at-c.start, int(c.rate)) - Ticks(Tick(c.done)))
}

// Slipped returns how many steps were given up after stalls.
func (c *Clock) Slipped() uint64 { return c.slipped }

// Interval returns the time between two steps, rounded down to a nanosecond.
func (c *Clock) Interval() time.Duration { return time.Second / time.Duration(c.rate) }

// Set makes t the newest step begun: the next step is t+1. When steps fall due does not change.
func (c *Clock) Set(t Tick) { c.tick = t }

// stallLimit is the longest gap between two frames that counts as silence of the other end.
const stallLimit = time.Second

// Frame is the present moment of one end: the time, the ticks that begin in it, and stalls of the process that are left out.
type Frame struct {
	Clock Clock         // Turns time into ticks.
	Now   time.Duration // Never goes back.
	Due   bool          // A network tick falls into this frame.
	Steps int           // Number of ticks in this frame.
	// Waited is for how long the datagram that is read was here before this frame.
	Waited time.Duration

	begun bool
	given time.Duration // Time of the last frame as it was given: now continues when the clock is set back.
}

// After returns the time d later, or the latest possible one.
func (f *Frame) After(d time.Duration) time.Duration {
	if d > 0 && f.Now > math.MaxInt64-d {
		return math.MaxInt64
	}
	return f.Now + d
}

// Begin moves to the next frame. It returns the part of the gap since the last one that was a stall of this process. Nothing
// was read meanwhile, so it must not count as silence of the other end.
func (f *Frame) Begin(now time.Duration) (stall time.Duration) {
	gone := max(now-f.given, 0)
	if f.begun {
		stall = max(gone-stallLimit, 0)
		f.Now += gone
	} else {
		f.Now = now
	}
	f.begun, f.given = true, now
	f.Steps = f.Clock.Advance(f.Now)
	f.Due = f.Steps > 0
	return stall
}
