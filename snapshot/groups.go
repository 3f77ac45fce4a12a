package snapshot

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// groups is the groups of all entities. The members of a group are sent together or not at all. Group 0 means none.
type groups struct {
	of      []uint32                 // by index: its group
	any     bitset                   // indexes with a group
	members map[uint32]*groupMembers // by group; never ranged over, since the order is random
	spare   []*groupMembers          // of groups that are empty, for new groups
	made    int                      // number of groupMembers structs, with the spare ones
	large   []uint32                 // groups that became too large for a packet; see LargeGroups

	left   []uint32    // indexes whose group changed in this tick's capture
	leftAt []tick.Tick // by index: the tick of its newest change of group
	was    []uint32    // by index: the group before that change
}

// groupMembers is the indexes of one group's entities, ascending.
type groupMembers struct {
	indexes []uint32
	split   bool // too large for a packet in the worst case, for a client that sees all of it; see View.splits
	number  int  // place in View.portions
}

// SetGroup puts an entity into a group, or with 0 into none, and reports whether the entity is alive. Like Set, it is part of a
// capture.
//
// A client gets all changes of a group's visible members in one packet. The packet also has the despawns of members that died or were
// hidden, and the changes of those that left the group. A group that would not fit a packet with full records of all members that the
// client sees is sent entity by entity. [Store.LargeGroups] lists the groups that do not fit for a client that sees everything.
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

// Group returns the group of an entity, 0 if it has none or is not alive.
func (s *Store) Group(id wire.NetworkID) uint32 {
	if !s.Alive(id) {
		return 0
	}
	return s.groups.at(id.Index)
}

// Turn reports whether a component that is captured each every ticks is due in one of the ticks after before, up to now. Entities are
// due at different ticks, to spread the load. Members of a group are due at the same tick: otherwise a client could see only a part of
// a write to two of them.
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

// LargeGroups returns the groups that became too large for a packet since ClearLargeGroups, for a client that sees all of their
// members and components.
func (s *Store) LargeGroups() []uint32 { return s.groups.large }

// ClearLargeGroups empties the list of LargeGroups.
func (s *Store) ClearLargeGroups() { s.groups.large = s.groups.large[:0] }

// groupBefore returns the group that the client's entity of an index was in at the tick before t. It returns 0 if the entity was
// spawned at t. t is the tick of the newest capture or the next one.
func (v *View) groupBefore(index uint32, t tick.Tick) uint32 {
	s := v.store
	g := &s.groups
	switch {
	case int(index) >= len(g.of) || t == s.tick && s.bornAt[index] == t && v.life(index).generation == s.gens[index]:
		return 0
	case g.leftAt[index] == t:
		return g.was[index]
	}
	return g.of[index]
}

// at returns the group of an index, 0 if it has none.
func (g *groups) at(index uint32) uint32 {
	if int(index) >= len(g.of) {
		return 0
	}
	return g.of[index]
}

// in returns the entities of word w with a group.
func (g *groups) in(w uint32) uint64 {
	if int(w) >= len(g.any) {
		return 0
	}
	return g.any[w]
}

// join adds an index to a group; 0 does nothing.
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
			g.members = map[uint32]*groupMembers{}
		}
		g.members[group] = m
	}
	at, _ := slices.BinarySearch(m.indexes, index)
	m.indexes = slices.Insert(m.indexes, at, index)
	if !m.split { // a group that is too large stays so with one more member
		g.measure(s, group, m)
	}
}

// leave removes an index from its group.
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

// fresh returns an empty group.
func (g *groups) fresh() *groupMembers {
	if n := len(g.spare); n > 0 {
		m := g.spare[n-1]
		g.spare = g.spare[:n-1]
		m.split = false
		return m
	}
	g.made++
	return &groupMembers{number: g.made - 1}
}

// grew measures the group of an entity again after the entity got a row.
func (g *groups) grew(s *Store, index uint32) {
	if group := g.at(index); group != 0 {
		g.measure(s, group, g.members[group])
	}
}

