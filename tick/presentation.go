package tick

import (
	"time"
)

const (
	shownPoints     = 128 // The number of arrivals that the delay is measured from.
	shownPerOutlier = 64  // One of so many arrivals may be later than the delay allows.
	shownTrusted    = 16  // With fewer arrivals, the delay is at least the delay before them.
	// startDelay is the delay of presentation before the first measurement.
	startDelay = 2 * OneTick
	// presentJump is the difference over which At jumps ahead, at least 4 ticks.
	presentJump = 500 * time.Millisecond
)

// PresentationConfig has the settings of a Presentation. Zero fields mean the defaults.
type PresentationConfig struct {
	Rate     int           // Ticks per second, as agreed with the server; at least 1, default 30.
	Ahead    time.Duration // The longest time that At runs past the newest tick that arrived; default 250 ms.
	MinDelay time.Duration // The shortest delay; default 0. At most MaxDelay.
	MaxDelay time.Duration // The longest delay that jitter can cause; default 1 s.
}

// Presentation computes the moment of the server's past that a client shows. The delay is just large enough to have the
// two versions around the moment. It is measured: at each arrival of a newer tick, the Presentation notes the newest tick
// of the last shown frame. This is the worst moment between two arrivals. The shown moment follows the lowest of these
// ticks without the worst sixty-fourth.
//
// The delay is thus the interval between arrivals, plus the jitter at that percentile, plus gaps by loss. This is the
// playout delay of adaptive audio receivers (Ramjee, Kurose, Towsley, Schulzrinne 1994), and the "view interpolation" of
// Bernier 2001 with a measured delay.
//
// At never goes back. It slews by at most 5 %, and jumps ahead when it is behind by more than presentJump. When it is
// ahead by more than half of that, it stands still until it is right. Past the newest tick that arrived it runs on for Ahead; the
// caller decides how far to extrapolate values.
type Presentation struct {
	config PresentationConfig
	jump   Span
	pace   pace
	drift  drift

	now   time.Duration // The latest moment that any call passed.
	begun bool

	newest   point // The newest tick that arrived, and its arrival time.
	low      line  // The newest tick at each shown frame, just before a newer tick arrived.
	lowBest  point // The extreme of low; valid only with points.
	delay    Span  // The last known delay, from the newest tick to the moment to show.
	shownAt  time.Duration
	shown    bool // At was called since the last restart.
	position Time
	running  bool
	standing bool // At stands still, until the target reaches its position.
}

// NewPresentation returns a Presentation before any arrival. All memory is allocated here.
func NewPresentation(config PresentationConfig) Presentation {
	if config.Rate < 1 {
		config.Rate = 30
	}
	if config.Ahead <= 0 {
		config.Ahead = 250 * time.Millisecond
	}
	if config.MaxDelay <= 0 {
		config.MaxDelay = time.Second
	}
	return Presentation{
		config: config,
		jump:   max(SpanOf(presentJump, config.Rate), 4*OneTick),
		pace:   pace{rate: config.Rate},
		low:    newLine(shownPoints),
		delay:  startDelay,
	}
}

// Arrive records that the state of a server's tick arrived at now. It ignores a tick that is not the newest.
func (p *Presentation) Arrive(server Tick, now time.Duration) {
	p.touch(now)
	if server <= p.newest.time.Tick {
		return
	}
	before := p.newest
	p.newest = point{now, server.Begin()}
	switch {
	case before.time.Tick == None:
	case since(before.at, now) > restartGap:
		p.restart()
	case p.shown && p.shownAt >= before.at:
		p.low.add(point{p.shownAt, before.time})
	}
	if paced, news := p.drift.add(p.newest, p.pace); news {
		p.pace = paced
	}
	if p.low.filled > 0 {
		p.lowBest = p.low.extreme(now, p.pace, -1, p.low.filled/shownPerOutlier, p.jump)
	}
}

// Slip records that the server's ticks slipped by n from tick since on, as Sync.Slip. At stands still until the slip has passed.
func (p *Presentation) Slip(since Tick, n Span) {
	if n <= 0 {
		return
	}
	p.low.slip(since, n)
	p.drift.slip(since, n)
	if p.low.filled > 0 {
		p.lowBest = p.low.extreme(p.now, p.pace, -1, p.low.filled/shownPerOutlier, p.jump)
	}
	p.standing = true
}

// touch records the time. If the time goes back, or by more than restartGap ahead, the measurement restarts.
func (p *Presentation) touch(now time.Duration) {
	gone := since(p.now, now)
	if p.begun && (gone < 0 || gone > restartGap) {
		p.restart()
		p.newest.at = now
	}
	p.begun, p.now = true, now
}

// restart drops the measurements and keeps the delay that they led to.
func (p *Presentation) restart() {
	p.low.clear()
	p.drift.clear()
	p.shown = false
}

// At returns the moment to show at now; the zero Time before the first arrival.
func (p *Presentation) At(now time.Duration) Time {
	p.touch(now)
	gone := time.Duration(0)
	if p.shown {
		gone = max(since(p.shownAt, now), 0)
	}
	p.shown, p.shownAt = true, now
	if p.newest.time.Tick == None {
		return Time{}
	}
	target := p.target(now)
	if !p.running {
		p.running = true
		p.position = p.capped(target)
	}
	p.move(target, gone)
	return p.position
}

// target returns the moment to show at now, without slewing.
func (p *Presentation) target(now time.Duration) Time {
	newest := p.newest.when(now, p.pace)
	delay := p.delay
	if p.low.filled > 0 {
		delay = newest.Sub(p.lowBest.when(now, p.pace))
		if p.low.filled < shownTrusted {
			delay = max(delay, p.delay)
		} else {
			p.delay = delay
		}
	}
	target := newest.Add(-min(max(delay, p.pace.span(p.config.MinDelay)), p.pace.span(p.config.MaxDelay)))
	if target.Before(Time{}) {
		return Time{}
	}
	return target
}

// move moves the position towards target by the passed time, a little more or less, and never back.
func (p *Presentation) move(target Time, gone time.Duration) {
	step := p.pace.span(gone)
	off := add(target.Sub(p.position), -step)
	next := p.position
	p.standing = off < -p.jump/2 || (p.standing && off < 0)
	switch {
	case off > p.jump:
		next = target
	case !p.standing:
		next = next.Add(step + step.Of(steer(off, off < 0, p.config.Rate)))
	}
	if next = p.capped(next); p.position.Before(next) {
		p.position = next
	}
}

// capped limits a moment to Ahead past the newest tick.
func (p *Presentation) capped(at Time) Time {
	if limit := p.newest.time.Add(SpanOf(p.config.Ahead, p.config.Rate)); limit.Before(at) {
		return limit
	}
	return at
}

// SetDelay changes MinDelay and MaxDelay. At slews to the new delay. A negative least counts as 0, and most is at least
// least.
func (p *Presentation) SetDelay(least, most time.Duration) {
	p.config.MinDelay = max(least, 0)
	p.config.MaxDelay = max(most, p.config.MinDelay)
}

// Newest returns the newest tick that arrived, None before the first.
func (p *Presentation) Newest() Tick { return p.newest.time.Tick }

// Delay returns the distance of the shown moment behind the newest tick that arrived, extrapolated to the last At. It is
// negative only when the server's time stepped back.
func (p *Presentation) Delay() Span {
	if !p.running {
		return 0
	}
	return p.newest.when(p.shownAt, p.pace).Sub(p.position)
}

// ArriveAfter is Arrive for a tick after a silence of the server up to tick idle. The silence is certain, so that it does
// not count as delay. With None for idle it equals Arrive.
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
