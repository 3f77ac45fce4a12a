package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
)

// Lost notes that the packet with this sequence is presumed lost (rule 8). The newest state of its entities is sent again, unless a
// newer packet has them.
func (v *View) Lost(seq uint64) {
	v.flushSpawns()
	if p := v.sent.get(seq); p != nil && p.pending {
		v.lost(p)
	}
}

func (v *View) lost(p *sentPacket) {
	p.pending = false
	if p.n == 0 || v.epoch != 0 && !v.answered && p.seq >= v.epochSeq {
		v.answer = true
	}
	for i := range p.n {
		e := v.sent.group(p, i)
		for of := e.of; of != 0; of &= of - 1 {
			if index := firstOf(e.word, of); v.isNewest(p, e, index) {
				v.wait(index)
				v.stats.Resent++
			}
		}
	}
}

// isNewest reports whether a packet has the newest record of an entity, or its despawn, and the client has not acknowledged it.
func (v *View) isNewest(p *sentPacket, e *sentGroup, index uint32) bool {
	switch {
	case v.ack(index).went != p.tick:
		return false
	case e.despawn:
		return v.page(index).despawnOwed&bitOf(index) != 0 && p.tick >= v.life(index).endedAt
	}
	return v.page(index).visible&bitOf(index) != 0 && p.tick >= v.life(index).firstTick && v.changedAt(index) > v.ack(index).base
}

// Wrote returns the newest tick for which a payload was written, tick.None before the first.
func (v *View) Wrote() tick.Tick { return v.wrote }

// Resync serves a client that has lost its past (rule 5). It forgets every baseline and sends everything visible in full.
// Acknowledgements of packets before nextSeq make no baseline. A payload is sent even if nothing is visible. It returns false, and
// changes nothing, for an epoch that was served already.
func (v *View) Resync(epoch uint16, nextSeq uint64) bool {
	if v.Served(epoch) {
		return false
	}
	v.epoch = epoch
	v.stats.Resyncs++
	v.Restart(nextSeq)
	return true
}

// Restart does what Resync does, without an epoch: for a reader that begins with the next payload, as at a chunk of a recording.
func (v *View) Restart(nextSeq uint64) {
	v.flushSpawns()
	v.epochSeq = nextSeq
	v.answer, v.answered = true, false
	v.waits = true
	v.links.changes++
	for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
		v.removeMembers(uint32(w), ^uint64(0))
		v.pages[w].forget(v.store.tick)
		for i := range v.pages[w].acks {
			v.pages[w].acks[i].dropBase()
		}
		v.pages[w].unsent |= v.pages[w].visible
	}
}

// dropBase notes that the client has no record of an entity.
func (a *ackRecord) dropBase() { a.base, a.mask, a.span, a.after = tick.None, Mask{}, 0, 0 }

// Served reports whether a resync of this epoch or a later one was served.
func (v *View) Served(epoch uint16) bool { return int16(epoch-v.epoch) <= 0 }

// Acked notes that the client has decoded the packet with this sequence. The packet's records become baselines and its despawns are
// settled (rules 2, 7). It may come after Lost for the same sequence.
func (v *View) Acked(seq uint64) {
	v.flushSpawns()
	p := v.sent.get(seq)
	if p == nil || p.acked {
		return
	}
	p.pending, p.acked = false, true
	v.sent.acked = max(v.sent.acked, seq)
	v.links.changes++
	if seq >= v.epochSeq {
		v.answer, v.answered = false, true
	}
	counts := seq >= v.epochSeq
	v.recent.late(v.wrote - p.tick)
	for i := range p.n {
		g := v.sent.group(p, i)
		switch {
		case g.despawn:
			v.settleDespawn(firstOf(g.word, g.of), p.tick)
		case counts:
			page := v.pages[g.word]
			v.noteAckedRefs(g.word, p.tick)
			v.ackMembers(g.word, g.of, g.rows, p.tick, g.span)
			if page.newestComplete == p.tick && page.newestCompleteOf&^page.members != 0 {
				v.regroup(g.word)
			}
		}
	}
}

// settleDespawn notes that the client has received a despawn that was sent at tick t.
func (v *View) settleDespawn(index uint32, t tick.Tick) {
	p := v.life(index)
	if v.links.n > 0 && t >= p.endedAt {
		v.links.endLinks(index, t)
	}
	if v.page(index).despawnOwed&bitOf(index) == 0 || t < p.endedAt {
		return // the despawn of an earlier lifetime: each despawn is sent after the end of its lifetime and before the next end
	}
	v.page(index).despawnOwed &^= bitOf(index)
	v.page(index).unsent &^= bitOf(index)
	v.page(index).unacked &^= bitOf(index)
	p.shownGeneration = 0
}

// ackEntity makes a record of tick t the entity's baseline. It does nothing for a record of an earlier lifetime or older than the
// baseline. span is that of the record's group.
func (v *View) ackEntity(index uint32, rows Mask, t tick.Tick, span uint16) {
	q := v.leavePage(index)
	if q.base == tick.None {
		// The first tick of a lifetime is after all records of earlier ones.
		if v.page(index).visible&bitOf(index) == 0 || t < v.life(index).firstTick {
			return
		}
		v.noteMet(index)
	}
	if t > q.base {
		q.base, q.mask, q.span, q.after = t, rows, span, 0
	}
	if v.links.n > 0 {
		v.links.endLinks(index, t)
	}
	if v.changedAt(index) <= t {
		// The client has the newest state, whatever else is on its way.
		v.page(index).unacked &^= bitOf(index)
		v.page(index).unsent &^= bitOf(index)
	}
}

// ackMembers notes that the client has records of tick t of some entities of a page. All of them were coded against the tick t - span.
// Members of the page are noted together, the others by ackEntity.
func (v *View) ackMembers(w uint32, of uint64, rows Mask, t tick.Tick, span uint16) {
	g, rest := v.pages[w], of
	v.flushSending(w)
	if in := of & g.members; in != 0 && t > g.base {
		if in = v.splitMembers(w, in); in != 0 {
			g.base, g.span, g.after = t, span, 0
			v.clearAcked(w, in, t)
			rest &^= in
		}
	} else if in != 0 { // an acknowledgement of a newer tick came before
		v.clearAcked(w, in, t)
		rest &^= in
	}
	for ; rest != 0; rest &= rest - 1 {
		v.ackEntity(firstOf(w, rest), rows, t, span)
	}
}

// clearAcked clears the unsent and unacked bits of members of a page whose newest state is of tick t or before.
func (v *View) clearAcked(w uint32, of uint64, t tick.Tick) {
	s := v.store
	if v.links.n > 0 {
		v.links.endLinksIn(w, of, t)
	}
	own := len(v.ownWrites.newest) > 0
	if t < s.tick && !own {
		of &^= s.changed[w] // they have changed after t
	}
	if t < s.tick || own || v.overrides.lastTouched != tick.None {
		for word := of; word != 0; word &= word - 1 {
			if v.changedAt(firstOf(w, word)) > t {
				of &^= word & -word
			}
		}
	}
	v.pages[w].unacked &^= of
	v.pages[w].unsent &^= of
}
