package peer

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// pieces is a message of which some pieces came. A piece's payload, after its number:
//
//	byte 0      1        2       3
//	+------+---------+-------+-------+-----------+
//	| type | stage   | index | count | piece ... |   type and stage with flags: those of the whole message
//	+------+---------+-------+-------+-----------+
//
// Index is below count, which is 2 to MaxFragments. All pieces but the last are of the same length, the last is at most as
// long; none is empty. Numbers of the pieces follow each other. Joined they are what follows the number in a message that
// travels whole.
type pieces struct {
	channel wire.Channel
	header  wire.MessageHeader // of the whole, without size
	first   uint64             // number of the first piece
	count   uint64
	came    int // how many
	length  int // of each piece but the last, 0 while none of them came
	last    int // length of the last, 0 while it has not come
	cost    int
	places  [MaxFragments]uint16 // in the stash
}

// openPiece reads the header of a piece.
func openPiece(body []byte) (h wire.MessageHeader, index, count uint64, piece []byte, err error) {
	if len(body) <= fragmentHeader {
		return h, 0, 0, nil, ErrMalformed
	}
	whole := [wire.MessageHeaderSize]byte{body[0], body[1]}
	h, err = wire.ParseMessageHeader(whole[:])
	index, count = uint64(body[2]), uint64(body[3])
	if err != nil || count < 2 || count > MaxFragments || index >= count ||
		h.Type < wire.FirstUserMessage && h.Type != wire.MessageRefusal {
		return h, 0, 0, nil, ErrMalformed
	}
	return h, index, count, body[fragmentHeader:], nil
}

// setAt returns an open set of a channel that has one of the numbers from first to end-1, nil without one.
func (a *Arrivals) setAt(ch wire.Channel, first, end uint64) *pieces {
	for i := range a.sets[:a.open] {
		if s := &a.sets[i]; s.channel == ch && first < s.first+s.count && s.first < end {
			return s
		}
	}
	return nil
}

// judgePiece is judge for a piece.
func (a *Arrivals) judgePiece(m *Arrival, at *arrived) error {
	h, index, count, piece, err := openPiece(m.Body)
	if err != nil || m.Header.Stage != tick.Initialization {
		return ErrMalformed
	}
	if !at.news {
		return nil
	}
	if at.number < index {
		return ErrMalformed
	}
	first := at.number - index
	if s := a.setAt(m.Channel, first, first+count); s != nil {
		if s.first != first || s.count != count || s.header != h || !s.fits(index, len(piece)) {
			return ErrMalformed
		}
		return a.credit.judge(m.Cost)
	}
	if a.open == maxFragmentSets || first < at.came {
		return ErrMalformed
	}
	for n := first; at.line >= 0 && n < min(first+count, at.came+ReliableWindow); n++ {
		if a.lines[at.line].came.has(n) {
			return ErrMalformed
		}
	}
	return a.credit.judge(m.Cost)
}

// fits reports whether a piece may have this length beside those that came.
func (s *pieces) fits(index uint64, length int) bool {
	if index == s.count-1 {
		return s.length == 0 || length <= s.length
	}
	return length >= s.last && (s.length == 0 || length == s.length)
}

// takePiece keeps a piece. With the last of its message it joins them and returns the place of the whole, and the number
// under which it lies: that of its last piece.
func (a *Arrivals) takePiece(m *Arrival, at *arrived) (place uint16, last uint64, err error) {
	h, index, count, piece, err := openPiece(m.Body)
	if err != nil {
		return 0, 0, err
	}
	first := at.number - index
	s := a.setAt(m.Channel, first, first+count)
	if s == nil {
		s = &a.sets[a.open]
		a.open++
		*s = pieces{channel: m.Channel, header: h, first: first, count: count}
	}
	if index == count-1 {
		s.last = len(piece)
	} else {
		s.length = len(piece)
	}
	s.came++
	s.cost += m.Cost
	place, room := a.stash.keep(kept{header: m.Header}, len(piece))
	copy(room, piece)
	s.places[index] = place
	if uint64(s.came) < count {
		return 0, 0, nil
	}
	return a.join(s)
}

// join puts the pieces of a set together and closes it.
func (a *Arrivals) join(s *pieces) (place uint16, last uint64, err error) {
	size := int(s.count-1)*s.length + s.last
	place, room := a.stash.keep(kept{header: s.header, cost: s.cost, joined: true}, size)
	for _, from := range s.places[:s.count] {
		_, piece := a.stash.get(from)
		room = room[copy(room, piece):]
		a.stash.drop(from)
	}
	a.stats.Joined++
	last = s.first + s.count - 1
	a.open--
	*s = a.sets[a.open]
	return place, last, nil
}
