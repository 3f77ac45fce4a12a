package peer

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Arrivals receives the messages of a peer: it drops repeated ones, stores early ones,
// joins pieces, and grants credit. The zero value is ready. It belongs to one goroutine. Once warm it allocates
// nothing.
//
// A packet's messages are all judged before the first is taken. Messages of channel 0 of Unreliable without flags need
// neither; netcode's own types on it are for the caller.
type Arrivals struct {
	index     [2 * wire.MaxChannels]uint8 // place in lines of each reliable channel, plus 1
	lines     []receiveChannel            // of the channels in use
	sequenced [wire.MaxChannels]uint64    // newest packet of which a message of the channel was delivered
	sets      [maxFragmentSets]fragments  // messages with some pieces missing
	open      int                         // how many: the first ones
	stash     reorderBuffer
	credit    creditGrant
	out       Arrival // what deliver is given
	stats     ArrivalStats
}

// ArrivalStats counts what happened to messages since the connection began.
type ArrivalStats struct {
	Duplicates uint64 // reliable messages and pieces dropped: they came before
	Late       uint64 // sequenced messages dropped: a later one was delivered
	Early      uint64 // ordered messages held back: one before them was missing
	Joined     uint64 // messages that came in pieces
}

// receiveChannel is one reliable channel on the receiving side.
type receiveChannel struct {
	came  window
	early []uint16 // of an ordered channel: places in the stash by number, a circle; 0 for none
}

// receivedMessage is a reliable message that was judged.
type receivedMessage struct {
	number uint64
	came   uint64 // base of the channel's window
	line   int    // -1: the channel is new
	news   bool   // it did not come before
}

// Judge reports, without effect, what is wrong with a message. An error closes the connection: ErrMalformed or
// ErrOverCredit; see CloseReason.
func (a *Arrivals) Judge(ch wire.Channel, h wire.MessageHeader, payload []byte) error {
	var m Arrival
	if err := m.Open(ch, h, payload); err != nil || !ch.Delivery().Reliable() {
		return err
	}
	_, err := a.judge(&m)
	return err
}

// judge is Judge for a reliable message.
func (a *Arrivals) judge(m *Arrival) (at receivedMessage, err error) {
	at.line = int(a.index[m.Channel&(2*wire.MaxChannels-1)]) - 1
	if at.line >= 0 {
		at.came = a.lines[at.line].came.base
	}
	ahead := uint64(uint16(m.Number - uint16(at.came)))
	switch {
	case ahead < ReliableWindow:
		at.number = at.came + ahead
		at.news = at.line < 0 || !a.lines[at.line].came.has(at.number)
	case 1<<16-ahead > at.came || ahead < 1<<15:
		return at, ErrMalformed
	}
	if m.Header.Type == wire.MessageFragment {
		return at, a.judgePiece(m, &at)
	}
	if !at.news {
		return at, nil
	}
	if a.setAt(m.Channel, at.number, at.number+1) != nil {
		return at, ErrMalformed
	}
	return at, a.credit.judge(m.Cost)
}

// Take takes a judged message of the packet with the number seq and calls deliver for each message that is due with it: none
// for a duplicate, for one that is early or late or only a piece; several where it closes a gap. The argument of deliver, and
// its Body, are good during the call. A message that came early, or in pieces, is delivered only now: if its body turns out to be
// wrong, that closes the connection there and then.
//
// The error is one that Judge cannot see, because messages of one packet contradict each other or pieces join to something
// illegal; it closes too.
func (a *Arrivals) Take(seq uint64, ch wire.Channel, h wire.MessageHeader, payload []byte, deliver func(*Arrival)) error {
	m := &a.out
	if err := m.Open(ch, h, payload); err != nil {
		return err
	}
	switch ch.Delivery() {
	case wire.Unreliable:
		deliver(m)
		return nil
	case wire.UnreliableSequenced:
		newest := &a.sequenced[ch.Number()]
		if seq < *newest {
			a.stats.Late++
			return nil
		}
		*newest = seq
		deliver(m)
		return nil
	}
	at, err := a.judge(m)
	if err != nil {
		return err
	}
	if !at.news {
		a.stats.Duplicates++
		return nil
	}
	if at.line < 0 {
		a.lines = append(a.lines, receiveChannel{})
		at.line = len(a.lines) - 1
		a.index[ch&(2*wire.MaxChannels-1)] = uint8(len(a.lines))
		if ch.Delivery() == wire.ReliableOrdered { // Of others only pieces are ever kept.
			a.lines[at.line].early = make([]uint16, firstEarly)
			a.stash.reserve()
		}
	}
	a.credit.received += uint64(m.Cost)
	return a.take(m, &at, payload, deliver)
}

