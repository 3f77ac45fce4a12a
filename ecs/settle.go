package netecs

// trim gives up the slots that the scan found cut off, for a watcher that kept
// every row that appeared.
func (w *watch) trim() {
	for _, t := range w.live {
		switch {
		case !t.scattered:
			t.length = t.seen
		case t.stamped < t.length:
			w.sweep(t)
		}
	}
}

// sweep closes up the slots of a scattered table that this scan did not stamp.
func (w *watch) sweep(t *table) {
	for slot := 0; slot < t.length; {
		if t.stamps[slot] == w.run {
			slot++
			continue
		}
		last := t.length - 1
		if slot != last {
			if id, ok := w.occupant(t, last); ok {
				w.at(id).slot = int32(slot)
				w.moves++
			}
			t.moveSlot(last, slot)
		}
		t.length--
	}
}

// cutOff gives up the slots behind the last row that the scan saw. What was
// removed from there may come back under the same id and to the same row, and
// must not be taken for what it was.
func (w *watch) cutOff() {
	for _, t := range w.live {
		if !t.scattered {
			t.length = min(t.length, t.seen)
		}
	}
}

// settle puts every id in its place after any change of structure, and the rows
// that were not in their place into the shadow. Of rows that stayed where they
// were only the Replicated is looked at: what was written to them meanwhile
// differs from the shadow, and the next scan finds it.
func (w *watch) settle() {
	w.run++
	w.evicted = w.evicted[:0]
	w.convene()
	sum := 0
	for _, t := range w.live {
		sum += w.settleTable(t)
	}
	if sum == w.count() {
		return
	}
	known := len(w.live)
	w.discover()
	for _, t := range w.live[known:] {
		w.settleTable(t)
	}
}

func (w *watch) settleTable(t *table) int {
	w.query = w.world.Query(&t.filter)
	t.seen = w.query.Count()
	if t.scattered {
		w.settleScattered(t)
	} else {
		w.settleColumns(t)
	}
	return t.seen
}

func (w *watch) settleColumns(t *table) {
	n := t.seen
	if n > 0 {
		w.query.Next()
		t.open(&w.query, n)
	}
	for from := 0; from < n; from += blockRows {
		to := min(from+blockRows, n)
		if to > t.length || !t.replicas.same(from, to) {
			w.house(t, from, to)
		}
	}
	for slot := n; slot < t.length; slot++ {
		w.evict(t, slot)
	}
	t.length = n
	t.release()
	w.query.Close()
}

// house puts the ids of the rows from <= row < to in their places.
func (w *watch) house(t *table, from, to int) {
	for row := from; row < to; row++ {
		if row < t.length && t.replicas.sameRow(row, row) {
			continue
		}
		if row < t.length {
			w.evict(t, row)
		}
		w.houseRow(t, row, row)
		t.keepRow(row, row)
		if r := t.replicas.replicated(row); r.ID.IsZero() && r.World == w.tag {
			t.replicas.spoil(row, *r) // a copy of one that is kept may come to lie in its place, and not a byte would differ
		}
	}
}

// evict takes the place from the id that has a slot. It has another by the end,
// unless its entity is gone.
func (w *watch) evict(t *table, slot int) {
	if id, ok := w.occupant(t, slot); ok {
		w.at(id).table = nowhere
		w.moves++
		w.evicted = append(w.evicted, id)
	}
}

func (w *watch) houseRow(t *table, row, slot int) {
	r := t.replicas.replicated(row)
	if at := w.at(r.ID); r.World == w.tag && at != nil && at.entity == w.entityAt(t, row) {
		at.table, at.slot = t.number, int32(slot)
		w.moves++
	}
}

func (w *watch) settleScattered(t *table) {
	t.stamped = 0
	for w.query.Next() {
		t.replicas.aim(&w.query)
		r := t.replicas.replicated(0)
		w.present = w.query.Entity()
		slot := w.slotOf(t, r, w.present)
		if slot < 0 {
			if at := w.at(r.ID); at == nil || at.entity != w.present || r.World != w.tag {
				continue // not ours: it needs no shadow
			}
			t.open(&w.query, 0)
			slot = t.newSlot(w.run)
			w.houseRow(t, 0, slot)
			t.keepRow(0, slot)
		} else {
			t.stamp(slot, w.run)
		}
	}
	t.release()
	for slot := 0; slot < t.length && t.stamped < t.length; slot++ {
		if t.stamps[slot] != w.run {
			w.evict(t, slot)
		}
	}
	if t.stamped < t.length {
		w.sweep(t)
	}
}
