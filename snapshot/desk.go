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
	swath  swath
	lists  sharedLists
	rounds rounds
	apart  bool   // a test's: nothing is swept
	least  int    // a test's: entities of a list that are gone through at once if they can be; 0: leastAtOnce
	swept  uint64 // entities of lists that were, since the beginning,
	alike  uint64 // of which it was asked by words that they are alike,
	// sweptOthers is how many others had their records so.
	sweptOthers uint64
	// fetched is of no meaning: that it is kept makes fetch touch.
	fetched uint32
}

// NewDesk returns a Desk, which the Store keeps for good.
func (s *Store) NewDesk() *Desk {
	d := &Desk{store: s, first: &s.desk.bodies}
	d.lists.pool = s.shared
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

// ListsShared is how often what a packet goes through again of an earlier one
// was copied from another client's packet.
func (s *Store) ListsShared() uint64 {
	n := s.desk.lists.copied
	for _, d := range s.desks {
		n += d.lists.copied
	}
	return n
}

// forgetLists makes lists that were written be written anew.
func (s *Store) forgetLists() {
	s.desk.lists.n = 0
	for _, d := range s.desks {
		d.lists.n = 0
	}
}

// fetch touches where the bodies of the next entities of a packet are, or will be,
// if they wait: all at once, as View.fetch does.
func (d *Desk) fetch(entries []sentEntry, waits bitset) {
	first := d.bodies.first
	var any uint32
	for i := range entries {
		if index := entries[i].index; int(index) < len(first) && waits.has(index) {
			any |= first[index]
		}
	}
	d.fetched = any
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
		d.bodies.begin(d.store, oneArena)
	}
}
