package snapshot

import "math/bits"

// evenSize makes packets of a round come to the same size, so that a kernel that cuts one write into packets takes all
// of a client's at once. What varies is where entities are: a few bits a record. So a packet that would be some bytes
// shorter than the one before says some records of a run by themselves, or has entities from further on.
type evenSize struct {
	bytes   int  // that packets are to have
	records int  // that they then have,
	mask    Mask // if all have these rows
}

const (
	// evenSlack is by how many bytes the first packet is made longer than it need be: what others may need more.
	evenSlack = 5
	// evenReach is by how many bytes a packet can be made longer.
	evenReach = 8
	// evenHeads is how many records of a run are said by themselves, less one, at most.
	evenHeads = 10
	// evenJumps is how many records at the end of a packet may be others.
	evenJumps = 3
)

// pick chooses what the next packet has records of, and which are said by themselves.
func (r *round) pick(s *Store, begun measure, payload int) (a apart) {
	m, uniform := begun, true
	r.picked = r.picked[:0]
	r.seek()
	_, end := s.schema.codes.gap.Bits(0, gapEnd)
	limit := 8*payload - int(end) - 1 // that of a run may be open
fill:
	for w := r.from; w < len(r.rest); w++ {
		for word := r.rest[w]; word != 0; word &= word - 1 {
			index := firstOf(uint32(w), word)
			mask, generation := s.rows.masks[index], s.gens[index]
			if !s.inRounds(index, mask) {
				r.rest.unset(index)
				continue
			}
			before := m
			m.add(s.schema, index, generation, mask, m.goesOn(index, generation, mask))
			if m.bits > limit || len(r.picked) == maxRecords {
				if m = before; len(r.picked) > 0 {
					break fill
				}
				r.rest.unset(index) // it fits no packet
				continue
			}
			r.picked = append(r.picked, index)
			if uniform = uniform && mask == s.rows.masks[r.picked[0]]; uniform && mask == r.even.mask && len(r.picked) == r.even.records {
				break fill
			}
		}
	}
	if len(r.picked) == 0 || r.picked[len(r.picked)-1] == r.lastDue() {
		return a // the last packet may be shorter
	}
	return r.level(s, begun, &m, uniform, payload)
}

// inRounds reports whether records of an entity are the same for all clients that see all of it, and go alone.
func (s *Store) inRounds(index uint32, mask Mask) bool {
	return mask&s.schema.whole == 0 && s.groups.at(index) == 0
}

// seek finds the first word of rest that has any.
func (r *round) seek() {
	for r.from < len(r.rest) && r.rest[r.from] == 0 {
		r.from++
	}
}

// lastDue is the last of what is in no packet yet.
func (r *round) lastDue() uint32 {
	for w := len(r.rest) - 1; w >= r.from; w-- {
		if r.rest[w] != 0 {
			return uint32(w<<6 + bits.Len64(r.rest[w]) - 1)
		}
	}
	return 0
}

// nextDue is the first of what is in no packet yet that does not lie before an index, and before another.
func (r *round) nextDue(index, before uint32) (uint32, bool) {
	for w := index >> 6; w < (before+63)>>6 && int(w) < len(r.rest); w++ {
		word := r.rest[w]
		if w == index>>6 {
			word &= ^uint64(0) << (index & 63)
		}
		if word != 0 {
			found := firstOf(w, word)
			return found, found < before
		}
	}
	return 0, false
}

// level brings a packet to the size of the one before, if that can be.
func (r *round) level(s *Store, begun measure, m *measure, uniform bool, payload int) (a apart) {
	e, size := &r.even, m.size()
	if size > e.bytes || size+evenReach < e.bytes {
		*e = evenSize{bytes: min(size+evenSlack, payload), records: len(r.picked)}
		if uniform {
			e.mask = m.mask
		}
	}
	if size == e.bytes {
		return a
	}
	a, ok := r.split(s, begun)
	if !ok && uniform {
		r.jump(s, begun)
	}
	return a
}

// split is which records of runs are to be said by themselves. It says false where that does not come to the size.
func (r *round) split(s *Store, begun measure) (a apart, ok bool) {
	for _, late := range [2]int{0, 1} {
		for early := range evenHeads {
			a = apart{early: early, late: late}
			m, left := begun, a
			for _, index := range r.picked {
				mask, generation := s.rows.masks[index], s.gens[index]
				run := m.goesOn(index, generation, mask)
				m.add(s.schema, index, generation, mask, run && !left.take(m.n))
			}
			size := m.size()
			if left != (apart{}) || size > r.even.bytes {
				break
			}
			if size == r.even.bytes {
				return a, true
			}
		}
	}
	return apart{}, false
}

// apart is how many records are said by themselves though they could go on with a run: so many that would begin one, of
// 9 bits, and so many that follow in one, of 3 bytes.
type apart struct{ early, late int }

// take reports whether a record that could go on with a run of n is to be said by itself.
func (a *apart) take(n int) bool {
	switch {
	case n == 0 && a.early > 0:
		a.early--
		return true
	case n == 1 && a.early == 0 && a.late > 0:
		a.late--
		return true
	}
	return false
}

// jump has the last records be of entities that lie further on, where gaps take as many bits as there are too few.
func (r *round) jump(s *Store, begun measure) {
	n := len(r.picked) - evenJumps
	if n <= 0 {
		return
	}
	m, was := begun, [evenJumps]uint32(r.picked[n:])
	for _, index := range r.picked[:n] {
		mask, generation := s.rows.masks[index], s.gens[index]
		m.add(s.schema, index, generation, mask, m.goesOn(index, generation, mask))
	}
	for _, usual := range [...]int{7, 6, 8, 5, 10} {
		if r.jumpWith(s, m, usual, n) {
			return
		}
	}
	copy(r.picked[n:], was[:])
}

// jumpWith is jump behind the first n, if gaps mostly take so many bits.
func (r *round) jumpWith(s *Store, m measure, usual, n int) bool {
	for k := range evenJumps {
		index, ok := r.farther(s, &m, (evenJumps - 1 - k), usual)
		if !ok {
			return false
		}
		m.add(s.schema, index, s.gens[index], m.mask, false)
		r.picked[n+k] = index
	}
	return m.size() == r.even.bytes
}

// farther is an entity with so large a gap that the packet is nearly full with it and some more records with usual ones.
func (r *round) farther(s *Store, m *measure, more, usual int) (index uint32, ok bool) {
	_, end := s.schema.codes.gap.Bits(0, gapEnd)
	room := 8*r.even.bytes - int(end) - 1
	for class := uint32(20); class > 0; class-- {
		from := m.last + 1<<(class-1)
		found, any := r.nextDue(from, m.last+1<<class)
		if !any || s.rows.masks[found] != m.mask || !s.inRounds(found, m.mask) {
			continue
		}
		after := *m
		after.add(s.schema, found, s.gens[found], m.mask, false)
		if after.bits+more*(after.bits-m.bits-m.gap(found-m.last)+usual) <= room {
			return found, true
		}
	}
	return 0, false
}
