package snapshot

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/tick"
)

// groupLinks stores links between a group and entities that the client still has to see leave it: they died, were hidden, or
// went to another group or to none. A link lasts until a packet with the entity is acknowledged, since that packet has all
// that was lacking of the group (docs/adr/0018).
type groupLinks struct {
	n     int // there are; with none, nothing else here is looked at
	nodes []groupLink
	free  int32   // the first of those that are free, by next
	first []int32 // by index: its ties
	heads []int32 // by group modulo the length, a power of two: the ties of such groups
	atomicUnits
}

// groupLink links one index to one group. The zeroth is none.
type groupLink struct {
	index, group     uint32
	at               tick.Tick // since when
	next             int32     // the next one of the index
	before, follower int32     // of the same head
}

// tiesEach is the average number of links for each index.
const tiesEach = 2

// has reports whether an index has a link.
func (t *groupLinks) has(index uint32) bool { return int(index) < len(t.first) && t.first[index] != 0 }

// tie links an index to a group from a tick on. A link that exists is renewed. It says false when there is no room.
func (t *groupLinks) tie(index, group uint32, at tick.Tick) bool {
	t.changes++
	for n := t.first[index]; n != 0; n = t.nodes[n].next {
		if t.nodes[n].group == group {
			t.nodes[n].at = max(t.nodes[n].at, at)
			return true
		}
	}
	n := t.free
	switch {
	case n != 0:
		t.free = t.nodes[n].next
	case len(t.nodes) > tiesEach*len(t.first):
		return false
	default:
		n = int32(len(t.nodes))
		t.nodes = append(t.nodes, groupLink{})
	}
	t.nodes[n] = groupLink{index: index, group: group, at: at, next: t.first[index]}
	t.first[index] = n
	t.lead(n)
	t.n++
	return true
}

// lead puts a link first in the list of its head.
func (t *groupLinks) lead(n int32) {
	head := &t.heads[t.nodes[n].group&uint32(len(t.heads)-1)]
	t.nodes[n].before, t.nodes[n].follower = 0, *head
	if *head != 0 {
		t.nodes[*head].before = n
	}
	*head = n
}

// untie ends the links that an index had at a tick.
func (t *groupLinks) untie(index uint32, at tick.Tick) {
	if !t.has(index) {
		return
	}
	t.changes++
	for from := &t.first[index]; *from != 0; {
		n := *from
		d := &t.nodes[n]
		if d.at > at {
			from = &d.next
			continue
		}
		*from = d.next
		if d.before == 0 {
			t.heads[d.group&uint32(len(t.heads)-1)] = d.follower
		} else {
			t.nodes[d.before].follower = d.follower
		}
		if d.follower != 0 {
			t.nodes[d.follower].before = d.before
		}
		d.next, t.free = t.free, n
		t.n--
	}
}

// reserve makes room for the links of n indexes, with capacity for room of them.
func (t *groupLinks) reserve(n, room int) {
	if len(t.nodes) == 0 {
		t.nodes = append(t.nodes, groupLink{})
	}
	t.first = grown(t.first, n, room)
	t.marked, t.mine, t.parting = t.marked.grownTo(n), t.mine.grownTo(n), t.parting.grownTo(n)
	if n <= len(t.heads) {
		return
	}
	size := 64
	for size < n {
		size *= 2
	}
	t.heads = make([]int32, size)
	for index := range t.first {
		for n := t.first[index]; n != 0; n = t.nodes[n].next {
			t.lead(n)
		}
	}
}

// bind links an index to the group that it was in before tick t. It does nothing if there was none.
func (v *View) bind(index uint32, t tick.Tick) {
	group := v.groupBefore(index, t)
	if group == 0 {
		return
	}
	if len(v.ties.first) < len(v.acks) {
		v.ties.reserve(len(v.acks), cap(v.acks))
	}
	if !v.ties.tie(index, group, t) {
		v.stats.TornGroups++
	}
}

// left links the entities that left a group in the newest commit, if the client lacks something of them.
func (v *View) left() {
	for _, index := range v.store.groups.left {
		if v.visible.has(index) && v.moved(index) > v.ack(index).base {
			v.bind(index, v.store.tick)
		}
	}
}

// untieWord ends the links of some entities of a word: a packet of tick t with them was acknowledged.
func (t *groupLinks) untieWord(w uint32, of uint64, at tick.Tick) {
	for ; of != 0; of &= of - 1 {
		t.untie(w<<6+uint32(bits.TrailingZeros64(of)), at)
	}
}

