package peer

import (
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// kept is a message, or a piece of one, that came before its time.
type kept struct {
	header wire.MessageHeader
	start  int
	size   int // 0 when the place is free; nothing that is kept is empty
	cost   int
	joined bool // a whole message that came in pieces: it has no number in front
}

// stash keeps what came before its time, by places that count from 1. How much it holds is bounded by the credit.
type stash struct {
	buf    []byte
	places []kept
	free   []uint16 // places that are free
	order  []uint16 // memory of squeeze
	live   int      // bytes in use
}

// firstStash is the number of messages of usual size in a stash before it takes more memory.
const firstStash = 32

// reserve takes the first memory, with the first message that may be followed by one that is early: not with the first
// loss, which may be in the tenth minute.
func (s *stash) reserve() {
	if cap(s.buf) > 0 {
		return
	}
	s.buf = make([]byte, 0, firstStash*32)
	s.places, s.free, s.order = make([]kept, 0, firstStash), make([]uint16, 0, firstStash), make([]uint16, 0, firstStash)
}

// keep returns a place with size bytes of room, size from 1.
func (s *stash) keep(k kept, size int) (place uint16, room []byte) {
	s.fit(size)
	k.start, k.size = len(s.buf), size
	s.buf = s.buf[:k.start+size]
	s.live += size
	if n := len(s.free); n > 0 {
		place = s.free[n-1]
		s.free = s.free[:n-1]
		s.places[place-1] = k
	} else {
		s.places = append(s.places, k)
		place = uint16(len(s.places))
	}
	return place, s.buf[k.start:]
}

// get returns what is in a place, until the next keep.
func (s *stash) get(place uint16) (*kept, []byte) {
	k := &s.places[place-1]
	return k, s.buf[k.start : k.start+k.size : k.start+k.size]
}

// drop frees a place. What get returned stays readable until the next keep.
func (s *stash) drop(place uint16) {
	k := &s.places[place-1]
	s.live -= k.size
	k.size = 0
	s.free = append(s.free, place)
	if s.live == 0 {
		s.buf = s.buf[:0]
	}
}

// fit makes room for size more bytes: by moving together what is in use where that gains enough, else in more memory.
func (s *stash) fit(size int) {
	if cap(s.buf)-len(s.buf) >= size {
		return
	}
	to := s.buf[:0]
	if need := s.live + size; need+need/4 > cap(s.buf) {
		to = make([]byte, 0, need+need/2+1024)
	}
	s.order = s.order[:0]
	for i := range s.places {
		if s.places[i].size > 0 {
			s.order = append(s.order, uint16(i))
		}
	}
	slices.SortFunc(s.order, func(a, b uint16) int { return s.places[a].start - s.places[b].start })
	for _, i := range s.order {
		k := &s.places[i]
		from := s.buf[k.start : k.start+k.size]
		k.start = len(to)
		to = append(to, from...) // in the same memory never past from
	}
	s.buf = to
}
