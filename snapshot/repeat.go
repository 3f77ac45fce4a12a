package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// InFlight yields the packets on their way that the client needs, the oldest first. Such a packet has the newest record of an entity,
// or its despawn, and is neither acknowledged nor lost. If nothing is Pending, a client with these packets and the acknowledged ones
// has everything as of the store's tick. The only exceptions are entities that are TooLarge. The cost is one look at each record on
// its way; nothing is allocated. Package consistent uses it.
func (v *View) InFlight(yield func(packet uint64) bool) {
	v.flushSpawns()
	for seq := max(v.sent.oldest, 1); seq <= v.sent.newest; seq++ {
		if p := v.sent.get(seq); p != nil && p.pending && v.needed(p) && !yield(seq) {
			return
		}
	}
}

// needed reports whether the client needs a packet that is on its way.
func (v *View) needed(p *sentPacket) bool {
	for i := range p.n {
		e := v.sent.group(p, i)
		for of := e.of; of != 0; of &= of - 1 {
			if v.isNewest(p, e, firstOf(e.word, of)) {
				return true
			}
		}
	}
	return false
}

// MayRepeat reports whether the payload of a packet may be sent again unchanged: nothing in it was hidden since, by Hide, Keep or
// SetSight. A packet with rows that name entities may not be repeated after anything was hidden. It returns false for a packet that is
// forgotten or acknowledged, and for a client of the plain profile. Package consistent uses it.
func (v *View) MayRepeat(packet uint64) bool {
	p := v.sent.get(packet)
	if p == nil || p.acked || v.plain {
		return false
	}
	if p.tick >= v.lastHidden {
		return true
	}
	for i := range p.n {
		e := v.sent.group(p, i)
		if e.despawn {
			continue
		}
		if e.rows.Overlaps(v.store.schema.Refs) {
			return false
		}
		for of := e.of; of != 0; of &= of - 1 {
			if v.hidSince(p.tick, e, firstOf(e.word, of)) {
				return false
			}
		}
	}
	return true
}

// hidSince reports whether a record of tick t may contain a row that was hidden since. A row that did not change between the record's
// baseline and t is not in the record.
func (v *View) hidSince(t tick.Tick, e *sentGroup, index uint32) bool {
	switch hidden := &v.life(index).hidden; {
	case hidden.entityAt > t:
		return true
	case hidden.rowsAt <= t:
		return false
	case v.page(index).visible&bitOf(index) == 0 || v.life(index).firstTick > t: // the hidden rows of that lifetime are forgotten
		return true
	}
	for m := e.rows.Minus(v.rowsOf(index)); !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		if e.span == 0 || !v.store.rows.masks[index].Has(row) || v.store.past.changedAfter(row, index, t-tick.Tick(e.span)) {
			return true
		}
	}
	return false
}

// Needs returns the tick of the record that gives the client all changes of an entity up to tick t. A record of a later tick does so
// too. It returns tick.None if the client has acknowledged that, or gets no record: the entity is not visible or does not fit a
// packet.
func (v *View) Needs(id wire.NetworkID, t tick.Tick) tick.Tick {
	if v.shares || !v.Visible(id) || v.page(id.Index).oversize&bitOf(id.Index) != 0 {
		return tick.None
	}
	needs := max(min(v.changedAt(id.Index), t), v.life(id.Index).firstTick)
	if v.ack(id.Index).base >= needs {
		return tick.None
	}
	return needs
}

// Proved returns the newest tick whose visible state the client has acknowledged whole, except entities that do not fit a packet. It looks at each entity whose newest state is not acknowledged.
func (v *View) Proved() tick.Tick {
	v.flushSpawns()
	proved := v.observed
	for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
		for word := (v.pages[w].unsent | v.pages[w].unacked) & v.pages[w].visible &^ v.pages[w].oversize; word != 0; word &= word - 1 {
			index := firstOf(uint32(w), word)
			if held := v.ack(index).base; held == tick.None {
				proved = min(proved, v.life(index).firstTick-1)
			} else if held < v.changedAt(index) {
				proved = min(proved, held)
			}
		}
		for word := v.pages[w].despawnOwed; word != 0; word &= word - 1 {
			proved = min(proved, v.life(firstOf(uint32(w), word)).endedAt-1)
		}
	}
	return proved
}