// untie ends all links of an index.
func (v *View) untie(index uint32) {
	if v.ties.n > 0 {
		v.ties.untie(index, v.store.tick+1)
	}
}

// atomicUnits is the units of a packet that have despawns. A snapshot has despawns before records: so the units are chosen,
// and their room is kept, before anything is written.
type atomicUnits struct {
	leaving []uint32 // of the unit that was gathered: whose despawn is owed; the records are of View.lacking
	groups  groupSet // that it is of
	marked  bitset   // who is in it
	out     bool     // some of it belongs to another tick's packets

	seen    unitsKey  // as of which due and mine are
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
	stuck   tick.Tick // since then no packet has had room for the first one, with some left for messages; tick.None
}

// unitsKey is all that units depend on but packets. While it is the same, the units are those of the packet before, without
// those that were sent.
type unitsKey struct {
	tick, observed         tick.Tick
	changes, sights, looks uint64
}

func (v *View) unitsKey() unitsKey {
	return unitsKey{v.store.tick, v.observed, v.ties.changes, v.sights, v.overrides.looks}
}

// collectUnit lists the entities of the unit of an index, into lacking and leaving: what the client lacks of its groups, and
// of the groups of these.
func (p *packetWriter) collectUnit(index uint32) {
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
				if !v.despawnOwed.has(index) { // whose despawn is tied, if it is, to what it was in when it was hidden
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

// reach adds an index to the unit, with its groups, if the client lacks anything of it.
func (p *packetWriter) reach(index uint32) {
	v := p.v
	t := &v.ties
	group := uint32(0)
	switch {
	case t.marked.has(index):
		return
	case v.despawnOwed.has(index):
		t.leaving = append(t.leaving, index)
		t.out = t.out || v.lifetimes[index].ended > p.s || v.ack(index).went == p.s
	case v.visible.has(index) && v.moved(index) > v.ack(index).base:
		v.lacking = append(v.lacking, index)
		t.out = t.out || v.lifetimes[index].life > p.s || v.ack(index).went == p.s
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

func (t *atomicUnits) join(group uint32) {
	if group != 0 {
		t.groups.add(group)
	}
}

// each calls do for each index of the unit.
func (p *packetWriter) each(do func(index uint32)) {
	for _, index := range p.v.lacking {
		do(index)
	}
	for _, index := range p.v.ties.leaving {
		do(index)
	}
}

// chooseUnits chooses the units with despawns that the packet has, and keeps their room.
func (p *packetWriter) chooseUnits() {
	v := p.v
	t := &v.ties
	p.tied = true
	if now := v.unitsKey(); t.anew || now != t.seen {
		t.seen = now
		p.collectAll()
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
	p.writeListsHead()
	head := p.w
	if p.refers {
		p.ending = delta.MaxCodeLength // where a list ends
	}
	p.place()
	p.headed, p.kept = head.Bits()-mark.Bits(), p.w.Bits()-head.Bits()+t.slack
	p.w, p.run = mark, openRun{}
}

// collectAll finds all units with a despawn.
func (p *packetWriter) collectAll() {
	v := p.v
	t := &v.ties
	t.due = t.due[:0]
	t.mine.clear()
	for w := range v.despawnOwed {
		for word := v.despawnOwed[w] &^ t.mine[w]; word != 0; word &= word - 1 {
			if index := uint32(w<<6 + bits.TrailingZeros64(word)); t.has(index) && !t.mine.has(index) {
				p.find(index)
			}
		}
	}
}

// drop removes the units that the packet before has.
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
	p.collectUnit(index)
	p.each(func(index uint32) { due = due || p.v.unsent.has(index) })
	return due && !p.v.ties.out
}

// find collects the unit of an owed despawn.
func (p *packetWriter) find(index uint32) {
	v := p.v
	t := &v.ties
	p.collectUnit(index)
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

// place chooses as many of the due units as there is room for.
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
		p.collectUnit(index)
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
			p.splitUnit()
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

// measure writes the records of the collected unit. It returns the most bits that the unit takes with its despawns, and those
// of the despawns alone.
func (p *packetWriter) measure() (size, dead int) {
	v := p.v
	t := &v.ties
	size = -p.w.Bits() - t.slack
	for _, index := range v.lacking {
		p.prepare(index, &v.single)
		if p.writeAt(&v.single); p.run.n == 1 {
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
	return 1 + varBits(index) + varBits(p.v.lifetimes[index].shown)
}

// splitUnit ends the links of the collected unit.
func (p *packetWriter) splitUnit() {
	v := p.v
	v.stats.TornGroups++
	p.each(func(index uint32) {
		v.ties.untie(index, v.store.tick+1)
		v.ties.mine.unset(index)
	})
}

// despawnMask returns the entities of a word whose despawn may be in the packet.
func (p *packetWriter) despawnMask(w int) uint64 {
	if !p.tied {
		return p.v.unsent[w]
	}
	t := &p.v.ties
	return p.v.unsent[w]&^t.mine[w] | t.parting[w]
}

// unitMask returns the entities of a word that belong to a unit with a despawn. They are not written singly: writeUnit
// decides about each.
func (p *packetWriter) unitMask(w int) uint64 {
	if !p.tied || p.split {
		return 0
	}
	return p.v.ties.mine[w]
}

// limitDespawn sets the limit for one despawn. One of a chosen unit has its room kept; any other ends before the room that is kept.
// plain is the limit of the others.
func (p *packetWriter) limitDespawn(index uint32, plain int) {
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

// writeUnits writes the records of the chosen units.
func (p *packetWriter) writeUnits() {
	p.limit, p.waiting, p.kept = p.full, 0, 0
	for _, index := range p.v.ties.placed {
		if p.collectUnit(index); len(p.v.lacking) > 0 && !p.fitsAll() {
			p.splitUnit()
		}
	}
}

// writeUnit writes all that must be sent with an index, where there are links.
func (p *packetWriter) writeUnit(index uint32) (done, wrote bool) {
	v := p.v
	p.collectUnit(index)
	switch {
	case v.ties.out && p.split:
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
	if p.splitUnit(); v.ties.n < n {
		return true, p.writeEntity(index)
	}
	p.split = true
	return false, false // it is one group
}

// outgrew reports whether the records of the collected unit have not fit a packet, in the worst case, for the length of the
// window. Then the unit does not wait for an empty packet.
func (p *packetWriter) outgrew() bool {
	v, s := p.v, p.v.store
	size, old := emptyBits, false
	for _, index := range v.lacking {
		size += recordBits(s.schema, v.maskOf(index), v.lifetimes[index].generation)
		for n := v.ties.first[index]; n != 0; n = v.ties.nodes[n].next {
			old = old || p.s-v.ties.nodes[n].at >= s.cfg.Window
		}
	}
	return old && v.payload > 0 && size > 8*v.payload
}

// starvedGroup is a group that found no room in a packet, behind despawns or a list. A group of nearly a packet's size would
// find none for ever.
type starvedGroup struct {
	index   uint32    // one of the group, plus one; 0 = of none
	at      tick.Tick // when it found no room
	packets int       // that were written since
}

// patience is the number of packets that may leave such a group out.
const patience = 1

// refused notes that there was no room for an index, and reports whether it is large. A small record finds room in the next
// packet.
func (p *packetWriter) refused(index uint32) (large bool) {
	v := p.v
	large = p.w.Bits() < p.full/2
	if v.starved.index == 0 && (large || v.store.groups.at(index) != 0 || v.ties.has(index)) {
		v.starved = starvedGroup{index: index + 1, at: p.s}
	}
	return large
}

// passes reports whether a packet leaves out an index for which there was no room. It does where the budget cuts packets
// short: else a record larger than the tick's share would block all others.
func (p *packetWriter) passes(index uint32) bool {
	if !p.short || !p.v.plan.active || !p.refused(index) {
		return false
	}
	p.v.plan.took(index)
	return true
}

// beginsWithStarved reports whether a packet begins with the group that was left out. It counts the packets since then, and forgets a
// group that was sent meanwhile.
func (p *packetWriter) beginsWithStarved() bool {
	v := p.v
	h := &v.starved
	index := h.index - 1
	if v.ack(index).went >= h.at || !v.unsent.has(index) || v.despawnOwed.has(index) || v.lifetimes[index].life > p.s {
		*h = starvedGroup{}
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

// writeStarved writes the group that was left out. If messages left too little room even for that alone, the others come
// first. A budget may lend it room, and the others have theirs behind it.
func (p *packetWriter) writeStarved() {
	v := p.v
	h := v.starved
	v.starved = starvedGroup{}
	begun, share, partial := p.w.Bits(), p.limit, p.partial
	if p.short {
		p.limit, p.partial = p.most, !p.wholeLent()
	}
	if !p.writeEntity(h.index - 1) {
		v.cursor = h.index
	}
	p.partial = partial
	if p.limit = share; p.w.Bits() > share {
		p.limit = min(p.w.Bits()+share-begun, p.most)
	}
}
