package peer

import (
	"encoding/binary"

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
	lines     []arrivalLine               // of the channels in use
	sequenced [wire.MaxChannels]uint64    // newest packet of which a message of the channel was delivered
	sets      [maxFragmentSets]pieces     // messages of which some pieces came
	open      int                         // how many: the first ones
	stash     stash
	credit    granting
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

// arrivalLine is one reliable channel on the receiving side.
type arrivalLine struct {
	came  window
	early []uint16 // of an ordered channel: places in the stash by number, a circle; 0 for none
}

// arrived is a reliable message that was judged.
type arrived struct {
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
func (a *Arrivals) judge(m *Arrival) (at arrived, err error) {
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
// for a duplicate, for one that is early or late or only a piece; several where it closes a gap. What deliver is given, and
// its Body, are good during the call. What came early, or in pieces, is delivered only now: if its body turns out to be
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
		a.lines = append(a.lines, arrivalLine{})
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
func (a *Arrivals) take(m *Arrival, at *arrived, payload []byte, deliver func(*Arrival)) error {
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
		place, room = a.stash.keep(kept{header: m.Header, cost: m.Cost}, len(payload))
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
func (l *arrivalLine) hold(n uint64, place uint16) {
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
func (l *arrivalLine) unhold(n uint64) (place uint16) {
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
func (a *Arrivals) CreditDue() (low uint32, due bool) { return a.credit.offer() }

// CreditSent says that the packet seq carries a credit message with what CreditDue returned last.
func (a *Arrivals) CreditSent(seq uint64) { a.credit.sent(seq) }

// Acked says that a packet arrived.
func (a *Arrivals) Acked(seq uint64) { a.credit.settle(seq, false) }

// Lost says that a packet is presumed lost: a credit message in it is due again.
func (a *Arrivals) Lost(seq uint64) { a.credit.settle(seq, true) }

// Unsent takes back CreditSent for a packet that will not be finished: the next one takes its number.
func (a *Arrivals) Unsent(seq uint64) { a.credit.unsent(seq) }

// Stats returns the counters.
func (a *Arrivals) Stats() ArrivalStats { return a.stats }

// AppendCredit appends the payload of a credit message: the low 32 bits of what is granted since the start, little-endian.
func AppendCredit(b []byte, low uint32) []byte { return binary.LittleEndian.AppendUint32(b, low) }

// ParseCredit reads the payload of a credit message. The error is ErrMalformed.
func ParseCredit(payload []byte) (low uint32, err error) {
	if len(payload) != CreditSize {
		return 0, ErrMalformed
	}
	return binary.LittleEndian.Uint32(payload), nil
}
