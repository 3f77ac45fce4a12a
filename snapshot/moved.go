package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
)

// When an entity changed by what is everybody's is asked for when a client acknowledges it. Who moves does so in most ticks, and the others in none for
// long; so 64 entities by index share what is known of the newest tick in which any of them changed and of the one before, with a bit for each, and what
// is known of one alone is written where neither says it. A tick that changes entities all over the store then touches no line of memory for each of them.

// lastChangedWord has a bit for each of 64 entities that changed in the newest tick, before this one, with a change of any of them.
// Changes of this tick are in Store.changed.
type lastChangedWord struct {
	tick tick.Tick
	who  uint64
}

// lastChanged is the newest tick in which an entity changed, tick.None when it never did.
func (s *Store) lastChanged(index uint32) tick.Tick {
	if s.changed[index>>6]>>(index&63)&1 != 0 {
		return s.tick
	}
	return s.movedBefore(index)
}

// movedBefore is movedAt but for this tick.
func (s *Store) movedBefore(index uint32) tick.Tick {
	if m := &s.moved[index>>6]; m.who>>(index&63)&1 != 0 {
		return m.tick
	}
	return s.still[index]
}

// settleMoved ends tick now: its changes join those of earlier ticks, and the next tick begins with none.
func (s *Store) settleMoved(now tick.Tick) {
	for _, w := range s.words {
		m, changed := &s.moved[w], s.changed[w]
		for left := m.who &^ changed; left != 0; left &= left - 1 {
			s.still[w<<6+uint32(bits.TrailingZeros64(left))] = m.tick
		}
		m.tick, m.who = now, changed
		s.changed[w] = 0
	}
	s.words = s.words[:0]
}

// touch notes a change in this tick that is not only of whom a row names.
func (s *Store) touch(index uint32) { s.touchRows(index>>6, 1<<(index&63)) }

// touchRows is touch for entities of one word.
func (s *Store) touchRows(w uint32, rows uint64) {
	if s.changed[w] == 0 {
		s.words = append(s.words, w)
	}
	s.changed[w] |= rows
}