// measure finds out whether a group fits a packet in the worst case: all records full. A group that does not is added to large.
func (g *groups) measure(s *Store, group uint32, m *groupMembers) {
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

// least returns the bits of the members' full records, or some number above limit. It stops there, so that the cost does not grow with
// the group.
func (m *groupMembers) least(s *Store, limit int) int {
	size := emptyBits
	for _, index := range m.indexes {
		if size += recordBits(s.schema, s.rows.masks[index].Minus(s.schema.Coarse), s.gens[index]); size > limit {
			break
		}
	}
	return size
}

const (
	// emptyBits is the most bits of a snapshot without records: tick, epoch, ends, and the head of one list. Write also reserves
	// endBits for the other ends.
	emptyBits = 16 + 1 + 16 + smallVar + 1 + 2*smallVar + nearVar + delta.MaxCodeLength + endBits
	// smallVar is the most bits of the Var code of a number below 2^15.
	smallVar = 29
	// nearVar is the most bits of the Var code of R - N.
	nearVar = 7
	// recordHead is the most bits of a full record before its generation: the symbol of the gap, the gap's raw bits, and the bit that
	// tells it is full.
	recordHead = delta.MaxCodeLength + 31 + 1
)

// recordBits returns the most bits of a full record with these rows.
func recordBits(s *Schema, rows Mask, generation uint32) int {
	size := recordHead + varBits(generation) + s.MaskBits(rows)
	for ; !rows.IsZero(); rows = rows.Rest() {
		size += s.Plan(rows.Lowest()).Bits()
	}
	return size
}

// recordBits returns the most bits of a record of an entity with all rows that the client may see.
func (v *View) recordBits(index, generation uint32) int {
	mask := v.maskOf(index)
	size := recordBits(v.store.schema, mask, generation)
	if v.plain {
		size += v.store.schema.Rows() + mask.Count()
	}
	return size
}

// varBits returns the length in bits of a number's Var code.
func varBits(v uint32) int { return 2*bits.Len64((uint64(v)+4)>>2) + 1 }

// groupSet is a set of groups in the order in which they were added. A unit may have any number of groups: entities may have moved
// from group to group while nothing was acknowledged.
type groupSet struct{ list, sorted []uint32 }

func (g *groupSet) clear() { g.list, g.sorted = g.list[:0], g.sorted[:0] }

// add adds a group, if the set does not have it.
func (g *groupSet) add(group uint32) {
	if at, has := slices.BinarySearch(g.sorted, group); !has {
		g.list, g.sorted = append(g.list, group), slices.Insert(g.sorted, at, group)
	}
}

// visibleGroupSize caches whether the visible members of a group are too large for a packet.
type visibleGroupSize struct {
	tick  tick.Tick // when it was computed
	looks uint64    // View.sights + clientOverrides.looks at that time
	large bool
}

// groupOf returns the group of an index that is sent to this client in one packet, nil if there is none.
func (v *View) groupOf(index uint32) *groupMembers {
	group := v.store.groups.at(index)
	if group == 0 {
		return nil
	}
	if m := v.store.groups.members[group]; !v.splits(m) {
		return m
	}
	return nil
}

// splits reports whether a group is sent to this client entity by entity: full records of the members that it sees do not fit a
// packet. The result is cached for a tick, unless the client's sight changes.
func (v *View) splits(m *groupMembers) bool {
	s := v.store
	if !m.split && v.payload >= s.cfg.Payload && !v.plain {
		return false
	}
	v.portions = grown(v.portions, m.number+1, s.groups.made)
	p := &v.portions[m.number]
	if looks := v.sights + v.overrides.looks; p.tick != s.tick || p.looks != looks {
		*p = visibleGroupSize{tick: s.tick, looks: looks, large: v.groupTooLarge(m)}
	}
	return p.large
}

// groupTooLarge reports whether full records of the members that the client sees are larger than a payload.
func (v *View) groupTooLarge(m *groupMembers) bool {
	s, size := v.store, emptyBits
	for _, index := range m.indexes {
		if v.page(index).visible&bitOf(index) == 0 {
			continue
		}
		if size += v.recordBits(index, s.gens[index]); size > 8*v.payload {
			return true
		}
	}
	return false
}

// SetPayload bounds the payloads for this client, in bytes, up to Config.Payload. Groups that do not fit are sent to it entity by
// entity.
func (v *View) SetPayload(n int) {
	if v.store.cfg.Payload <= 0 {
		return
	}
	v.payload = min(max(n, 1), v.store.cfg.Payload)
	clear(v.portions)
}

// writeGroup writes everything that the client lacks of a group, if it fits. done false means that the caller writes the entity alone:
// the client lacks at most one member, or the group does not even fit an empty packet. wrote false means that the packet has no room.
func (p *packetWriter) writeGroup(m *groupMembers) (done, wrote bool) {
	v := p.v
	v.lacking = v.lacking[:0]
	for _, index := range m.indexes {
		switch {
		case v.page(index).visible&bitOf(index) == 0 || v.changedAt(index) <= v.ack(index).base:
		case v.life(index).firstTick > p.s || v.ack(index).went == p.s:
			return true, true // a member cannot be sent again in this tick: the whole group is sent in the next
		default:
			v.lacking = append(v.lacking, index)
		}
	}
	if len(v.lacking) <= 1 {
		return false, false
	}
	if p.tryWriteLacking() {
		return true, true
	}
	if p.sent.n > 0 || p.partial {
		return true, false
	}
	v.stats.TornGroups++
	return false, false
}

// tryWriteLacking writes the records of the entities in v.lacking, all or none. It reports whether they fit.
func (p *packetWriter) tryWriteLacking() bool {
	v := p.v
	if p.sent.n+len(v.lacking) > maxRecords-p.waiting {
		return false
	}
	v.records = v.records[:0]
	if !p.tryWrite(func() {
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
