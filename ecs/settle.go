package netecs

// trim gives up the slots that the scan found cut off, for a watcher that kept
// every row that appeared.
func (w *watch) trim() {
	for _, t := range w.tables {
		if t.scattered {
			w.sweep(t)
		} else {
			t.length = t.seen
		}
	}
}

// sweep closes up the slots of a scattered table that this scan did not stamp.
func (w *watch) sweep(t *table) {
	if t.stamped == t.length {
		return
	}
	for slot := 0; slot < t.length; {
		if t.stamps[slot] == w.run {
			slot++
			continue
		}
		last := t.length - 1
		if slot != last {
			if id, ok := w.occupant(t, last); ok {
				w.at(id).slot = int32(slot)
			}
			t.moveSlot(last, slot)
		}
		t.length--
	}
}

// settle makes the shadow equal to the world and puts every id in its place,
// whatever happened. It copies and does not compare, so it costs the same
// however much was written.
func (w *watch) settle() {
	w.run++
	sum := 0
	for _, t := range w.tables {
		sum += w.settleTable(t)
	}
	if sum == w.count() {
		return
	}
	known := len(w.tables)
	w.discover()
	for _, t := range w.tables[known:] {
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
		t.aim(&w.query)
		t.reserve(n)
	}
	for from := 0; from < n; from += blockRows {
		to := min(from+blockRows, n)
		if to > t.length || !t.replicas.same(from, to) {
			w.house(t, from, to)
		}
	}
	for i := range t.columns {
		t.columns[i].keep(0, n)
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
		w.houseRow(t, row, row)
		t.replicas.keepRow(row, row)
	}
}

func (w *watch) houseRow(t *table, row, slot int) {
	r := t.replicas.replicated(row)
	if at := w.at(r.ID); r.World == w.tag && at != nil && at.entity == w.entityAt(t, row) {
		at.table, at.slot = t.number, int32(slot)
	}
}

func (w *watch) settleScattered(t *table) {
	t.stamped = 0
	for w.query.Next() {
		t.aim(&w.query)
		r := t.replicas.replicated(0)
		_, slot := w.slotOf(t, r)
		if slot < 0 {
			if at := w.at(r.ID); at == nil || at.entity != w.query.Entity() || r.World != w.tag {
				continue // not ours: it needs no shadow
			}
			slot = t.newSlot(w.run)
			w.houseRow(t, 0, slot)
		} else {
			t.stamp(slot, w.run)
		}
		t.keepRow(0, slot)
	}
	t.release()
	w.sweep(t)
}
