package netcode

import (
	"math"
	"time"

	"github.com/arche-netcode/netcode/tick"
)

// stallLimit is the longest gap between two frames that counts as silence of the other end.
const stallLimit = time.Second

// frame is the moment that a server or a client lives in.
type frame struct {
	clock tick.Clock
	now   time.Duration
	due   bool // A network tick falls into this frame.
	steps int  // How many do.
	begun bool
	given time.Duration // The time of the last frame, as it was given: now goes on when the clock is set back.
}

// after is the time so much later, or the last there is.
func (f *frame) after(d time.Duration) time.Duration {
	if d > 0 && f.now > math.MaxInt64-d {
		return math.MaxInt64
	}
	return f.now + d
}

// begin moves to the next frame. It returns the part of the gap since the last one that was a stall of this process:
// nothing was read meanwhile, so it must not count as silence of the other end.
func (f *frame) begin(now time.Duration) (stall time.Duration) {
	gone := max(now-f.given, 0)
	if f.begun {
		stall = max(gone-stallLimit, 0)
		f.now += gone
	} else {
		f.now = now
	}
	f.begun, f.given = true, now
	f.steps = f.clock.Advance(f.now)
	f.due = f.steps > 0
	return stall
}
