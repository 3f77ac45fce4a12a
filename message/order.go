package message

import "github.com/arche-netcode/netcode/wire"

// lines is the progress of one source's channels that promise an order.
type lines struct {
	ordered   [wire.MaxChannels]orderedLine
	sequenced [wire.MaxChannels]uint64 // place of the newest message that was handled
}

// orderedLine is one ReliableOrdered channel. Its messages are numbered from 1 as they are queued, whatever stages they
// name, and each is handled, or dropped for good, after the one before it.
type orderedLine struct {
	queued, done uint64
	waiting      waitHeap // those put aside whose turn it is not, by their places
}

// packetPart is the bit at which the number of the packet begins in the place of an UnreliableSequenced message; below it is
// the message's own number within that packet.
const packetPart = 32

// inOrder reports whether messages of a mode of delivery have places.
func inOrder(d wire.Delivery) bool { return d == wire.ReliableOrdered || d == wire.UnreliableSequenced }

// nextPacket begins the places of a packet.
func (s *Source) nextPacket() { s.place = (s.place>>packetPart + 1) << packetPart }

// placed gives the newest message of a channel its place. It must be queued, or handled now: nothing comes after it
// before it is done with.
func (s *Source) placed(ch wire.Channel) uint64 {
	if s.lines == nil {
		s.lines = new(lines)
	}
	if ch.Delivery() == wire.ReliableOrdered {
		l := &s.lines.ordered[ch.Number()]
		l.queued++
		return l.queued
	}
	s.place++
	return s.place
}

// turn reports whether all messages before this one of its ordered channel are done with. One without a place is about to
// be queued.
func (s *Source) turn(m *Message) bool {
	if m.Channel.Delivery() != wire.ReliableOrdered || s.lines == nil {
		return true
	}
	l := &s.lines.ordered[m.Channel.Number()]
	if m.order == 0 {
		return l.done == l.queued
	}
	return m.order <= l.done+1
}

// overtaken reports whether a newer message of its sequenced channel was handled: one of a later packet or, if this one
// was put aside, any. Within a packet, messages for several stages run as their stages come.
func (s *Source) overtaken(m *Message, aside bool) bool {
	if m.Channel.Delivery() != wire.UnreliableSequenced || m.order == 0 {
		return false
	}
	newest := s.lines.sequenced[m.Channel.Number()]
	return m.order>>packetPart < newest>>packetPart || aside && m.order < newest
}

// handled notes that a message is handled.
func (s *Source) handled(m *Message) {
	if m.order > 0 && m.Channel.Delivery() == wire.UnreliableSequenced {
		newest := &s.lines.sequenced[m.Channel.Number()]
		*newest = max(*newest, m.order)
	}
	s.done(m)
}

// done notes that a message whose turn it is was handled, or dropped for good: what it costs is free again.
func (s *Source) done(m *Message) {
	s.freed += m.Cost
	if m.order > 0 && m.Channel.Delivery() == wire.ReliableOrdered {
		l := &s.lines.ordered[m.Channel.Number()]
		l.done = max(l.done, m.order)
		s.deferred.wake(l)
	}
}
