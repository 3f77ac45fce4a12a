package snapshot

import "github.com/arche-netcode/netcode/tick"

// hunger is of a group that found no room in a packet, since despawns or a list
// came before it. Nearly as large as a packet, it would find none for ever.
type hunger struct {
	index   uint32    // one of the group, plus one; 0 = of none
	at      tick.Tick // when it found no room
	packets int       // that were written since
}

// patience is how many packets may pass such a group by.
const patience = 1

// refused notes that there was no room for an index, and reports whether it is large. What is small finds room in
// the next packet.
func (p *packetWriter) refused(index uint32) (large bool) {
	v := p.v
	large = p.w.Bits() < p.full/2
	if v.hunger.index == 0 && (large || v.store.groups.at(index) != 0 || v.ties.has(index)) {
		v.hunger = hunger{index: index + 1, at: p.s}
	}
	return large
}

// passes reports whether a packet goes on without an index for which there was no room. It does where the budget cuts
// packets short: else what is larger than the tick's share would keep all others waiting.
func (p *packetWriter) passes(index uint32) bool {
	if !p.short || !p.v.plan.active || !p.refused(index) {
		return false
	}
	p.v.plan.took(index)
	return true
}

// hungry reports whether a packet is to begin with what was passed by.
func (p *packetWriter) hungry() bool {
	v := p.v
	h := &v.hunger
	index := h.index - 1
	if v.wentAt(index) >= h.at || !v.unsent.has(index) || v.owed.has(index) || v.tenants[index].life > p.s {
		*h = hunger{}
		return false
	}
	h.packets++
	if p.short {
		return p.most > p.full
	}
	return h.packets > patience
}

// wholeLent reports whether a budget lends as much as an otherwise empty packet has.
func (p *packetWriter) wholeLent() bool { return p.most >= 8*p.v.payload-endBits }

// feed writes what was passed by. Where messages have left too little room even
// for that alone, the others come first, so that nothing waits behind it. Where the budget has, it may take the room
// that is lent, and the others have theirs behind it.
func (p *packetWriter) feed() {
	v := p.v
	h := v.hunger
	v.hunger = hunger{}
	begun, share, partial := p.w.Bits(), p.limit, p.partial
	if p.short {
		p.limit, p.partial = p.most, !p.wholeLent()
	}
	if !p.unit(h.index - 1) {
		v.cursor = h.index
	}
	p.partial = partial
	if p.limit = share; p.w.Bits() > share {
		p.limit = min(p.w.Bits()+share-begun, p.most)
	}
}
