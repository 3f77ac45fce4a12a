package snapshot

// A component that a client may not see is not there for it: that it changed,
// came or went is no change, and no record is made for it, now or later. Only
// entities of which components are hidden are asked about, and only those of
// them that changed.

// hides notes whether any component of an index is hidden.
func (o *personal) hides(index uint32, rows Mask) {
	o.masked = o.masked.grownTo(int(index) + 1)
	if o.rows[index] = rows; rows == 0 {
		o.masked.unset(index)
		return
	}
	o.masked.set(index)
}

// reshape notes which of the entities of which components are hidden got or lost one that the client may see.
func (v *View) reshape() {
	for _, index := range v.store.reshaped {
		if v.own.masked.has(index) && v.visible.has(index) && v.reshaped(index) {
			v.own.shape[index] = v.store.tick
		}
	}
}

// lacks takes in the changes of the newest commit where the client may not see
// everything.
func (v *View) lacks() {
	for _, w := range v.store.words {
		changed := v.store.changed[w] & v.visible[w]
		if int(w) < len(v.own.masked) {
			changed &^= v.silent(w, changed&v.own.masked[w])
		}
		v.unsent[w] |= changed
		v.waits = true
	}
}

// silent is which of some changed entities of a word the client may see nothing
// of what changed, and notes so.
func (v *View) silent(w uint32, of uint64) (silent uint64) {
	for ; of != 0; of &= of - 1 {
		if index := firstOf(w, of); !v.told(index) {
			v.author.pass(v, index)
			silent |= of & -of
		}
	}
	return silent
}

// told reports whether the client may see anything of what the newest capture
// changed of an entity, but for whom a row names: of that retarget tells.
func (v *View) told(index uint32) bool {
	s := v.store
	if v.reshaped(index) {
		return true
	}
	for m := v.maskOf(index) &^ s.schema.refs; m != 0; m &= m - 1 {
		if s.sinceOf(index, m.next()) == s.tick {
			return true
		}
	}
	return false
}

// reshaped reports whether the newest capture made an entity, or gave it other
// rows of those that the client may see.
func (v *View) reshaped(index uint32) bool {
	s := v.store
	return s.shape[index] == s.tick && (s.born[index] == s.tick || (s.was[index]^s.rows.masks[index])&v.rowsOf(index) != 0)
}

// names reports whether a row that the client may see names whom the client saw
// at target last, and not one before or after.
func (v *View) names(index, target uint32) bool {
	s, generation := v.store, v.tenants[target].generation
	for m := v.maskOf(index) & s.schema.refs; m != 0; m &= m - 1 {
		row := m.next()
		lanes := s.rows.row(index, row)
		for _, lane := range s.schema.plans[row].Refs() {
			if id := refAt(lanes, lane); id.Index == target && id.Generation == generation {
				return true
			}
		}
	}
	return false
}
