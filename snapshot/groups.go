package snapshot

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// groups stores which entities are sent together or not at all. Group 0 is none.
type groups struct {
	of      []uint32            // per index
	any     bitset              // indexes that are in one
	members map[uint32]*members // by group; looked up by key only, never ranged over
	spare   []*members
	made    int      // how many members there are, those included that are spare
	large   []uint32 // groups found too large for a packet in this tick

	left   []uint32    // indexes whose group the capture of this tick changed
	leftAt []tick.Tick // per index: when that was last
	was    []uint32    // per index: the group before
}

// members is the entities of one group, ascending.
type members struct {
	indexes []uint32
	split   bool // too large for a packet in the worst case, for who sees all of it: see View.splits
	number  int  // of its own
}

// SetGroup puts an entity into a group, or out of any with 0, and reports whether the entity is alive. All that a client
// lacks of a group's visible members is in one packet, with the despawns of members that died or were hidden and with those
// that left. A group that does not fit a packet in the worst case, as a client sees it, is sent entity by entity.
// [Store.LargeGroups] lists groups that do not fit for a client that sees all. It is part of a capture, like Set.
func (s *Store) SetGroup(id wire.NetworkID, group uint32) bool {
	if !s.Alive(id) {
		return false
	}
	g := &s.groups
	if uint(id.Index) >= uint(len(g.of)) {
		if group == 0 {
			return true
		}
		g.of = grown(g.of, int(id.Index)+1, cap(s.rows.masks))
		g.leftAt = grown(g.leftAt, int(id.Index)+1, cap(s.rows.masks))
		g.was = grown(g.was, int(id.Index)+1, cap(s.rows.masks))
	}
	if g.of[id.Index] == group {
		return true
	}
	if g.leftAt[id.Index] != s.tick {
		g.left = append(g.left, id.Index)
		g.leftAt[id.Index], g.was[id.Index] = s.tick, g.of[id.Index]
	}
	g.leave(s, id.Index)
	g.join(s, id.Index, group)
	return true
}

// Group returns the group of an entity, 0 when it has none or is not alive.
func (s *Store) Group(id wire.NetworkID) uint32 {
	if !s.Alive(id) {
		return 0
	}
	return s.groups.at(id.Index)
}

// Turn reports whether a component that is captured every so many ticks has its turn in one of the ticks after before, up to
// now. Entities have different turns, but members of a group the same: else a write to two of them would be seen in parts. An
// entity that goes from group to group takes each group's turn.
func (s *Store) Turn(id wire.NetworkID, every, before, now tick.Tick) bool {
	phase := tick.Tick(id.Index)
	if group := s.Group(id); group != 0 {
		phase = tick.Tick(group)
	}
	return (now+phase)/every != (before+phase)/every
}

// Members returns the indexes of a group's entities, ascending. The slice is the store's own: read it, do not store it.
func (s *Store) Members(group uint32) []uint32 {
	if m := s.groups.members[group]; m != nil {
		return m.indexes
	}
	return nil
}

// LargeGroups lists the groups that became too large for a packet since ClearLargeGroups, for a client that sees all of their
// members and components.
func (s *Store) LargeGroups() []uint32 { return s.groups.large }

// ClearLargeGroups starts a new list.
func (s *Store) ClearLargeGroups() { s.groups.large = s.groups.large[:0] }

// groupBefore returns the group, at the tick before t, of the entity of an index that the client was told of last. It is 0 if
// that was not there yet. t is the tick of the newest capture or the next one.
func (v *View) groupBefore(index uint32, t tick.Tick) uint32 {
	s := v.store
	g := &s.groups
	switch {
	case int(index) >= len(g.of) || t == s.tick && s.born[index] == t && v.lifetimes[index].generation == s.gens[index]:
		return 0
	case g.leftAt[index] == t:
		return g.was[index]
	}
	return g.of[index]
}

func (g *groups) at(index uint32) uint32 {
	if int(index) >= len(g.of) {
		return 0
	}
	return g.of[index]
}

// in returns the entities of a word that are in groups.
func (g *groups) in(w uint32) uint64 {
	if int(w) >= len(g.any) {
		return 0
	}
	return g.any[w]
}

