package tick

import (
	"math"
	"time"
)

// Clock turns time into fixed steps. It never reads the time: callers pass it in, so that a virtual clock works too.
//
// Steps are on the grid start + n/rate. They are computed from whole seconds and a remainder, never by adding rounded
// intervals: a clock of 30 Hz makes exactly 30 steps a second for any time.
type Clock struct {
	tick    Tick          // The newest step begun.
	start   time.Duration // The time of the grid's step 0, advanced by whole seconds.
	done    int64         // Grid steps since start that were made or dropped.
	rate    int64         // Steps per second.
	catchUp int           // The most steps of one Advance.
	slipped uint64        // Grid steps dropped after stalls.
	slip    Tick          // The first step of the newest Advance that dropped some.
	running bool          // The first Advance was called.
}

// NewClock returns a clock of rate steps per second that makes up for at most catchUp steps in one Advance. Values below
// 1 count as 1.
func NewClock(rate int, catchUp int) Clock {
	return Clock{rate: int64(max(rate, 1)), catchUp: max(catchUp, 1)}
}

// Advance moves the clock to now and returns the number of due steps. The caller runs them; the last is Tick(). The first
// call starts the clock and returns 1. After a stall it returns at most catchUp; the clock drops and counts the rest. If
// the time goes back, no step is due.
//
// A step may be taken up to a microsecond early. Frames at the clock's own rate begin at rounded times, and thus get one
// step each.
func (c *Clock) Advance(now time.Duration) (steps int) {
	if !c.running {
		c.running = true
		c.start = now
		c.tick++
		return 1
	}
	if now-c.start >= time.Second { // Prevents an overflow of the product below.
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
		c.slip = c.tick + 1
		due = most
	}
	c.tick += Tick(due)
	return int(due)
}

// slack is the time by which a step may be early. Frames of a rate that does not divide a second begin at rounded times.
// Without slack a clock of the same rate would take no step in one frame and two in the next.
const slack = time.Microsecond

// Tick returns the newest step begun, None before the first Advance.
func (c *Clock) Tick() Tick { return c.tick }

// Time returns the game time at a moment: the newest step begun and the passed part of it. For a moment before that step
// began, the result is in an earlier step. It is the zero Time before the first Advance.
func (c *Clock) Time(at time.Duration) Time {
	if !c.running {
		return Time{}
	}
	return c.tick.Begin().Add(SpanOf(at-c.start, int(c.rate)) - Ticks(Tick(c.done)))
}

// Slipped returns the number of steps dropped after stalls.
func (c *Clock) Slipped() uint64 { return c.slipped }

// Slip returns the first step of the newest Advance that dropped steps, None if none did. From this step on, all steps are later than those
// before it told.
func (c *Clock) Slip() Tick { return c.slip }

// Interval returns the time between two steps, rounded down to a nanosecond.
func (c *Clock) Interval() time.Duration { return time.Second / time.Duration(c.rate) }

// Set makes t the newest step begun: the next step is t+1. The times of the steps do not change.
func (c *Clock) Set(t Tick) { c.tick = t }

// stallLimit is the longest gap between two frames that counts as silence of the other end.
const stallLimit = time.Second

// Frame is the present moment of one end: the time, the ticks that begin in the frame, and the process's stalls.
type Frame struct {
	Clock Clock         // Turns time into ticks.
	Now   time.Duration // Never decreases. Stalls are included.
	Due   bool          // A network tick is due in this frame.
	Steps int           // The number of ticks of this frame.
	// Waited is the time between the arrival of the datagram that is read and this frame.
	Waited time.Duration

	begun bool
	given time.Duration // The last frame's time as passed to Begin. Now continues even if that clock goes back.
}

// After returns the time d later. It saturates.
func (f *Frame) After(d time.Duration) time.Duration {
	if d > 0 && f.Now > math.MaxInt64-d {
		return math.MaxInt64
	}
	return f.Now + d
}

// Begin begins the next frame. It returns the part of the gap since the last frame that was a stall of this process.
// Nothing was read during a stall, so that it must not count as silence of the other end.
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
