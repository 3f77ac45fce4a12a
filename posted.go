package netcode

import (
	"fmt"
	"strings"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/wire"
)

// tapped reports whether an extension has a extend.Posted hook.
func (c *endpointCore) tapped() bool { return c.server != nil && len(c.server.hooks.posted) > 0 }

// tellPosted passes a message to the extensions with a extend.Posted hook, except messages of calls.
func (c *endpointCore) tellPosted(to Recipient, p *held.Envelope, body []byte) {
	if !c.tapped() || p.Flags&wire.FlagCall != 0 {
		return
	}
	m := &c.server.posted
	*m = extend.Posted{
		Clients: m.Clients[:0], Message: localMessage(&p.Post),
		AtOnce: p.After == held.AfterNothing, AfterAll: p.After == held.AfterAll, Body: body,
	}
	switch to.kind {
	case toAll, toAllBut:
		m.All, m.But = true, to.client()
	case toSeers:
		m.Seers = to.entity()
	case toMany:
		m.Clients = append(m.Clients, to.list...)
	default:
		m.Clients = append(m.Clients, to.client())
	}
	for _, f := range c.server.hooks.posted {
		f(m)
	}
}

// Post sends a message whose body is encoded, by the rules of Send. names, if it is not nil, returns the entity to put in the place of each
// that fields of the body name. It keeps nothing of m. The errors are ErrPosted, ErrMisuse for a NotBefore too far ahead, and those of Send for several clients.
func (s serverInside) Post(m *extend.Posted, names func(NetworkID) NetworkID) error {
	of, ok := s.protocol.types.Messages.Lookup(m.Type)
	if !ok || s.protocol.types.Roles[m.Type] != registry.Alone || s.protocol.rawOf[m.Type] != nil || !of.Direction.Allows(true) || !m.Stage.Valid() {
		return fmt.Errorf("%w: type %d in stage %d", errs.ErrPosted, m.Type, m.Stage)
	}
	if !of.Codec.Check(s.inbound.Scratch(), m.Body) {
		return fmt.Errorf("%w: %d bytes are no %s", errs.ErrPosted, len(m.Body), of.Name)
	}
	p := held.Envelope{Post: peer.Post{Type: m.Type, Stage: m.Stage, Channel: m.Channel}}
	if err := s.wait(&p.Post, m.NotBefore); err != nil {
		return err
	}
	if !m.Entity.IsZero() {
		p.Flags, p.Entity = p.Flags|wire.FlagEntity, m.Entity
	}
	switch {
	case m.AtOnce:
		p.After = held.AfterNothing
	case m.AfterAll:
		p.After = held.AfterAll
	}
	to := ToMany(m.Clients)
	switch {
	case m.All:
		to = ToAllBut(m.But)
	case !m.Seers.IsZero():
		to = ToSeers(m.Seers)
	}
	buffer := s.borrow(max(of.Codec.Size(), len(m.Body)))
	defer s.giveBack(buffer)
	return s.sendToMany(to, of, &p, s.renamed(m, names, buffer))
}

// renamed writes a body into a buffer and replaces its entity references by the results of names.
func (s *Server) renamed(m *extend.Posted, names func(NetworkID) NetworkID, buffer []byte) []byte {
	plan, row := s.namesOf(m.Type, m.Body)
	if plan == nil || names == nil {
		return buffer[:copy(buffer, m.Body)]
	}
	for _, lane := range plan.Refs() {
		if id := (NetworkID{Index: row[lane], Generation: row[lane+1]}); !id.IsZero() {
			id = names(id)
			row[lane], row[lane+1] = id.Index, id.Generation
		}
	}
	w := wire.NewBitWriter(buffer)
	plan.WriteRow(&w, row)
	return buffer[:w.Finish()]
}

// tellHandled passes the handled messages of clients at the end of each frame to the extensions with a Handled hook, except
// messages of calls.
func (s *Server) tellHandled() {
	s.keepHandled(0, s.config.queues(s.config.Clients))
	s.eachHandled = func(r *message.Record) bool { // Made once, so that a frame allocates nothing.
		if r.Peer == 0 || r.HasCall {
			return true
		}
		s.posted = extend.Posted{Clients: s.posted.Clients[:0], Message: r.Message, Body: r.Payload}
		for _, f := range s.hooks.handled {
			f(r.Peer, &s.posted)
		}
		return true
	}
}

// loses reports whether an extension has an Undelivered hook.
func (c *endpointCore) loses() bool {
	return c.server != nil && len(c.server.hooks.lost) > 0 || c.client != nil && len(c.client.hooks.lost) > 0
}

// tellLost passes a message that may not have been handled to the extensions with an Undelivered hook, except messages of calls and those
// of features.
func (c *endpointCore) tellLost(with ClientID, m message.Message, body []byte, sent bool) {
	if of, ok := c.protocol.types.Messages.Lookup(m.Type); !ok || m.HasCall || strings.HasPrefix(of.Name, "netcode.") {
		return
	}
	p := extend.Posted{Message: m, Body: body}
	if c.client != nil {
		for _, f := range c.client.hooks.lost {
			f(&p, sent)
		}
		return
	}
	for _, f := range c.server.hooks.lost {
		f(with, &p, sent)
	}
}

// tellUnhandled passes the messages of an end that came and were not handled to the extensions with an Undelivered hook.
func (c *endpointCore) tellUnhandled(l *connection) {
	if !c.loses() {
		return
	}
	c.inbound.EachReliable(l.Source, func(m *message.Message, body []byte) { c.tellLost(l.Remote, *m, body, false) })
	l.Arrivals.EachEarly(func(a *peer.Arrival) {
		m := message.Message{Type: a.Header.Type, Stage: a.Header.Stage, Channel: a.Channel, Entity: a.Entity, HasCall: a.Header.Flags&wire.FlagCall != 0}
		c.tellLost(l.Remote, m, a.Body, false)
	})
}

// undelivered returns the function that is told the messages to an end that are dropped before they were acknowledged.
func (c *endpointCore) undelivered(with ClientID) func(p peer.Post, body []byte, whole bool) {
	return func(p peer.Post, body []byte, whole bool) {
		if !whole {
			body = nil
		}
		c.tellLost(with, localMessage(&p), body, true)
	}
}
