package snapshot

import (
	"fmt"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// seqState is the state that a client is meant to hold of a network index at one tick. The zero
// state is nothing.
type seqState struct {
	generation uint32
	kept       bool // out of sight, and the client was left what it had: no record may say anything
	mask       Mask
	lanes      [5]uint32 // health, link, position
}

// seqAfter has the states that are meant from some point between the packets of a tick on.
type seqAfter struct {
	tick  tick.Tick
	meant [sequenceIndexes]seqState
}

// left reports whether an index went out of sight between the packets of a tick.
func (c *seqClient) left(index uint32, t tick.Tick) bool {
	for i := range c.after {
		if a := &c.after[i]; a.tick == t && (a.meant[index].generation == 0 || a.meant[index].kept) {
			return true
		}
	}
	return false
}

// seqProof is a state that the client was found to hold, as of a tick.
type seqProof struct {
	tick  tick.Tick
	from  tick.Tick // of which it is: all that came since until then was the client's own
	state seqState
}

// seqPlaces returns the place of the lanes of a row in a seqState.
func seqPlaces(row int) (from, to int) {
	switch row {
	case seqHealth:
		return 0, 1
	case seqLink:
		return 1, 3
	case seqPosition:
		return 3, 5
	}
	return 0, 0
}

// mean writes down what the server means to tell a client at this tick. It is
// the reference: the world as it is, what this client may see of it by what was
// called, and nothing else.
func (s *sequence) mean(c *seqClient, at *[sequenceIndexes]seqState) error {
	for _, id := range s.alive {
		sight := &c.sights[id.Index]
		if c.view.Visible(id) != sight.visible {
			return fmt.Errorf("tick %d: %v is visible %v, it should be %v", s.now-s.start, id, c.view.Visible(id), sight.visible)
		}
		switch {
		case sight.visible && sight.since > s.now:
		case sight.visible:
			at[id.Index] = s.visibleState(c, id, sight.rows)
		case sight.kept:
			at[id.Index] = seqState{generation: id.Generation, kept: true}
			s.met.kept++
		}
	}
	return nil
}

func (s *sequence) visibleState(c *seqClient, id wire.NetworkID, rows Mask) seqState {
	state := seqState{generation: id.Generation, mask: s.store.Mask(id).Intersect(rows)}
	if state.mask != s.store.Mask(id) {
		s.met.hiddenRows++
	}
	for m := state.mask; !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		from, to := seqPlaces(row)
		copy(state.lanes[from:to], s.store.Row(id, row))
	}
	to := wire.NetworkID{Index: state.lanes[1], Generation: state.lanes[2]}
	if target := &c.sights[to.Index]; !target.visible || target.generation != to.Generation || target.since > s.now {
		state.lanes[1], state.lanes[2] = 0, 0
	} else {
		s.met.references++
	}
	return state
}

// right reports whether a state is what was meant at a tick. What was called
// between the packets of the tick may be in it already, but shows nothing that
// was not to be seen before.
func (c *seqClient) right(got seqState, index uint32, t tick.Tick) bool {
	want := c.meant[t][index]
	if got == want {
		return true
	}
	for i := range c.after {
		if c.after[i].tick == t && c.after[i].meant[index] == got {
			return want.generation == got.generation && !want.kept
		}
	}
	return false
}

// held returns the state that a client holds of an index.
func (c *seqClient) held(e replica.Entity) seqState {
	if !e.Alive {
		return seqState{}
	}
	state := seqState{generation: e.ID.Generation, mask: e.Mask}
	for m := e.Mask; !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		from, to := seqPlaces(row)
		copy(state.lanes[from:to], c.replica.Row(e.ID.Index, row))
	}
	return state
}

// check holds everything that a packet of tick t said, and did, against the reference.
func (s *sequence) check(c *seqClient, t tick.Tick) error {
	for _, rec := range decodedAt(c.replica, t) {
		if err := s.checkRecord(c, &rec, t); err != nil {
			return err
		}
	}
	for _, index := range c.replica.Changed() {
		if err := s.checkApplied(c, index); err != nil {
			return err
		}
	}
	c.replica.ClearChanged()
	for _, rec := range decodedAt(c.replica, t) {
		if g := s.groups[t-s.start][rec.index]; g != 0 {
			s.met.grouped++
			if err := s.checkGroup(c, g, t); err != nil {
				return err
			}
		}
	}
	return s.checkTogether(c, t)
}

