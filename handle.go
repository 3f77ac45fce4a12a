package netcode

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// Handle registers message T and what to do with one that arrives. Call it on both sides; a side that never receives T
// may give nil. T is blittable, as for Replicate, or has a Serialize method (wire.Serializable), which text, slices and more than
// 2048 numbers need:
//
//	func (m *Chat) Serialize(s *wire.Serializer) { s.String(&m.Text, 200) } // writes, reads and measures
//
// A field of type NetworkID
// with the tag net:"entity" names an entity: to a client that may not see it when the message is sent it is zero. What a Serialize
// method writes is sent as it is. The handler runs when
// Dispatch reaches the message's stage; ctx and m are good until it returns. One that panics ends the connection of the
// sender with peer.ReasonHandlerPanic; everything else goes on. Handle panics, naming the type and the field, on a type that
// cannot travel, on a wire name or a type that is registered already, on an option that is out of its range, and on a frozen
// protocol.
func Handle[T any](p *Protocol, handler func(ctx *Context, m *T), options ...Option) {
	t := reflect.TypeFor[T]()
	p.MustBeOpen("Handle", t)
	r := register("Handle", t, options)
	add(p, "Handle", r, alone, handler)
}

// role is the use of a message type.
type role uint8

const (
	alone    role = iota // Sent by itself, with Send and Reply.
	question             // Asked with Call.
	answer               // The result of Answer.
)

// handled is a message type and what it is for.
type handled struct {
	of     *message.Type
	role   role
	answer reflect.Type // Of a question.
}

// add puts one message type into the protocol.
func add[T any](p *Protocol, call string, r registration, role role, handler func(ctx *Context, m *T)) {
	t := reflect.TypeFor[T]()
	mustBeLegal(call, t, r)
	if len(p.handled) == message.MaxTypes {
		panic(fmt.Sprintf("netcode: %s[%s]: a protocol holds at most %d messages", call, t, message.MaxTypes))
	}
	for _, other := range p.handled {
		mustDiffer(call, t, r.name, other.of.Codec.GoType(), other.of.Name)
	}
	if r.ownerOnly && handler != nil {
		handler = ownersOnly(role, handler)
	}
	codec, err := message.NewCodec(r.name, handler)
	if err != nil {
		panic(fmt.Sprintf("netcode: %s[%s]: %v", call, t, err))
	}
	channel := wire.NewChannel(r.delivery, r.number)
	if size, limit := codec.Size(), maxBody(r.delivery); size > limit {
		panic(fmt.Sprintf("netcode: %s[%s]: a message has at most %d bytes, this one %d", call, t, limit, size))
	}
	p.handled = append(p.handled, handled{role: role, of: p.messages.Add(message.Type{
		Name: r.name, Codec: codec, Stage: r.stage, StageGiven: r.staged, Channel: channel,
		Direction: r.direction, OwnerOnly: r.ownerOnly,
	})})
}

// mustBeLegal panics for options that are out of their range.
func mustBeLegal(call string, t reflect.Type, r registration) {
	switch {
	case !r.stage.Valid():
		panic(fmt.Sprintf("netcode: %s[%s]: %s is no stage", call, t, r.stage))
	case !r.delivery.Valid():
		panic(fmt.Sprintf("netcode: %s[%s]: %s is no mode of delivery", call, t, r.delivery))
	case r.number < 0 || r.number >= wire.MaxChannels:
		panic(fmt.Sprintf("netcode: %s[%s]: OnChannel(%d): channels are 0 to %d", call, t, r.number, wire.MaxChannels-1))
	}
}

// ownersOnly lets a handler run only for what the owner of an entity says about it. Who owns it is asked now and not when the
// message came: it may have waited.
func ownersOnly[T any](role role, handler func(ctx *Context, m *T)) func(ctx *Context, m *T) {
	return func(ctx *Context, m *T) {
		c := courierOf(ctx.End)
		if c != nil && c.server != nil && ctx.Sender != ctx.Local && c.server.Owner(ctx.Entity) != ctx.Sender {
			c.stats.NotOwner++
			if role == question {
				refuse(ctx, errNotOwner)
			}
			return
		}
		handler(ctx, m)
	}
}

// maxBody is the most bytes that a message of a mode of delivery can have in the largest packets there are. In those of a
// connection it may be less, which Send tells.
func maxBody(mode wire.Delivery) int {
	if mode.Reliable() {
		return peer.InitialCredit * 3 / 4
	}
	return peer.MaxPayload(MaxPacketSize)
}
