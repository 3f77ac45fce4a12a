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

// refused notes that there was no room for an index. What is small finds room in
// the next packet.
func (p *packetWriter) refused(index uint32) {
	v := p.v
	if large := p.w.Bits() < p.full/2; v.hunger.index == 0 && (large || v.store.groups.at(index) != 0 || v.ties.has(index)) {
		v.hunger = hunger{index: index + 1, at: p.s}
	}
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
	return h.packets > patience
}

// feed writes what was passed by. Where messages have left too little room even
// for that alone, the others come first, so that nothing waits behind it.
func (p *packetWriter) feed() {
	v := p.v
	h := v.hunger
	if v.hunger = (hunger{}); !p.unit(h.index - 1) {
		v.cursor = h.index
	}
}
