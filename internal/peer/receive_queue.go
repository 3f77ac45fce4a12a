package peer

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Arrivals receives the messages of a peer: it drops repeated messages, stores early ones, joins pieces, and grants
// credit. The zero value is ready to use. It must be used by one goroutine at a time. It does not allocate once its
// buffers have grown.
//
// Judge all messages of a packet before the first Take. The caller handles netcode's own types on channel 0 of Unreliable.
type Arrivals struct {
	index     [2 * wire.MaxChannels]uint8 // 1 + index in channels of each reliable channel; 0: none
	channels  []receiveChannel            // one for each channel in use
	sequenced [wire.MaxChannels]uint64    // newest packet with a delivered message of the channel
	sets      [maxFragmentSets]fragments  // messages with some pieces missing
	open      int                         // number of sets in use: the first ones
	reorder   reorderBuffer
	credit    creditGrant
	out       Arrival // argument of deliver
	stats     ArrivalStats
}

// ArrivalStats counts what happened to messages since the connection began.
type ArrivalStats struct {
	Duplicates uint64 // reliable messages and pieces dropped: received before
	Late       uint64 // sequenced messages dropped: a later one was delivered
	Early      uint64 // ordered messages stored: an earlier one was missing
	Joined     uint64 // messages received in pieces
}

// receiveChannel is one reliable channel on the receiving side.
type receiveChannel struct {
	came  window
	early []uint16 // of an ordered channel: ring of places in the reorder buffer by number; 0: none
}

// receivedMessage is the result of judge for a reliable message.
type receivedMessage struct {
	number  uint64
	came    uint64 // base of the channel's window
	channel int    // index in Arrivals.channels; -1: the channel is new
	news    bool   // it was not received before
}

// Judge checks a message that Arrival.Open took, and changes nothing. An error closes the connection: ErrMalformed or
// ErrOverCredit; see CloseReason.
func (a *Arrivals) Judge(m *Arrival) error {
	if !m.Channel.Delivery().Reliable() {
		return nil
	}
	_, err := a.judge(m)
	return err
}

