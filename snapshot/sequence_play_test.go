package snapshot

import (
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// play is the game's part of a tick.
func (s *sequence) play() {
	s.store.Begin(s.now)
	s.did = [sequenceIndexes]Mask{}
	if !s.calm {
		s.author()
	}
	switch {
	case s.calm:
	case s.now == s.start+1:
		for range 1 + s.r.IntN(sequenceEntities) {
			s.spawn()
		}
	default:
		for s.chance(s.busy) {
			s.operate()
		}
	}
	s.store.Commit()
	for _, id := range s.alive {
		if g := s.store.Group(id); g != 0 && !s.store.groups.members[g].split {
			s.groups[s.now-s.start][id.Index] = g
		}
	}
	for g := range s.split {
		if m := s.store.groups.members[uint32(g)]; m != nil && m.split {
			s.split[g] = s.now - s.start
		}
	}
}

// operate does one thing to the world.
func (s *sequence) operate() {
	if len(s.alive) == 0 {
		s.spawn()
		return
	}
	at := s.r.IntN(len(s.alive))
	id := s.alive[at]
	switch s.r.IntN(16) {
	case 0, 1:
		s.spawn()
	case 2:
		s.despawn(at)
	case 3: // and another one in the same tick
		s.despawn(at)
		s.spawn()
	case 4:
		if s.store.Mask(id).Has(seqHealth) {
			s.remove(id, seqHealth)
		} else {
			s.set(id, seqHealth)
		}
	case 5:
		if s.store.Mask(id).Has(seqFrozen) {
			s.remove(id, seqFrozen)
		} else {
			s.put(id, seqFrozen, nil)
		}
	case 6:
		s.link(id)
	case 7, 8:
		s.store.SetGroup(id, 1+uint32(s.r.IntN(sequenceGroups)))
	case 9:
		s.store.SetGroup(id, 0)
	case 10:
		s.store.SetPriority(id, uint16(s.r.IntN(4)*256))
	case 11:
		s.set(id, seqHealth)
	default:
		s.set(id, seqPosition)
	}
}

func (s *sequence) spawn() {
	if len(s.alive) == sequenceEntities {
		return
	}
	id := s.create()
	s.set(id, seqPosition)
	if s.chance(50) {
		s.put(id, seqHealth, []uint32{uint32(s.r.IntN(4))})
	}
	if s.chance(30) {
		s.store.SetGroup(id, 1+uint32(s.r.IntN(sequenceGroups)))
	}
	s.alive = append(s.alive, id)
	s.appoint(id)
}

// create makes an entity, where the store mirrors another one at an index that may have been another's until now.
func (s *sequence) create() wire.NetworkID {
	if !s.mirrors {
		return s.store.Spawn()
	}
	index := uint32(s.r.IntN(sequenceEntities + 2))
	for s.store.alive.has(index) {
		index = (index + 1) % (sequenceEntities + 2)
	}
	id := wire.NetworkID{Index: index, Generation: 1}
	if int(index) < len(s.store.gens) {
		id.Generation = s.store.gens[index] + 1
		if s.store.shapedAt[index] == s.now && s.store.bornAt[index] != s.now {
			s.met.replaced++
		}
	}
	s.store.Mirror(id)
	return id
}

func (s *sequence) despawn(at int) {
	id := s.alive[at]
	s.store.Despawn(id)
	s.alive = append(s.alive[:at], s.alive[at+1:]...)
	if len(s.graves) < 4 {
		s.graves = append(s.graves, id)
	} else {
		s.graves[s.r.IntN(4)] = id
	}
}

// link makes an entity name a living one, a dead one, itself, nobody, or takes the link away.
func (s *sequence) link(id wire.NetworkID) {
	to := wire.NetworkID{}
	switch s.r.IntN(6) {
	case 0:
		s.remove(id, seqLink)
		return
	case 1:
		if len(s.graves) > 0 {
			to = s.graves[s.r.IntN(len(s.graves))]
		}
	case 2:
	default:
		to = s.alive[s.r.IntN(len(s.alive))]
	}
	s.put(id, seqLink, []uint32{to.Index, to.Generation})
}

// seqSight has the state that the reference keeps of a client and an index. It follows from the
// calls that were made.
type seqSight struct {
	generation uint32
	visible    bool
	kept       bool
	rows       Mask
	since      tick.Tick // of which it is seen: the next one, once a packet of this tick is out
}

// born gives a client sight of what is new, and takes from it what is dead.
func (s *sequence) born(c *seqClient) {
	for index := range c.sights {
		if !s.store.Alive(wire.NetworkID{Index: uint32(index), Generation: c.sights[index].generation}) {
			c.sights[index] = seqSight{}
		}
	}
	if c.hideNew {
		return
	}
	for _, id := range s.alive {
		if s.store.bornAt[id.Index] == s.now {
			c.sights[id.Index] = seqSight{generation: id.Generation, visible: true, rows: AllRows(), since: s.now}
		}
	}
}

// watch changes what a client may see.
func (s *sequence) watch(c *seqClient) {
	if s.calm || len(s.alive) == 0 {
		return
	}
	if s.chance(3) {
		c.hideNew = s.chance(50)
		c.view.ShowNew(!c.hideNew)
	}
	for s.chance(30) {
		s.look(c, s.alive[s.r.IntN(len(s.alive))])
	}
}

func (s *sequence) look(c *seqClient, id wire.NetworkID) {
	sight := &c.sights[id.Index]
	next := c.view.next() - s.start
	switch s.r.IntN(8) {
	case 0, 1:
		c.unsay(id, next)
		c.view.Hide(id)
		*sight = seqSight{}
	case 2, 3, 4:
		c.view.Show(id)
		if !sight.visible {
			*sight = seqSight{generation: id.Generation, visible: true, rows: AllRows(), since: s.now}
			if c.sent[c.seq].tick == s.now {
				sight.since++
			}
		}
	case 5:
		c.unsay(id, next)
		c.view.Keep(id)
		if sight.visible {
			// An entity that the client was never known to have need not be kept.
			*sight = seqSight{generation: id.Generation, kept: c.view.Keeps(id)}
			c.keptAt[id.Index] = next
		}
	case 6:
		rows := format.FromWords(uint64(s.r.IntN(1 << seqRows))).Union(noComponent)
		if sight.visible {
			c.view.See(id, rows)
			sight.rows = rows
		}
	case 7:
		if sight.visible {
			c.view.See(id, AllRows())
			sight.rows = AllRows()
		}
		c.view.SetWeight(id, uint16(s.r.IntN(3)*256))
	}
}

// unsay notes that a life ends of which nothing was said.
func (c *seqClient) unsay(id wire.NetworkID, next tick.Tick) {
	if c.view.life(id.Index).shownGeneration == 0 {
		c.unsaid[id.Index] = next
	}
}
