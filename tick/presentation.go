package tick

import (
	"time"
)

const (
	shownPoints     = 128 // Arrivals that the delay is taken from.
	shownPerOutlier = 64  // For how many arrivals one may be later than the delay allows.
	shownTrusted    = 16  // With fewer arrivals, the delay is at least what it was before them.
	// startDelay is the delay of presentation before the first measurement.
	startDelay = 2 * OneTick
)

// PresentationConfig holds the settings of a Presentation. Zero fields mean the defaults.
type PresentationConfig struct {
	Rate     int           // Ticks a second, as agreed with the server; at least 1, default 30.
	Ahead    time.Duration // How far past the newest tick that arrived At may run before it stands still; default 250 ms.
	MinDelay time.Duration // The shortest delay, whatever is measured; default 0. At most MaxDelay.
	MaxDelay time.Duration // The longest delay that jitter can lead to; default 1 s.
	Jump     time.Duration // When behind by more than this, At jumps ahead; default 500 ms, at least 4 ticks.
}

// Presentation tells which moment of the server's past is shown. It is as far behind as keeps the two versions around it
// at hand: at each arrival of a newer tick it takes note of which was the newest tick when a frame was last shown before,
// the worst moment of all, and follows the lowest of these but for the worst sixty-fourth. So the delay is the interval
// between arrivals, plus what jitter adds at that percentile, plus the gaps that loss tears, and nothing else: the playout
// delay of adaptive audio receivers (Ramjee, Kurose, Towsley, Schulzrinne 1994), and the "view interpolation" of
// Bernier 2001, with a measured delay in place of a fixed one.
//
// At never goes back, whatever arrives and whatever the local clock does. It slews by at most 5 %, jumps ahead when it
// is behind by more than Jump, and when it is ahead by more than half of that it stands still until it is not. Past the newest tick that arrived it
// runs on for Ahead; how far values are carried on meanwhile is the caller's to decide.
type Presentation struct {
	config PresentationConfig
	jump   Span
	pace   pace
	drift  drift

	now   time.Duration // The latest moment that any call named.
	begun bool

	newest   point // The newest tick that arrived, and when.
	low      line  // The newest ticks that frames were shown with, just before a newer one arrived.
	lowBest  point // Its extreme; only with points.
	delay    Span  // From the newest tick to what should be shown, as it was last known.
	shownAt  time.Duration
	shown    bool // There was a call of At since the last restart.
	position Time
	running  bool
	standing bool // Still, until the server's time is where it should be.
}

// NewPresentation returns a Presentation to which nothing has arrived yet. Nothing is allocated later.
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
	if config.Jump <= 0 {
		config.Jump = 500 * time.Millisecond
	}
	return Presentation{
		config: config,
		jump:   max(SpanOf(config.Jump, config.Rate), 4*OneTick),
		pace:   pace{rate: config.Rate},
		low:    newLine(shownPoints),
		delay:  startDelay,
	}
}

// Arrive notes that the state of a tick of the server's arrived at now. Only one that is newer than all before matters.
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

// touch takes note of the time. Time that goes backwards, and more of it than any frame lasts, is a break.
func (p *Presentation) touch(now time.Duration) {
	gone := since(p.now, now)
	if p.begun && (gone < 0 || gone > restartGap) {
		p.restart()
		p.newest.at = now
	}
	p.begun, p.now = true, now
}

// restart forgets what was measured before something broke the time, and keeps the delay that it led to.
func (p *Presentation) restart() {
	p.low.clear()
	p.drift.clear()
	p.shown = false
}

// At returns the moment to show at now; the zero Time before anything has arrived.
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

// target returns the moment to show now.
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

// move moves what is shown towards target by what went by, and a little more or less, but never back.
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

// capped is a moment, or how far past the newest tick may be shown.
func (p *Presentation) capped(at Time) Time {
	if limit := p.newest.time.Add(SpanOf(p.config.Ahead, p.config.Rate)); limit.Before(at) {
		return limit
	}
	return at
}

// SetDelay changes MinDelay and MaxDelay. What is shown slews to the new delay. A negative least is 0, and most is at least least.
func (p *Presentation) SetDelay(least, most time.Duration) {
	p.config.MinDelay = max(least, 0)
	p.config.MaxDelay = max(most, p.config.MinDelay)
}

// Newest returns the newest tick that arrived; None before the first.
func (p *Presentation) Newest() Tick { return p.newest.time.Tick }

// Delay returns how far what is shown is behind the newest tick that arrived, carried on to the last At. It is below 0
// only when the server's time stepped back.
func (p *Presentation) Delay() Span {
	if !p.running {
		return 0
	}
	return p.newest.when(p.shownAt, p.pace).Sub(p.position)
}

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
