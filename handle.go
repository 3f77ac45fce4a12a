package netcode

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/calls"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/wire"
)

// Handle registers message T and its handler. Call it on both sides; a side that never receives T may give nil. T is blittable, as for
// Replicate, or has a Serialize method (wire.Serializable), which text, slices and more than 2048 numbers need:
//
//	func (m *Chat) Serialize(s *wire.Serializer) { s.String(&m.Text, 200) } // writes, reads and measures
//
// A field of type NetworkID with the tag net:"entity" names an entity: to a client that may not see it when the message is sent it is
// zero. The output of a Serialize method is sent unchanged. The handler runs when Dispatch reaches the message's stage; ctx and m are
// valid until it returns. A panic of it ends the connection of the sender with errs.ReasonHandlerPanic; everything else continues. Handle
// panics, naming the type and the field, on a type that cannot be sent, on a wire name or a type that is registered already, on an option
// that is out of its range, and on a frozen protocol.
func Handle[T any](p *Protocol, handler func(ctx *Context, m *T), options ...Option) {
	t := reflect.TypeFor[T]()
	p.mustBeOpen("Handle", t)
	r := register("Handle", t, options)
	add(p, "Handle", r, registry.Alone, nil, handler)
}

// On adds a handler for message T to one end: a server, a client or a host's player. It is for ends of one protocol that
// differ, as several clients in a process, and for handlers that use objects made after the protocol. T is registered with Handle
// on both sides, there with nil if no end needs the same handler. Handlers of On run after that of Handle, in the order of
// their calls. On panics on an end or a handler that is nil, and on a T that was not given to Handle.
func On[T any](end Endpoint, handler func(ctx *Context, m *T)) {
	t := reflect.TypeFor[T]()
	c := coreOf(end)
	switch {
	case c == nil:
		panic(fmt.Sprintf("netcode: On[%s]: no end to handle messages: %T", t, end))
	case handler == nil:
		panic(fmt.Sprintf("netcode: On[%s]: the handler is nil", t))
	}
	for _, h := range c.protocol.types.Handled {
		if h.Role != registry.Alone || h.Type.Codec.GoType() != t {
			continue
		}
		codec, ok := c.inbound.Codec(h.Type.ID()).(*message.CodecOf[T])
		if !ok {
			break
		}
		if h.Type.OwnerOnly {
			handler = ownersOnly(registry.Alone, handler)
		}
		both := handler
		if first := codec.Handler(); first != nil {
			both = func(ctx *Context, m *T) {
				first(ctx, m)
				handler(ctx, m)
			}
		}
		c.inbound.SetCodec(h.Type.ID(), codec.With(both))
		return
	}
	if of := c.protocol.types.Messages.ByGoType(t); of != nil && c.protocol.types.Roles[of.ID()] == registry.Question {
		panic(fmt.Sprintf("netcode: On[%s]: the message is a question: call netcode.OnCall", t))
	}
	panic(fmt.Sprintf("netcode: On[%s]: the message is not registered: call netcode.Handle[%s](protocol, nil) on both sides", t, t.Name()))
}

// OnCall makes f the function that answers question Q at one end: a server, a client or a host's player. It is On for questions: several
// clients in a process answer each in its own way, and f uses objects made after the protocol. Q and R are registered with Answer on both
// sides, there with nil if no end needs the same function. A question has one answer, so f takes the place of the function of Answer, and of an earlier
// OnCall of the end. OnCall panics on an end or a function that is nil, and on a Q and R that were not given to Answer.
func OnCall[Q, R any](end Endpoint, f func(ctx *Context, q *Q, r *R) error) {
	q, r := reflect.TypeFor[Q](), reflect.TypeFor[R]()
	c := coreOf(end)
	switch {
	case c == nil:
		panic(fmt.Sprintf("netcode: OnCall[%s]: no end to answer: %T", q, end))
	case f == nil:
		panic(fmt.Sprintf("netcode: OnCall[%s]: the function is nil", q))
	}
	if err := c.protocol.answers(q, r); err != nil {
		panic(fmt.Sprintf("netcode: OnCall[%s]: %v", q, err))
	}
	of := c.protocol.types.Messages.ByGoType(q)
	handler := answering(f)
	if of.OwnerOnly {
		handler = ownersOnly(registry.Question, handler)
	}
	if codec, ok := c.inbound.Codec(of.ID()).(*message.CodecOf[Q]); ok {
		c.inbound.SetCodec(of.ID(), codec.With(handler))
	}
}

