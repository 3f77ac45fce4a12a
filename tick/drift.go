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

// slip moves the points before tick since back by n.
func (d *drift) slip(since Tick, n Span) {
	for i := range d.filled {
		d.blocks[i].slip(since, n)
	}
	d.open.slip(since, n)
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

// slip moves a point before tick since back by n.
func (p *point) slip(since Tick, n Span) {
	if p.time.Tick < since {
		p.time = p.time.Add(-n)
	}
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

	highest extremes // The extremes that extreme found last, less those that are overwritten. No other older point is above one of them.
	added   int      // The points since then.
	pace    pace     // That of highest.
}

func newLine(size int) line { return line{points: make([]point, size)} }

func (l *line) clear() { l.next, l.filled, l.highest.filled = 0, 0, 0 }

func (l *line) add(p point) {
	l.highest.remove(l.next)
	l.points[l.next] = p
	l.next = (l.next + 1) % len(l.points)
	l.filled, l.added = min(l.filled+1, len(l.points)), l.added+1
}

// slip moves the points before tick since back by n.
func (l *line) slip(since Tick, n Span) {
	for i := range l.filled {
		l.points[i].slip(since, n)
	}
	l.highest.filled = 0
}

// newest returns the position of the point before which i others were added last.
func (l *line) newest(i int) int {
	at := l.next - 1 - i
	if at < 0 {
		at += len(l.points)
	}
	return at
}

// extreme returns the highest point, or for sign -1 the lowest, without the outermost outliers. If all recent points are
// short of it by more than jump, a clock or the network has changed: extreme then drops the older points. There must be a
// point. sign is always the same.
func (l *line) extreme(now time.Duration, pace pace, sign Span, outliers int, jump Span) point {
	reference := l.points[l.newest(0)].when(now, pace)
	value := func(at int) Span { return sign * max(l.points[at].when(now, pace).Sub(reference), -1<<62) }
	known, above, look := l.highest, Span(math.MinInt64), min(l.filled, recentPoints)
	l.highest.filled = 0
	if known.filled > outliers && l.added <= recentPoints && l.pace == pace {
		for _, at := range known.at[:known.filled] {
			l.highest.note(at, value(at))
		}
		above = l.highest.past(known.filled - 1)
	} else {
		known.filled, look = 0, l.filled
	}
	recent := Span(math.MinInt64)
	for i := range look {
		at := l.newest(i)
		v := value(at)
		if i < recentPoints {
			recent = max(recent, v)
		}
		if v > above && !known.has(at) {
			l.highest.note(at, v)
		}
	}
	l.added, l.pace = 0, pace
	most := l.highest.past(outliers)
	if l.filled > recentPoints && most-recent > jump {
		l.filled, l.highest.filled = recentPoints, 0
		most = recent
	}
	return point{now, reference.Add(sign * most)}
}

// extremes has the highest noted values in descending order, and the positions of their points.
type extremes struct {
	values [outliersKept + 1]Span
	at     [outliersKept + 1]int
	filled int
}

func (e *extremes) note(at int, v Span) {
	i := e.filled
	if i < len(e.values) {
		e.filled++
	} else if i--; v <= e.values[i] {
		return
	}
	for ; i > 0 && e.values[i-1] < v; i-- {
		e.values[i], e.at[i] = e.values[i-1], e.at[i-1]
	}
	e.values[i], e.at[i] = v, at
}

// past returns the highest value without some outliers.
func (e *extremes) past(outliers int) Span { return e.values[min(outliers, e.filled-1)] }

// has reports whether the point at a position is one of them.
func (e *extremes) has(at int) bool { return slices.Contains(e.at[:e.filled], at) }

// remove removes the point at a position.
func (e *extremes) remove(at int) {
	if i := slices.Index(e.at[:e.filled], at); i >= 0 {
		copy(e.values[i:], e.values[i+1:])
		copy(e.at[i:], e.at[i+1:])
		e.filled--
	}
}
