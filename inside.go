package netcode

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/door"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/quantize"
)

// inside is the door to a server, a client or a protocol. Packages extend and steps open it; games do not see it.
type inside = door.Door

// serverInside is a server with the methods that games do not see. It implements extend.Server and steps.Server.
type serverInside struct{ *Server }

// clientInside is a client with the methods that games do not see. It implements extend.Client and steps.Client.
type clientInside struct{ *Client }

// protocolInside is a protocol with the methods that games do not see. It implements extend.Protocol.
type protocolInside struct{ *Protocol }

// Extensions returns the states of the server's extensions.
func (s serverInside) Extensions() []any { return s.states }

// Extensions returns the states of the client's extensions.
func (c clientInside) Extensions() []any { return c.states }

// Extensions returns the states of the protocol's extensions.
func (p protocolInside) Extensions() []any { return p.extended }

// Extensions returns the states of the session's extensions.
func (c *session) Extensions() []any { return c.kept }

// Contained implements extend.Server and steps.Server.
func (s serverInside) Contained(name string) {
	if value := recover(); value != nil {
		s.panickedIn(name, 0, value)
	}
}

// Contained implements extend.Client and steps.Client.
func (c clientInside) Contained(name string) {
	if value := recover(); value != nil {
		c.panickedIn(name, 0, value)
	}
}

// Tag implements steps.Server.
func (s serverInside) Tag() uint32 { return s.tag }

// Tag implements steps.Client.
func (c clientInside) Tag() uint32 { return c.tag }

// Misused tells OnError of a type that is not registered, for extend.Misused.
func (s serverInside) Misused(call string, t reflect.Type, why error) { s.report.Misused(call, t, why) }

// Misused tells OnError of a type that is not registered, for extend.Misused.
func (c clientInside) Misused(call string, t reflect.Type, why error) { c.report.Misused(call, t, why) }

// Decoding returns the message types and the memory to decode one, for extend.ReadPosted.
func (s serverInside) Decoding() (*message.Registry, *message.Scratch) {
	return &s.protocol.types.Messages, s.inbound.Scratch()
}

// Decoding returns the message types and the memory to decode one, for extend.ReadPosted.
func (c clientInside) Decoding() (*message.Registry, *message.Scratch) {
	return &c.protocol.types.Messages, c.inbound.Scratch()
}

// Settings returns the settings of a component, for extend.SettingOf.
func (p protocolInside) Settings(row int) []any { return p.types.Settings(row) }

// Plan implements extend.Protocol.
func (p protocolInside) Plan(call string, t reflect.Type, options ...extend.Option) *quantize.Plan {
	p.mustBeOpen(call, t)
	r := register(call, t, options)
	return p.types.Plan(call, t, &r)
}

// MustBeOpen implements extend.Protocol.
func (p protocolInside) MustBeOpen(call string, t fmt.Stringer) { p.mustBeOpen(call, t) }

// MustBeName implements extend.Protocol.
func (p protocolInside) MustBeName(call string, t fmt.Stringer, name string) {
	registry.MustBeName(call, t, name)
}

// CanHost implements steps.Server.
func (s serverInside) CanHost(client Endpoint) error { return canHost(s.Server, ClientOf(client)) }

// Host implements steps.Server.
func (s serverInside) Host(client Endpoint, payload []byte) error {
	return hostWith(s.Server, ClientOf(client), payload)
}
