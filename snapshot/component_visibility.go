package snapshot

import (
	"github.com/arche-netcode/netcode/wire"
)

// SetRows sets the components of a visible entity that the client may see. A lifetime begins with all components. The client removes
// components that it may no longer see.
func (v *View) SetRows(id wire.NetworkID, rows Mask) {
	if v.store.open {
		v.deferred = append(v.deferred, func() { v.SetRows(id, rows) })
		return
	}
	v.Observe()
	if !v.Visible(id) {
		return
	}
	was := v.rowsOf(id.Index)
	now := v.unfold(id.Index, rows).Minus(v.unknown).Minus(v.ownedByOthers(id.Index))
	if !was.Within(now) {
		v.noteHidden(id.Index, false)
	}
	v.changeRows(id.Index, was, now)
}

// ownedByOthers returns the rows of an entity that only its owner sees, for a client that is not its owner.
func (v *View) ownedByOthers(index uint32) Mask {
	s := v.store
	if s.schema.Owned.IsZero() || v.client == 0 || v.overrides.shared.has(index) {
		return Mask{}
	}
	has := s.rows.masks[index]
	if !has.Overlaps(s.schema.Owned) || has.Overlaps(s.schema.Shared) || int(index) < len(s.owners) && s.owners[index] == v.client {
		return Mask{}
	}
	return s.schema.Owned
}

// hideOwned hides, at the start of a lifetime, the rows that only the owner sees.
func (v *View) hideOwned(index uint32) {
	if hidden := v.ownedByOthers(index); !hidden.IsZero() {
		v.overrides.rows = grown(v.overrides.rows, int(index)+1, v.indexes)
		v.overrides.shapedAt = grown(v.overrides.shapedAt, int(index)+1, v.indexes)
		v.overrides.shapedAt[index] = v.store.shapedAt[index]
		v.overrides.hideRows(index, v.overrides.rows[index].Union(hidden))
		v.overrides.looks++
	}
}

// ShowOwned shows the client the rows of a visible entity that only its owner sees, until the lifetime ends.
func (v *View) ShowOwned(id wire.NetworkID) {
	if v.store.open {
		v.deferred = append(v.deferred, func() { v.ShowOwned(id) })
		return
	}
	v.Observe()
	if !v.Visible(id) || v.ownedByOthers(id.Index).IsZero() {
		return
	}
	v.overrides.shared = v.overrides.shared.grownTo(int(id.Index) + 1)
	v.overrides.shared.set(id.Index)
	rows := v.rowsOf(id.Index)
	v.changeRows(id.Index, rows, rows.Union(v.store.schema.Owned))
}

// changeRows changes the rows of a visible entity that the client may see, from was to rows.
func (v *View) changeRows(index uint32, was, rows Mask) {
	if was == rows {
		return
	}
	v.overrides.rows = grown(v.overrides.rows, int(index)+1, v.indexes)
	v.overrides.shapedAt = grown(v.overrides.shapedAt, int(index)+1, v.indexes)
	if !v.overrides.masked.has(index) {
		v.overrides.shapedAt[index] = v.store.shapedAt[index]
	}
	v.overrides.hideRows(index, rows.Not())
	v.overrides.looks++
	if was.Differ(rows).Overlaps(v.store.rows.masks[index]) {
		v.touch(index, v.next())
	}
}

// Rows returns the components of an entity that the client may see, whether the entity has them or not. It returns none if the entity
// is not visible.
func (v *View) Rows(id wire.NetworkID) Mask {
	if !v.Visible(id) {
		return Mask{}
	}
	return v.store.schema.Fold(v.rowsOf(id.Index))
}

// rowsOf returns the rows of an index that the client may see.
func (v *View) rowsOf(index uint32) Mask {
	if int(index) >= len(v.overrides.rows) {
		return AllRows()
	}
	return v.overrides.rows[index].Not()
}

// hideRows sets the rows of an index that are hidden. A hidden row does not exist for the client: no change of it causes a record, now
// or later. Only entities with hidden rows (masked) take the slower tests below.
func (o *clientOverrides) hideRows(index uint32, rows Mask) {
	o.masked = o.masked.grownTo(int(index) + 1)
	if o.rows[index] = rows; rows.IsZero() {
		o.masked.unset(index)
		return
	}
	o.masked.set(index)
}

// alike reports whether each of some entities of word w has exactly the rows hidden that are hidden at first (usual).
func (o *clientOverrides) alike(w uint32, of uint64) bool {
	if o.usual.IsZero() {
		return int(w) >= len(o.masked) || o.masked[w]&of == 0
	}
	for ; of != 0; of &= of - 1 {
		if index := firstOf(w, of); int(index) >= len(o.rows) || o.rows[index] != o.usual {
			return false
		}
	}
	return true
}

// reshape notes the entities with hidden components that got or lost a component that the client may see.
func (v *View) reshape() {
	for _, index := range v.store.reshaped {
		if v.overrides.masked.has(index) && v.page(index).visible&bitOf(index) != 0 && v.maskChanged(index) {
			v.overrides.shapedAt[index] = v.store.tick
		}
	}
}

// markVisibleChanges adds the changes of the newest commit to unsent, for a client with hidden components.
func (v *View) markVisibleChanges() {
	for _, w := range v.store.words {
		changed := v.store.changed[w] & v.pages[w].visible
		if int(w) < len(v.overrides.masked) {
			changed &^= v.dropUnseen(w, changed&v.overrides.masked[w])
		}
		v.pages[w].unsent |= changed
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
		if s.sinceOf(index, m.Lowest()) == s.tick {
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

// maskOf returns the rows that an entity has and the client may see.
func (v *View) maskOf(index uint32) Mask {
	if int(index) >= len(v.overrides.rows) {
		return v.store.rows.masks[index]
	}
	return v.store.rows.masks[index].Minus(v.overrides.rows[index])
}
