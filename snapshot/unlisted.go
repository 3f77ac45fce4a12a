package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
)

// others writes visible entities that changed and were not in the list, as
// often as a plan has chosen more of them.
func (p *packetWriter) others() {
	for again := true; again; again = p.v.plan.active && p.v.plan.advanced {
		p.v.plan.advanced = false
		room := p.goRound()
		if p.gone(); !room {
			return
		}
	}
}

// goRound goes once through what waits, from where the packet before was cut
// short. It says false when the packet is full.
func (p *packetWriter) goRound() bool {
	v := p.v
	if len(v.unsent) == 0 {
		return true
	}
	start := int(v.cursor >> 6)
	if start >= len(v.unsent) {
		start, v.cursor = 0, 0
	}
	low := uint64(1)<<(v.cursor&63) - 1 // bits before the cursor, in its word
	for i := 0; i <= len(v.unsent); i++ {
		w := start + i
		if w >= len(v.unsent) {
			w -= len(v.unsent)
		}
		if v.unsent[w] == 0 { // of most words: what moved went through a list
			continue
		}
		word := v.unsent[w] &^ v.owed[w] & v.plan.allows(w)
		switch i {
		case 0:
			word &^= low
		case len(v.unsent):
			word &= low
		}
		bound := word & p.bound(w)
		if !v.plan.active {
			word &^= bound
		}
		p.makeAheadOf(w, word)
		for ; word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			switch {
			case !v.unsent.has(index): // written with its group
			case bound>>(index&63)&1 != 0 && !p.torn || !p.candidate(index):
				v.plan.took(index) // its despawns' business, or the next tick's
			case !p.unit(index) && !p.passes(index):
				v.cursor = index
				p.refused(index)
				return false
			}
			if p.torn {
				word |= bound >> (index & 63) >> 1 << 1 << (index & 63) // one by one, those behind it
			}
		}
	}
	v.cursor = 0
	return true
}

// gap says how far it is to the next entity, by index, modulo 2^32 where the
// list goes around.
func (p *packetWriter) gap(index uint32, odd bool) {
	p.endRun()
	symbol, raw, n := gapSymbol(index-p.last, odd)
	p.symbol(p.v.store.schema.codes.gap, p.gapContext, symbol)
	p.w.Write(raw, n)
	p.last = index + 1
}

// candidate reports whether a record of an index waits and may go out in this
// tick: one that was shown after this tick's first packets waits for the next,
// and so does what changed for this client after its record went out (rule 1).
func (p *packetWriter) candidate(index uint32) bool {
	v := p.v
	w, bit := index>>6, uint64(1)<<(index&63)
	if v.unsent[w]&^v.owed[w]&bit == 0 || v.plan.active && v.plan.chosen[w]&bit == 0 {
		return false
	}
	return v.wentAt(index) != p.s && (v.base(index) != tick.None || v.tenants[index].life <= p.s)
}
