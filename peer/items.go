package peer

import (
	"math/bits"

	"github.com/arche-netcode/netcode/wire"
)

// itemState is the state of a reliable message.
type itemState uint8

const (
	itemWaiting   itemState = iota // not sent yet
	itemFlying                     // sent, neither acknowledged nor lost
	itemLost                       // to be sent again
	itemConfirmed                  // arrived
)

// item is one reliable message, or one piece of a large one, from the call to its acknowledgement.
type item struct {
	number uint64 // in its channel
	next   uint64 // id of the channel's next one that waits, 0 for none
	packet uint64 // that carried it last
	start  int    // in the arena
	size   int    // header and payload; 0 when confirmed
	// setCost is the cost of the whole message, in the first of its pieces, and pieces their number; 0 elsewhere.
	setCost int
	pieces  uint8
	piece   bool
	line    uint8
	state   itemState
}

// cost returns the credit that the item takes.
func (it *item) cost() int { return messageCost(it.size - wire.MessageHeaderSize) }

// items holds the reliable messages of one peer in the order of the calls, by an id that counts from 1.
type items struct {
	ring  []item // a power of two long
	first uint64 // oldest; all before are confirmed
	next  uint64 // id of the next
	// lost has a bit for each place in the ring whose item is lost. None has an id below lostFrom.
	lost      []uint64
	lostFrom  uint64
	lostCount int
}

func newItems() items { return items{first: 1, next: 1, lostFrom: 1} }

func (s *items) at(id uint64) *item { return &s.ring[id&uint64(len(s.ring)-1)] }

// live reports whether id is in the ring.
func (s *items) live(id uint64) bool { return id >= s.first && id < s.next }

// push adds an item.
func (s *items) push(it item) uint64 {
	if int(s.next-s.first) == len(s.ring) {
		s.grow()
	}
	id := s.next
	s.next++
	*s.at(id) = it
	return id
}

func (s *items) grow() {
	old := *s
	s.ring = make([]item, max(64, 2*len(old.ring)))
	s.lost = make([]uint64, len(s.ring)/64)
	for id := s.first; id < s.next; id++ {
		it := old.at(id)
		*s.at(id) = *it
		if it.state == itemLost {
			s.mark(id)
		}
	}
}

func (s *items) mark(id uint64) {
	place := id & uint64(len(s.ring)-1)
	s.lost[place/64] |= 1 << (place % 64)
}

// lose puts a flying item among the lost.
func (s *items) lose(id uint64) {
	s.at(id).state = itemLost
	s.mark(id)
	s.lostFrom = min(s.lostFrom, id)
	s.lostCount++
}

// find takes an item off the lost. Its new state is the caller's.
func (s *items) find(id uint64) {
	place := id & uint64(len(s.ring)-1)
	s.lost[place/64] &^= 1 << (place % 64)
	s.lostCount--
}

// oldestLost returns the lost item with the lowest id, 0 without one.
func (s *items) oldestLost() uint64 {
	if s.lostCount == 0 {
		return 0
	}
	s.lostFrom = max(s.lostFrom, s.first)
	for {
		place := s.lostFrom & uint64(len(s.ring)-1)
		if word := s.lost[place/64] >> (place % 64); word != 0 {
			s.lostFrom += uint64(bits.TrailingZeros64(word))
			return s.lostFrom
		}
		s.lostFrom += 64 - place%64
	}
}

// release drops the confirmed items at the front and returns how many.
func (s *items) release() (n int) {
	for ; s.first < s.next && s.at(s.first).state == itemConfirmed; s.first++ {
		n++
	}
	return n
}

// clear drops all items. Their ids are not used again.
func (s *items) clear() {
	clear(s.lost)
	s.first, s.lostFrom, s.lostCount = s.next, s.next, 0
}