func (g *groups) join(s *Store, index, group uint32) {
	g.of[index] = group
	if group == 0 {
		return
	}
	g.any = g.any.grownTo(int(index) + 1)
	g.any.set(index)
	m := g.members[group]
	if m == nil {
		m = g.fresh()
		if g.members == nil {
			g.members = map[uint32]*members{}
		}
		g.members[group] = m
	}
	at, _ := slices.BinarySearch(m.indexes, index)
	m.indexes = slices.Insert(m.indexes, at, index)
	if !m.split { // one more makes nothing smaller
		g.measure(s, group, m)
	}
}

func (g *groups) leave(s *Store, index uint32) {
	group := g.of[index]
	if group == 0 {
		return
	}
	g.of[index] = 0
	g.any.unset(index)
	m := g.members[group]
	at, _ := slices.BinarySearch(m.indexes, index)
	m.indexes = slices.Delete(m.indexes, at, at+1)
	if len(m.indexes) == 0 {
		delete(g.members, group)
		g.spare = append(g.spare, m)
		return
	}
	g.measure(s, group, m)
}

func (g *groups) fresh() *members {
	if n := len(g.spare); n > 0 {
		m := g.spare[n-1]
		g.spare = g.spare[:n-1]
		m.split = false
		return m
	}
	g.made++
	return &members{number: g.made - 1}
}

// grew measures a group anew when one of its members got a row.
func (g *groups) grew(s *Store, index uint32) {
	if group := g.at(index); group != 0 {
		g.measure(s, group, g.members[group])
	}
}

// measure finds out whether a group fits a packet in the worst case: all records full.
func (g *groups) measure(s *Store, group uint32, m *members) {
	if s.cfg.Payload <= 0 {
		return
	}
	limit := 8 * s.cfg.Payload
	split := m.least(s, limit) > limit
	if split && !m.split {
		g.large = append(g.large, group)
	}
	m.split = split
}

// least returns the bits of all members in the worst case, counted up to the first that passes a limit. So the cost of a
// change does not grow with the group.
func (m *members) least(s *Store, limit int) int {
	size := emptyBits
	for _, index := range m.indexes {
		if size += recordBits(s.schema, s.rows.masks[index].Minus(s.schema.Coarse), s.gens[index]); size > limit {
			break
		}
	}
	return size
}

const (
	// emptyBits is the most that a snapshot takes without records: tick, epoch,
	// part, that there is a list, its tick and part, its end, and the room
	// that Write keeps for the other ends.
	emptyBits = 16 + 1 + 16 + smallVar + 1 + 2*smallVar + nearVar + delta.MaxCodeLength + endBits
	// smallVar is the most that the Var code of a number below 2^15 takes.
	smallVar = 29
	// nearVar is the same of a number that says how near another tick is.
	nearVar = 7
	// recordHead is the most that an absolute record takes before its
	// generation: the symbol of its gap, which also says that it is odd, the
	// gap's bits below the leading one, and that it is full.
	recordHead = delta.MaxCodeLength + 31 + 1
)

// recordBits returns the most bits of a full record of these rows.
func recordBits(s *Schema, rows Mask, generation uint32) int {
	size := recordHead + varBits(generation) + s.MaskBits(rows)
	for ; !rows.IsZero(); rows = rows.Rest() {
		size += s.Plan(rows.Lowest()).Bits()
	}
	return size
}

// varBits returns the length of a number's Var code.
func varBits(v uint32) int { return 2*bits.Len64((uint64(v)+4)>>2) + 1 }

// groupSet is the groups of a unit, each once, in the order of their arrival. A unit may have as many groups as the game has,
// where entities went from one to the next and nothing was acknowledged meanwhile.
type groupSet struct {
	list  []uint32
	slots []groupSlot // a power of two, at least twice as many as the list has; nothing as long as that is short
	round uint32      // in which a slot is taken
}

type groupSlot struct{ group, round uint32 }

// shortList is the length up to which the list is searched without the table.
const shortList = 16

func (g *groupSet) clear() {
	g.list = g.list[:0]
	if g.round++; g.round == 0 { // gone around
		clear(g.slots)
		g.round = 1
	}
}

// add puts a group in, once.
func (g *groupSet) add(group uint32) {
	if len(g.list) < shortList {
		for _, other := range g.list {
			if other == group {
				return
			}
		}
		if g.list = append(g.list, group); len(g.list) == shortList {
			g.lookUp()
		}
		return
	}
	if !g.take(group) {
		return
	}
	if g.list = append(g.list, group); 2*len(g.list) > len(g.slots) {
		g.lookUp()
	}
}

