package netcode

import (
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
}

// begin moves to the next frame. It returns the part of the gap since the last one that was a stall of this process:
// nothing was read meanwhile, so it must not count as silence of the other end.
func (f *frame) begin(now time.Duration) (stall time.Duration) {
	if f.begun {
		stall = max(now-f.now-stallLimit, 0)
	}
	f.begun = true
	f.now = max(now, f.now)
	f.steps = f.clock.Advance(f.now)
	f.due = f.steps > 0
	return stall
}
