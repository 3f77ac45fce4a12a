package netcode

import (
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// sees reports whether an entity is alive and a client may see it.
func (s *Server) sees(c *session, entity wire.NetworkID) bool {
	if !s.store.Alive(entity) {
		return false
	}
	s.steps.observe(c)
	return c.view.Visible(entity)
}

// maySee reports whether an entity may be named to another end. At a server it is true for an entity with a reserved id: the
// message is held back until the next capture. A client may name what the server shows it.
func (c *endpointCore) maySee(l *connection, entity wire.NetworkID) bool {
	if c.server == nil {
		return c.client.holds(entity)
	}
	return c.server.store.Reserved(entity) || c.server.sees(l.session, entity)
}

// namesEarly reports whether an encoded message refers to an entity with a reserved id, whose visibility is not known
// yet.
func (s *Server) namesEarly(kind wire.MessageType, body []byte) bool {
	if !s.store.Reserves() {
		return false
	}
	plan, row := s.namesOf(kind, body)
	if plan == nil {
		return false
	}
	for _, lane := range plan.Refs() {
		if s.store.Reserved(wire.NetworkID{Index: row[lane], Generation: row[lane+1]}) {
			return true
		}
	}
	return false
}

// MayConcern reports whether a message of a client may name an entity: it is alive and the client may see it. A message about
// any other entity never waits for it. Stats.NotVisible counts refusals.
func (s serverInside) MayConcern(client ClientID, entity NetworkID) bool {
	return s.mayConcern(client, entity)
}

// mayConcern implements MayConcern.
func (s *Server) mayConcern(client ClientID, entity NetworkID) bool {
	c := s.client(client)
	may := c != nil && s.sees(c, entity)
	if !may {
		s.stats.NotVisible++
	}
	return may
}

// exists returns whether a message about an entity may be handled. The server makes all entities: an entity that is not
// alive never arrives.
func (s *Server) exists(entity wire.NetworkID) message.Existence {
	if s.Has(entity) {
		return message.Exists
	}
	return message.Never
}

// ready reports whether the client's state of an entity, as of one of its ticks, has arrived and was applied. It is true
// for an entity that is dead or that the client no longer sends.
func (s *Server) ready(from wire.ClientID, entity wire.NetworkID, state tick.Tick) bool {
	c := s.present(from)
	if c == nil || c.upstream == nil || !s.store.Alive(entity) {
		return true
	}
	e := c.upstream.Entity(entity.Index) // Its generation is the number of a right.
	return e.Tick >= state && !c.upstream.HasChanged(entity.Index)
}

// SetOwner sets the client that an entity belongs to; 0 is the server, to which all belong at first. It returns false if there
// is no such entity. ToOwner and OwnerOnly use it.
func (s *Server) SetOwner(entity NetworkID, owner ClientID) bool {
	return s.store.SetOwner(entity, owner)
}

// Owner returns the client that an entity belongs to; 0 is the server, also for an entity that is not alive.
func (s *Server) Owner(entity NetworkID) ClientID { return s.store.Owner(entity) }

// hideNames clears the entity references of an encoded message to a client that the client may not see now. It returns body if
// it clears none, otherwise bytes that are valid until the next call. It reads only types with entity fields. A client's message hides nothing.
func (c *endpointCore) hideNames(l *connection, kind wire.MessageType, body []byte) []byte {
	s := c.server
	if s == nil {
		return body
	}
	plan, row := s.namesOf(kind, body)
	if plan == nil {
		return body
	}
	hidden := false
	for _, lane := range plan.Refs() {
		id := wire.NetworkID{Index: row[lane], Generation: row[lane+1]}
		if id.Generation != 0 && !s.sees(l.session, id) && (l.loopback == nil || !s.store.Reserved(id)) {
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

// namesOf decodes an encoded message of a type with entity fields. The plan is nil for other types. The row is valid
// until the next call.
func (s *Server) namesOf(kind wire.MessageType, body []byte) (*quantize.Plan, []uint32) {
	plan := s.protocol.types.Naming[kind]
	if plan == nil {
		return nil, nil
	}
	if cap(s.row) < plan.Lanes() {
		s.row = make([]uint32, plan.Lanes())
	}
	r, row := wire.NewBitReader(body), s.row[:plan.Lanes()]
	if !plan.ReadRow(&r, row) {
		return nil, nil // Encode has written the body, so that this never happens.
	}
	return plan, row
}
