package tick

import "time"

// ArriveAfter is Arrive for a tick before which, up to idle, it is certain that the server had nothing to say: that
// nothing arrived meanwhile was no delay, and does not count as one. None for idle says nothing, as Arrive does.
func (p *Presentation) ArriveAfter(idle, server Tick, now time.Duration) {
	if before := &p.newest; idle > before.time.Tick && idle < server && before.time.Tick != None {
		p.touch(now)
		before.time = Time{Tick: idle}
		if p.shown {
			before.at = min(max(before.at, now-restartGap), p.shownAt)
		}
	}
	p.Arrive(server, now)
}
