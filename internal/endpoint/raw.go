package endpoint

import (
	"fmt"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/wire"
)

// Raw is a registered message type of a feature. It implements extend.Raw.
type Raw struct {
	extend.RawMessage
	kind wire.MessageType // Set by the freeze.
}

// HandleRaw implements extend.Protocol.
func (t *Types) HandleRaw(call string, m extend.RawMessage) extend.Raw {
	t.MustBeOpen(call, m.Marker)
	o := registry.Options{
		Name: m.Name, Stage: m.Stage, Staged: true, Delivery: m.Channel.Delivery(), Channel: m.Channel.Number(), Direction: message.FromServer,
	}
	t.MustTake(call, m.Marker, &o)
	raw := &Raw{RawMessage: m}
	codec := message.NewRaw(m.Name, m.Marker, message.RawCalls{Check: m.Check, Handle: raw.take, Dump: m.Dump})
	t.AddMessage(call, &o, registry.Alone, nil, codec)
	t.raws = append(t.raws, raw)
	return raw
}

// take handles a message that arrived at a client.
func (m *Raw) take(ctx *message.Context, body []byte) {
	e := Of(ctx.End)
	if e == nil || e.atServer() {
		return
	}
	var err error
	if ctx.Channel == m.Channel && !ctx.Entity.IsZero() {
		err = m.Handle(ctx, body)
	} else {
		err = fmt.Errorf("%s about no entity, or on another channel than its own", m.Name)
	}
	if err != nil {
		reason := &errs.CloseError{Reason: errs.ReasonMalformed, Detail: err.Error()}
		e.Counters.Refused(reason)
		e.owner.CloseFor(0, reason)
	}
}

// linkOf returns the link of a session.
func linkOf(client extend.Session) *Link {
	if of, ok := client.(interface{ Link() *Link }); ok {
		return of.Link()
	}
	return nil
}

// Send implements extend.Raw.
func (m *Raw) Send(client extend.Session, about wire.NetworkID, body []byte) error {
	l := linkOf(client)
	if l == nil {
		return errs.ErrNotConnected
	}
	p := peer.Post{Type: m.kind, Stage: m.Stage, Channel: m.Channel}
	if !about.IsZero() {
		p.Flags, p.Entity = wire.FlagEntity, about
	}
	if l.Loopback != nil {
		return l.deliverLocal(0, &p, body)
	}
	return l.end.enqueue(l, m.Name, &p, body)
}

// Recall implements extend.Raw.
func (m *Raw) Recall(client extend.Session, amend func(body []byte) int) {
	if l := linkOf(client); l != nil {
		l.raw, l.amend = m, amend
		l.Outgoing.Recall(m.Channel, (*recaller)(l))
		l.raw, l.amend = nil, nil
	}
}

// Recall withdraws waiting messages to a client about entities that it no longer sees, before any packet of the frame.
func (l *Link) Recall() {
	if sights := l.View.Sights(); l.sights != sights { // After all calls of game code, which may have hidden an entity.
		l.sights = sights
		l.end.Counters.Recalled += l.Outgoing.RecallAll((*recaller)(l))
	}
}

// recaller decides which waiting messages are withdrawn from a client's queue. It implements peer.Recaller.
type recaller Link

// Gone implements peer.Recaller.
func (r *recaller) Gone(id wire.NetworkID) bool { return !r.View.Visible(id) }

// Blank implements peer.Recaller. A message of the game stays as it is: the client may have it already.
func (r *recaller) Blank(kind wire.MessageType, body []byte) {
	if raw := r.end.Types.rawOf[kind]; raw != nil && raw.RawMessage.Blank != nil {
		raw.RawMessage.Blank(body)
	}
}

// Amend implements peer.Recaller.
func (r *recaller) Amend(kind wire.MessageType, body []byte) int {
	switch raw := r.end.Types.rawOf[kind]; {
	case raw == nil:
		return copy(body, r.end.hideNames((*Link)(r), kind, body))
	case raw != r.raw:
		return len(body)
	}
	return r.amend(body)
}
