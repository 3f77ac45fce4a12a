package snapshot

import "github.com/arche-netcode/netcode/tick"

// Acked tells that the packet with this sequence was decoded by the client:
// its records become baselines and its despawns are settled (rules 2, 7). It
// may come after Lost for the same sequence.
func (v *View) Acked(seq uint64) {
	v.born()
	p := v.sent.get(seq)
	if p == nil || p.acked {
		return
	}
	p.pending, p.acked = false, true
	v.ties.changes++
	if seq >= v.epochSeq {
		v.answer, v.answered = false, true
	}
	counts := seq >= v.epochSeq
	v.recent.late(v.wrote - p.tick)
	for i := range p.n {
		g := v.sent.group(p, i)
		switch {
		case g.despawn:
			v.settle(firstOf(g.word, g.of), p.tick)
		case counts:
			page := &v.pages[g.word]
			v.ackedAt(g.word, p.tick)
			v.ackedPage(g.word, g.of, g.rows, p.tick, g.span)
			if page.top == p.tick && page.topOf&^page.members != 0 {
				v.gather(g.word)
			}
		}
	}
}

// settle marks a despawn as known to the client.
func (v *View) settle(index uint32, t tick.Tick) {
	p := &v.tenants[index]
	if v.ties.n > 0 && t >= p.ended {
		v.ties.untie(index, t)
	}
	if !v.owed.has(index) || t < p.ended {
		return // of another life: a despawn is written after the end that it tells of, and before any later one
	}
	v.owed.unset(index)
	v.unsent.unset(index)
	v.unacked.unset(index)
	p.shown = 0
}

// confirm makes a record the entity's baseline, unless it is of an earlier life or older than the baseline there is. span is
// that of the record's group.
func (v *View) confirm(index uint32, rows Mask, t tick.Tick, span uint16) {
	q := v.alone(index)
	if q.base == tick.None {
		// A life begins after all records of earlier ones.
		if !v.visible.has(index) || t < v.tenants[index].life {
			return
		}
		v.meet(index)
	}
	if t > q.base {
		q.base, q.mask, q.lean, q.after = t, rows, span, 0
	}
	if v.ties.n > 0 {
		v.ties.untie(index, t)
	}
	if v.moved(index) <= t {
		// The client has the newest there is, whatever else is on its way.
		v.unacked.unset(index)
		v.unsent.unset(index)
	}
}
