package netecs

// scanScattered goes over a table of many archetypes and closes the query. Arche is asked row by row, and for no more than
// where the row lies and whose it is; then the rows are looked at, column by column. Each is somewhere else in memory, and so
// little is done between two of them that many loads are under way at once.
func (w *watch) scanScattered(t *table, h watcher) {
	before := t.length
	t.stamped, t.slots = 0, t.slots[:0]
	w.guard = w.world.Query(&w.everything) // the end of the walk unlocks the world, and the rows are looked at afterwards
	w.walk(t)
	for n, e := range t.handles {
		slot := w.slotOf(t, t.replicas.seated(n), e)
		if slot < 0 {
			w.present = e
			t.aimSeat(n)
			h.appears(t, 0, -1)
		} else {
			t.stamp(slot, w.run)
		}
		t.slots = append(t.slots, int32(slot))
	}
	for i := range t.columns {
		w.scanSeats(t, &t.columns[i], h)
	}
	t.release()
	w.guard.Close()
	t.leave(len(t.slots))
	for slot := 0; slot < before && t.stamped < t.length; slot++ {
		if t.stamps[slot] != w.run {
			w.displace(t, slot)
		}
	}
}

// walk finds where the rows of a scattered table lie, and closes the query.
func (w *watch) walk(t *table) {
	t.handles = t.handles[:0]
	for n := 0; w.query.Next(); n++ {
		t.seat(&w.query, n)
		t.handles = append(t.handles, w.query.Entity())
		if t.goal >= 0 {
			c := &t.columns[t.goal]
			c.goals = append(c.goals[:n], w.query.Relation(c.id))
		}
	}
}

// scanSeats finds the rows with another component than before. One that appeared in this walk has been seen to.
func (w *watch) scanSeats(t *table, c *column, h watcher) {
	for n := c.differingSeat(0, t.slots); n < len(t.slots); n = c.differingSeat(n+1, t.slots) {
		slot := int(t.slots[n])
		c.aimSeat(n)
		if h.differs(t.replicas.keptReplicated(slot).ID, c, 0, slot) {
			c.keepRow(0, slot)
		}
	}
}

// aimSeat points all columns at the n-th row of a walk.
func (t *table) aimSeat(n int) {
	t.replicas.aimSeat(n)
	for i := range t.columns {
		t.columns[i].aimSeat(n)
	}
}

// leave forgets the seats from the n-th on.
func (t *table) leave(n int) {
	t.replicas.leave(n)
	for i := range t.columns {
		t.columns[i].leave(n)
	}
}
