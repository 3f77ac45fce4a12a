package tick

import (
	"math"
	"time"
)

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
