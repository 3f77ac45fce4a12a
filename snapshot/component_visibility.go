package snapshot

import (
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// sightState has the rows that a client sees of an entity, and changes of that for this client alone. It is kept with the lifetime, so
// only for entities that the client sees, or saw a short time ago.
type sightState struct {
	veil         Mask      // rows that the client does not see
	shapedAt     tick.Tick // if there are such: newest tick in which a capture changed the set of rows that the client sees
	touchedAt    tick.Tick // newest change for this client alone
	retargetedAt tick.Tick // newest change, as this client reads it, of a row that names entities; see View.refreshRefs
	weight       uint16    // relevance in 1/NormalWeight; 0: never set
	shared       bool      // it shows Schema.Owned to this client, which is not its owner
}

// clientOverrides is the rest of what differs from client to client.
type clientOverrides struct {
	usual           Mask          // rows hidden at first: bands, and rows that the client's build does not have
	banded          bool          // SetBanded was called
	veils           bool          // rows of any entity were hidden
	retargets       bool          // any sightState has a retargetedAt
	rowRetargetedAt [][]tick.Tick // retargetedAt by row and index
	looks           uint64        // number of changes of rows
	lastTouched     tick.Tick     // the newest touchedAt
}

// sendable returns one row in rows of each component with bands or older forms, the finest one that the client's build has, and the
// other rows that it has.
func (v *View) sendable(rows Mask) Mask {
	next := rows.Minus(v.unknown)
	for _, c := range v.store.schema.Families() {
		given := rows.Intersect(c.Family)
		if given.Has(c.Row) && v.unknown.Has(c.Row) {
			given = c.Family
		}
		next = next.Minus(c.Family)
		if given = given.Minus(v.unknown); !given.IsZero() {
			next = next.With(given.Lowest())
		}
	}
	return next
}

// ownedByOthers returns the rows of an entity that only its owner sees, for a client that is not its owner.
func (v *View) ownedByOthers(index uint32) Mask {
	s := v.store
	if s.schema.Owned.IsZero() || v.client == 0 || v.life(index).shared {
		return Mask{}
	}
	has := s.rows.masks[index]
	if !has.Overlaps(s.schema.Owned) || has.Overlaps(s.schema.Shared) || int(index) < len(s.owners) && s.owners[index] == v.client {
		return Mask{}
	}
	return s.schema.Owned
}

// ShowOwned shows the client the rows of a visible entity that only its owner sees, until the lifetime ends.
func (v *View) ShowOwned(id wire.NetworkID) {
	v.decide(sightCall{id: id, do: func(v *View, c sightCall) {
		if v.Visible(c.id) && !v.ownedByOthers(c.id.Index).IsZero() {
			v.life(c.id.Index).shared = true
			v.changeRows(c.id.Index, v.rowsOf(c.id.Index).Union(v.store.schema.Owned.Minus(v.unknown)))
		}
	}})
}

// changeRows sets the rows of a visible entity that the client sees.
func (v *View) changeRows(index uint32, rows Mask) {
	was, schema := v.rowsOf(index), v.store.schema
	if was == rows {
		return
	}
	if !schema.Fold(was).Within(schema.Fold(rows)) {
		v.noteHidden(index, false)
	}
	if v.page(index).masked&bitOf(index) == 0 {
		v.life(index).shapedAt = v.store.shapedAt[index]
	}
	v.hideRows(index, rows.Not())
	if was.Differ(rows).Overlaps(v.store.rows.masks[index]) {
		v.touch(index, v.next())
	}
}

// hideRows sets the rows of an index that are hidden. A hidden row does not exist for the client: no change of it causes a record, now
// or later. Only entities with hidden rows (masked) take the slower tests below.
func (v *View) hideRows(index uint32, rows Mask) {
	v.life(index).veil = rows
	v.overrides.looks++
	if g := v.page(index); rows.IsZero() {
		g.masked &^= bitOf(index)
	} else {
		g.masked |= bitOf(index)
		v.overrides.veils = true
	}
}

// Rows returns the components of an entity that the client may see, whether the entity has them or not. It returns none if the entity
// is not visible.
func (v *View) Rows(id wire.NetworkID) Mask { return v.store.schema.Fold(v.Sight(id)) }

// Sight returns the rows that SetSight set, those of bands and of older builds included. It returns none if the entity is not visible.
func (v *View) Sight(id wire.NetworkID) Mask {
	if !v.Visible(id) {
		return Mask{}
	}
	return v.rowsOf(id.Index)
}

// SetBanded notes that the distances of this client are measured.
func (v *View) SetBanded() { v.overrides.banded = true }

// LacksBands reports whether the client sees an entity with bands, and SetBanded was never called.
func (v *View) LacksBands() bool {
	if v.overrides.banded {
		return false
	}
	for id := range v.Seen {
		if v.store.rows.masks[id.Index].Overlaps(v.store.schema.Coarse.Minus(v.store.schema.Older)) {
			return true
		}
	}
	return false
}

// rowsOf returns the rows of an index that the client may see.
func (v *View) rowsOf(index uint32) Mask {
	if v.page(index).masked&bitOf(index) == 0 {
		return AllRows()
	}
	return v.life(index).veil.Not()
}

// maskOf returns the rows that an entity has and the client may see.
func (v *View) maskOf(index uint32) Mask {
	if v.page(index).masked&bitOf(index) == 0 {
		return v.store.rows.masks[index]
	}
	return v.store.rows.masks[index].Minus(v.life(index).veil)
}

// usuallySeen reports whether each of some entities of page w has exactly the rows hidden that are hidden at first.
func (v *View) usuallySeen(w uint32, of uint64) bool {
	if v.overrides.usual.IsZero() {
		return v.pages[w].masked&of == 0
	}
	for ; of != 0; of &= of - 1 {
		if v.life(firstOf(w, of)).veil != v.overrides.usual {
			return false
		}
	}
	return true
}

// reshape notes the entities with hidden components that got or lost a component that the client may see.
func (v *View) reshape() {
	for _, index := range v.store.reshaped {
		if g := v.page(index); g.masked&g.visible&bitOf(index) != 0 && v.maskChanged(index) {
			v.life(index).shapedAt = v.store.tick
		}
	}
}

// markVisibleChanges adds the changes of the newest commit to unsent, for a client with hidden components.
func (v *View) markVisibleChanges() {
	for _, w := range v.store.words {
		g := v.pages[w]
		changed := v.store.changed[w] & g.visible
		g.unsent |= changed &^ v.dropUnseen(w, changed&g.masked)
		v.waits = true
	}
}

// dropUnseen returns the entities of word w that have no change that the client may see. For these it notes that the commit is no
// change for the client.
func (v *View) dropUnseen(w uint32, of uint64) (silent uint64) {
	for ; of != 0; of &= of - 1 {
		if index := firstOf(w, of); !v.seesChange(index) {
			v.ownWrites.skipOwn(v, index)
			silent |= of & -of
		}
	}
	return silent
}

// seesChange reports whether the client may see any change of an entity in the newest capture, except in rows that name entities:
// refreshRefs notes these.
func (v *View) seesChange(index uint32) bool {
	s := v.store
	if v.maskChanged(index) {
		return true
	}
	for m := v.maskOf(index).Minus(s.schema.Refs); !m.IsZero(); m = m.Rest() {
		if s.past.changedAfter(m.Lowest(), index, s.tick-1) {
			return true
		}
	}
	return false
}

// maskChanged reports whether the newest capture spawned an entity, or changed the set of its rows that the client may see.
func (v *View) maskChanged(index uint32) bool {
	s := v.store
	return s.shapedAt[index] == s.tick && (s.bornAt[index] == s.tick || s.maskBefore[index].Differ(s.rows.masks[index]).Overlaps(v.rowsOf(index)))
}

// touch notes a change of an index at tick t for this client alone.
func (v *View) touch(index uint32, t tick.Tick) {
	if v.life(index).firstTick >= t { // the first record of the lifetime is still to come, and has everything
		v.wait(index)
		return
	}
	v.leavePage(index) // members of a page need equal rows
	e := v.life(index)
	e.touchedAt = max(e.touchedAt, t)
	v.overrides.lastTouched = max(v.overrides.lastTouched, t)
	g := v.pages[index/format.PageEntities]
	g.rowsChangedAt = max(g.rowsChangedAt, t)
	v.wait(index)
	if len(v.store.groups.left) > 0 && v.groupBefore(index, t) != v.store.groups.at(index) {
		v.bind(index, t)
	}
}

// touchedAt returns the tick of the newest change of an index for this client alone, tick.None if there was none.
func (v *View) touchedAt(index uint32) tick.Tick {
	if v.overrides.lastTouched == tick.None {
		return tick.None
	}
	return v.life(index).touchedAt
}

// changedAt returns the tick of the newest change of an entity, as this client sees it.
func (v *View) changedAt(index uint32) tick.Tick {
	moved := max(v.ownWrites.changedAt(index, v.store.lastChanged(index)), v.touchedAt(index))
	if v.overrides.retargets {
		moved = max(moved, v.life(index).retargetedAt)
	}
	return moved
}

// changedOf returns the entities of word w that the newest capture changed in any way.
func (s *Store) changedOf(w int) uint64 { return s.changed[w] | s.refs.retargeted(w) }

// ChangedRows returns the rows of an entity that the newest capture changed, as this client reads them. Hidden rows are left out. Call
// it before Observe.
func (v *View) ChangedRows(id wire.NetworkID) Mask {
	rows := v.store.changedRows(id, v.rowsOf(id.Index)).Intersect(v.Rows(id))
	for m := rows.Intersect(v.store.schema.Refs); !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		if c := v.store.refs.noted(id.Index, row); c != nil && v.readsAlike(c) {
			rows = rows.Without(row)
		}
	}
	return rows
}

// sinceOf returns the tick of the newest change of a row that names entities, as this client reads it. A change of the client's sight
// alone does not count.
func (o *clientOverrides) sinceOf(index uint32, row int) tick.Tick {
	if row >= len(o.rowRetargetedAt) || int(index) >= len(o.rowRetargetedAt[row]) {
		return tick.None
	}
	return o.rowRetargetedAt[row][index]
}
