package snapshot

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/tick"
)

// parcel is what of one packet goes in one piece with despawns. A snapshot puts
// these before the records: so it is chosen, and its room found, before anything
// is written.
type parcel struct {
	leaving []uint32 // of the unit that was gathered: whose despawn is owed; the records are of View.lacking
	groups  groupSet // that it is of
	marked  bitset   // who is in it
	out     bool     // some of it belongs to another tick's packets

	seen    outlook   // as of which due and mine are
	changes uint64    // of what is tied, lacking or waiting, but by packets
	anew    bool      // due and mine are found anew for each packet, for tests,
	looked  int       // and how often a unit was gathered
	due     []uint32  // one of each unit that may go out
	placed  []uint32  // one of each that does
	mine    bitset    // who is in any unit with a despawn
	parting bitset    // of these, whose despawn goes out
	cursor  uint32    // the unit to begin with: the last packet had no room for it
	waited  bool      // the last packet was more than others leave to these units
	slack   int       // bits that the units written by measure may take beyond what they took there
	stuck   tick.Tick // since when no packet has had room for the first one, of which some is left to messages; tick.None
}

// outlook is what units are made of, as far as packets do not change it: while it
// is the same, they are those of the packet before, less those that went out.
type outlook struct {
	tick, observed         tick.Tick
	changes, sights, looks uint64
}

func (v *View) outlook() outlook {
	return outlook{v.store.tick, v.observed, v.ties.changes, v.sights, v.own.looks}
}

// gather lists what goes in one piece with an index, into lacking and leaving:
// what the client lacks of its groups, and of the groups of those.
func (p *packetWriter) gather(index uint32) {
	v := p.v
	t := &v.ties
	v.lacking, t.leaving, t.out = v.lacking[:0], t.leaving[:0], false
	t.groups.clear()
	t.looked++
	p.reach(index)
	for i := 0; i < len(t.groups.list); i++ {
		group := t.groups.list[i]
		if m := v.store.groups.members[group]; m != nil {
			if v.splits(m) {
				continue
			}
			for _, index := range m.indexes {
				if !v.owed.has(index) { // whose despawn is tied, if it is, to what it was in when it was hidden
					p.reach(index)
				}
			}
		}
		for n := t.heads[group&uint32(len(t.heads)-1)]; n != 0; n = t.nodes[n].follower {
			if t.nodes[n].group == group {
				p.reach(t.nodes[n].index)
			}
		}
	}
	slices.Sort(v.lacking) // the order in which ties were made tells of what else there was
	for _, list := range [...][]uint32{v.lacking, t.leaving} {
		for _, index := range list {
			t.marked.unset(index)
		}
	}
}

// reach makes an index one of the unit, with its groups, if the client lacks
// anything of it.
func (p *packetWriter) reach(index uint32) {
	v := p.v
	t := &v.ties
	group := uint32(0)
	switch {
	case t.marked.has(index):
		return
	case v.owed.has(index):
		t.leaving = append(t.leaving, index)
		t.out = t.out || v.tenants[index].ended > p.s || v.wentAt(index) == p.s
	case v.visible.has(index) && v.moved(index) > v.base(index):
		v.lacking = append(v.lacking, index)
		t.out = t.out || v.tenants[index].life > p.s || v.wentAt(index) == p.s
		group = v.store.groups.at(index)
	default:
		return
	}
	t.marked.set(index)
	t.join(group)
	for n := t.first[index]; n != 0; n = t.nodes[n].next {
		t.join(t.nodes[n].group)
	}
}

func (t *parcel) join(group uint32) {
	if group != 0 {
		t.groups.add(group)
	}
}

// each calls do for each index of the unit that was gathered.
func (p *packetWriter) each(do func(index uint32)) {
	for _, index := range p.v.lacking {
		do(index)
	}
	for _, index := range p.v.ties.leaving {
		do(index)
	}
}

