package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
)

// The store knows the tick of each entity's newest change that all clients see. 64 entities with neighbouring indexes share one
// lastChangedWord: a tick, and a bit for each entity that changed in that tick. An entity without a bit has its tick in Store.earlierChange.
// So a tick in which most entities move writes one word for each 64 of them.

// lastChangedWord is the newest tick before the current one in which any of 64 entities changed. Changes of the current tick are in
// Store.changed.
type lastChangedWord struct {
	tick tick.Tick
	who  uint64 // the entities that changed in that tick
}

// lastChanged returns the newest tick in which an entity changed, tick.None if it never did.
func (s *Store) lastChanged(index uint32) tick.Tick {
	if s.changed[index>>6]>>(index&63)&1 != 0 {
		return s.tick
	}
	return s.changedBefore(index)
}

// changedBefore returns the newest tick before the current one in which an entity changed.
func (s *Store) changedBefore(index uint32) tick.Tick {
	if m := &s.lastChanges[index>>6]; m.who>>(index&63)&1 != 0 {
		return m.tick
	}
	return s.earlierChange[index]
}

// endChanges ends tick now: it moves the changes of that tick from Store.changed to Store.lastChanges.
func (s *Store) endChanges(now tick.Tick) {
	for _, w := range s.words {
		m, changed := &s.lastChanges[w], s.changed[w]
		for left := m.who &^ changed; left != 0; left &= left - 1 {
			s.earlierChange[w<<6+uint32(bits.TrailingZeros64(left))] = m.tick
		}
		m.tick, m.who = now, changed
		s.changed[w] = 0
	}
	s.words = s.words[:0]
}

// touch notes that an entity changed in this tick. A row that only names another entity is noted by backRefs.retarget instead, since
// clients may read it as unchanged.
func (s *Store) touch(index uint32) { s.touchRows(index>>6, 1<<(index&63)) }

// touchRows does what touch does for several entities of word w.
func (s *Store) touchRows(w uint32, rows uint64) {
	if s.changed[w] == 0 {
		s.words = append(s.words, w)
	}
	s.changed[w] |= rows
}
