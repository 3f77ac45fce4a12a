package tick

import (
	"math"
	"slices"
	"time"
)

const (
	driftBlocks = 16                     // The number of blocks that a slope is taken over.
	driftBlock  = 500 * time.Millisecond // The length of a block.
	driftFew    = 4                      // The least number of blocks for a slope.
	// maxSkew bounds the assumed drift of the remote clock against the local clock, as a part of OneTick.
	maxSkew = OneTick / 16
	// maxSlope bounds a slope between two blocks. A steeper slope comes from a step of a clock, not from drift.
	maxSlope = OneTick / 8
)

// drift measures how much faster the remote clock runs than the local clock. Of each block of time it keeps the least
// delayed point, like the clock filter of NTP (RFC 5905 §10). The drift is the median of the slopes between all pairs of
// blocks (Theil and Sen), which a few blocks in a bad network do not move.
type drift struct {
	blocks  [driftBlocks]point
	next    int
	filled  int
	open    point // The least delayed point of the block that is being filled.
	since   time.Duration
	filling bool
}

// clear drops the points. The caller has the drift found so far.
func (d *drift) clear() { d.next, d.filled, d.filling = 0, 0, false }

// add adds a point. It returns the new pace, and whether it changed.
func (d *drift) add(p point, pace pace) (now pace, news bool) {
	if !d.filling {
		d.open, d.since, d.filling = p, p.at, true
		return pace, false
	}
	if since(d.since, p.at) < driftBlock {
		if d.open.when(p.at, pace).Before(p.time) {
			d.open = p
		}
		return pace, false
	}
	d.blocks[d.next] = d.open
	d.next = (d.next + 1) % driftBlocks
	d.filled = min(d.filled+1, driftBlocks)
	d.open, d.since = p, p.at
	slope, ok := d.slope(pace.rate)
	if !ok {
		return pace, false
	}
	weight := Span(4)
	if d.filled < driftBlocks/2 {
		weight = 1
	}
	pace.skew = min(max(pace.skew+(slope-pace.skew)/weight, -maxSkew), maxSkew)
	return pace, true
}

// slope returns the median of the slopes between all pairs of blocks. ok is false with too few.
func (d *drift) slope(rate int) (Span, bool) {
	if d.filled < driftFew {
		return 0, false
	}
	var slopes [driftBlocks * (driftBlocks - 1) / 2]Span
	n := 0
	for i := range d.filled {
		for j := range i {
			a, b := d.blocks[j], d.blocks[i]
			if a.at > b.at {
				a, b = b, a
			}
			ours := SpanOf(since(a.at, b.at), rate)
			if ours <= 0 {
				continue
			}
			off := max(b.time.Sub(a.time), -1<<62) - ours
			if slope := muldiv(int64(off), uint64(OneTick), uint64(ours)); slope >= -maxSlope && slope <= maxSlope {
				slopes[n] = slope
				n++
			}
		}
	}
	if n < driftFew {
		return 0, false
	}
	slices.Sort(slopes[:n])
	return slopes[n/2], true
}

// restartGap is the longest silence, or absence of the caller, after which the measurement continues. A longer gap
// restarts it. A keep-alive is sent every second, and two may be lost.
const restartGap = 3500 * time.Millisecond

// pace converts local time to game time: the tick rate, and the drift of the remote clock.
type pace struct {
	rate int
	skew Span // As a part of OneTick.
}

// span returns the game time that passes in local time d.
func (p pace) span(d time.Duration) Span {
	s := SpanOf(d, p.rate)
	return add(s, s.Of(p.skew))
}

// add returns a + b. It saturates.
func add(a, b Span) Span {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// point is a moment of local time and the game time at that moment.
type point struct {
	at   time.Duration
	time Time
}

// when returns the game time at local time now, extrapolated at a pace.
func (p point) when(now time.Duration, pace pace) Time {
	return p.time.Add(pace.span(since(p.at, now)))
}

const (
	// recentPoints is the number of newest points that outweigh any number of older points if all contradict them.
	recentPoints = 8
	// outliersKept bounds the number of outliers that an extreme can ignore.
	outliersKept = 4
)

// line stores the newest points and finds their extreme, without some outliers. All points move at one pace, so that
// their order never changes. The extreme must be found again only after a new point or a new pace.
type line struct {
	points []point
	next   int // The position of the next point.
	filled int
}

func newLine(size int) line { return line{points: make([]point, size)} }

func (l *line) clear() { l.next, l.filled = 0, 0 }

func (l *line) add(p point) {
	l.points[l.next] = p
	l.next = (l.next + 1) % len(l.points)
	l.filled = min(l.filled+1, len(l.points))
}

// extreme returns the highest point, or for sign -1 the lowest, without the outermost outliers. If all recent points are
// short of it by more than jump, a clock or the network has changed: extreme then drops the older points. There must be a
// point.
func (l *line) extreme(now time.Duration, pace pace, sign Span, outliers int, jump Span) point {
	var all, recent extremes
	reference := l.points[(l.next+len(l.points)-1)%len(l.points)].when(now, pace)
	for i := range l.filled {
		at := l.next - 1 - i
		if at < 0 {
			at += len(l.points)
		}
		all.note(sign * max(l.points[at].when(now, pace).Sub(reference), -1<<62))
		if i == recentPoints-1 {
			recent = all
		}
	}
	value := all.past(outliers)
	if l.filled > recentPoints && value-recent.past(0) > jump {
		l.filled = recentPoints
		value = recent.past(0)
	}
	return point{now, reference.Add(sign * value)}
}

// extremes has the highest noted values in descending order.
type extremes struct {
	highest [outliersKept + 1]Span
	filled  int
}

func (e *extremes) note(v Span) {
	i := e.filled
	if i < len(e.highest) {
		e.filled++
	} else if i--; v <= e.highest[i] {
		return
	}
	for ; i > 0 && e.highest[i-1] < v; i-- {
		e.highest[i] = e.highest[i-1]
	}
	e.highest[i] = v
}

// past returns the highest value without some outliers.
func (e *extremes) past(outliers int) Span { return e.highest[min(outliers, e.filled-1)] }
