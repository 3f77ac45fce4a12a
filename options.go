package netcode

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Option adjusts one registration: Named for all, Every, Once, Marked and Importance for Replicate, the others for Handle and Answer.
type Option func(*registration)

// registration is what the options of one Replicate, Handle or Answer decide.
type registration struct {
	name      string
	stage     tick.Stage
	staged    bool
	delivery  wire.Delivery
	delivered bool
	number    int
	direction message.Direction
	ownerOnly bool
	answer    string // Wire name of a question's answer.
	last      string // The last option that is for messages only.
	rows      snapshot.RowOptions
	component string                                   // The name of an extension's option of Replicate,
	set       []func(p *Protocol, plan *quantize.Plan) // and what it does.

	extrapolator string
	extrapolate  quantize.Extrapolation
}

// Named gives a type another wire name than its own, which is the name of the type without its package. Wire names are unique in a protocol and are what the two ends
// compare, so a type may be renamed or moved without breaking the protocol as long as its wire name stays.
func Named(name string) Option { return func(r *registration) { r.name = name } }

// NamedAnswer gives the answer of Answer another wire name than that of its type.
func NamedAnswer(name string) Option {
	return func(r *registration) { r.answer, r.last = name, "NamedAnswer" }
}

// AtStage sets the stage of the receiver's frame in which a message's handler runs, unless the sender says otherwise with
// InStage; without it that is the stage that the sender is in.
func AtStage(stage Stage) Option {
	return func(r *registration) { r.stage, r.staged, r.last = stage, true, "AtStage" }
}

// Over sets the mode of delivery of a message, unless the sender says otherwise with Via. It is Unreliable without this,
// and Reliable for the questions of Answer.
func Over(delivery Delivery) Option {
	return func(r *registration) { r.delivery, r.delivered, r.last = delivery, true, "Over" }
}

// OnChannel sets the number of the channel on which a message travels, 0 to 63, unless the sender says otherwise with
// Channel, which is the same for one message: OnChannel is an option of Handle and Answer, Channel of Send and Call. Each mode of delivery has channels of its own; order and loss are a channel's own affair.
func OnChannel(number int) Option {
	return func(r *registration) { r.number, r.last = number, "OnChannel" }
}

// FromClient lets only clients send a message. A server that sends one all the same ends the connection, as malformed.
func FromClient() Option {
	return func(r *registration) { r.direction, r.last = message.FromClient, "FromClient" }
}

// FromServer lets only the server send a message. A client that sends one all the same loses its connection, as malformed.
func FromServer() Option {
	return func(r *registration) { r.direction, r.last = message.FromServer, "FromServer" }
}

// OwnerOnly lets a client send a message only About an entity that belongs to it (Server.SetOwner). One about another's is
// dropped and counted when its stage comes, since ownership may have changed on the way; one about none ends the connection.
func OwnerOnly() Option { return func(r *registration) { r.ownerOnly, r.last = true, "OwnerOnly" } }

// register collects the options; the wire name is the type's own unless Named says otherwise.
func register(call string, t reflect.Type, options []Option) registration {
	r := registration{name: t.Name()}
	for _, option := range options {
		option(&r)
	}
	if call != "Replicate" && r.extrapolate != nil {
		panic(fmt.Sprintf("netcode: %s[%s]: ExtrapolatedBy is for components: of messages nothing is extrapolated", call, t))
	}
	if call != "Replicate" && r.set != nil {
		panic(fmt.Sprintf("netcode: %s[%s]: %s is for components", call, t, r.component))
	}
	if call != "Replicate" && r.rows != (snapshot.RowOptions{}) {
		panic(fmt.Sprintf("netcode: %s[%s]: Every, Once, Marked and Importance are for components: a message travels when it is sent", call, t))
	}
	if r.name == "" && t.Kind() != reflect.Struct {
		compile(call, t, "unnamed") // says why such a type cannot travel, where that is what is wrong
	}
	if !legalName(r.name) {
		panic(fmt.Sprintf("netcode: %s[%s]: the wire name %q must be 1 to %d printable ASCII characters without space, brace "+
			"or semicolon: use the option Named", call, t, r.name, maxName))
	}
	return r
}

// maxName is the longest wire name, in bytes.
const maxName = 128

// MustBeName panics on a name that cannot be a wire name. call is the function that was given the name, t its type.
func MustBeName(call string, t fmt.Stringer, name string) {
	if !legalName(name) {
		panic(fmt.Sprintf("netcode: %s[%s]: the wire name %q must be 1 to %d printable ASCII characters without space, brace or semicolon",
			call, t, name, maxName))
	}
}

// legalName tells if a wire name can stand in a canonical description without being taken for a part of it.
func legalName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c <= ' ' || c > '~', c == '{', c == '}', c == ';':
			return false
		}
	}
	return name != "" && len(name) <= maxName
}
