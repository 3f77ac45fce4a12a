package endpoint

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

// tellPosted passes a message to the Posted hooks, except messages of calls.
func (e *End) tellPosted(to Recipient, p *held.Envelope, body []byte) {
	if len(e.Hooks.Posted) == 0 || p.Flags&wire.FlagCall != 0 {
		return
	}
	m := &e.posted
	*m = extend.Posted{
		Clients: m.Clients[:0], Message: localMessage(&p.Post),
		AtOnce: p.After == held.AfterNothing, AfterAll: p.After == held.AfterAll, Body: body,
	}
	switch to.kind {
	case toAllBut:
		m.All, m.But = true, to.client()
	case toSeers:
		m.Seers = to.entity()
	case toMany:
		m.Clients = append(m.Clients, to.list...)
	default:
		m.Clients = append(m.Clients, to.client())
	}
	for _, f := range e.Hooks.Posted {
		f(m)
	}
}

// checkPosted returns the type of a message whose body is encoded, if an end of a role may send it by itself.
func (e *End) checkPosted(m *extend.Posted, fromServer bool) (*message.Type, error) {
	of, ok := e.Types.Messages.Lookup(m.Type)
	if !ok || e.Types.Roles[m.Type] != registry.Alone || !of.Direction.Allows(fromServer) || !m.Stage.Valid() {
		return nil, fmt.Errorf("%w: type %d in stage %d", errs.ErrPosted, m.Type, m.Stage)
	}
	if !of.Codec.Check(e.Inbound.Scratch(), m.Body) {
		return nil, fmt.Errorf("%w: %d bytes are no %s", errs.ErrPosted, len(m.Body), of.Name)
	}
	return of, nil
}

// Post implements extend.Server.
func (e *End) Post(m *extend.Posted, names func(wire.NetworkID) wire.NetworkID) error {
	of, err := e.checkPosted(m, true)
	switch {
	case err != nil:
		return err
	case e.Types.rawOf[m.Type] != nil:
		return fmt.Errorf("%w: %s is a feature's own", errs.ErrPosted, of.Name)
	}
	p := held.Envelope{Post: peer.Post{Type: m.Type, Stage: m.Stage, Channel: m.Channel}}
	if err := e.wait(&p.Post, m.NotBefore); err != nil {
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
	buffer := e.borrow(max(of.Codec.Size(), len(m.Body)))
	defer e.giveBack(buffer)
	return e.sendToMany(to, of, &p, e.renamed(m, names, buffer))
}

// renamed writes a body into a buffer and replaces its entity references by the results of names.
func (e *End) renamed(m *extend.Posted, names func(wire.NetworkID) wire.NetworkID, buffer []byte) []byte {
	plan, row := e.namesOf(m.Type, m.Body)
	if plan == nil || names == nil {
		return buffer[:copy(buffer, m.Body)]
	}
	for _, lane := range plan.Refs() {
		if id := (wire.NetworkID{Index: row[lane], Generation: row[lane+1]}); !id.IsZero() {
			id = names(id)
			row[lane], row[lane+1] = id.Index, id.Generation
		}
	}
	return writeNames(plan, row, buffer)
}

// Say implements extend.Session for the recorded player of a link.
func (e *End) Say(l *Link, m *extend.Posted) error {
	if _, err := e.checkPosted(m, false); err != nil {
		return err
	}
	e.Inbound.Queue(true)
	defer e.Inbound.Queue(false)
	return e.Inbound.PushLocal(l.Source, &message.Message{Type: m.Type, Stage: m.Stage, Channel: m.Channel, Entity: m.Entity}, m.Body)
}

// TellHandled adds a Handled hook: it is passed the handled messages of clients at the end of each frame, except messages of calls.
func (e *End) TellHandled(hook func(wire.ClientID, *extend.Posted)) {
	e.Hooks.Handled = append(e.Hooks.Handled, hook)
	e.keepHandled()
	e.eachHandled = func(r *message.Record) bool { // Made once, so that a frame allocates nothing.
		if r.Peer == 0 || r.HasCall {
			return true
		}
		e.posted = extend.Posted{Clients: e.posted.Clients[:0], Message: r.Message, Body: r.Payload}
		for _, f := range e.Hooks.Handled {
			f(r.Peer, &e.posted)
		}
		return true
	}
}

// tellLost passes a message that may not have been handled to the Lost hooks, except messages of calls and those of features.
func (e *End) tellLost(with wire.ClientID, m message.Message, body []byte, sent bool) {
	if of, ok := e.Types.Messages.Lookup(m.Type); !ok || m.HasCall || strings.HasPrefix(of.Name, "netcode.") {
		return
	}
	p := extend.Posted{Message: m, Body: body}
	for _, f := range e.Hooks.Lost {
		f(with, &p, sent)
	}
}

// tellUnhandled passes the messages of an end that came and were not handled to the Lost hooks.
func (e *End) tellUnhandled(l *Link) {
	if len(e.Hooks.Lost) == 0 {
		return
	}
	e.Inbound.EachReliable(l.Source, func(m *message.Message, body []byte) { e.tellLost(l.Remote, *m, body, false) })
	l.Arrivals.EachEarly(func(a *peer.Arrival) {
		m := message.Message{Type: a.Header.Type, Stage: a.Header.Stage, Channel: a.Channel, Entity: a.Entity, HasCall: a.Header.Flags&wire.FlagCall != 0}
		e.tellLost(l.Remote, m, a.Body, false)
	})
}

// TellUndelivered has the Lost hooks be passed the messages to the other end of a link that are dropped before they were acknowledged.
func (l *Link) TellUndelivered() {
	if e := l.end; len(e.Hooks.Lost) > 0 {
		l.Undelivered = func(p peer.Post, body []byte, whole bool) {
			if !whole {
				body = nil
			}
			e.tellLost(l.Remote, localMessage(&p), body, true)
		}
	}
}
