package netcode

import (
	"reflect"

	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/registry"
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
	endpoint.Add(&p.types, "Handle", r, registry.Alone, nil, handler)
}

// On adds a handler for message T to one end: a server, a client or a host's player. It is for ends of one protocol that
// differ, as several clients in a process, and for handlers that use objects made after the protocol. T is registered with Handle
// on both sides, there with nil if no end needs the same handler. Handlers of On run after that of Handle, in the order of
// their calls. On panics on an end or a handler that is nil, and on a T that was not given to Handle.
func On[T any](end Endpoint, handler func(ctx *Context, m *T)) {
	endpoint.On(end, handler)
}

// OnCall makes f the function that answers question Q at one end: a server, a client or a host's player. It is On for questions: several
// clients in a process answer each in its own way, and f uses objects made after the protocol. Q and R are registered with Answer on both
// sides, there with nil if no end needs the same function. A question has one answer, so f takes the place of the function of Answer, and of an earlier
// OnCall of the end. OnCall panics on an end or a function that is nil, and on a Q and R that were not given to Answer.
func OnCall[Q, R any](end Endpoint, f func(ctx *Context, q *Q, r *R) error) {
	endpoint.OnCall(end, f)
}

// Answer registers question Q with its answer R, and the function that answers it. Call it on both sides; a side that never answers gives
// nil, and refuses; so does each end that shall have a function of its own by OnCall. The options are those of Handle and count for Q,
// which is Reliable unless Over says otherwise; the answer goes the other way over the channel on which the question came. One type may
// be the answer to several questions. The function fills in the answer before it returns; its error is sent to the caller as the text of
// a *CallError instead. Answer panics as Handle does.
func Answer[Q, R any](p *Protocol, f func(ctx *Context, q *Q, r *R) error, options ...Option) {
	q := reflect.TypeFor[Q]()
	p.mustBeOpen("Answer", q)
	endpoint.AddAnswer(&p.types, register("Answer", q, options), f)
}
