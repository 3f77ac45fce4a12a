package snapshot

import "github.com/arche-netcode/netcode/tick"

// Desk is what writing takes beside a [View]: what was made for one client and
// is good for the next. Views may be written by several goroutines at once if
// each has a Desk of its own; each View is still written by one at a time, and
// neither the Store nor any View may be changed meanwhile. Which Desk a View is
// written at changes no bit. A [View.Write] without one uses the Store's own.
type Desk struct {
	store  *Store
	first  *bodies // those of the Store's own Desk, nothing of which is changed; nil there
	bodies bodies
	sheaf  sheaf
	texts  pageTexts
	apart  bool // a test's: no page is written at once
	alone  bool // of the bodies of the tick before, fewer were used again than made
	made   uint64
	again  uint64
}

// NewDesk returns a Desk, which the Store keeps for good.
func (s *Store) NewDesk() *Desk {
	d := &Desk{store: s, first: &s.desk.bodies}
	s.desks = append(s.desks, d)
	return d
}

// Desk is the Store's own.
func (s *Store) Desk() *Desk { return &s.desk }

// Shared is how many bodies of records were made, and how often one was used
// again for another client. With several desks it is not the same in each run.
func (s *Store) Shared() (made, again uint64) {
	made, again = s.desk.shared()
	for _, d := range s.desks {
		m, a := d.shared()
		made, again = made+m, again+a
	}
	return made, again
}

func (d *Desk) shared() (made, again uint64) {
	made = d.bodies.made
	for i := range d.bodies.arenas {
		made += d.bodies.arenas[i].made
	}
	return made, d.bodies.shared
}

// PagesShared is how often the records of a page were copied from another client's packet.
func (s *Store) PagesShared() uint64 {
	n := s.desk.texts.copied
	for _, d := range s.desks {
		n += d.texts.copied
	}
	return n
}

// sharedBody is the body of a record with rows that travel as what differs,
// made now if it was not yet, and whose it is. It is good until the next one is
// asked for.
func (d *Desk) sharedBody(index uint32, mask Mask, t, before tick.Tick) (*bodyEntry, *bodies) {
	if e, of := d.madeBody(index, mask, t, before); e != nil {
		d.used(e, of)
		return e, of
	}
	return d.bodies.add(d.store, index, mask, t, before), &d.bodies
}

// body gives the body of an entity's record against T and, unless before is
// none, T'. All rows of mask were shown at both; told are those of them that
// changed and travel whole. It says false when they are not all held any more.
func (d *Desk) body(to *body, index uint32, mask Mask, t, before tick.Tick, told Mask) bool {
	var e *bodyEntry
	of := &d.bodies
	if mask&d.store.schema.whole == 0 {
		e, of = d.sharedBody(index, mask, t, before)
	} else { // which of those changed is a client's own
		d.ready()
		e = &bodyEntry{t: t, before: before, mask: mask, index: index}
		d.store.makeBody(of.of(index), e, told)
	}
	to.word, to.bits, to.deltas, to.same = e.word, int(e.bits), e.deltas, e.same
	if to.words = nil; e.bits > 64 {
		to.words = of.wordsOf(e)
	}
	return !e.none
}

// ready forgets the bodies of the tick before.
func (d *Desk) ready() {
	if d.bodies.tick != d.store.tick {
		made, again := d.shared()
		d.alone = again-d.again < made-d.made
		d.made, d.again = made, again
		d.bodies.begin(d.store, oneArena)
	}
}

// madeBody is the body of a record as usual, nil if it was not made yet, and whose
// it is.
func (d *Desk) madeBody(index uint32, mask Mask, t, before tick.Tick) (*bodyEntry, *bodies) {
	if d.first != nil && d.first.tick == d.store.tick {
		if e := d.first.find(index, mask, t, before); e != nil {
			return e, d.first
		}
	}
	d.ready()
	return d.bodies.find(index, mask, t, before), &d.bodies
}

// used notes that a record has a body that was made before.
func (d *Desk) used(e *bodyEntry, of *bodies) {
	if of == d.first { // which other desks read at the same time
		d.bodies.shared++
		return
	}
	of.used(e)
}
