package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A snapshot payload is one bit string, least significant bit first:
//
//	tick            16 bits, low bits of the packet's own tick S
//	resynced         1 bit, then 16 bits epoch if set
//	despawn records: 1 bit "one more", gap, generation      … 0
//	update records:  1 bit "one more", gap, record          … 0
//	zero padding to the byte
//
//	record: 1 bit "against a baseline"
//	  no:   generation, one bit per row of the schema: present;
//	        then each present row, absolute
//	  yes:  1 bit "same age as the record before" or age (S−T−1);
//	        1 bit "rows as at T" or one bit per row of the schema: present;
//	        then each present row: 0 "as at T", or
//	        1, 0 and the row, absolute, or
//	        1, 1 and what differs from T (a run's next row)
//
// Gaps count the indexes skipped since the record before, in each list apart,
// modulo 2^32. Gap, generation and age are in the Var code of wire.

// despawnShare is the part of a packet kept for despawns while any are owed:
// one third, so that neither they nor updates can starve the other.
const despawnShare = 3

// minPayload is the least room in which a snapshot is written at all: any
// despawn fits a third of it.
const minPayload = 64

// packetWriter is the state of one Write.
type packetWriter struct {
	v     *View
	w     wire.BitWriter
	s     tick.Tick // S, the packet's own tick
	sent  *sentPacket
	limit int    // bits that the list being written may reach
	last  uint32 // index of the record before, plus one
	age   uint64 // age of the record before, 0 = none yet
	// partial: other messages took some of the packet, so that what does not
	// fit now may fit the next one.
	partial bool
}

// Write fills dst with one snapshot payload of what the client lacks and
// returns its length, 0 when there is nothing to say. seq is the sequence of
// the packet that will carry it; it must rise from call to call. What was
// written counts as sent: the caller sends it. It also returns 0 when so much
// of this very tick is on its way that more could not be remembered.
func (v *View) Write(dst []byte, seq uint64) int {
	if !v.Pending() || len(dst) < minPayload {
		return 0
	}
	p := packetWriter{v: v, w: wire.NewBitWriter(dst), s: v.store.tick, partial: len(dst) < v.payload}
	if p.sent = v.sent.open(seq, p.s, v.overwritten); p.sent == nil {
		return 0
	}
	v.wrote, v.spoke = p.s, p.s
	p.header()
	full := len(dst)*8 - 2 // room for the two list ends
	p.limit = full
	if v.updatesPending() {
		p.limit = full / despawnShare
	}
	p.despawns()
	p.w.Bool(false)
	p.limit = full + 1
	p.updates()
	p.w.Bool(false)
	if p.sent.n == 0 && !v.answer {
		v.sent.cancel(p.sent)
		return 0
	}
	v.answer = false
	v.stats.Snapshots++
	return p.w.Finish()
}

func (v *View) overwritten(p *sentPacket) {
	v.stats.Overwritten++
	v.lost(p)
}

// updatesPending reports whether anything but despawns waits.
func (v *View) updatesPending() bool {
	for w := range v.unsent {
		if v.unsent[w]&^v.owed[w] != 0 {
			return true
		}
	}
	return false
}

func (p *packetWriter) header() {
	p.w.Write(uint64(p.s.Low()), 16)
	p.w.Bool(p.v.epoch != 0)
	if p.v.epoch != 0 {
		p.w.Write(uint64(p.v.epoch), 16)
	}
}

// despawns writes what is owed, in index order, up to the limit.
func (p *packetWriter) despawns() {
	v := p.v
	p.last = 0
	for w := range v.owed {
		for word := v.owed[w] & v.unsent[w]; word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			if v.slots[index].ended > p.s {
				continue // ended after this tick's first packets: the next tick's business
			}
			if !p.fits(func() { p.despawn(index) }) {
				return
			}
			v.unsent.unset(index)
			v.unacked.set(index)
			v.slots[index].sent = p.s
			p.record(sentEntry{index: index, generation: v.slots[index].shown, despawn: true})
			v.stats.Despawns++
		}
	}
}

// despawn says that this generation of index and all before it are gone.
func (p *packetWriter) despawn(index uint32) {
	p.gap(index)
	p.w.Var(uint64(p.v.slots[index].shown))
}

