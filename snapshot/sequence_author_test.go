package snapshot

import (
	"fmt"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Of some entities a client writes components itself, beside whatever the server
// does to them. What it wrote is not told to it, or is, where it is to be
// corrected, and it may lose the right at any time: then it is told everything.

// seqAuthor is the client that writes components of an index, and the rows that it writes. No rows
// mean that no client writes.
type seqAuthor struct {
	client int
	rows   Mask
}

// appoint gives a new entity an author, or none.
func (s *sequence) appoint(id wire.NetworkID) {
	s.authors[id.Index] = seqAuthor{}
	if s.chance(40) {
		s.authors[id.Index] = seqAuthor{
			client: s.r.IntN(len(s.clients)),
			rows:   []Mask{bit(seqPosition), bit(seqHealth), bit(seqPosition).Union(bit(seqHealth))}[s.r.IntN(3)],
		}
	}
}

// author lets clients write what is their own and what they see.
func (s *sequence) author() {
	for _, id := range s.alive {
		a := &s.authors[id.Index]
		c := s.clients[a.client]
		if a.rows.IsZero() || !c.view.Visible(id) || !s.chance(50) {
			continue
		}
		for m := a.rows.Intersect(s.store.Mask(id)); !m.IsZero(); m = m.Rest() {
			s.set(id, m.Lowest())
		}
		c.wrote = append(c.wrote, id)
	}
}

// set gives a row of numbers another value, mostly.
func (s *sequence) set(id wire.NetworkID, row int) {
	lanes := []uint32{uint32(s.r.IntN(4) * 977)}
	if row == seqPosition {
		lanes = append(lanes, uint32(s.r.IntN(2)*500))
	}
	s.put(id, row, lanes)
}

// put sets a row and notes that it may have to be told.
func (s *sequence) put(id wire.NetworkID, row int, lanes []uint32) {
	had := s.store.Mask(id).Has(row)
	if s.store.Set(id, row, lanes) && (!had || row != seqLink) { // whom a link names is told to those who see it: their state says so
		s.did[id.Index] = s.did[id.Index].Union(bit(row))
	}
}

func (s *sequence) remove(id wire.NetworkID, row int) {
	if s.store.Mask(id).Has(row) {
		s.did[id.Index] = s.did[id.Index].Union(bit(row))
	}
	s.store.Remove(id, row)
}

// observe calls ObserveBut for a client, as package authority does, and
// checks that nothing waits of which nothing is to be told.
func (s *sequence) observe(c *seqClient) error {
	var before bitset
	for _, g := range c.view.pages {
		before = append(before, g.unsent)
	}
	var own []wire.NetworkID
	for _, id := range c.wrote {
		a := s.authors[id.Index]
		changed := c.view.ChangedRows(id)
		if s.store.Alive(id) && !changed.IsZero() && changed.Within(a.rows) && s.chance(85) {
			own = append(own, id)
			s.met.own++
			c.own[s.now-s.start][id.Index] = a.rows
		}
	}
	c.wrote = c.wrote[:0]
	s.unsaid(c)
	if len(own) > 0 || s.chance(50) {
		c.view.ObserveBut(own)
	}
	c.view.Observe()
	saw := c.sights
	s.born(c)
	var is [sequenceIndexes]seqState
	if err := s.mean(c, &is); err != nil {
		return err
	}
	for index := range uint32(len(s.store.gens)) {
		if c.view.page(index).unsent&bitOf(index) == 0 {
			if !s.did[index].Within(c.sights[index].rows) && c.sights[index].visible {
				s.met.silent++
			}
			continue
		}
		if before.has(index) || c.view.page(index).despawnOwed&bitOf(index) != 0 {
			continue
		}
		if was := c.meant[s.now-s.start-1][index]; !s.toTell(c, index, &was, &is[index], &saw) {
			return fmt.Errorf("tick %d: %d waits though nothing of it is to be told: %+v, then %+v", s.now-s.start, index, was, is[index])
		}
	}
	return nil
}

// unsaid notes whose life ends of which nothing was said: who takes its place at once stands for nobody.
func (s *sequence) unsaid(c *seqClient) {
	for index := range uint32(c.view.indexes) {
		id := wire.NetworkID{Index: index, Generation: c.sights[index].generation}
		if id.Generation != 0 && !s.store.Alive(id) {
			c.unsay(id, s.now-s.start)
		}
	}
}

// toTell reports whether there is anything that a client is to be told of an index, given what it saw until then.
func (s *sequence) toTell(c *seqClient, index uint32, was, is *seqState, saw *[sequenceIndexes]seqSight) bool {
	own := c.own[s.now-s.start][index]
	if !s.did[index].Intersect(c.sights[index].rows).Within(own) {
		return true
	}
	return *was != is.without(was, own) || s.namesWhoDied(c, index, saw)
}

// namesWhoDied reports whether a link that a client sees was made, in this tick, to what it saw until then: nobody
// asks whether that was so before it died.
func (s *sequence) namesWhoDied(c *seqClient, index uint32, saw *[sequenceIndexes]seqSight) bool {
	if s.store.rows.masks[index].Intersect(c.sights[index].rows).Has(seqLink) && s.store.sinceOf(index, seqLink) == s.now {
		to := refAt(s.store.rows.row(index, seqLink), 0)
		return !s.store.Alive(to) && saw[to.Index].visible && saw[to.Index].generation == to.Generation
	}
	return false
}

// without is a state with rows as they are in another one.
func (s *seqState) without(as *seqState, rows Mask) seqState {
	out := *s
	for m := rows.Intersect(s.mask).Intersect(as.mask); !m.IsZero(); m = m.Rest() {
		from, to := seqPlaces(m.Lowest())
		copy(out.lanes[from:to], as.lanes[from:to])
	}
	return out
}

// handOver lets an author lose its rights, to the other client or to nobody.
func (s *sequence) handOver() {
	if s.calm || len(s.alive) == 0 || !s.chance(8) {
		return
	}
	id := s.alive[s.r.IntN(len(s.alive))]
	a := &s.authors[id.Index]
	if a.rows.IsZero() {
		s.appoint(id)
		return
	}
	c := s.clients[a.client]
	if c.view.Visible(id) {
		c.again[c.view.next()-s.start][id.Index] = true
		s.met.handovers++
	}
	c.view.Again(id)
	s.appoint(id)
}

// correct tells authors everything of an entity again, who keep the right: it was taken and given back within the tick, or the server
// corrected what they wrote. It draws from numbers of its own, so that the rest of a sequence is as without it.
func (s *sequence) correct() {
	if s.calm {
		return
	}
	for _, id := range s.alive {
		a := &s.authors[id.Index]
		if c := s.clients[a.client]; !a.rows.IsZero() && c.view.Visible(id) && s.rights.IntN(12) == 0 {
			c.again[c.view.next()-s.start][id.Index] = true
			s.met.corrections++
			if from := c.view.Again(id); from < s.now {
				panic("a correction that no record is due for")
			}
		}
	}
}

// asGood reports whether a state of tick from, of which an index is at a client, is
// as good as that of tick to: nothing happened in between that was to be told.
func (c *seqClient) asGood(got seqState, index uint32, from, to tick.Tick) bool {
	if c.right(got, index, to) {
		return true
	}
	if got.generation == 0 || from > to || from <= 0 || got.generation != c.meant[to][index].generation || !c.right(got, index, from) {
		return false
	}
	for u := from + 1; u <= to; u++ {
		if c.seqTold(index, u) || c.meant[u][index].kept {
			return false
		}
	}
	return true
}
