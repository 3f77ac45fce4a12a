package netcode

import (
	"errors"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// route says where a message goes: to the end itself (toSelf), over one connection (toOne), or to several (toMany).
func (c *courier) route(to Recipient, p *peer.Post) (*link, recipientKind, error) {
	local := c.inbound.Local().ID()
	switch to.kind {
	case toSelf:
		return nil, toSelf, nil
	case toOne:
		return c.routeTo(to.client(), local, p)
	}
	if c.server == nil {
		return nil, toNobody, ErrRecipient
	}
	switch to.kind {
	case toOwner:
		if !c.server.store.Alive(to.entity()) {
			return nil, toNobody, ErrNotVisible
		}
		return c.routeTo(c.server.store.Owner(to.entity()), local, p)
	case toSeers:
		if !c.server.store.Alive(to.entity()) {
			return nil, toNobody, ErrNotVisible
		}
		return nil, toMany, nil
	case toMany, toAll, toAllBut:
		return nil, toMany, nil
	}
	return nil, toNobody, ErrRecipient
}

// routeTo is route for one end by its id.
func (c *courier) routeTo(id, local wire.ClientID, p *peer.Post) (*link, recipientKind, error) {
	if id == local && (id != 0 || c.server != nil) {
		return nil, toSelf, nil
	}
	if c.server == nil {
		l, err := c.linkTo(id)
		if err == nil && p.Flags&wire.FlagEntity != 0 && !c.client.holds(p.Entity) {
			err = ErrNotVisible
		}
		return l, toOne, err
	}
	s := c.server.client(id)
	switch {
	case s == nil:
		return nil, toOne, ErrNotConnected
	case p.Flags&wire.FlagEntity != 0 && !c.server.sees(s, p.Entity):
		return nil, toOne, ErrNotVisible
	}
	return &s.link, toOne, nil
}

// push sends an encoded message to one of several clients.
func (s *Server) push(c *Session, of *message.Type, to *envelope, body []byte) error {
	p := &to.Post
	if p.Flags&wire.FlagEntity != 0 && !s.sees(c, p.Entity) {
		return ErrNotVisible
	}
	body = s.unseen(c, p.Type, body)
	if c.near != nil {
		return c.handBytes(0, p, body)
	}
	var err error
	if s.holdsBack(&c.link, to) {
		err = c.delay(to, of.Name, body)
	} else if err = c.outgoing.Push(p, body); err == nil {
		s.record(c.id, p, body)
	} else {
		err = c.failed(err, of.Name, p, len(body))
	}
	if errors.Is(err, ErrBackPressure) {
		s.stats.QueueOverflows++
		s.end(c, &peer.Error{Reason: peer.ReasonQueueOverflow, Detail: "too many reliable messages wait"}, endTold)
	}
	return err
}

// sees tells if a client may see an entity that lives.
func (s *Server) sees(c *Session, entity wire.NetworkID) bool {
	if !s.store.Alive(entity) {
		return false
	}
	s.observe(c)
	return c.view.Visible(entity)
}

// observe has a client's view take in the newest capture. Extensions are asked before.
func (s *Server) observe(c *Session) {
	for _, f := range s.hooks.observe {
		f(c, c.view)
	}
	c.view.Observe()
}

// MayConcern tells if a message of a client may name an entity: it lives and the client may see it. A client can know of
// nothing else, so the message never waits for another one. Stats.NotVisible counts them.
func (s *Server) MayConcern(client ClientID, entity NetworkID) bool {
	c := s.client(client)
	may := c != nil && s.sees(c, entity)
	if !may {
		s.stats.NotVisible++
	}
	return may
}

// exists says of an entity whether a message about it may be handled: the server makes all entities, so one that does not
// live will not come.
func (s *Server) exists(entity wire.NetworkID) message.Existence {
	if s.store.Alive(entity) {
		return message.Exists
	}
	return message.Never
}

// ready says whether the state that a client writes of an entity has come, as of one of its ticks, and was taken in. What it writes
// nothing of any more, or does not live, is not waited for.
func (s *Server) ready(from wire.ClientID, entity wire.NetworkID, state tick.Tick) bool {
	c := s.present(from)
	if c == nil || c.theirs == nil || !s.store.Alive(entity) {
		return true
	}
	e := c.theirs.Entity(entity.Index)
	return e.ID.Generation > entity.Generation || e.ID == entity && e.Tick >= state && !c.theirs.HasChanged(entity.Index)
}

// SetOwner says which client an entity belongs to, 0 being the server, to which all belong at first. It says false if there
// is no such entity. ToOwner and OwnerOnly go by it.
func (s *Server) SetOwner(entity NetworkID, owner ClientID) bool {
	return s.store.SetOwner(entity, owner)
}

// Owner is the client that an entity belongs to; 0 is the server, to which also what does not live belongs.
func (s *Server) Owner(entity NetworkID) ClientID { return s.store.Owner(entity) }
