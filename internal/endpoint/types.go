package endpoint

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/message"
)

// Types has the contents of a protocol, with the message types whose bytes a feature reads.
type Types struct {
	registry.Registry
	raws  []*Raw
	rawOf [1 << 8]*Raw // By number, once frozen.
}

// Freeze ends registration. It is called once.
func (t *Types) Freeze() {
	t.Registry.Freeze()
	for _, raw := range t.raws {
		raw.kind = t.Messages.ByGoType(raw.Marker).ID()
		t.rawOf[raw.kind] = raw
	}
}

// Add registers a message type with its handler. answer is the type of the answer to a question.
func Add[T any](t *Types, call string, o registry.Options, role registry.Role, answer reflect.Type, handler func(ctx *message.Context, m *T)) {
	of := reflect.TypeFor[T]()
	t.MustTake(call, of, &o)
	if o.OwnerOnly && handler != nil {
		handler = ownersOnly(role, handler)
	}
	codec, err := message.NewCodec(o.Name, handler)
	if err != nil {
		panic(fmt.Sprintf("netcode: %s[%s]: %v", call, of, err))
	}
	t.AddMessage(call, &o, role, answer, codec)
}

// ownersOnly wraps a handler so that it runs only for messages of the entity's owner. It checks the owner when the
// handler is due, since the message may have waited.
func ownersOnly[T any](role registry.Role, handler func(ctx *message.Context, m *T)) func(ctx *message.Context, m *T) {
	return func(ctx *message.Context, m *T) {
		e := Of(ctx.End)
		if e != nil && e.atServer() && ctx.Sender != ctx.Local && e.Store.Owner(ctx.Entity) != ctx.Sender {
			e.Counters.NotOwner++
			if role == registry.Question {
				e.refuse(ctx, errNotOwner)
			}
			return
		}
		handler(ctx, m)
	}
}

// On implements netcode.On.
func On[T any](end message.Endpoint, handler func(ctx *message.Context, m *T)) {
	t := reflect.TypeFor[T]()
	e := Of(end)
	switch {
	case e == nil:
		panic(fmt.Sprintf("netcode: On[%s]: no end to handle messages: %T", t, end))
	case handler == nil:
		panic(fmt.Sprintf("netcode: On[%s]: the handler is nil", t))
	}
	of := e.Types.Messages.ByGoType(t)
	if of != nil && e.Types.Roles[of.ID()] == registry.Question {
		panic(fmt.Sprintf("netcode: On[%s]: the message is a question: call netcode.OnCall", t))
	}
	if of == nil || e.Types.Roles[of.ID()] != registry.Alone || !setHandler(e, of, handler) {
		panic(fmt.Sprintf("netcode: On[%s]: the message is not registered: call netcode.Handle[%s](protocol, nil) on both sides", t, t.Name()))
	}
}

// OnCall implements netcode.OnCall.
func OnCall[Q, R any](end message.Endpoint, f func(ctx *message.Context, q *Q, r *R) error) {
	q := reflect.TypeFor[Q]()
	e := Of(end)
	switch {
	case e == nil:
		panic(fmt.Sprintf("netcode: OnCall[%s]: no end to answer: %T", q, end))
	case f == nil:
		panic(fmt.Sprintf("netcode: OnCall[%s]: the function is nil", q))
	}
	if err := e.Types.answers(q, reflect.TypeFor[R]()); err != nil {
		panic(fmt.Sprintf("netcode: OnCall[%s]: %v", q, err))
	}
	setHandler(e, e.Types.Messages.ByGoType(q), answering(f))
}

// setHandler gives a type another handler at one end: behind that which it has, but for a question, which has one answer. It returns
// false for a type of a feature's own bytes.
func setHandler[T any](e *End, of *message.Type, handler func(ctx *message.Context, m *T)) bool {
	codec, ok := e.Inbound.Codec(of.ID()).(*message.CodecOf[T])
	if !ok {
		return false
	}
	role := e.Types.Roles[of.ID()]
	if of.OwnerOnly {
		handler = ownersOnly(role, handler)
	}
	all := handler
	if first := codec.Handler(); first != nil && role == registry.Alone {
		all = func(ctx *message.Context, m *T) {
			first(ctx, m)
			handler(ctx, m)
		}
	}
	e.Inbound.SetCodec(of.ID(), codec.With(all))
	return true
}