// checkRecord: a record says exactly what was meant at its tick, of an entity
// that was to be seen then.
func (s *sequence) checkRecord(c *seqClient, rec *decodedRecord, t tick.Tick) error {
	want := c.meant[t-s.start][rec.index]
	got := seqState{generation: want.generation, mask: rec.mask}
	if e := c.replica.Entity(rec.index); e.Alive && e.Tick == t {
		got.generation = e.ID.Generation
	}
	lanes := rec.lanes
	for m := rec.mask; !m.IsZero(); m = m.Rest() {
		from, to := seqPlaces(m.Lowest())
		copy(got.lanes[from:to], lanes)
		lanes = lanes[to-from:]
	}
	if !c.right(got, rec.index, t-s.start) {
		return fmt.Errorf("record of %d is %+v, meant was %+v", rec.index, got, want)
	}
	return nil
}

// checkApplied: what the client holds is what was meant as of the tick that it
// is known at, ticks do not go back, dead stays dead, and what was once proven
// is not undone by an older record.
func (s *sequence) checkApplied(c *seqClient, index uint32) error {
	e, was := c.replica.Entity(index), c.known[index]
	c.known[index] = e
	switch {
	case e.ID.Generation < was.ID.Generation:
		return fmt.Errorf("%v came after %v", e.ID, was.ID)
	case e.ID == was.ID && e.Tick < was.Tick:
		return fmt.Errorf("%v went from tick %d back to %d", e.ID, was.Tick-s.start, e.Tick-s.start)
	}
	want, got := c.meant[e.Tick-s.start][index], c.held(e)
	if !e.Alive {
		if want.generation == e.ID.Generation {
			return fmt.Errorf("%v was despawned at tick %d, at which it was there: %+v", e.ID, e.Tick-s.start, want)
		}
		return nil
	}
	if !c.right(got, index, e.Tick-s.start) {
		return fmt.Errorf("%v is %+v as of tick %d, meant was %+v", e.ID, got, e.Tick-s.start, want)
	}
	if p := &c.proven[index]; p.state.generation == e.ID.Generation && e.Tick < p.tick && !c.asGood(p.state, index, p.from-s.start, e.Tick-s.start) {
		return fmt.Errorf("%v is as of tick %d, though at %d its group was whole without it: %+v, then %+v",
			e.ID, e.Tick-s.start, p.tick-s.start, got, p.state)
	}
	return nil
}

// checkGroup: once a packet has brought one member of a group to its tick, all
// members are as they were meant to be at that tick, or at a later one.
func (s *sequence) checkGroup(c *seqClient, group uint32, t tick.Tick) error {
	for index, g := range s.groups[t-s.start] {
		want := c.meant[t-s.start][index]
		if g != group || want.generation == 0 || want.kept || c.left(uint32(index), t-s.start) {
			continue
		}
		e := c.replica.Entity(uint32(index))
		if e.ID.Generation > want.generation || e.ID.Generation == want.generation && e.Tick > t {
			continue // of a later packet, which was checked when it came
		}
		got := c.held(e)
		if !c.asGood(got, uint32(index), e.Tick-s.start, t-s.start) {
			return fmt.Errorf("group %d is torn: %v is %+v as of %d, meant was %+v", group, e.ID, got, e.Tick-s.start, want)
		}
		if p := &c.proven[index]; t > p.tick {
			*p = seqProof{tick: t, from: e.Tick, state: got}
		}
	}
	return nil
}

// equal: on a healed network both clients hold what they are meant to hold, no
// more and no less. Of what is kept they may hold the last that they got, or
// nothing where nothing came.
func (s *sequence) equal() error {
	for i, c := range s.clients {
		for index := range uint32(sequenceIndexes) {
			want, e := c.meant[s.now-s.start][index], c.replica.Entity(index)
			got := c.held(e)
			if want.kept {
				if got.generation != 0 && got.generation != want.generation {
					return fmt.Errorf("client %d holds %+v of index %d, of which it was left generation %d", i, got, index, want.generation)
				}
				continue
			}
			if got != want && !c.asGood(got, index, e.Tick-s.start, s.now-s.start) {
				return fmt.Errorf("client %d finally holds %+v of index %d, meant is %+v", i, got, index, want)
			}
		}
	}
	return nil
}
