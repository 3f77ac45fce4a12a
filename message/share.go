package message

// room makes room for size bytes of a source in the frame, nil if there is none for it. Of half of what a frame holds everyone
// has an equal part to himself; the other half is for whoever comes first.
func (in *Inbound) room(s *Source, size int) []byte {
	if in.common+in.above(s, size) > in.limits.Bytes-in.limits.Sources*in.share {
		return nil
	}
	room, grown := in.cur.room(size, in.limits.Bytes)
	if grown {
		in.stats.Grown++
	}
	return room
}

// use gives the first size bytes of the room to the frame.
func (in *Inbound) use(s *Source, size int) {
	in.common += in.above(s, size)
	s.held += size
	in.cur.bytes = in.cur.bytes[:len(in.cur.bytes)+size]
}

// above returns how much of size more bytes a source takes of what is everyone's.
func (in *Inbound) above(s *Source, size int) int {
	if s.filling != in.filling {
		s.filling, s.held = in.filling, 0
	}
	return max(s.held+size-in.share, 0) - max(s.held-in.share, 0)
}

// empty begins with a frame's bytes anew.
func (in *Inbound) empty() {
	in.cur.clear(in.number)
	in.filling++
	in.common = 0
}
