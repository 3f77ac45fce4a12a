package netcode

import (
	"fmt"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A server and a client implement endpoint.Owner: the connections that messages go by, and who may see an entity.

// Sees implements endpoint.Owner.
func (s serverInside) Sees(l *endpoint.Link, entity wire.NetworkID) bool {
	c, ok := l.Session.(*session)
	if !ok || l.View == nil || !s.store.Alive(entity) {
		return false
	}
	s.steps.observe(c)
	return l.View.Visible(entity)
}

// Exists implements endpoint.Owner. The server makes all entities: an entity that is not alive never arrives.
func (s serverInside) Exists(entity wire.NetworkID) message.Existence {
	if s.Has(entity) {
		return message.Exists
	}
	return message.Never
}

// Ready implements endpoint.Owner. It is true for an entity that is dead or that the client no longer sends.
func (s serverInside) Ready(from wire.ClientID, entity wire.NetworkID, state tick.Tick) bool {
	c := s.present(from)
	if c == nil || c.link.State == nil || !s.store.Alive(entity) {
		return true
	}
	e := c.link.State.Entity(entity.Index) // Its generation is the number of a right.
	return e.Tick >= state && !c.link.State.HasChanged(entity.Index)
}

// Due implements endpoint.Owner.
func (s serverInside) Due() Tick { return s.Tick() }

// IsOpen implements endpoint.Owner.
func (s serverInside) IsOpen(id ClientID) bool { return s.present(id) != nil }

// LinkTo implements endpoint.Owner.
func (s serverInside) LinkTo(id ClientID) (*endpoint.Link, error) {
	if c := s.client(id); c != nil {
		return &c.link, nil
	}
	return nil, fmt.Errorf("%w: there is no client %d: send from its OnConnect to its OnDisconnect", errs.ErrNotConnected, id)
}

// LinkAt implements endpoint.Owner.
func (s serverInside) LinkAt(i int) (l *endpoint.Link, ok bool) {
	if i >= len(s.sessions) {
		return nil, false
	}
	if c := s.sessions[i]; c.state == connected {
		l = &c.link
	}
	return l, true
}

// CloseFor implements endpoint.Owner.
func (s serverInside) CloseFor(with ClientID, reason *errs.CloseError) {
	if c := s.present(with); c != nil {
		s.end(c, reason, closeTold)
	}
}

// MayConcern implements extend.Server.
func (s serverInside) MayConcern(client ClientID, entity NetworkID) bool {
	l, _ := s.LinkTo(client)
	return s.core.MayConcern(l, entity)
}

// Post implements extend.Server.
func (s serverInside) Post(m *extend.Posted, names func(NetworkID) NetworkID) error {
	return s.core.Post(m, names)
}

// Sees implements endpoint.Owner: a client may name what the server shows it.
func (c clientInside) Sees(_ *endpoint.Link, id wire.NetworkID) bool {
	if c.host != nil {
		return c.host.Has(id)
	}
	if c.replica == nil {
		return false
	}
	e := c.replica.Entity(id.Index)
	return e.Alive && e.ID == id
}

// Exists implements endpoint.Owner.
func (c clientInside) Exists(id wire.NetworkID) message.Existence {
	if c.host != nil {
		return serverInside{c.host}.Exists(id)
	}
	if c.replica == nil {
		return message.NotYet
	}
	e := c.replica.Entity(id.Index)
	switch {
	case e.ID.Generation < id.Generation:
		return message.NotYet
	case e.ID != id || !e.Alive:
		return message.Never
	case !c.applied && c.replica.HasChanged(id.Index):
		return message.NotYet
	}
	return message.Exists
}

// Ready implements endpoint.Owner.
func (c clientInside) Ready(_ wire.ClientID, id wire.NetworkID, state tick.Tick) bool {
	if c.host != nil || c.replica == nil {
		return true
	}
	e := c.replica.Entity(id.Index)
	return e.ID.Generation > id.Generation || e.ID == id && e.Tick >= state && (c.applied || !c.replica.HasChanged(id.Index))
}

// Due implements endpoint.Owner. It returns the later of the client's own tick, which falls behind in a long stall, and the
// tick of ServerTime. A host's player uses the server's tick.
func (c clientInside) Due() Tick {
	if c.host == nil && (c.state == Connected || c.leaving) {
		return max(c.frame.Clock.Tick(), c.ServerTime().Tick)
	}
	return c.Tick()
}

// IsOpen implements endpoint.Owner.
func (c clientInside) IsOpen(id ClientID) bool {
	return id == 0 && (c.state == Connected || c.leaving)
}

// LinkTo implements endpoint.Owner.
func (c clientInside) LinkTo(id ClientID) (*endpoint.Link, error) {
	switch {
	case id != 0:
		return nil, endpoint.ErrRecipient
	case c.state == Connected:
		return &c.link, nil
	}
	return nil, errNotJoined
}

// LinkAt implements endpoint.Owner: a client sends to one end alone.
func (c clientInside) LinkAt(int) (*endpoint.Link, bool) { return nil, false }

// CloseFor implements endpoint.Owner.
func (c clientInside) CloseFor(_ ClientID, reason *errs.CloseError) {
	switch {
	case c.leaving:
		c.end(reason)
	case c.state == Connected:
		c.closeWith(reason, false)
	}
}

// errNotJoined is the ErrNotConnected of a client.
var errNotJoined = fmt.Errorf("%w: this client has no connection: send from OnConnect on", errs.ErrNotConnected)