// judge is Judge for a reliable message.
func (a *Arrivals) judge(m *Arrival) (at receivedMessage, err error) {
	at.channel = int(a.index[m.Channel&(2*wire.MaxChannels-1)]) - 1
	if at.channel >= 0 {
		at.came = a.channels[at.channel].came.base
	}
	ahead := uint64(uint16(m.Number - uint16(at.came)))
	switch {
	case ahead < ReliableWindow:
		at.number = at.came + ahead
		at.news = at.channel < 0 || !a.channels[at.channel].came.has(at.number)
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

// Take processes a judged message of the packet seq. It calls deliver for each message that is now due: for none if the
// message is a duplicate, late, early or only a piece, and for several if it fills a gap. The argument of deliver and
// its Body are valid during the call.
//
// A message that was early or in pieces is delivered later than it was judged. If its body is malformed, the connection
// closes only then.
//
// The error is one that Judge cannot find, since messages of one packet contradict each other or pieces join to
// something illegal. It closes the connection, too.
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
	if at.channel < 0 {
		a.channels = append(a.channels, receiveChannel{})
		at.channel = len(a.channels) - 1
		a.index[ch&(2*wire.MaxChannels-1)] = uint8(len(a.channels))
		if ch.Delivery() == wire.ReliableOrdered { // unordered channels store only pieces
			a.channels[at.channel].early = make([]uint16, firstEarly)
			a.reorder.reserve()
		}
	}
	a.credit.received += uint64(m.Cost)
	return a.take(m, &at, payload, deliver)
}

// take is Take for a reliable message that was not received before.
func (a *Arrivals) take(m *Arrival, at *receivedMessage, payload []byte, deliver func(*Arrival)) error {
	channel, ch := &a.channels[at.channel], m.Channel
	ordered := ch.Delivery() == wire.ReliableOrdered
	last := at.number // the number under which an early message is stored
	place := uint16(0)
	switch {
	case m.Header.Type == wire.MessageFragment:
		var err error
		if place, last, err = a.takePiece(m, at); err != nil {
			return err
		}
		if place != 0 && !ordered {
			channel.came.set(at.number)
			return a.deliverKept(ch, place, deliver)
		}
	case !ordered || at.number == channel.came.base:
		deliver(m)
	default:
		var room []byte
		place, room = a.reorder.keep(heldMessage{header: m.Header, cost: m.Cost}, len(payload))
		copy(room, payload)
		a.stats.Early++
	}
	if place != 0 {
		channel.storeEarly(last, place)
	}
	from := channel.came.base
	channel.came.set(at.number)
	if !ordered {
		return nil
	}
	for n := from; n < channel.came.base; n++ {
		if place := channel.takeEarly(n); place != 0 {
			if err := a.deliverKept(ch, place, deliver); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliverKept delivers a message of the reorder buffer and frees its place.
func (a *Arrivals) deliverKept(ch wire.Channel, place uint16, deliver func(*Arrival)) error {
	k, payload := a.reorder.get(place)
	var err error
	if k.joined {
		a.out = Arrival{Channel: ch, Joined: true, Header: k.header, Body: payload}
		err = a.out.openPrefix()
	} else {
		err = a.out.Open(ch, k.header, payload)
	}
	a.out.Cost = k.cost
	a.reorder.drop(place)
	if err == nil {
		deliver(&a.out)
	}
	return err
}

// EachEarly calls f for each message that came before an earlier one of its ordered channel and waits for that: when a connection
// ends it was acknowledged, and will not be delivered. The argument is valid until f returns.
func (a *Arrivals) EachEarly(f func(*Arrival)) {
	for low, at := range a.index {
		if at == 0 {
			continue
		}
		c, ch := &a.channels[at-1], wire.NewChannel(wire.Reliable, 0)|wire.Channel(low)
		for n := range uint64(len(c.early)) {
			place := c.early[(c.came.base+n)&uint64(len(c.early)-1)]
			if place == 0 {
				continue
			}
			k, payload := a.reorder.get(place)
			m := Arrival{Channel: ch, Joined: k.joined, Header: k.header, Body: payload}
			err := error(nil)
			if k.joined {
				err = m.openPrefix()
			} else {
				err = m.Open(m.Channel, k.header, payload)
			}
			if err == nil {
				f(&m)
			}
		}
	}
}

// firstEarly is the number of messages after a missing one that an ordered channel can store before it allocates.
const firstEarly = 64

// storeEarly stores the place in the reorder buffer of message number n.
func (c *receiveChannel) storeEarly(n uint64, place uint16) {
	if span := n - c.came.base + 1; span > uint64(len(c.early)) {
		size := max(firstEarly, len(c.early))
		for uint64(size) < span {
			size *= 2
		}
		early := make([]uint16, size)
		for k := range uint64(len(c.early)) {
			early[(c.came.base+k)&uint64(size-1)] = c.early[(c.came.base+k)&uint64(len(c.early)-1)]
		}
		c.early = early
	}
	c.early[n&uint64(len(c.early)-1)] = place
}

// takeEarly removes and returns the place in the reorder buffer of message number n, 0 if there is none.
func (c *receiveChannel) takeEarly(n uint64) (place uint16) {
	if len(c.early) == 0 {
		return 0
	}
	at := &c.early[n&uint64(len(c.early)-1)]
	place, *at = *at, 0
	return place
}

// Freed returns the Cost of messages that were handled, or dropped for good, to the credit.
func (a *Arrivals) Freed(cost int) { a.credit.freed += uint64(max(cost, 0)) }

// Waiting returns the cost of messages that were received and not freed.
func (a *Arrivals) Waiting() int { return int(a.credit.received - a.credit.freed) }

// CreditDue returns the present value for a credit message, and whether the next packet must have one.
func (a *Arrivals) CreditDue() (low uint32, due bool) {
	g := &a.credit
	g.offered = g.freed
	return uint32(InitialCredit + g.offered), g.again || g.offered-g.granted >= creditStep
}

// CreditSent notes that the packet seq has a credit message with the last value of CreditDue.
func (a *Arrivals) CreditSent(seq uint64) { a.credit.sent(seq) }

// Acked notes that a packet arrived.
func (a *Arrivals) Acked(seq uint64) { a.credit.settle(seq, false) }

// Lost notes that a packet is presumed lost. If it had the newest credit message, one is due again.
func (a *Arrivals) Lost(seq uint64) { a.credit.settle(seq, true) }

// Stats returns the counters.
func (a *Arrivals) Stats() ArrivalStats { return a.stats }

// heldMessage is a stored message, or a piece of one, that was early.
type heldMessage struct {
	header wire.MessageHeader
	start  int
	size   int // 0: the place is free, since no stored message is empty
	cost   int
	joined bool // a whole message joined from pieces: its payload has no number
}

// reorderBuffer stores early messages and pieces, in places that count from 1. The credit limits its size.
type reorderBuffer struct {
	buf    []byte
	places []heldMessage
	free   []uint16 // free places
	order  []uint16 // scratch of fit
	live   int      // bytes in use
}

// firstReorder is the number of messages of usual size that a reorder buffer can store before it allocates more memory.
const firstReorder = 32

// reserve allocates the first memory, with the first message of an ordered channel. Otherwise the first loss would
// allocate, maybe after ten minutes.
func (s *reorderBuffer) reserve() {
	if cap(s.buf) > 0 {
		return
	}
	s.buf = make([]byte, 0, firstReorder*32)
	s.places, s.free, s.order = make([]heldMessage, 0, firstReorder), make([]uint16, 0, firstReorder), make([]uint16, 0, firstReorder)
}

// keep returns a new place with memory of size bytes. size is at least 1.
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

// get returns the content of a place. It is valid until the next keep.
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

// fit makes space for size more bytes. It moves the used bytes together if that gains enough, otherwise it allocates.
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
		to = append(to, from...) // in the same memory, to never overtakes from
	}
	s.buf = to
}

// fragments is a message that was received in part. The payload of a piece, after its number:
//
//	byte 0      1        2       3
//	+------+---------+-------+-------+-----------+
//	| type | stage   | index | count | piece ... |   type and stage with flags: those of the whole message
//	+------+---------+-------+-------+-----------+
//
// index is below count, and count is 2 to MaxFragments. All pieces but the last have the same length. The last is not
// longer, and none is empty. The numbers of the pieces are consecutive. The joined pieces are the payload, after the
// number, of a message that is sent whole.
type fragments struct {
	channel wire.Channel
	header  wire.MessageHeader // header of the whole message, without its size
	first   uint64             // number of the first piece
	count   uint64
	came    int // number of received pieces
	length  int // length of each piece but the last; 0: none was received
	last    int // length of the last piece; 0: not received
	cost    int
	places  [MaxFragments]uint16 // places in the reorder buffer
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

// setAt returns an open set of a channel with a number from first to end-1, or nil.
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
	for n := first; at.channel >= 0 && n < min(first+count, at.came+ReliableWindow); n++ {
		if a.channels[at.channel].came.has(n) {
			return ErrMalformed
		}
	}
	return a.credit.judge(m.Cost)
}

// fits reports whether the length of a piece is legal with the pieces received before.
func (s *fragments) fits(index uint64, length int) bool {
	if index == s.count-1 {
		return s.length == 0 || length <= s.length
	}
	return length >= s.last && (s.length == 0 || length == s.length)
}

// takePiece stores a piece. After the last piece it joins the message, and returns its place and the number under which
// it is stored: the number of its last piece.
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
	place, room := a.reorder.keep(heldMessage{header: m.Header}, len(piece))
	copy(room, piece)
	s.places[index] = place
	if uint64(s.came) < count {
		return 0, 0, nil
	}
	return a.join(s)
}

// join joins the pieces of a set and closes the set.
func (a *Arrivals) join(s *fragments) (place uint16, last uint64, err error) {
	size := int(s.count-1)*s.length + s.last
	place, room := a.reorder.keep(heldMessage{header: s.header, cost: s.cost, joined: true}, size)
	for _, from := range s.places[:s.count] {
		_, piece := a.reorder.get(from)
		room = room[copy(room, piece):]
		a.reorder.drop(from)
	}
	a.stats.Joined++
	last = s.first + s.count - 1
	a.open--
	*s = a.sets[a.open]
	return place, last, nil
}
