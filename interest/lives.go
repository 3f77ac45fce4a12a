package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// lives follows which entity lives at each network index, from one Prepare to the next.
type lives struct {
	generations []uint32 // of who lives there, or lived there last
	alive       Set
	renewed     Set // indexes at which not the same lives as at the Prepare before: somebody else, or nobody
	next        Set
	tick        tick.Tick
	count       int
}

// follow takes in the newest capture. It says false if that was taken in before: then nothing was done.
func (l *lives) follow(s *snapshot.Store) bool {
	if s.Tick() == l.tick {
		return false
	}
	resting := s.Tick() == l.tick+1 && len(s.Births()) == 0 && s.Len() == l.count
	l.tick, l.count = s.Tick(), s.Len()
	clear(l.renewed)
	if resting {
		return true // nobody came, so nobody went either
	}
	l.next.reset(len(l.alive))
	for id := range s.All {
		for int(id.Index) >= len(l.generations) {
			l.generations = append(l.generations, 0)
		}
		l.next.add(id.Index)
		if l.generations[id.Index] != id.Generation {
			l.generations[id.Index] = id.Generation
			l.renewed.add(id.Index)
		}
	}
	l.renewed.grow(len(l.next))
	for w := range l.next {
		l.renewed[w] |= l.next[w] ^ l.alive.word(w)
	}
	l.alive, l.next = l.next, l.alive
	return true
}

// id is the entity that lives at index, or lived there last.
func (l *lives) id(index uint32) wire.NetworkID {
	return wire.NetworkID{Index: index, Generation: l.generations[index]}
}

// is reports whether an entity was alive at the newest Prepare.
func (l *lives) is(id wire.NetworkID) bool {
	return l.alive.Has(id.Index) && l.generations[id.Index] == id.Generation
}