// tie chooses the units with despawns that go out, and keeps their room.
func (p *packetWriter) tie() {
	v := p.v
	t := &v.ties
	p.tied = true
	if now := v.outlook(); t.anew || now != t.seen {
		t.seen = now
		p.survey()
	} else {
		p.drop()
	}
	t.placed = t.placed[:0]
	t.parting.clear()
	if len(t.due) == 0 {
		return
	}
	mark := p.w
	p.last, t.slack = 0, 0
	p.w.Bool(false) // the end of the despawns
	p.listsHead()
	head := p.w
	if p.refers {
		p.ending = delta.MaxCodeLength // where a list ends
	}
	p.place()
	p.headed, p.kept = head.Bits()-mark.Bits(), p.w.Bits()-head.Bits()+t.slack
	p.w, p.run = mark, openRun{}
}

// survey finds all units with a despawn.
func (p *packetWriter) survey() {
	v := p.v
	t := &v.ties
	t.due = t.due[:0]
	t.mine.clear()
	for w := range v.owed {
		for word := v.owed[w] &^ t.mine[w]; word != 0; word &= word - 1 {
			if index := uint32(w<<6 + bits.TrailingZeros64(word)); t.has(index) && !t.mine.has(index) {
				p.find(index)
			}
		}
	}
}

// drop takes out of those that are due what went with the packet before.
func (p *packetWriter) drop() {
	t := &p.v.ties
	for i := 0; i < len(t.placed); {
		from, _ := slices.BinarySearch(t.due, t.placed[i])
		upTo := from
		for i < len(t.placed) && upTo < len(t.due) && t.due[upTo] == t.placed[i] && !p.remains(t.placed[i]) {
			upTo++ // they lie side by side mostly
			i++
		}
		if upTo == from {
			i++
			continue
		}
		t.due = slices.Delete(t.due, from, upTo)
	}
}

// remains reports whether the unit of an owed despawn is due.
func (p *packetWriter) remains(index uint32) (due bool) {
	p.gather(index)
	p.each(func(index uint32) { due = due || p.v.unsent.has(index) })
	return due && !p.v.ties.out
}

// find looks at the unit of an owed despawn.
func (p *packetWriter) find(index uint32) {
	v := p.v
	t := &v.ties
	p.gather(index)
	if len(t.leaving)+len(v.lacking) == 1 {
		return // as if it were tied to nothing
	}
	due := false
	p.each(func(index uint32) {
		t.mine.set(index)
		due = due || v.unsent.has(index)
	})
	if due && !t.out {
		t.due = append(t.due, index)
	}
}

// place takes as many of the units that are due as there is room for, each
// written behind the one before.
func (p *packetWriter) place() {
	t := &p.v.ties
	first, _ := slices.BinarySearch(t.due, t.cursor)
	if t.due[first%len(t.due)] != t.cursor {
		t.stuck = tick.None
	}
	t.cursor = 0
	used, third := 0, p.full/despawnShare
	alone := !p.othersWait()
	for i := range t.due {
		index := t.due[(first+i)%len(t.due)]
		p.gather(index)
		w, last, run, slack := p.w, p.last, p.run, t.slack
		size, dead := p.measure()
		if need := p.w.Bits() + t.slack + p.ending + dead; i == 0 && need > p.full && need <= p.most {
			p.full = min(need+p.full, p.most) // it is lent its room, and the others have theirs
		}
		fits := !p.w.Overflowed() && p.w.Bits()+t.slack+p.ending+dead <= p.full && p.sent.n+p.waiting+len(t.leaving)+len(p.v.lacking) <= maxRecords
		if fits && (alone || !t.waited || used+size <= third) {
			for _, index := range t.leaving {
				t.parting.set(index)
			}
			p.ending, p.waiting, used = p.ending+dead, p.waiting+len(t.leaving)+len(p.v.lacking), used+size
			if t.placed = append(t.placed, index); i == 0 {
				t.stuck = tick.None
			}
			continue
		}
		p.w, p.last, p.run, t.slack = w, last, run, slack
		switch {
		case !fits && p.short && !p.wholeLent(): // it waits for a loan
		case !fits && i == 0 && p.partial && !p.short && t.stuck == tick.None:
			t.stuck = p.s
		case !fits && len(t.placed) == 0 && (!p.partial || p.short || i == 0 && p.s-t.stuck >= p.v.store.cfg.Window):
			p.tear()
			t.stuck = tick.None
			continue
		}
		if t.cursor == 0 {
			t.cursor = index
		}
		if !fits && i > 0 {
			break
		}
	}
	t.waited = used > third
}

