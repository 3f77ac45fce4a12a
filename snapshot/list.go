package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/wire"
)

// The records of a packet are a list, and which entities are in it costs as
// much as what is said of them. Most of those that move now moved a moment ago:
// so a packet names an earlier one that the client has acknowledged, and says
// which of that one's entities it speaks of again, in its order. The rest
// follows by index.

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

// again writes what is to be said of the entities of an earlier packet. It says
// false when the packet is full.
func (p *packetWriter) again(before *sentPacket) bool {
	v, r := p.v, &p.v.scratch
	grouped := len(v.store.groups.of) > 0
	skipped := 0
	for i := range before.n {
		e := v.sent.entry(before, i)
		if e.despawn {
			continue
		}
		if !p.candidate(e.index) || grouped && v.store.groups.whole(e.index) != nil {
			skipped++
			continue
		}
		p.prepare(e.index, r)
		if !p.follow(r, skipped) {
			return !p.tooLarge(e.index)
		}
		p.wrote(r)
		skipped = 0
	}
	return true
}

// follow writes a record of the list.
func (p *packetWriter) follow(r *record, skipped int) bool {
	if !r.usual() || skipped > nextMost || p.v.store.watch != nil {
		return p.fits(func() { p.next(skipped, r.odd); p.entity(r) })
	}
	code, n := p.v.store.schema.codes.next.Bits(0, skipped)
	return p.put(code, n, r)
}

// put writes a usual record behind its place in the list. Most are such, and
// their length is known before anything is written.
func (p *packetWriter) put(place uint64, n uint, r *record) bool {
	if p.sent.n >= maxRecords || p.w.Bits()+int(n)+r.body.bits > p.limit {
		return false
	}
	p.w.Write(place, n)
	p.writeBody(&r.body)
	return true
}

// next says which entity of the list comes next.
func (p *packetWriter) next(skipped int, odd bool) {
	t := p.v.store.schema.codes.next
	if odd {
		p.symbol(t, 0, nextOdd)
	}
	for ; skipped > nextMost; skipped -= nextMost + 1 {
		p.symbol(t, 0, nextSkip)
	}
	p.symbol(t, 0, skipped)
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
	p.last = 0
	for again := true; again; again = p.v.plan.active && p.v.plan.advanced {
		p.v.plan.advanced = false
		if !p.goRound() {
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
			switch {
			case !v.unsent.has(index): // written with its group
			case !p.candidate(index):
				v.plan.took(index) // the next tick's business
			case !p.unit(index):
				v.cursor = index
				return false
			}
		}
	}
	v.cursor = 0
	return true
}

// step writes a record of an entity that is not in the list.
func (p *packetWriter) step(r *record) bool {
	if !r.usual() || p.v.store.watch != nil {
		return p.fits(func() { p.gap(r.index, r.odd); p.entity(r) })
	}
	symbol, raw, n := gapSymbol(r.index-p.last, false)
	code, length := p.v.store.schema.codes.gap.Bits(p.gapContext, symbol)
	if !p.put(raw<<length|code, length+n, r) {
		return false
	}
	p.last = r.index + 1
	return true
}

// gap says how far it is to the next entity, by index, modulo 2^32 where the
// list goes around.
func (p *packetWriter) gap(index uint32, odd bool) {
	symbol, raw, n := gapSymbol(index-p.last, odd)
	p.symbol(p.v.store.schema.codes.gap, p.gapContext, symbol)
	p.w.Write(raw, n)
	p.last = index + 1
}

// candidate reports whether a record of an index waits and may go out in this
// tick: one that was shown after this tick's first packets waits for the next,
// and so does what changed for this client after its record went out (rule 1).
func (p *packetWriter) candidate(index uint32) bool {
	v, q := p.v, &p.v.slots[index]
	return v.unsent.has(index) && !v.owed.has(index) && q.life <= p.s && q.sent != p.s && v.plan.allows(int(index>>6))>>(index&63)&1 != 0
}