// updates writes visible entities that changed, from where the packet before
// was cut short, once around.
func (p *packetWriter) updates() {
	v := p.v
	p.last = 0
	if len(v.unsent) == 0 {
		return
	}
	start := int(v.cursor >> 6)
	if start >= len(v.unsent) {
		start, v.cursor = 0, 0
	}
	low := uint64(1)<<(v.cursor&63) - 1 // bits before the cursor, in its word
	for i := 0; i <= len(v.unsent); i++ {
		w := (start + i) % len(v.unsent)
		word := v.unsent[w] &^ v.owed[w] & v.plan.allows(w)
		switch i {
		case 0:
			word &^= low
		case len(v.unsent):
			word &= low
		}
		for ; word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			if !v.unsent.has(index) || !p.mayWrite(index) {
				continue // written with its group, or the next tick's business
			}
			if !p.unit(index) {
				v.cursor = index
				return
			}
		}
	}
	v.cursor = 0
}

// mayWrite reports whether a record of an index may go out in this tick: one
// that was shown after this tick's first packets waits for the next, and so
// does what changed for this client after its record went out (rule 1).
func (p *packetWriter) mayWrite(index uint32) bool {
	q := &p.v.slots[index]
	return q.life <= p.s && q.sent != p.s
}

// unit writes one entity, or its whole group, and reports whether there was
// room for it.
func (p *packetWriter) unit(index uint32) bool {
	if m := p.v.store.groups.whole(index); m != nil && len(m.indexes) > 1 {
		if done, wrote := p.group(m); done {
			return wrote
		}
	}
	return p.update(index)
}

// update writes one entity and reports whether there was room for it.
func (p *packetWriter) update(index uint32) bool {
	v := p.v
	if p.fits(func() { p.entity(index) }) {
		p.wrote(index)
		return true
	}
	if p.sent.n > 0 || p.partial {
		return false
	}
	// It does not fit an empty packet and never will: step over it, so
	// that nothing waits behind it, and say so.
	v.stats.Oversize++
	v.stats.OversizeID = wire.NetworkID{Index: index, Generation: v.slots[index].generation}
	v.unsent.unset(index)
	v.tooBig.set(index)
	return true
}

// group writes all that the client lacks of a group, in one piece. Where even
// an empty packet has no room for it, its members go one by one: done is false.
func (p *packetWriter) group(m *members) (done, wrote bool) {
	v := p.v
	v.lacking = v.lacking[:0]
	for _, index := range m.indexes {
		switch {
		case !v.visible.has(index) || v.moved(index) <= v.slots[index].base:
		case !p.mayWrite(index):
			return true, true // some of it is out already: all of it follows in the next tick
		default:
			v.lacking = append(v.lacking, index)
		}
	}
	if len(v.lacking) <= 1 {
		return false, false
	}
	if p.fitsAll(v.lacking) {
		for _, index := range v.lacking {
			p.wrote(index)
		}
		return true, true
	}
	if p.sent.n > 0 || p.partial {
		return true, false
	}
	v.stats.TornGroups++
	return false, false
}

// fitsAll writes the records of several entities, all or none.
func (p *packetWriter) fitsAll(indexes []uint32) bool {
	if p.sent.n+len(indexes) > maxRecords {
		return false
	}
	return p.fits(func() {
		for _, index := range indexes {
			p.entity(index)
		}
	})
}

// wrote notes that a record is in the packet.
func (p *packetWriter) wrote(index uint32) {
	v, q := p.v, &p.v.slots[index]
	v.unsent.unset(index)
	v.tooBig.unset(index)
	v.unacked.set(index)
	v.plan.took(index)
	q.sent, q.shown = p.s, q.generation
	p.record(sentEntry{index: index, generation: q.generation, base: q.base, mask: v.maskOf(index)})
	if q.base == tick.None {
		v.stats.Spawns++
	} else {
		v.stats.Updates++
	}
}

// fits writes records and takes them back if they went past the limit.
func (p *packetWriter) fits(write func()) bool {
	mark, last, age, tally := p.w, p.last, p.age, p.v.stats
	if p.sent.n >= maxRecords {
		return false
	}
	write()
	if !p.w.Overflowed() && p.w.Bits() <= p.limit {
		p.v.plan.wrote(p.w.Bits() - mark.Bits())
		return true
	}
	p.w, p.last, p.age, p.v.stats = mark, last, age, tally
	return false
}

func (p *packetWriter) record(e sentEntry) { p.v.sent.add(p.sent, e) }

// gap says that one more record follows, and about which index.
func (p *packetWriter) gap(index uint32) {
	p.w.Bool(true)
	p.w.Var(uint64(index - p.last)) // modulo 2^32 where the list goes around
	p.last = index + 1
}