// othersWait reports whether anything waits that is in no unit with a despawn.
func (p *packetWriter) othersWait() bool {
	v := p.v
	for w := range v.unsent {
		if v.unsent[w]&^v.ties.mine[w] != 0 {
			return true
		}
	}
	return false
}

// measure writes the records of the unit that was gathered, and returns what it
// takes with its despawns, and of that the despawns, at most.
func (p *packetWriter) measure() (size, dead int) {
	v := p.v
	t := &v.ties
	size = -p.w.Bits() - t.slack
	for _, index := range v.lacking {
		p.prepare(index, &v.scratch)
		if p.other(&v.scratch); p.run.n == 1 {
			t.slack += 7 // the run has just begun, behind zeros up to a byte: as many as the place asks for
		}
	}
	for _, index := range t.leaving {
		dead += p.despawnBits(index)
	}
	return size + p.w.Bits() + t.slack + dead, dead
}

// despawnBits is the most that a despawn takes.
func (p *packetWriter) despawnBits(index uint32) int {
	return 1 + varBits(index) + varBits(p.v.tenants[index].shown)
}

// tear gives up the ties of the unit that was gathered.
func (p *packetWriter) tear() {
	v := p.v
	v.stats.TornGroups++
	p.each(func(index uint32) {
		v.ties.untie(index, v.store.tick+1)
		v.ties.mine.unset(index)
	})
}

// departures is whose despawn may be in the packet, of a word.
func (p *packetWriter) departures(w int) uint64 {
	if !p.tied {
		return p.v.unsent[w]
	}
	t := &p.v.ties
	return p.v.unsent[w]&^t.mine[w] | t.parting[w]
}

// bound is who of a word goes with despawns or not at all: what bundle says of each, one by one.
func (p *packetWriter) bound(w int) uint64 {
	if !p.tied || p.torn {
		return 0
	}
	return p.v.ties.mine[w]
}

// leave makes the limits those of one despawn: one that is tied has its room, any
// other stops before what is kept for these. plain is the limit of others.
func (p *packetWriter) leave(index uint32, plain int) {
	if !p.tied {
		return
	}
	if p.v.ties.parting.has(index) {
		p.waiting--
		p.ending -= p.despawnBits(index)
		p.limit = p.full
		return
	}
	p.limit = min(plain, p.full-p.headed-p.kept-p.ending)
}

// together writes the records of the units that were placed.
func (p *packetWriter) together() {
	p.limit, p.waiting, p.kept = p.full, 0, 0
	for _, index := range p.v.ties.placed {
		if p.gather(index); len(p.v.lacking) > 0 && !p.fitsAll() {
			p.tear()
		}
	}
}

// bundle writes all that belongs to an index, where there are ties.
func (p *packetWriter) bundle(index uint32) (done, wrote bool) {
	v := p.v
	p.gone() // of others that this packet has already
	p.gather(index)
	switch {
	case v.ties.out && p.torn:
		return true, false // others of it may have gone one by one: it is its turn in the next tick
	case v.ties.out || len(v.ties.leaving) > 0:
		v.plan.took(index)
		return true, true // it goes with its despawns, or all of it in the next tick
	case len(v.lacking) <= 1:
		return false, false
	case p.fitsAll():
		return true, true
	case (p.sent.n > 0 || p.partial) && !p.outgrew():
		return true, false
	}
	n := v.ties.n
	if p.tear(); v.ties.n < n {
		return true, p.unit(index)
	}
	p.torn = true
	return false, false // it is one group
}

// outgrew reports whether the records of the unit that was gathered have been too
// many for a packet, in the worst case, for as long as the window: it does not
// wait for an empty one.
func (p *packetWriter) outgrew() bool {
	v, s := p.v, p.v.store
	size, old := emptyBits, false
	for _, index := range v.lacking {
		size += s.schema.recordBits(v.maskOf(index), v.tenants[index].generation)
		for n := v.ties.first[index]; n != 0; n = v.ties.nodes[n].next {
			old = old || p.s-v.ties.nodes[n].at >= s.cfg.Window
		}
	}
	return old && v.payload > 0 && size > 8*v.payload
}
