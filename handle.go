package netcode

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
)

// AtStage sets the stage of the frame in which a message's handler runs, unless the sender asks for another; without it
// that is tick.Update.
func AtStage(stage Stage) Option {
	return func(r *registration) { r.stage, r.staged = stage, true }
}

// Handle registers message T and what to do with one that arrives. Call it on both sides; a side that never receives T
// may give nil. T must be blittable, as for Replicate. The handler runs when Dispatch reaches the message's stage; ctx
// and m are good until it returns. Messages are unreliable for now: one that the network loses is gone. Handle panics,
// naming the type and the field, on a type that cannot travel, on a wire name or a type that is registered already, and
// on a frozen protocol.
func Handle[T any](p *Protocol, handler func(ctx *Context, m *T), options ...Option) {
	t := reflect.TypeFor[T]()
	p.mustBeOpen("Handle", t)
	r := register("Handle", t, options)
	if !r.staged {
		r.stage = tick.Update
	}
	if !r.stage.Valid() {
		panic(fmt.Sprintf("netcode: Handle[%s]: %s is no stage", t, r.stage))
	}
	if len(p.handled) == message.MaxTypes {
		panic(fmt.Sprintf("netcode: Handle[%s]: a protocol holds at most %d messages", t, message.MaxTypes))
	}
	plan := compile("Handle", t, r.name)
	for _, other := range p.handled {
		mustDiffer("Handle", plan, other.Plan)
	}
	if size, limit := message.Size(plan), peer.MaxPayload(MaxPacketSize); size > limit {
		panic(fmt.Sprintf("netcode: Handle[%s]: a message has at most %d bytes, this one %d", t, limit, size))
	}
	if handler == nil {
		handler = func(*message.Context, *T) {}
	}
	p.handled = append(p.handled, p.messages.Add(message.Type{
		Name: r.name, Plan: plan, Stage: r.stage, Handle: message.Handler(plan, handler),
	}))
}
