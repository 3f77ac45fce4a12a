package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// The records of a packet are a list, and which entities are in it costs as
// much as what is said of them. Most of those that move now moved a moment ago:
// so a packet names an earlier one that the client has acknowledged, and says
// which of that one's entities it speaks of again, in its order (fours.go). The
// rest follows by index.

// refer chooses the packet whose list is leaned on: of the newest tick of which
// any was acknowledged, the one that holds the same part of the tick.
func (v *View) refer(part int) *sentPacket {
	var best *sentPacket
	for _, seq := range v.listed {
		p := v.sent.get(seq)
		if p == nil || p.n == 0 || v.store.tick-p.tick >= v.store.cfg.Window || p.tick == v.store.tick {
			continue
		}
		if best == nil || distance(p.part, part) < distance(best.part, part) {
			best = p
		}
	}
	return best
}

func distance(a, b int) int { return max(a-b, b-a) }

// heard keeps which packets the client has acknowledged of the newest tick.
func (v *View) heard(p *sentPacket) {
	if p.records == 0 || p.seq < v.epochSeq {
		return
	}
	if len(v.listed) > 0 {
		newest := v.sent.get(v.listed[0])
		switch {
		case newest == nil || newest.tick < p.tick:
			v.listed = v.listed[:0]
		case newest.tick > p.tick || len(v.listed) == maxListed:
			return
		}
	}
	v.listed = append(v.listed, p.seq)
}

// maxListed is how many packets of one tick are remembered to lean on.
const maxListed = 64

// ahead is how many entities of a packet are fetched at a time.
const ahead = 32

// fetch touches the slots of the next entities of a packet, as far as they are
// used. They lie scattered:
// one after the other each would be waited for, together they come in the time
// of one.
func (v *View) fetch(entries []sentEntry) {
	var any Mask
	for i := range entries {
		if index := entries[i].index; !v.cohorts.any.has(index) {
			any |= v.slots[index].mask
		}
	}
	v.fetched = any
}

// usual is the body of a record that is nothing but its body, nil where there
// is more to say or to find out. Most are such: all that it takes is looked at
// here, and nothing is copied.
func (p *packetWriter) usual(index uint32) *bodyEntry {
	v, s := p.v, p.v.store
	if v.whole.on {
		return nil
	}
	var room slot
	q := v.slot(index, &room)
	mask := v.maskOf(index)
	if q.base == tick.None || p.s-q.base >= s.cfg.Window || !p.guessed(index, q) || q.mask != mask ||
		mask&s.schema.whole != 0 || s.watch != nil {
		return nil
	}
	e, of := p.desk.sharedBody(index, mask, q.base, p.before(q))
	if e.none {
		return nil
	}
	p.bodies = of
	return e
}

// guessed reports whether the client knows without a word which record of an
// entity one leans on: of those in the list that of its tick, of the others
// their newest one up to that tick.
func (p *packetWriter) guessed(index uint32, q *slot) bool {
	if p.again {
		return q.base == p.listed
	}
	return p.v.newest(index, q, p.upTo)
}

// put writes a usual record behind its place in the list, if there is room.
// Its length is known before anything is written.
func (p *packetWriter) put(place uint64, n uint, index uint32, e *bodyEntry) bool {
	if p.sent.n >= maxRecords-p.waiting || p.w.Bits()+p.run.endBits()+int(n)+int(e.bits) > p.limit {
		return false
	}
	p.endRun()
	p.w.Write(place, n)
	p.writeBody(e, p.bodies)
	p.wroteUsual(index, e)
	return true
}

// writeBody writes the body of a usual record.
func (p *packetWriter) writeBody(e *bodyEntry, of *bodies) {
	if e.bits <= 64 {
		p.w.Write(e.word, uint(e.bits))
	} else {
		p.w.Words(of.wordsOf(e), int(e.bits))
	}
}

// wroteUsual notes that a usual record is in the packet.
func (p *packetWriter) wroteUsual(index uint32, e *bodyEntry) {
	v := p.v
	p.noted(index, e.mask, p.s-e.t)
	v.stats.Deltas += uint64(e.deltas)
	v.stats.Unchanged += uint64(e.same)
	v.stats.Updates++
}

// symbol writes a symbol of the list.
func (p *packetWriter) symbol(t *wire.Table, context, symbol int) {
	t.Write(&p.w, context, symbol)
	if watch := p.v.store.watch; watch != nil {
		watch([]wire.DeltaSymbol{{Table: t, Context: context, Symbol: symbol}})
	}
}

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
			rest, full := p.sweepOthers(w, word)
			if word = rest; word == 0 {
				break
			}
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			switch {
			case !v.unsent.has(index): // written with its group
			case bound>>(index&63)&1 != 0 && !p.torn || !p.candidate(index):
				v.plan.took(index) // its despawns' business, or the next tick's
			case (full || !p.unit(index)) && !p.passes(index):
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
	if v.cohorts.any.has(index) {
		return v.cohorts.find(index).went != p.s
	}
	return v.went[index] != p.s && (v.slots[index].base != tick.None || v.tenants[index].life <= p.s)
}