// take is Take for a reliable message that is news.
func (a *Arrivals) take(m *Arrival, at *receivedMessage, payload []byte, deliver func(*Arrival)) error {
	line, ch := &a.lines[at.line], m.Channel
	ordered := ch.Delivery() == wire.ReliableOrdered
	last := at.number // under which number the message lies when it is early
	place := uint16(0)
	switch {
	case m.Header.Type == wire.MessageFragment:
		var err error
		if place, last, err = a.takePiece(m, at); err != nil {
			return err
		}
		if place != 0 && !ordered {
			line.came.set(at.number)
			return a.deliverKept(ch, place, deliver)
		}
	case !ordered || at.number == line.came.base:
		deliver(m)
	default:
		var room []byte
		place, room = a.stash.keep(heldMessage{header: m.Header, cost: m.Cost}, len(payload))
		copy(room, payload)
		a.stats.Early++
	}
	if place != 0 {
		line.hold(last, place)
	}
	from := line.came.base
	line.came.set(at.number)
	if !ordered {
		return nil
	}
	for n := from; n < line.came.base; n++ {
		if place := line.unhold(n); place != 0 {
			if err := a.deliverKept(ch, place, deliver); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliverKept delivers what is in the stash and frees its place.
func (a *Arrivals) deliverKept(ch wire.Channel, place uint16, deliver func(*Arrival)) error {
	k, payload := a.stash.get(place)
	var err error
	if k.joined {
		a.out = Arrival{Channel: ch, Header: k.header, Body: payload}
		err = a.out.openPrefix()
	} else {
		err = a.out.Open(ch, k.header, payload)
	}
	a.out.Cost = k.cost
	a.stash.drop(place)
	if err == nil {
		deliver(&a.out)
	}
	return err
}

// firstEarly is the number of messages that a line stores ahead of a missing one before it takes more memory.
const firstEarly = 64

// hold notes where in the stash the message number n lies.
func (l *receiveChannel) hold(n uint64, place uint16) {
	if span := n - l.came.base + 1; span > uint64(len(l.early)) {
		size := max(firstEarly, len(l.early))
		for uint64(size) < span {
			size *= 2
		}
		early := make([]uint16, size)
		for k := range uint64(len(l.early)) {
			early[(l.came.base+k)&uint64(size-1)] = l.early[(l.came.base+k)&uint64(len(l.early)-1)]
		}
		l.early = early
	}
	l.early[n&uint64(len(l.early)-1)] = place
}

// unhold returns where in the stash the message number n lies, 0 for nowhere, and forgets it.
func (l *receiveChannel) unhold(n uint64) (place uint16) {
	if len(l.early) == 0 {
		return 0
	}
	at := &l.early[n&uint64(len(l.early)-1)]
	place, *at = *at, 0
	return place
}

// Freed gives back the Cost of messages that were handled, or dropped for good.
func (a *Arrivals) Freed(cost int) { a.credit.freed += uint64(max(cost, 0)) }

// Waiting returns the cost of what was received and not freed yet.
func (a *Arrivals) Waiting() int { return int(a.credit.received - a.credit.freed) }

// CreditDue returns what a credit message would say now, and whether one is to be sent in the next packet.
func (a *Arrivals) CreditDue() (low uint32, due bool) {
	g := &a.credit
	g.offered = g.freed
	return uint32(InitialCredit + g.offered), g.again || g.offered-g.told >= creditStep
}

// CreditSent notes that the packet seq has a credit message with what CreditDue returned last.
func (a *Arrivals) CreditSent(seq uint64) { a.credit.sent(seq) }

// Acked notes that a packet arrived.
func (a *Arrivals) Acked(seq uint64) { a.credit.settle(seq, false) }

// Lost notes that a packet is presumed lost: a credit message in it is due again.
func (a *Arrivals) Lost(seq uint64) { a.credit.settle(seq, true) }

// Stats returns the counters.
func (a *Arrivals) Stats() ArrivalStats { return a.stats }

// heldMessage is a message, or a piece of one, that came before its time.
type heldMessage struct {
	header wire.MessageHeader
	start  int
	size   int // 0 when the place is free; nothing that is kept is empty
	cost   int
	joined bool // a whole message that came in pieces: it has no number in front
}

// reorderBuffer keeps what came before its time, by places that count from 1. How much it holds is bounded by the credit.
type reorderBuffer struct {
	buf    []byte
	places []heldMessage
	free   []uint16 // places that are free
	order  []uint16 // memory of squeeze
	live   int      // bytes in use
}

// firstStash is the number of messages of usual size in a stash before it takes more memory.
const firstStash = 32

// reserve takes the first memory, with the first message that may be followed by one that is early: not with the first
// loss, which may be in the tenth minute.
func (s *reorderBuffer) reserve() {
	if cap(s.buf) > 0 {
		return
	}
	s.buf = make([]byte, 0, firstStash*32)
	s.places, s.free, s.order = make([]heldMessage, 0, firstStash), make([]uint16, 0, firstStash), make([]uint16, 0, firstStash)
}

// keep returns a place with size bytes of room, size from 1.
func (s *reorderBuffer) keep(k heldMessage, size int) (place uint16, room []byte) {
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
func (s *reorderBuffer) get(place uint16) (*heldMessage, []byte) {
	k := &s.places[place-1]
	return k, s.buf[k.start : k.start+k.size : k.start+k.size]
}

// drop frees a place. A result of get stays readable until the next keep.
func (s *reorderBuffer) drop(place uint16) {
	k := &s.places[place-1]
	s.live -= k.size
	k.size = 0
	s.free = append(s.free, place)
	if s.live == 0 {
		s.buf = s.buf[:0]
	}
}

// fit makes room for size more bytes: by moving together what is in use where that gains enough, else in more memory.
func (s *reorderBuffer) fit(size int) {
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

// fragments is a message came. A piece's payload, after its number:
//
//	byte 0      1        2       3
//	+------+---------+-------+-------+-----------+
//	| type | stage   | index | count | piece ... |   type and stage with flags: those of the whole message
//	+------+---------+-------+-------+-----------+
//
// Index is below count, which is 2 to MaxFragments. All pieces but the last are of the same length, the last is at most as
// long; none is empty. Numbers of the pieces follow each other. Joined they are what follows the number in a message that
// is sent whole.
type fragments struct {
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
func (a *Arrivals) setAt(ch wire.Channel, first, end uint64) *fragments {
	for i := range a.sets[:a.open] {
		if s := &a.sets[i]; s.channel == ch && first < s.first+s.count && s.first < end {
			return s
		}
	}
	return nil
}

// judgePiece is judge for a piece.
func (a *Arrivals) judgePiece(m *Arrival, at *receivedMessage) error {
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
func (s *fragments) fits(index uint64, length int) bool {
	if index == s.count-1 {
		return s.length == 0 || length <= s.length
	}
	return length >= s.last && (s.length == 0 || length == s.length)
}

// takePiece keeps a piece. With the last of its message it joins them and returns the place of the whole, and the number
// under which it lies: that of its last piece.
func (a *Arrivals) takePiece(m *Arrival, at *receivedMessage) (place uint16, last uint64, err error) {
	h, index, count, piece, err := openPiece(m.Body)
	if err != nil {
		return 0, 0, err
	}
	first := at.number - index
	s := a.setAt(m.Channel, first, first+count)
	if s == nil {
		s = &a.sets[a.open]
		a.open++
		*s = fragments{channel: m.Channel, header: h, first: first, count: count}
	}
	if index == count-1 {
		s.last = len(piece)
	} else {
		s.length = len(piece)
	}
	s.came++
	s.cost += m.Cost
	place, room := a.stash.keep(heldMessage{header: m.Header}, len(piece))
	copy(room, piece)
	s.places[index] = place
	if uint64(s.came) < count {
		return 0, 0, nil
	}
	return a.join(s)
}

// join puts the pieces of a set together and closes it.
func (a *Arrivals) join(s *fragments) (place uint16, last uint64, err error) {
	size := int(s.count-1)*s.length + s.last
	place, room := a.stash.keep(heldMessage{header: s.header, cost: s.cost, joined: true}, size)
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
