package netecs

// In most ticks nothing happens in a client's world but that values arrive for entities that are where they were. Then a run asks Arche for
// next to nothing: it looks whether that is so, changing nothing, and writes. Otherwise it begins as if it had not looked.

// still reports whether all entities are where they were, and nobody wrote to them but where the tables' spares say: a scan would find
// nothing. Then the tables' columns point at their rows until rise is called.
func (w *watch) still() bool {
	sum := 0
	for _, t := range w.live {
		if t.length == 0 {
			continue // if somebody is there now, there are more than the sum
		}
		if t.scattered || !w.seated(t) {
			return false
		}
		sum += t.length
	}
	if sum != w.count() {
		return false
	}
	for _, t := range w.live {
		if t.length == 0 {
			continue
		}
		if t.sit(); !t.untouched() {
			w.rise()
			return false
		}
	}
	return true
}

// rise ends what still began.
func (w *watch) rise() {
	for _, t := range w.live {
		if t.length > 0 {
			t.release()
		}
	}
}

// seated reports whether the rows of a table lie where the scan before found them, and are as many at least: the last entity is asked.
func (w *watch) seated(t *table) bool {
	slot := t.length - 1
	at := w.at(t.replicas.keptReplicated(slot).ID)
	return len(t.replicas.seats) > 0 && at != nil && w.world.Alive(at.entity) && t.replicas.seatedAt(w.world, at.entity, slot)
}

// untouched compares all that is compared of a table with the shadow.
func (t *table) untouched() bool {
	at := 0
	for _, s := range t.spares {
		if s.to > t.length || at < s.from && !t.same(at, s.from) || !t.sameSpared(s.from, s.to) {
			return false
		}
		at = s.to
	}
	return at == t.length || t.same(at, t.length)
}

// flow is what is left of a run where still said so: values.
func (a *Apply) flow() {
	if len(a.legs) == 0 {
		return
	}
	a.stats.Applied++
	a.run++
	a.relist()
	a.replica.ClearChanged()
	a.unpack()
	for n, list := range a.writing.byTable {
		if len(list) > 0 {
			a.writeStretches(a.watch.tables[n], list)
		}
	}
}

// relist lists what is to be written.
func (a *Apply) relist() {
	if a.writing.lone {
		a.writing.renew(&a.legs[0])
		return
	}
	a.forgetChanges()
	for i := range a.legs {
		a.enter(&a.legs[i].stretch, &a.legs[i].berth)
	}
	a.writing.lone = len(a.legs) == 1
}