// add registers one message type with its handler.
func add[T any](p *Protocol, call string, r registry.Options, role registry.Role, answer reflect.Type, handler func(ctx *Context, m *T)) {
	t := reflect.TypeFor[T]()
	p.types.MustTake(call, t, &r)
	if r.OwnerOnly && handler != nil {
		handler = ownersOnly(role, handler)
	}
	codec, err := message.NewCodec(r.Name, handler)
	if err != nil {
		panic(fmt.Sprintf("netcode: %s[%s]: %v", call, t, err))
	}
	p.types.AddMessage(call, &r, role, answer, codec)
}

// ownersOnly wraps a handler so that it runs only for messages of the entity's owner. It checks the owner when the
// handler is due, since the message may have waited.
func ownersOnly[T any](role registry.Role, handler func(ctx *Context, m *T)) func(ctx *Context, m *T) {
	return func(ctx *Context, m *T) {
		c := coreOf(ctx.End)
		if c != nil && c.server != nil && ctx.Sender != ctx.Local && c.server.Owner(ctx.Entity) != ctx.Sender {
			c.stats.NotOwner++
			if role == registry.Question {
				refuse(ctx, errNotOwner)
			}
			return
		}
		handler(ctx, m)
	}
}

// rawMessage is a registered message type of an extension. It implements extend.Raw.
type rawMessage struct {
	extend.RawMessage
	kind wire.MessageType // Set by the freeze.
}

// HandleRaw implements extend.Protocol.
func (p protocolInside) HandleRaw(call string, m extend.RawMessage) extend.Raw {
	p.mustBeOpen(call, m.Marker)
	o := registry.Options{
		Name: m.Name, Stage: m.Stage, Staged: true, Delivery: m.Channel.Delivery(), Channel: m.Channel.Number(), Direction: message.FromServer,
	}
	p.types.MustTake(call, m.Marker, &o)
	raw := &rawMessage{RawMessage: m}
	codec := message.NewRaw(m.Name, m.Marker, message.RawCalls{Check: m.Check, Handle: raw.take, Dump: m.Dump})
	p.types.AddMessage(call, &o, registry.Alone, nil, codec)
	p.raws = append(p.raws, raw)
	return raw
}

// take handles a message that arrived at a client.
func (m *rawMessage) take(ctx *Context, body []byte) {
	c := coreOf(ctx.End)
	if c == nil || c.client == nil {
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
		c.stats.refused(reason)
		c.self.closeFor(0, reason)
	}
}

// Send implements extend.Raw.
func (m *rawMessage) Send(client extend.Session, about NetworkID, body []byte) error {
	to, ok := client.(*session)
	if !ok {
		return errs.ErrNotConnected
	}
	p := peer.Post{Type: m.kind, Stage: m.Stage, Channel: m.Channel}
	if !about.IsZero() {
		p.Flags, p.Entity = wire.FlagEntity, about
	}
	if to.link.loopback != nil {
		return to.link.deliverLocal(0, &p, body)
	}
	return to.server.enqueue(&to.link, m.Name, &p, body)
}

// Recall implements extend.Raw.
func (m *rawMessage) Recall(client extend.Session, amend func(body []byte) int) {
	to, ok := client.(*session)
	if !ok {
		return
	}
	r := &to.recaller
	r.raw, r.amend = m, amend
	to.link.Outgoing.Recall(m.Channel, r)
	r.raw, r.amend = nil, nil
}

// recall withdraws waiting messages to a client about entities that it no longer sees, before any packet of the frame.
func (s *Server) recall(c *session) {
	c.recaller.sights = c.view.Sights()
	s.stats.Recalled += c.link.Outgoing.RecallAll(&c.recaller)
}

// recaller decides which waiting messages are withdrawn from a client's queue. It implements peer.Recaller.
type recaller struct {
	session *session
	sights  uint64                // The View's count of visibility changes at the last recall.
	raw     *rawMessage           // Set while its Recall runs.
	amend   func(body []byte) int // The function of that Recall.
}

