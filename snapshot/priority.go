package snapshot

import (
	"math/bits"
	"slices"
)

// plan is which of the candidates go out in a tick in which not all can.
type plan struct {
	active   bool
	chosen   bitset
	left     int  // chosen and not written yet
	advanced bool // others were chosen since the candidates were last gone through
	ranked   []candidate
	from     int // ranked before it were chosen
	tier     int // how many are chosen at a time
	average  int // bits of a record lately, times averageScale
}

// candidate is an entity that waits to be sent.
type candidate struct {
	score int64 // priority × relevance × ticks since it was last sent
	index uint32
}

const (
	averageScale = 16
	firstAverage = 128 * averageScale
)

// Plan chooses what goes first when the tick's bytes do not suffice for all
// that waits. Every tick that an entity waits adds its priority, times its
// relevance to this client, to its score; sending it starts anew. So nothing
// starves, and what weighs twice as much is sent twice as often. It is to be
// called once a tick, after Observe and before the packets. bytes < 0 is
// without limit.
//
// What goes first is chosen a part of the budget at a time: within a part the
// order is that of the packet, and what did not fit after all is chosen before
// anything else in the next tick.
func (v *View) Plan(bytes int) {
	v.born()
	p := &v.plan
	p.active = false
	if bytes < 0 {
		return
	}
	if p.average == 0 {
		p.average = firstAverage
	}
	fits := max(8*averageScale*bytes/p.average, 1)
	waiting := 0
	for w := range v.unsent {
		waiting += bits.OnesCount64(v.unsent[w] &^ v.owed[w])
	}
	if waiting <= fits && !v.short {
		return
	}
	v.rank()
	p.active, p.from, p.tier, v.cursor = true, 0, max(min(fits, waiting)/tiers, 1), 0
	p.advance()
}

// tiers is the number of parts that a budget is chosen in.
const tiers = 4

// advance chooses the next part.
func (p *plan) advance() {
	n := min(p.tier, len(p.ranked)-p.from)
	if n == 0 {
		p.active = false
		return
	}
	next := p.ranked[p.from:]
	selectTop(next, n)
	p.chosen.clear()
	for _, c := range next[:n] {
		p.chosen.set(c.index)
	}
	p.from, p.left, p.advanced = p.from+n, n, true
}

// rank lists everything that waits, with its score.
func (v *View) rank() {
	v.urged.settle(v)
	p := &v.plan
	p.ranked = p.ranked[:0]
	for w := range v.unsent {
		for word := v.unsent[w] &^ v.owed[w]; word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			p.ranked = append(p.ranked, candidate{score: v.score(index), index: index})
		}
	}
}

func (v *View) score(index uint32) int64 {
	waited := max(v.store.tick-max(v.wentAt(index), v.tenants[index].life-1), 1)
	score := v.store.priority(index) * v.weightOf(index) * int64(min(waited, 1<<20))
	if v.urged.of.has(index) {
		score *= urgedFactor
	}
	return score
}

// before is the order of what goes first; of equals, the lower index.
func (c candidate) before(d candidate) bool {
	if c.score != d.score {
		return c.score > d.score
	}
	return c.index < d.index
}

func (c candidate) compare(d candidate) int {
	if c.before(d) {
		return -1
	}
	return 1
}

// mostLooks is how often selectTop goes through as many as there are before it sorts those that are left.
const mostLooks = 8

// selectTop brings the n first of all to the front, in any order (Hoare's
// quickselect, with the median of three as pivot), and returns how many it
// looked at. What waits for a client comes in orders of its own, as everything
// that is new behind the little that was just lost: whatever the order is, a
// tick must not wait for it, so that what unlucky pivots leave is sorted.
func selectTop(all []candidate, n int) (looked int) {
	from, to := 0, len(all)
	for to-from > 1 && n > from && n < to {
		if looked += to - from; looked > mostLooks*len(all) {
			slices.SortFunc(all[from:to], candidate.compare)
			return looked
		}
		quarter := (to - from) / 4 // not the ends: those are where what was exchanged lies
		pivot := medianOfThree(all[from+quarter], all[(from+to)/2], all[to-1-quarter])
		i, j := from, to-1
		for i <= j {
			for all[i].before(pivot) {
				i++
			}
			for pivot.before(all[j]) {
				j--
			}
			if i <= j {
				all[i], all[j] = all[j], all[i]
				i++
				j--
			}
		}
		switch {
		case n <= j:
			to = j + 1
		case n >= i:
			from = i
		default:
			return looked
		}
	}
	return looked
}

func medianOfThree(a, b, c candidate) candidate {
	if b.before(a) {
		a, b = b, a
	}
	if c.before(b) {
		b = c
	}
	if b.before(a) {
		return a
	}
	return b
}

// wrote learns how large records are.
func (p *plan) wrote(bits int) {
	if p.average == 0 {
		p.average = firstAverage
	}
	p.average += (bits*averageScale - p.average) / 16
}

// allows reports whether an index may go out now, given the plan.
func (p *plan) allows(w int) uint64 {
	if !p.active {
		return ^uint64(0)
	}
	return p.chosen[w]
}

// took notes that a chosen entity was written or cannot be.
func (p *plan) took(index uint32) {
	if !p.active || !p.chosen.has(index) {
		return
	}
	p.chosen.unset(index)
	if p.left--; p.left == 0 {
		p.advance()
	}
}
