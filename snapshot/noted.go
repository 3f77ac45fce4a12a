package snapshot

import "github.com/arche-netcode/netcode/tick"

// wrote notes that a record is in the packet.
func (p *packetWriter) wrote(r *record) {
	v := p.v
	span := tick.Tick(0)
	if r.base != tick.None && v.slots[r.index].mask == r.mask {
		span = p.s - r.base
	}
	p.noted(r.index, r.mask, span)
	v.stats.Rows += uint64(r.told.Count())
	if r.base == tick.None {
		v.tenants[r.index].shown = v.tenants[r.index].generation // where there is a base, it was shown
		v.stats.Spawns++
		return
	}
	v.stats.Deltas += uint64(r.body.deltas)
	v.stats.Unchanged += uint64(r.body.same)
	v.stats.Updates++
}

// noted notes that the packet has a record of these rows, which leant on what
// lies span ticks back, if a record of T′ can lean on that.
func (p *packetWriter) noted(index uint32, mask Mask, span tick.Tick) {
	v := p.v
	w, bit := index>>6, uint64(1)<<(index&63)
	if v.touchedAt(index) <= p.s { // else something changed after this tick's first packets, and follows in the next
		v.unsent[w] &^= bit
	}
	if v.big {
		v.tooBig[w] &^= bit
	}
	v.unacked[w] |= bit
	if v.plan.active {
		v.plan.sent(index)
	}
	if span >= v.store.cfg.Window || span > maxSpan {
		span = 0 // by the time it is acknowledged it is out of the window
	}
	p.has(sentGroup{of: bit, rows: mask, word: w, span: uint16(span)}, 1)
	if last := len(v.going) - 1; last >= 0 && v.going[last].word == w {
		v.going[last].of |= bit
	} else {
		v.going = append(room(v.going, 1, usualList), wordOf{w, bit})
	}
}

// has notes that the packet has a group of n records.
func (p *packetWriter) has(e sentGroup, n int) {
	p.v.pages[e.word].even = p.v.store.views >= leastSharing && p.v.store.large(e.rows)
	p.v.sentAt(e.word, p.s, e.of, p.v.sent.add(p.sent, e))
	p.sent.records += n
}

// gone notes in the ack states which records are in the packet: before anybody asks for one of them again.
func (p *packetWriter) gone() {
	v := p.v
	for _, g := range v.going {
		v.sentPage(g.word, g.of, p.s)
	}
	v.going = v.going[:0]
}