// Gone implements peer.Recaller.
func (r *recaller) Gone(id wire.NetworkID) bool { return !r.session.view.Visible(id) }

// Blank implements peer.Recaller. A message of the game stays as it is: the client may have it already.
func (r *recaller) Blank(kind wire.MessageType, body []byte) {
	if raw := r.session.server.protocol.rawOf[kind]; raw != nil && raw.Blank != nil {
		raw.Blank(body)
	}
}

// Amend implements peer.Recaller.
func (r *recaller) Amend(kind wire.MessageType, body []byte) int {
	s := r.session.server
	switch raw := s.protocol.rawOf[kind]; {
	case raw == nil:
		return copy(body, s.hideNames(&r.session.link, kind, body))
	case raw != r.raw:
		return len(body)
	}
	return r.amend(body)
}

// answers returns nil for a question that was registered with that answer type, otherwise an error.
func (p *Protocol) answers(q, r reflect.Type) error {
	of := p.types.Messages.ByGoType(q)
	for _, h := range p.types.Handled {
		switch {
		case of == nil || h.Type != of:
		case h.Role == registry.Alone:
			return fmt.Errorf("%w: %s is no question: it was registered with Handle", errs.ErrMisuse, q)
		case h.Role == registry.Answer:
			return fmt.Errorf("%w: %s is no question: it is the answer to one", errs.ErrMisuse, q)
		case h.Answer != r:
			return fmt.Errorf("%w: %s is answered by %s, not by %s", errs.ErrMisuse, q, h.Answer, r)
		default:
			return nil
		}
	}
	return fmt.Errorf("%w: %s: give it to Answer on both sides", errs.ErrNotRegistered, q)
}

// callTime is the default deadline of a call.
const callTime = 5 * time.Second

// Answer registers question Q with its answer R, and the function that answers it. Call it on both sides; a side that never answers gives
// nil, and refuses; so does each end that shall have a function of its own by OnCall. The options are those of Handle and count for Q,
// which is Reliable unless Over says otherwise; the answer goes the other way over the channel on which the question came. One type may
// be the answer to several questions. The function fills in the answer before it returns; its error is sent to the caller as the text of
// a *CallError instead. Answer panics as Handle does.
func Answer[Q, R any](p *Protocol, f func(ctx *Context, q *Q, r *R) error, options ...Option) {
	q, r := reflect.TypeFor[Q](), reflect.TypeFor[R]()
	p.mustBeOpen("Answer", q)
	registered := register("Answer", q, options)
	if !registered.Delivered {
		registered.Delivery = wire.Reliable
	}
	if f == nil {
		f = func(*Context, *Q, *R) error { return errNobody }
	}
	addAnswer[R](p, r, registered.Answer)
	add(p, "Answer", registered, registry.Question, r, answering(f))
}

// addAnswer registers an answer's type, if no other question has it already.
func addAnswer[R any](p *Protocol, r reflect.Type, name string) {
	for _, other := range p.types.Handled {
		if other.Role == registry.Answer && other.Type.Codec.GoType() == r {
			if name != "" && name != other.Type.Name {
				panic(fmt.Sprintf("netcode: Answer[%s]: this answer is registered already, as %q", r, other.Type.Name))
			}
			return
		}
	}
	var options []Option
	if name != "" {
		options = append(options, Named(name))
	}
	registered := register("Answer", r, options)
	registered.Delivery = wire.Reliable
	add(p, "Answer", registered, registry.Answer, nil, answered[R])
}

// answering returns the handler of a question. It reuses answers; f may itself ask and answer.
func answering[Q, R any](f func(ctx *Context, q *Q, r *R) error) func(ctx *Context, m *Q) {
	answers := &sync.Pool{New: func() any { return new(R) }}
	return func(ctx *Context, m *Q) {
		r, _ := answers.Get().(*R)
		var zero R
		*r = zero
		err := f(ctx, m, r)
		if err == nil {
			how := [...]Option{Over(ctx.Delivery()), OnChannel(ctx.Channel.Number())}
			err = unsent(ctx, post(coreOf(ctx.End), To(ctx.Sender), r, how[:], callOf{number: ctx.Call, role: registry.Answer}))
		}
		answers.Put(r)
		if err != nil {
			refuse(ctx, err)
		}
	}
}

