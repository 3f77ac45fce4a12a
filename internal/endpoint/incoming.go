package endpoint

import (
	"fmt"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Contents has the effect of the messages of one packet. Its slices point into the packet.
type Contents struct {
	Snapshot    []byte // The state of the other end; nil without any.
	Resync      bool   // The other end asks for all state again,
	ResyncEpoch uint16 // for this epoch.
	Pulsed      bool   // A keep-alive of the server had its tick.
	Pulse       uint16 // The low bits of that tick.
	Idle        bool   // That keep-alive was not padded: the server had sent all state up to the tick.

	messages int              // Messages for the game, and fragments of messages.
	closed   *errs.CloseError // Nil without a close message.
	credited bool
	credit   uint32
	sections uint16 // Bit t: the section of type t.
}

// Judge validates every message of a packet before any takes effect. The error is the reason to end the connection:
// no honest peer sent this packet.
func (e *End) Judge(l *Link, in *peer.Incoming) (Contents, *errs.CloseError) {
	var got Contents
	r := in.Messages()
	for r.Next() {
		if err := e.judgeMessage(l, &r, &got); err != nil {
			return Contents{}, CloseError(err)
		}
	}
	if err := r.Err(); err != nil {
		return Contents{}, CloseError(err)
	}
	return got, nil
}

// CloseError returns the reason to end a connection for an error of a packet.
func CloseError(err error) *errs.CloseError {
	reason := peer.CloseReason(err)
	if reason == errs.ReasonNone {
		reason = errs.ReasonMalformed
	}
	return &errs.CloseError{Reason: reason, Detail: err.Error()}
}

// judgeMessage validates a message.
func (e *End) judgeMessage(l *Link, r *peer.Reader, got *Contents) error {
	h := r.Header
	if h.Type < wire.FirstUserMessage && e.Sections.in[h.Type] != nil {
		return e.Sections.judge(l.Session, r, got)
	}
	switch {
	case peer.Allowed(peer.StateConnected, e.Role, h.Type) != peer.VerdictAccept:
		return fmt.Errorf("message type %d", h.Type)
	case h.Type < wire.FirstUserMessage && h.Type != wire.MessageFragment && h.Type != wire.MessageRefusal:
		if r.Channel != 0 {
			return fmt.Errorf("message type %d on channel %s", h.Type, r.Channel)
		}
		if !e.Types.Upstream && (h.Type == wire.MessageSnapshot && e.atServer() || h.Type == wire.MessageResync && !e.atServer()) {
			return fmt.Errorf("message type %d, though clients write nothing", h.Type)
		}
		if l.Older.Plain() && (h.Type == wire.MessageSnapshot || h.Type == wire.MessageResync) {
			return fmt.Errorf("message type %d, from a client of the plain profile", h.Type)
		}
		return got.take(h, r.Payload, e.Role)
	}
	var a peer.Arrival
	if err := a.Open(r.Channel, h, r.Payload); err != nil {
		return err
	}
	if err := l.Arrivals.Judge(&a); err != nil {
		return err
	}
	got.messages++
	if h.Type == wire.MessageFragment {
		return nil
	}
	return e.judgeWhole(&a)
}

// take validates one of netcode's own messages. A packet has at most one of each kind.
func (c *Contents) take(h wire.MessageHeader, payload []byte, role peer.Role) error {
	if h.Stage != tick.Initialization {
		return fmt.Errorf("message type %d in stage %s", h.Type, h.Stage)
	}
	switch {
	case h.Type == wire.MessageKeepAlive && role == peer.RoleServer && isPadding(payload):
		return nil
	case h.Type == wire.MessageKeepAlive && role == peer.RoleClient && !c.Pulsed && len(payload) >= link.PulseSize && isPadding(payload[link.PulseSize:]):
		c.Pulsed, c.Pulse, c.Idle = true, link.ParsePulse(payload), len(payload) == link.PulseSize
		return nil
	case h.Type == wire.MessageSnapshot && c.Snapshot == nil && len(payload) > 0:
		c.Snapshot = payload
		return nil
	case h.Type == wire.MessageResync && !c.Resync && len(payload) == link.ResyncSize:
		c.Resync, c.ResyncEpoch = true, link.ParseResync(payload)
		return nil
	case h.Type == wire.MessageCredit && !c.credited && len(payload) == peer.CreditSize:
		c.credited = true
		c.credit, _ = peer.ParseCredit(payload)
		return nil
	case h.Type == wire.MessageClose && c.closed == nil:
		reason, err := peer.ParseClose(payload)
		c.closed = &reason
		return err
	}
	return fmt.Errorf("message type %d of %d bytes", h.Type, len(payload))
}

// isPadding reports whether all bytes are zero. A keep-alive that probes a packet size is padded with zeros.
func isPadding(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// judgeWhole validates a whole message of the game, or a refusal: the direction of its type, its fields, and that it
// belongs to a call if and only if its type does. A message of an unregistered type is legal and has no effect.
func (e *End) judgeWhole(a *peer.Arrival) error {
	h := a.Header
	if h.Type == wire.MessageRefusal {
		if !peer.LegalRefusal(a.Body) {
			return fmt.Errorf("refusal of %d bytes that is not legal", len(a.Body))
		}
		return nil
	}
	of, ok := e.Types.Messages.Lookup(h.Type)
	switch {
	case !ok: // Method ignore handles it later.
		return nil
	case !of.Direction.Allows(!e.atServer()):
		return fmt.Errorf("message %s goes the other way", of.Name)
	case (e.Types.Roles[h.Type] != registry.Alone) != (h.Flags&wire.FlagCall != 0):
		return fmt.Errorf("message %s with a call that is not its own", of.Name)
	case h.Flags&wire.FlagState != 0 && e.atServer() && !e.Types.Upstream:
		return fmt.Errorf("message %s after state, though clients write nothing", of.Name)
	case of.OwnerOnly && e.atServer() && h.Flags&wire.FlagEntity == 0:
		return fmt.Errorf("message %s about no entity", of.Name)
	case !of.Codec.Check(e.Inbound.Scratch(), a.Body):
		return fmt.Errorf("message %s of %d bytes that is not legal", of.Name, len(a.Body))
	}
	return nil
}

// Take lets the sections, the credit and the messages of a judged packet take effect. The error is a reason to end the connection that
// appears only now: contradicting messages, or fragments that form no message.
func (e *End) Take(l *Link, in *peer.Incoming, got *Contents) *errs.CloseError {
	e.Sections.take(l.Session, in.Sequence, got.sections)
	if got.credited {
		l.Outgoing.Credit(got.credit)
	}
	if got.messages == 0 {
		return nil
	}
	e.Inbound.From(l.Source, e.Frame.Clock.Tick(), e.Frame.Now)
	e.from, e.fault = l, nil
	r := in.Messages()
	for r.Next() {
		h := r.Header
		if h.Type < wire.FirstUserMessage && h.Type != wire.MessageFragment && h.Type != wire.MessageRefusal {
			continue
		}
		if err := l.Arrivals.Take(in.Sequence, r.Channel, h, r.Payload, e.arrived); err != nil {
			return CloseError(err)
		}
		if e.fault != nil {
			return CloseError(e.fault)
		}
	}
	l.NoteMessages()
	return nil
}

// queueArrival queues a message that is due. A message that arrived in fragments is validated here, where it is whole.
func (e *End) queueArrival(a *peer.Arrival) {
	if e.fault != nil {
		return
	}
	if a.Joined {
		if e.fault = e.judgeWhole(a); e.fault != nil {
			return
		}
	}
	if _, known := e.Types.Messages.Lookup(a.Header.Type); !known && a.Header.Type >= wire.FirstUserMessage {
		e.ignore(a)
		return
	}
	m := message.Message{
		Type: a.Header.Type, Stage: a.Header.Stage, Channel: a.Channel, Entity: a.Entity, Cost: a.Cost,
		Call: a.Call, HasCall: a.Header.Flags&wire.FlagCall != 0,
	}
	if a.Header.Flags&wire.FlagTick != 0 {
		now := e.owner.Due()
		m.NotBefore = max(now+tick.Tick(int16(a.Tick-uint16(now))), tick.None)
	}
	if a.Header.Flags&wire.FlagState != 0 {
		newest := tick.None
		if e.from.State != nil {
			newest = e.from.State.Tick()
		}
		m.State = max(tick.Near(a.State, newest), tick.None)
	}
	if e.atServer() && !a.Entity.IsZero() && !e.MayConcern(e.from, a.Entity) {
		e.from.Arrivals.Freed(a.Cost)
		return
	}
	_ = e.Inbound.Push(&m, a.Body) // Push counts refusals; for a reliable message the source has a Fault.
}

// ignore drops a message of an unknown type, and logs the first of each type. Its number counts as delivered and its credit is
// returned. A question is refused, so that its caller does not wait.
func (e *End) ignore(a *peer.Arrival) {
	e.Counters.UnknownTypes++
	if t := a.Header.Type; !e.toldTypes[t] {
		e.toldTypes[t] = true
		e.Report.Log(report.Warn, "a message of an unknown type came and was ignored, as will be all of them", "type", t, "sender", e.from.Remote)
	}
	e.from.Arrivals.Freed(a.Cost)
	if a.Header.Flags&wire.FlagCall != 0 {
		e.postRefusal(e.from, peer.Post{Stage: a.Header.Stage, Channel: a.Channel, Call: a.Call}, errNobody)
	}
}

// special handles refusals and messages of calls.
func (e *End) special(ctx *message.Context, payload []byte) {
	if ctx.Type == wire.MessageRefusal {
		if text, err := peer.ParseRefusal(payload); err == nil {
			e.refused(ctx.Call, ctx.Sender, text)
		}
		return
	}
	if codec := e.Inbound.Codec(ctx.Type); codec != nil { // The function of OnCall, if this end has one.
		codec.Handle(ctx, payload)
	}
}
