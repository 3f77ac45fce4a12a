package endpoint

import (
	"fmt"
	"math/bits"

	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Sections has the packet sections of all extensions of one end. Sections of a client are stored in the form of a
// server's, with a nil session.
type Sections struct {
	out []outSection
	in  [wire.FirstUserMessage]*extend.ServerSection // By the type of received sections.
	got [wire.FirstUserMessage][]byte                // By type: the sections of the packet that was validated last.
}

// outSection is a section with the type that it is sent as.
type outSection struct {
	*extend.ServerSection
	kind wire.MessageType
}

// Add adds the section of one extension, which may be nil. in and out are its types, 0 for an unused direction.
func (s *Sections) Add(one *extend.ServerSection, in, out wire.MessageType) {
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

// ForServer returns the section in the form of a server's.
func ForServer(c *extend.ClientSection) *extend.ServerSection {
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
func (s *Sections) judge(from extend.Session, r *peer.Reader, got *Contents) error {
	h := r.Header
	if r.Channel != 0 || h.Stage != tick.Initialization || got.sections&(1<<h.Type) != 0 {
		return fmt.Errorf("section of type %d again, on channel %s or in stage %s", h.Type, r.Channel, h.Stage)
	}
	got.sections |= 1 << h.Type
	s.got[h.Type] = r.Payload
	return s.in[h.Type].Check(from, r.Payload)
}

// take applies the sections of a packet. Bit t of types is the section of type t.
func (s *Sections) take(from extend.Session, packet uint64, types uint16) {
	for ; types != 0; types &= types - 1 {
		kind := bits.TrailingZeros16(types)
		s.in[kind].Take(from, packet, s.got[kind])
	}
}

// Due reports whether a packet must be sent for a section.
func (s *Sections) Due(to extend.Session, busy bool) bool {
	for i := range s.out {
		if s.out[i].Due(to, busy) {
			return true
		}
	}
	return false
}

// Write writes the sections into a packet. It reports whether there was any.
func (s *Sections) Write(to extend.Session, b *peer.Builder) (any bool) {
	for i := range s.out {
		section := &s.out[i]
		if n := section.Write(to, b.Payload(), b.Sequence()); n > 0 && b.Add(section.kind, tick.Initialization, n) {
			any = true
		}
	}
	return any
}

// WriteBehind writes the sections that follow the state into a packet.
func (s *Sections) WriteBehind(to extend.Session, b *peer.Builder, state []byte) {
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

// tell tells the sections that a packet was acknowledged, or is presumed lost.
func (s *Sections) tell(to extend.Session, packet uint64, lost bool) {
	for i := range s.out {
		f := s.out[i].Acked
		if lost {
			f = s.out[i].Lost
		}
		if f != nil {
			f(to, packet)
		}
	}
}

// PassSections passes the due sections to an end in this process. from is the session at that end; nil at a client.
func (e *End) PassSections(l *Link, from extend.Session) {
	to, size := l.Session, e.Config.Link.PacketSize
	for i := range e.Sections.out {
		section := &e.Sections.out[i]
		if !section.Due(to, false) {
			continue
		}
		room := e.borrow(size)
		l.passed++ // as of packets, the first number is 1
		n, number := section.Write(to, room[:size], l.passed), l.passed
		if other := l.Loopback.Sections.in[section.kind]; n > 0 && other != nil && other.Check(from, room[:n]) == nil {
			other.Take(from, number, room[:n])
		}
		e.giveBack(room)
		if n > 0 && section.Acked != nil {
			section.Acked(to, number)
		}
	}
}