// unsent returns the error for the caller of an answer that could not be sent. An unreachable caller gets none: its
// deadline ends the call.
func unsent(ctx *Context, err error) error {
	if err == nil || errors.Is(err, errs.ErrBackPressure) || errors.Is(err, errs.ErrQueueFull) || errors.Is(err, errs.ErrNotConnected) {
		return nil
	}
	if c := coreOf(ctx.End); c != nil {
		c.report.Error(fmt.Errorf("netcode: an answer cannot be sent: %w", err))
	}
	return errUnsent
}

// answered is the handler of an answer. It calls the function of Call. A late answer has no function.
func answered[R any](ctx *Context, m *R) {
	c := coreOf(ctx.End)
	if c == nil {
		return
	}
	w, ok := c.calls.Waiter(ctx.Call, ctx.Sender).(waiting[R])
	if !ok {
		c.stats.LateAnswers++
		return
	}
	c.calls.Take(ctx.Call, ctx.Sender)
	w(m, nil)
}

// waiting is the function of Call for an answer of type R.
type waiting[R any] func(r *R, err error)

// Fail implements calls.Waiter.
func (w waiting[R]) Fail(err error) { w(nil, err) }

// refuse answers a question with an error.
func refuse(ctx *Context, reason error) {
	c := coreOf(ctx.End)
	if c == nil {
		return
	}
	if ctx.Sender == ctx.Local {
		c.refused(ctx.Call, ctx.Sender, reason.Error())
		return
	}
	l, err := c.self.linkTo(ctx.Sender)
	if err != nil {
		return
	}
	if l.loopback != nil {
		l.loopback.refused(ctx.Call, ctx.Local, reason.Error())
		return
	}
	c.postRefusal(l, peer.Post{Stage: ctx.Stage, Channel: ctx.Channel, Call: ctx.Call}, reason)
}

// postRefusal sends the refusal of a question to an end. p has the stage, the channel and the number of the call.
func (c *endpointCore) postRefusal(l *connection, p peer.Post, reason error) {
	p.Type, p.Flags = wire.MessageRefusal, wire.FlagCall
	to := held.Envelope{Post: p}
	body := peer.AppendRefusal(nil, reason.Error())
	if c.holdsBack(l, &to, body) {
		_ = l.hold(&to, "", body) // The refusal follows a message that is held.
	} else if err := l.Outgoing.Push(&to.Post, body); err != nil {
		_ = l.failed(err, "", &to.Post, 0) // The error is counted; the caller's deadline ends the call.
	}
}

// refused ends a call with the other end's error.
func (c *endpointCore) refused(number uint16, from wire.ClientID, text string) {
	w, ok := c.calls.Take(number, from)
	if !ok {
		c.stats.LateAnswers++
		return
	}
	c.tellCaller(w, from, &errs.CallError{Text: text})
}

// Call asks the end of an id a question, 0 being the server. f is called once with the answer, or with the error that there is
// none: a *CallError with the other end's reason, ErrDeadline (see Within), the error of ctx when that is done, or the
// *CloseError with which the connection ended. r is nil with an error, and good until f returns. f is called in a frame of
// this end, never within Call; if it panics, the connection to the end that was asked ends as for a handler. If Call itself
// returns an error, one of those of Send, or ErrTooManyCalls, f is not called.
func Call[Q, R any](ctx context.Context, end Endpoint, to ClientID, q *Q, f func(r *R, err error), how ...Option) error {
	c := coreOf(end)
	if c == nil {
		return errNoEnd
	}
	if ctx == nil || f == nil {
		return errNoContext
	}
	if err := c.protocol.answers(reflect.TypeFor[Q](), reflect.TypeFor[R]()); err != nil {
		return err
	}
	within := callTime
	for i := range how {
		if how[i].What == registry.OptionWithin {
			within = how[i].Within
		}
	}
	number, ok := c.calls.Open(calls.Call{Waiter: waiting[R](f), Of: to, Deadline: c.frame.After(within), Ctx: ctx})
	if !ok {
		c.stats.CallsFull++
		return errs.ErrTooManyCalls
	}
	err := post(c, To(to), q, how, callOf{number: number, role: registry.Question})
	if err != nil {
		c.calls.Take(number, to)
	}
	return err
}
