package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
)

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
		if v.whole.on && !v.whole.fresh.has(r.index) {
			v.stats.Updates++
			return
		}
		v.whole.known(r.index)
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
	v.sent.add(p.sent, sentEntry{mask: mask, index: index, span: uint16(span)})
	p.sent.records++
	if last := len(v.going) - 1; last >= 0 && v.going[last].word == w {
		v.going[last].of |= bit
	} else {
		v.going = append(room(v.going, 1, usualList), wordOf{w, bit})
	}
}

// gone notes in slots whose records are in the packet: before anybody may ask for
// one of them again.
func (p *packetWriter) gone() {
	n := 0
	for i := range p.v.going {
		n += bits.OnesCount64(p.v.going[i].of)
	}
	p.v.goTogether(p.v.going, n, p.s)
	p.v.going = p.v.going[:0]
}

// wentWord notes that records of some of a word are in the packet.
func (v *View) wentWord(w uint32, of uint64) {
	if of == 0 {
		return
	}
	v.going = append(v.going, wordOf{w, of})
	v.wordWent(w, of)
}

// wordWent is wentWord without a note for slots.
func (v *View) wordWent(w uint32, of uint64) {
	v.unsent[w] &^= of
	v.unacked[w] |= of
	if v.big {
		v.tooBig[w] &^= of
	}
}
