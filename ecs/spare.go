package netecs

import "github.com/arche-netcode/netcode/snapshot"

// What a run is about to overwrite need not be gone over twice. When all that a
// replica received are stretches of which it is known where they lie, the scan
// leaves out their plain columns, and each is compared with the shadow when it is
// written: what is near then was fetched once. Whatever else has happened, the
// scan is made up for before anything comes of it.

// spare is rows of a table that a scan leaves out.
type spare struct{ from, to int }

// mostSpares is how many parts of a table are left out at most.
const mostSpares = 8

// foresee tells the tables what the scan may leave out. A client that writes
// itself has to know what it wrote before it is decided what to overwrite.
func (a *Apply) foresee() {
	w := a.watch
	calm := a.replica != nil && a.mine == nil && !a.apart && !a.all && !a.unsettled && !a.early &&
		len(a.again)+len(a.condemned) == 0 && a.berths.moves == w.moves
	if calm && a.repeats() {
		w.sparing = true
		return
	}
	w.sparing, a.writing.lone, a.legs = false, false, a.legs[:0]
	for _, t := range w.live {
		t.spares = t.spares[:0]
	}
	if !calm {
		return
	}
	a.berths.tidy()
	w.sparing = a.foreseeStretches()
}

// mostShort is how many stretches of few entities may be among those that are gone over as stretches: the others are cheaper one by one.
const mostShort = 8

// foreseeStretches lists what is to be written, stretch by stretch. It is false
// when it comes upon anything else.
func (a *Apply) foreseeStretches() bool {
	short := 0
	for _, span := range a.replica.ChangedSpans() {
		for index, end := span.First, span.First+span.Count; index < end; {
			n := len(a.legs)
			a.legs = extended(a.legs, n)
			l := &a.legs[n]
			if !a.stretch(&l.stretch, index, end-index) {
				return false
			}
			found, ok := a.berths.find(&l.stretch, &l.berth)
			if !found {
				a.unknown = l.stretch
			}
			if ok && l.berth.n < shortBerth {
				short++
			}
			if !ok || short > mostShort {
				return false
			}
			a.spare(&l.berth)
			index += l.berth.n
		}
	}
	return true
}

// stretch is what is one behind the other of count entities from one on. Where a packet ended an entity may have come by itself.
func (a *Apply) stretch(s *snapshot.Stretch, index, count uint32) (ok bool) {
	r := a.replica
	if *s, ok = r.Stretch(index, count); !ok {
		*s, ok = r.Single(index)
	}
	for ok && s.Count < count {
		next, more := r.Stretch(index+s.Count, count-s.Count)
		if !more {
			next, more = r.Single(index + s.Count)
		}
		if !more || !s.GoesOn(&next) {
			break
		}
		s.Count += next.Count
	}
	return ok
}

// learn finds out where a stretch lies that foresee did not know, so that the next run does.
func (a *Apply) learn() {
	if a.unknown.Count > 0 && a.replica != nil && !a.unsettled {
		a.berth(&a.unknown)
	}
	a.unknown = snapshot.Stretch{}
}

// leg is a stretch that is to be written, and where it lies.
type leg struct {
	stretch snapshot.Stretch
	berth   berth
}

// spare is told of a stretch that will be written. Where its rows are all over the
// table they are rather gone over one behind the other before.
func (a *Apply) spare(b *berth) {
	t, from := a.watch.tables[b.table], int(b.slot)
	if b.slot < 0 {
		if b.low <= 0 {
			return
		}
		from = int(b.low) - 1
	}
	to := from + int(b.n)
	switch n := len(t.spares); {
	case n > 0 && t.spares[n-1].to == from:
		t.spares[n-1].to = to
	case n < mostSpares && (n == 0 || t.spares[n-1].to < from):
		t.spares = append(t.spares, spare{from, to})
	}
}

// reconsider makes up for what the scan left out, unless it found nothing that
// could have another end than was foreseen.
func (a *Apply) reconsider() {
	w := a.watch
	if !w.sparing || a.berths.moves == w.moves && len(a.again)+len(w.lost)+len(w.left) == 0 && !a.unsettled {
		return
	}
	w.sparing = false
	for _, t := range w.live {
		if len(t.spares) > 0 {
			w.scanSpares(t, a)
		}
	}
}

// scanSpares goes over what scanColumns left out of a table.
func (w *watch) scanSpares(t *table, h watcher) {
	w.query = w.world.Query(&t.filter)
	common := min(w.query.Count(), t.length)
	if common > 0 {
		w.query.Next()
		t.aim(&w.query)
	}
	for _, s := range t.spares {
		for from := s.from; from < min(s.to, common); from += blockRows {
			to := min(from+blockRows, s.to, common)
			moved := !t.replicas.same(from, to)
			for i := range t.columns {
				if c := &t.columns[i]; c.plain && (moved || !c.same(from, to)) {
					w.scanColumn(t, c, from, to, moved, h)
				}
			}
		}
	}
	t.release()
	w.query.Close()
}

// scanSpared is scanRows for rows of which only what is not plain is compared.
func (w *watch) scanSpared(t *table, from, to int, h watcher) {
	for ; from < to; from += chunkRows {
		end := min(from+chunkRows, to)
		if t.sameSpared(from, end) {
			continue
		}
		for at := from; at < end; at += blockRows {
			w.scanBlock(t, at, min(at+blockRows, end), true, h)
		}
	}
}

// sameSpared compares what is compared of rows that are spared.
func (t *table) sameSpared(from, to int) bool {
	if !t.replicas.same(from, to) {
		return false
	}
	for i := range t.columns {
		if c := &t.columns[i]; !c.plain && !c.same(from, to) {
			return false
		}
	}
	return true
}

// stray notes what game code wrote to a row that is about to be overwritten.
func (a *Apply) stray(c *column, index uint32, slot int) {
	if field, equal := c.plan.Compare(c.kept(slot), c.at(slot)); !equal {
		a.restored(a.watch.idAt(index), c, field)
	}
}

// straysOfAny is stray for all of a stretch that a scan has left out.
func (a *Apply) straysOfAny(c *column, d *due) {
	switch {
	case d.mixed > 0:
		low, order := a.berths.piece(d)
		a.straysOf(c, d, int(low), order)
	case d.slot >= 0:
		a.strays(c, d, int(d.slot))
	}
}

// strays is stray for those of a stretch whose rows are one behind the other, from a row on.
func (a *Apply) strays(c *column, d *due, from int) {
	to := int(d.slot + d.n)
	if c.same(from, to) {
		return
	}
	for row := c.differing(from, to); row < to; row = c.differing(row+1, to) {
		a.stray(c, d.index+uint32(row-int(d.slot)), row)
	}
}