// lookUp puts the list into the table, with room for as many again.
func (g *groupSet) lookUp() {
	if need := 4 * len(g.list); len(g.slots) < need {
		size := 4 * shortList
		for size < need {
			size *= 2
		}
		g.slots = make([]groupSlot, size)
		g.round = 1
	}
	for _, group := range g.list {
		g.take(group)
	}
}

// take takes the place of a group in the table, and reports whether it was free.
func (g *groupSet) take(group uint32) bool {
	mask := uint32(len(g.slots) - 1)
	for at := group * 0x9E3779B1 >> (33 - bits.Len(uint(len(g.slots)))); ; at = (at + 1) & mask { // the golden ratio's upper bits: numbers are often alike in some of theirs
		switch s := &g.slots[at]; {
		case s.round != g.round:
			*s = groupSlot{group, g.round}
			return true
		case s.group == group:
			return false
		}
	}
}

// visibleGroupSize caches whether the members of a group that a client sees are too large for a packet.
type visibleGroupSize struct {
	tick  tick.Tick // when it was computed
	looks uint64    // the number of changes of what the client sees until then
	large bool
}

// groupOf returns the group of an index that is sent to this client in one packet, nil if there is none.
func (v *View) groupOf(index uint32) *members {
	group := v.store.groups.at(index)
	if group == 0 {
		return nil
	}
	if m := v.store.groups.members[group]; !v.splits(m) {
		return m
	}
	return nil
}

// splits reports whether a group is sent to this client entity by entity, since the members that it sees do not fit a packet
// in the worst case. It is found out once a tick.
func (v *View) splits(m *members) bool {
	s := v.store
	if !m.split && v.payload >= s.cfg.Payload {
		return false
	}
	v.portions = grown(v.portions, m.number+1, s.groups.made)
	p := &v.portions[m.number]
	if looks := v.sights + v.overrides.looks; p.tick != s.tick || p.looks != looks {
		*p = visibleGroupSize{tick: s.tick, looks: looks, large: v.large(m)}
	}
	return p.large
}

// large measures the members of a group that the client sees, up to the size of a packet.
func (v *View) large(m *members) bool {
	s, size := v.store, emptyBits
	for _, index := range m.indexes {
		if !v.visible.has(index) {
			continue
		}
		if size += recordBits(s.schema, v.maskOf(index), s.gens[index]); size > 8*v.payload {
			return true
		}
	}
	return false
}

// SetPayload bounds the payloads for this client, in bytes, up to Config.Payload. Groups that do not fit are sent to it
// entity by entity.
func (v *View) SetPayload(n int) {
	if v.store.cfg.Payload <= 0 {
		return
	}
	v.payload = min(max(n, 1), v.store.cfg.Payload)
	clear(v.portions)
}

// writeGroup writes all that the client lacks of a group, in one packet. If even an empty packet has no room, its members are
// written one by one: done is false.
func (p *packetWriter) writeGroup(m *members) (done, wrote bool) {
	v := p.v
	v.lacking = v.lacking[:0]
	for _, index := range m.indexes {
		switch {
		case !v.visible.has(index) || v.moved(index) <= v.ack(index).base:
		case v.lifetimes[index].life > p.s || v.ack(index).went == p.s:
			return true, true // some of it is out already: all of it follows in the next tick
		default:
			v.lacking = append(v.lacking, index)
		}
	}
	if len(v.lacking) <= 1 {
		return false, false
	}
	if p.fitsAll() {
		return true, true
	}
	if p.sent.n > 0 || p.partial {
		return true, false
	}
	v.stats.TornGroups++
	return false, false
}

// fitsAll writes the records of v.lacking, all or none.
func (p *packetWriter) fitsAll() bool {
	v := p.v
	if p.sent.n+len(v.lacking) > maxRecords-p.waiting {
		return false
	}
	v.records = v.records[:0]
	if !p.fits(func() {
		for _, index := range v.lacking {
			v.records = append(v.records, record{})
			r := &v.records[len(v.records)-1]
			p.prepare(index, r)
			p.writeAt(r)
		}
	}) {
		return false
	}
	for i := range v.records {
		p.recordSent(&v.records[i])
	}
	return true
}
