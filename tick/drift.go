package tick

import (
	"slices"
	"time"
)

const (
	driftBlocks = 16                     // How many blocks a slope is taken over.
	driftBlock  = 500 * time.Millisecond // How long a block collects points.
	driftFew    = 4                      // With fewer blocks than this there is no slope.
	// maxSkew bounds how much faster or slower than ours the remote clock is believed to be, as a part of OneTick.
	maxSkew = OneTick / 16
	// maxSlope bounds a slope between two blocks: one that is steeper tells of a step, not of a drift.
	maxSlope = OneTick / 8
)

// drift measures how much faster the remote clock runs than ours. Of each block of time it keeps the point that was the
// least delayed (the clock filter of NTP, RFC 5905 §10, which trusts the sample of the lowest delay); the drift is the
// median of the slopes between all pairs of blocks (Theil and Sen), which a few blocks in a bad network do not move.
type drift struct {
	blocks  [driftBlocks]point
	next    int
	filled  int
	open    point // The least delayed of the block that is being filled.
	since   time.Duration
	filling bool
}

// clear forgets the points. What was found of the drift stays with the caller.
func (d *drift) clear() { d.next, d.filled, d.filling = 0, 0, false }

// add takes a point and returns the pace as it is then known, and whether that is news.
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

// slope is the median of the slopes between all pairs of blocks.
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
