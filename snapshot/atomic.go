package snapshot

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/tick"
)

// groupLinks stores links between groups and entities whose departure the client must still see together with the group: they died,
// were hidden, or changed to another group or none. A link ends when a packet with the entity is acknowledged, since that packet had
// everything that the client lacked of the group (docs/adr/0018).
type groupLinks struct {
	n     int         // number of links; if 0, no other field is read
	nodes []groupLink // the links; number 0 is unused
	free  int32       // first free node, linked by next
	first []int32     // by index: its first link
	heads []int32     // by group modulo the length, a power of two: the first link with such a group
	atomicUnits
}

// groupLink links one index to one group. Its neighbours in both lists are numbers of nodes, 0 for none.
type groupLink struct {
	index, group     uint32
	at               tick.Tick // tick of the departure
	next             int32     // the next link of the index, or the next free node
	before, follower int32     // neighbours in the list of its head
}

// linksEach bounds the average number of links of an index.
const linksEach = 2

// has reports whether an index has a link.
func (t *groupLinks) has(index uint32) bool { return int(index) < len(t.first) && t.first[index] != 0 }

// addLink links an index to a group as of tick at. An existing link gets that tick. It returns false if there is no room.
func (t *groupLinks) addLink(index, group uint32, at tick.Tick) bool {
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
	case len(t.nodes) > linksEach*len(t.first):
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

// endLinks ends the links of an index that were made at tick at or before.
func (t *groupLinks) endLinks(index uint32, at tick.Tick) {
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

// reserve makes room for the links of n indexes, with capacity for room indexes.
func (t *groupLinks) reserve(n, room int) {
	if len(t.nodes) == 0 {
		t.nodes = append(t.nodes, groupLink{})
	}
	t.first = grown(t.first, n, room)
	t.marked, t.unitMembers, t.despawnsNow = t.marked.grownTo(n), t.unitMembers.grownTo(n), t.despawnsNow.grownTo(n)
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

// bind links an index to its group at the tick before t, if it had one.
func (v *View) bind(index uint32, t tick.Tick) {
	group := v.groupBefore(index, t)
	if group == 0 {
		return
	}
	if len(v.links.first) < v.indexes {
		v.links.reserve(v.indexes, cap(v.store.gens))
	}
	if !v.links.addLink(index, group, t) {
		v.stats.TornGroups++
	}
}

// linkDepartures links the entities that left a group in the newest commit to that group, if the client lacks changes of them.
func (v *View) linkDepartures() {
	for _, index := range v.store.groups.left {
		if v.page(index).visible&bitOf(index) != 0 && v.changedAt(index) > v.ack(index).base {
			v.bind(index, v.store.tick)
		}
	}
}

// endLinksIn ends links of some entities of word w: a packet of tick at with them was acknowledged.
func (t *groupLinks) endLinksIn(w uint32, of uint64, at tick.Tick) {
	for ; of != 0; of &= of - 1 {
		t.endLinks(w<<6+uint32(bits.TrailingZeros64(of)), at)
	}
}

// endAllLinks ends all links of an index.
func (v *View) endAllLinks(index uint32) {
	if v.links.n > 0 {
		v.links.endLinks(index, v.store.tick+1)
	}
}

// atomicUnits is the atomic units of a packet that have despawns. An atomic unit is everything that must be in one packet: groups that
// are linked, with the despawns of their former members. Despawns come before records in a snapshot. So the units are chosen first,
// and the room of their records is reserved.
type atomicUnits struct {
	leaving []uint32 // collected unit: indexes with a despawn due; View.lacking has those with records
	groups  groupSet // collected unit: its groups
	marked  bitset   // collected unit: its indexes
	out     bool     // collected unit: a part of it belongs to packets of another tick

	seen        unitsKey  // the state for which due and unitMembers were computed
	changes     uint64    // counts changes of links, of what the client lacks and of what waits, except by packets
	anew        bool      // for tests: due and unitMembers are computed for each packet
	looked      int       // for tests: number of collected units
	due         []uint32  // units that may be sent: the lowest index with a despawn of each
	placed      []uint32  // those of due that are in this packet
	unitMembers bitset    // indexes of any unit with a despawn
	despawnsNow bitset    // indexes whose despawn is in this packet, by its unit
	cursor      uint32    // the unit to begin with: the last packet had no room for it; 0: none
	tookThird   bool      // the units of the last packet took more than a third of it
	slack       int       // bits that the units may take beyond what measure wrote, since runs are aligned
	stuck       tick.Tick // first tick of the packets that had too little room for the first unit, beside messages; tick.None: none
}

// unitsKey is everything that units depend on, except packets. While it stays the same, the units are those of the last packet without
// those that were sent.
type unitsKey struct {
	tick, observed         tick.Tick
	changes, sights, looks uint64
}

func (v *View) unitsKey() unitsKey {
	return unitsKey{v.store.tick, v.observed, v.links.changes, v.sights, v.overrides.looks}
}

// collectUnit collects the unit of an index into View.lacking and atomicUnits.leaving: what the client lacks of the index, of its
// groups, and of the groups of all of these.
func (p *packetWriter) collectUnit(index uint32) {
	v := p.v
	t := &v.links
	v.lacking, t.leaving, t.out = v.lacking[:0], t.leaving[:0], false
	t.groups.clear()
	t.looked++
	p.addToUnit(index)
	for i := 0; i < len(t.groups.list); i++ {
		group := t.groups.list[i]
		if m := v.store.groups.members[group]; m != nil {
			if v.splits(m) {
				continue
			}
			for _, index := range m.indexes {
				if v.page(index).despawnOwed&bitOf(index) == 0 { // whose despawn is due: its links tell the groups that it had when it was hidden
					p.addToUnit(index)
				}
			}
		}
		for n := t.heads[group&uint32(len(t.heads)-1)]; n != 0; n = t.nodes[n].follower {
			if t.nodes[n].group == group {
				p.addToUnit(t.nodes[n].index)
			}
		}
	}
	slices.Sort(v.lacking) // the order of links would tell the client about hidden entities
	for _, list := range [...][]uint32{v.lacking, t.leaving} {
		for _, index := range list {
			t.marked.unset(index)
		}
	}
}

// addToUnit adds an index and its groups to the collected unit, if the client lacks anything of it.
func (p *packetWriter) addToUnit(index uint32) {
	v := p.v
	t := &v.links
	group := uint32(0)
	switch {
	case t.marked.has(index):
		return
	case v.page(index).despawnOwed&bitOf(index) != 0:
		t.leaving = append(t.leaving, index)
		t.out = t.out || v.life(index).endedAt > p.s || v.ack(index).went == p.s
	case v.page(index).visible&bitOf(index) != 0 && v.changedAt(index) > v.ack(index).base:
		v.lacking = append(v.lacking, index)
		t.out = t.out || v.life(index).firstTick > p.s || v.ack(index).went == p.s
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

// join adds a group to the collected unit.
func (t *atomicUnits) join(group uint32) {
	if group != 0 {
		t.groups.add(group)
	}
}

// forEachMember calls do for each index of the collected unit.
func (p *packetWriter) forEachMember(do func(index uint32)) {
	for _, index := range p.v.lacking {
		do(index)
	}
	for _, index := range p.v.links.leaving {
		do(index)
	}
}

// chooseUnits chooses the units with despawns of this packet and reserves their room.
func (p *packetWriter) chooseUnits() {
	v := p.v
	t := &v.links
	p.linked = true
	if now := v.unitsKey(); t.anew || now != t.seen {
		t.seen = now
		p.collectAll()
	} else {
		p.dropSent()
	}
	t.placed = t.placed[:0]
	t.despawnsNow.clear()
	if len(t.due) == 0 {
		return
	}
	mark := p.w
	p.last, t.slack = 0, 0
	p.w.Bool(false) // the end of the despawns
	p.writeListsHead()
	head := p.w
	if p.refers {
		p.ending = delta.MaxCodeLength // the end of a list
	}
	p.fitUnits()
	p.headed, p.kept = head.Bits()-mark.Bits(), p.w.Bits()-head.Bits()+t.slack
	p.w, p.run = mark, openRun{}
}

// collectAll computes due and unitMembers: all units with a despawn.
func (p *packetWriter) collectAll() {
	v := p.v
	t := &v.links
	t.due = t.due[:0]
	t.unitMembers.clear()
	for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
		for word := v.pages[w].despawnOwed &^ t.unitMembers[w]; word != 0; word &= word - 1 {
			if index := uint32(w<<6 + bits.TrailingZeros64(word)); t.has(index) && !t.unitMembers.has(index) {
				p.collectDue(index)
			}
		}
	}
}

// dropSent removes from due the units that the last packet sent.
func (p *packetWriter) dropSent() {
	t := &p.v.links
	for i := 0; i < len(t.placed); {
		from, _ := slices.BinarySearch(t.due, t.placed[i])
		upTo := from
		for i < len(t.placed) && upTo < len(t.due) && t.due[upTo] == t.placed[i] && !p.remains(t.placed[i]) {
			upTo++ // most often they are neighbours in due
			i++
		}
		if upTo == from {
			i++
			continue
		}
		t.due = slices.Delete(t.due, from, upTo)
	}
}

// remains reports whether the unit of a despawn is still due in this tick.
func (p *packetWriter) remains(index uint32) (due bool) {
	p.collectUnit(index)
	p.forEachMember(func(index uint32) { due = due || p.v.page(index).unsent&bitOf(index) != 0 })
	return due && !p.v.links.out
}

// collectDue collects the unit of a despawn, and adds it to due if it may be sent now.
func (p *packetWriter) collectDue(index uint32) {
	v := p.v
	t := &v.links
	p.collectUnit(index)
	if len(t.leaving)+len(v.lacking) == 1 {
		return // a despawn alone is no unit: writeDespawns writes it
	}
	due := false
	p.forEachMember(func(index uint32) {
		t.unitMembers.set(index)
		due = due || v.page(index).unsent&bitOf(index) != 0
	})
	if due && !t.out {
		t.due = append(t.due, index)
	}
}

// fitUnits chooses those of the due units that fit the packet, in order from the cursor. If the last packet's units took more than a
// third of it, these get at most a third while other records wait. A unit that does not even fit an empty packet is split.
func (p *packetWriter) fitUnits() {
	t := &p.v.links
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
			p.full = min(need+p.full, p.most) // the first unit borrows its room, and other records keep theirs
		}
		fits := !p.w.Overflowed() && p.w.Bits()+t.slack+p.ending+dead <= p.full && p.sent.n+p.waiting+len(t.leaving)+len(p.v.lacking) <= maxRecords
		if fits && (alone || !t.tookThird || used+size <= third) {
			for _, index := range t.leaving {
				t.despawnsNow.set(index)
			}
			p.ending, p.waiting, used = p.ending+dead, p.waiting+len(t.leaving)+len(p.v.lacking), used+size
			if t.placed = append(t.placed, index); i == 0 {
				t.stuck = tick.None
			}
			continue
		}
		p.w, p.last, p.run, t.slack = w, last, run, slack
		switch {
		case !fits && p.tight && !p.wholeLent(): // the unit waits until the budget lends more room
		case !fits && i == 0 && p.partial && !p.tight && t.stuck == tick.None:
			t.stuck = p.s
		case !fits && len(t.placed) == 0 && (!p.partial || p.tight || i == 0 && p.s-t.stuck >= p.v.store.cfg.Window):
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
	t.tookThird = used > third
}

// othersWait reports whether anything waits that is in no unit with a despawn.
func (p *packetWriter) othersWait() bool {
	v := p.v
	for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
		if v.pages[w].unsent&^v.links.unitMembers[w] != 0 {
			return true
		}
	}
	return false
}

// measure writes the records of the collected unit. It returns the most bits of the unit with its despawns, and the most bits of the
// despawns alone.
func (p *packetWriter) measure() (size, dead int) {
	v := p.v
	t := &v.links
	size = -p.w.Bits() - t.slack
	for _, index := range v.lacking {
		p.prepare(index, &v.single)
		if p.writeAt(&v.single); p.run.n == 1 {
			t.slack += 7 // a new run is aligned to a byte: at another position it may need 7 more zeros
		}
	}
	for _, index := range t.leaving {
		dead += p.despawnBits(index)
	}
	return size + p.w.Bits() + t.slack + dead, dead
}

// despawnBits returns the most bits of a despawn.
func (p *packetWriter) despawnBits(index uint32) int {
	return 1 + varBits(index) + varBits(p.v.life(index).shownGeneration)
}

// splitUnit ends the links of the collected unit, so that its entities are sent apart.
func (p *packetWriter) splitUnit() {
	v := p.v
	v.stats.TornGroups++
	p.forEachMember(func(index uint32) {
		v.links.endLinks(index, v.store.tick+1)
		v.links.unitMembers.unset(index)
	})
}

// despawnMask returns the entities of word w whose despawn may be in this packet.
func (p *packetWriter) despawnMask(w int) uint64 {
	if !p.linked {
		return p.v.pages[w].unsent
	}
	t := &p.v.links
	return p.v.pages[w].unsent&^t.unitMembers[w] | t.despawnsNow[w]
}

// unitMask returns the entities of word w that belong to a unit with a despawn. They are not written singly; writeUnit decides about
// each.
func (p *packetWriter) unitMask(w int) uint64 {
	if !p.linked || p.split {
		return 0
	}
	return p.v.links.unitMembers[w]
}

// limitDespawn sets the limit for the despawn of an index. A despawn of a chosen unit uses the room that was reserved for it. Any
// other despawn ends before the reserved room, and at plain at the latest.
func (p *packetWriter) limitDespawn(index uint32, plain int) {
	if !p.linked {
		return
	}
	if p.v.links.despawnsNow.has(index) {
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
	for _, index := range p.v.links.placed {
		if p.collectUnit(index); len(p.v.lacking) > 0 && !p.tryWriteLacking() {
			p.splitUnit()
		}
	}
}

// writeUnit writes the unit of an index. done false means that the caller goes on with the entity alone or with its group. wrote false
// means that the packet has no room.
func (p *packetWriter) writeUnit(index uint32) (done, wrote bool) {
	v := p.v
	p.collectUnit(index)
	switch {
	case v.links.out && p.split:
		return true, false // other entities of it may have been sent one by one: the unit is sent in the next tick
	case v.links.out || len(v.links.leaving) > 0:
		v.took(index)
		return true, true // it is sent with its despawns, or as a whole in the next tick
	case len(v.lacking) <= 1:
		return false, false
	case p.tryWriteLacking():
		return true, true
	case (p.sent.n > 0 || p.partial) && !p.outgrew():
		return true, false
	}
	n := v.links.n
	if p.splitUnit(); v.links.n < n {
		return true, p.writeEntity(index)
	}
	p.split = true
	return false, false // the unit has no links: it is one group
}

// outgrew reports whether the collected unit has links older than W, and full records that are larger than a payload. Such a unit does
// not wait for an empty packet.
func (p *packetWriter) outgrew() bool {
	v, s := p.v, p.v.store
	size, old := emptyBits, false
	for _, index := range v.lacking {
		size += v.recordBits(index, v.life(index).generation)
		for n := v.links.first[index]; n != 0; n = v.links.nodes[n].next {
			old = old || p.s-v.links.nodes[n].at >= s.cfg.Window
		}
	}
	return old && v.payload > 0 && size > 8*v.payload
}

// starvedGroup is an entity, group or unit that found no room behind despawns or a list. If it is almost as large as a packet, it
// would never find room there. So a later packet begins with it.
type starvedGroup struct {
	index   uint32    // 1 + an index of it; 0: there is none
	at      tick.Tick // when it found no room
	packets int       // packets since then
}

// patience is the number of packets that may be written without the starved group.
const patience = 1

// noteStarved notes that there was no room for an index, and reports whether its record is large: more than half of the packet was free. A
// small record fits the next packet.
func (p *packetWriter) noteStarved(index uint32) (large bool) {
	v := p.v
	large = p.w.Bits() < p.full/2
	if v.starved.index == 0 && (large || v.store.groups.at(index) != 0 || v.links.has(index)) {
		v.starved = starvedGroup{index: index + 1, at: p.s}
	}
	return large
}

// skipUnderBudget reports whether the packet leaves out an index that found no room, and goes on with the next one. It does so only under a
// short budget: otherwise a record larger than the tick's share would block all others.
func (p *packetWriter) skipUnderBudget(index uint32) bool {
	if !p.tight || !p.v.plan.active || !p.noteStarved(index) {
		return false
	}
	p.v.took(index)
	return true
}

// takeStarved reports whether this packet begins with the starved group. It counts the packets, and forgets a group that was
// sent meanwhile.
func (p *packetWriter) takeStarved() bool {
	v := p.v
	h := &v.starved
	index := h.index - 1
	if v.ack(index).went >= h.at || v.page(index).unsent&bitOf(index) == 0 || v.page(index).despawnOwed&bitOf(index) != 0 || v.life(index).firstTick > p.s {
		*h = starvedGroup{}
		return false
	}
	h.packets++
	if p.tight {
		return p.most > p.full
	}
	return h.packets > patience
}

// wholeLent reports whether the budget lends a whole packet.
func (p *packetWriter) wholeLent() bool { return p.most >= 8*p.v.payload-endBits }

// writeStarved writes the starved group. If messages left too little room for it, other records come first. If the group borrows room,
// the limit rises, so that other records keep their room behind it.
func (p *packetWriter) writeStarved() {
	v := p.v
	h := v.starved
	v.starved = starvedGroup{}
	begun, share, partial := p.w.Bits(), p.limit, p.partial
	if p.tight {
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
