package netcode

import "github.com/arche-netcode/netcode/wire"

// unseen takes out of an encoded message to a client the names of entities which that client may not see, as of now:
// they are nil there. What it returns is body if there were none, and else good until the next call. Only types with
// fields that name entities are looked at.
func (s *Server) unseen(c *Session, kind wire.MessageType, body []byte) []byte {
	plan := s.protocol.naming[kind]
	if plan == nil || c == nil {
		return body
	}
	if cap(s.row) < plan.Lanes() {
		s.row = make([]uint32, plan.Lanes())
	}
	r, row := wire.NewBitReader(body), s.row[:plan.Lanes()]
	if !plan.ReadRow(&r, row) {
		return body // Encode has written it: it can be read.
	}
	hidden := false
	for _, lane := range plan.Refs() {
		id := wire.NetworkID{Index: row[lane], Generation: row[lane+1]}
		if id.Generation != 0 && !s.sees(c, id) {
			row[lane], row[lane+1] = 0, 0
			hidden = true
		}
	}
	if !hidden {
		return body
	}
	size := (plan.Bits() + 7) / 8
	if cap(s.body) < size {
		s.body = make([]byte, size)
	}
	w := wire.NewBitWriter(s.body[:size])
	plan.WriteRow(&w, row)
	return s.body[:w.Finish()]
}

// noteNaming finds the message types whose fields name entities, once they have their numbers.
func (p *Protocol) noteNaming() {
	for _, h := range p.handled {
		if plan := h.of.Codec.Plan(); plan != nil && len(plan.Refs()) > 0 {
			p.naming[h.of.ID()] = plan
		}
	}
}
