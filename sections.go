package netcode

import (
	"fmt"
	"math/bits"

	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// sections has the packet sections of all extensions of one end. Sections of a client are stored in the form of a
// server's, with a nil session.
type sections struct {
	out []outSection
	in  [wire.FirstUserMessage]*extend.ServerSection // By the type of received sections.
	got [wire.FirstUserMessage][]byte                // By type: the sections of the packet that was validated last.
}

// outSection is a section with the type that it is sent as.
type outSection struct {
	*extend.ServerSection
	kind wire.MessageType
}

// add adds the section of one extension, which may be nil. in and out are its types, 0 for an unused direction.
func (s *sections) add(one *extend.ServerSection, in, out wire.MessageType) {
	if one == nil {
		return
	}
	if in != 0 && one.Check != nil && one.Take != nil {
		s.in[in] = one
	}
	if out != 0 && one.Due != nil && one.Write != nil {
		s.out = append(s.out, outSection{one, out})
	}
}

// forServer returns the section in the form of a server's.
func forServer(c *extend.ClientSection) *extend.ServerSection {
	if c == nil {
		return nil
	}
	var s extend.ServerSection
	if c.Check != nil {
		s.Check = func(_ extend.Session, payload []byte) error { return c.Check(payload) }
	}
	if c.Take != nil {
		s.Take = func(_ extend.Session, packet uint64, payload []byte) { c.Take(packet, payload) }
	}
	if c.Due != nil {
		s.Due = func(_ extend.Session, busy bool) bool { return c.Due(busy) }
	}
	if c.Write != nil {
		s.Write = func(_ extend.Session, room []byte, packet uint64) int { return c.Write(room, packet) }
	}
	if c.Acked != nil {
		s.Acked = func(_ extend.Session, packet uint64) { c.Acked(packet) }
	}
	if c.Lost != nil {
		s.Lost = func(_ extend.Session, packet uint64) { c.Lost(packet) }
	}
	return &s
}

// judge validates a received section. Its type is one of in. from is nil on a client.
func (s *sections) judge(from *session, r *peer.Reader, got *packetContents) error {
	h := r.Header
	if r.Channel != 0 || h.Stage != tick.Initialization || got.sections&(1<<h.Type) != 0 {
		return fmt.Errorf("section of type %d again, on channel %s or in stage %s", h.Type, r.Channel, h.Stage)
	}
	got.sections |= 1 << h.Type
	s.got[h.Type] = r.Payload
	return s.in[h.Type].Check(from, r.Payload)
}

// take applies the sections of a packet. Bit t of types is the section of type t.
func (s *sections) take(from *session, packet uint64, types uint16) {
	for ; types != 0; types &= types - 1 {
		kind := bits.TrailingZeros16(types)
		s.in[kind].Take(from, packet, s.got[kind])
	}
}

// due reports whether a packet must be sent for a section.
func (s *sections) due(to *session, busy bool) bool {
	for i := range s.out {
		if s.out[i].Due(to, busy) {
			return true
		}
	}
	return false
}

// write writes the sections into a packet. It reports whether there was any.
func (s *sections) write(to *session, b *peer.Builder) (any bool) {
	for i := range s.out {
		section := &s.out[i]
		if n := section.Write(to, b.Payload(), b.Sequence()); n > 0 && b.Add(section.kind, tick.Initialization, n) {
			any = true
		}
	}
	return any
}

// writeBehind writes the sections that follow the state into a packet.
func (s *sections) writeBehind(to *session, b *peer.Builder, state []byte) {
	for i := range s.out {
		section := &s.out[i]
		if section.Behind == nil {
			continue
		}
		if n := section.Behind(to, b.Payload(), b.Sequence(), state); n > 0 {
			b.Add(section.kind, tick.Initialization, n)
		}
	}
}

// acked tells the sections that a packet was acknowledged.
func (s *sections) acked(to *session, packet uint64) {
	for i := range s.out {
		if f := s.out[i].Acked; f != nil {
			f(to, packet)
		}
	}
}

// lost tells the sections that a packet is presumed lost.
func (s *sections) lost(to *session, packet uint64) {
	for i := range s.out {
		if f := s.out[i].Lost; f != nil {
			f(to, packet)
		}
	}
}

// passSections passes the due sections to an end in this process. to and from are the session at the end that has one.
func (c *endpointCore) passSections(l *connection, to, from *session, size int) {
	for i := range c.sections.out {
		section := &c.sections.out[i]
		if !section.Due(to, false) {
			continue
		}
		room := c.borrow(size)
		l.passed++ // as of packets, the first number is 1
		n, number := section.Write(to, room[:size], l.passed), l.passed
		if other := l.loopback.sections.in[section.kind]; n > 0 && other != nil && other.Check(from, room[:n]) == nil {
			other.Take(from, number, room[:n])
		}
		c.giveBack(room)
		if n > 0 && section.Acked != nil {
			section.Acked(to, number)
		}
	}
}

// sendSections sends the due sections of a client. Messages share the packet.
func (c *Client) sendSections() {
	if len(c.sections.out) == 0 || !c.sections.due(nil, c.link.MessagesWait()) {
		return
	}
	if c.link.Budget.Spent() {
		c.counters.BudgetSpent++
		return
	}
	b := &c.building
	var ok bool
	if *b, ok = c.link.Begin(); !ok {
		return
	}
	if c.sections.write(nil, b) {
		if c.sender != nil {
			c.sender.addUpstream(b)
		}
		c.link.AddMessages(b, false)
	}
	if !b.Empty() {
		c.link.Finish(b)
	}
}
