package snapshot

import "math/bits"

// open is the change of a stripe in this tick, with room for the lanes of so
// many more rows: at first for as many as likely come. The stripe is at this tick
// already.
func (h *history) open(s *stripe, row int, number uint32, more, likely int) *change {
	c := h.get(s.newest)
	if c == nil || c.tick != h.now {
		if stride := ageLanes + h.rows[row].width; likely > more && h.fits(h.lane, likely*stride) {
			more = likely
		}
		return h.add(s, row, number, more)
	}
	rows, room, stride := bits.OnesCount64(c.there)+more, int(c.room), ageLanes+h.rows[row].width
	if rows <= room {
		return c
	}
	if c.lane+uint64(room*stride) == h.lane && h.fits(c.lane, rows*stride) { // It goes on where it ends.
		h.lane, c.room = h.lane+uint64((rows-room)*stride), uint16(rows)
		return c
	}
	most := min(max(rows, 2*room), stripeRows)
	lane := h.place(most * stride)
	if s.newest < h.oldest { // to make room for it
		return h.add(s, row, number, more)
	}
	copy(h.value(lane, most*stride), h.value(c.lane, room*stride))
	c.lane, c.room, h.lane = lane, uint16(most), lane+uint64(most*stride)
	return c
}

// fits reports whether there is room for n lanes in one piece at a place.
func (h *history) fits(place uint64, n int) bool {
	size := len(h.lanes)
	return int(place&uint64(size-1))+n <= size && int(place-h.firstLane)+n <= size
}

// add adds a change of a stripe in this tick.
func (h *history) add(s *stripe, row int, number uint32, room int) *change {
	n := room * (ageLanes + h.rows[row].width)
	lane := h.place(n)
	if h.next-h.oldest >= uint64(len(h.changes)) && !h.grow() {
		h.evict()
	}
	c := h.at(h.next)
	*c = change{tick: h.now, lane: lane, stripe: number, row: uint16(row), room: uint16(room)}
	if back := h.next - s.newest; s.newest >= h.oldest && back <= 1<<32-1 {
		c.back = uint32(back)
	}
	s.newest, h.lane = h.next, lane+uint64(n)
	h.next++
	return c
}

// place makes room for n lanes in one piece and returns where.
func (h *history) place(n int) uint64 {
	for {
		size, at := uint64(len(h.lanes)), h.lane
		if left := size - at&(size-1); uint64(n) > left {
			at += left
		}
		if h.oldest == h.next {
			h.firstLane = at
		}
		if h.fits(at, n) {
			return at
		}
		if !h.growLanes() {
			h.evict()
		}
	}
}

// evict forgets the oldest tick of which changes are held: a tick is known whole
// or not at all.
func (h *history) evict() {
	for left := h.oldest; h.oldest == left; {
		t := h.from
		for n := h.oldest; n < h.next && h.at(n).tick == t; n++ {
			h.evicted += uint64(bits.OnesCount64(h.at(n).rows))
		}
		h.horizon = max(h.horizon, t)
		if h.forget(t); t == h.now {
			return
		}
	}
}

// bytes is the memory of all of it.
func (h *history) bytes() int { return len(h.changes)*changeSize + len(h.lanes)*laneSize + h.beside }

// HistoryBytes is how much memory the versions of the last window take.
func (s *Store) HistoryBytes() int { return s.past.bytes() }

// grow makes the ring of changes larger if the limit allows it.
func (h *history) grow() bool {
	each, _ := h.lately()
	n := h.larger(len(h.changes), each, changeSize)
	if n == 0 {
		return false
	}
	larger := make([]change, n)
	for k := h.oldest; k < h.next; k++ {
		larger[k&uint64(n-1)] = *h.at(k)
	}
	h.changes = larger
	return true
}

// growLanes makes the ring of lanes larger if the limit allows it, or when even
// an empty one is too small. Places stay as they are: what is in one piece in a
// ring is so in one that is twice as long.
func (h *history) growLanes() bool {
	size := len(h.lanes)
	_, each := h.lately()
	n := h.larger(size, each, laneSize)
	if n == 0 {
		if h.oldest < h.next {
			return false
		}
		n = 2 * size
	}
	larger := make([]uint32, n)
	for at := h.firstLane; at < h.lane; {
		piece := h.lanes[at&uint64(size-1):]
		piece = piece[:min(uint64(len(piece)), h.lane-at)]
		at += uint64(copy(larger[at&uint64(n-1):], piece))
	}
	h.lanes = larger
	return true
}

// larger is how long a ring becomes of which a tick takes so much each: twice as
// long, or at once as long as it will have to be for the window if that goes on. It
// is 0 where the limit allows no more.
func (h *history) larger(length int, each uint64, size int) int {
	room := h.limit - h.bytes()
	if length*size > room {
		return 0
	}
	n := 2 * length
	for want := each * uint64(h.keep+2); uint64(n) < want && (2*n-length)*size <= room; {
		n *= 2
	}
	return n
}

// lately is how many changes and lanes the two ticks before this one took at least.
func (h *history) lately() (changes, lanes uint64) {
	now, last, first := h.begun(h.now), h.begun(h.now-1), h.begun(h.now-2)
	if last.tick != h.now-1 || first.tick != h.now-2 || first.number < h.oldest {
		return 0, 0
	}
	return min(now.number-last.number, last.number-first.number), min(now.lane-last.lane, last.lane-first.lane)
}
