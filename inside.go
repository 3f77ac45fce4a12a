package netcode

import (
	"reflect"

	"github.com/arche-netcode/netcode/internal/door"
	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/message"
)

// serverInside is a server with the methods that games do not see. It implements extend.Server and steps.Server.
type serverInside struct{ *Server }

// clientInside is a client with the methods that games do not see. It implements extend.Client and steps.Client.
type clientInside struct{ *Client }

// Extensions returns the states of the server's extensions.
func (s serverInside) Extensions() []any { return s.states }

// Extensions returns the states of the client's extensions.
func (c clientInside) Extensions() []any { return c.states }

// Extensions returns the states of the session's extensions.
func (c *session) Extensions() []any { return c.kept }

// Contained implements extend.Server and steps.Server.
func (s serverInside) Contained(name string) {
	if value := recover(); value != nil {
		s.core.PanickedIn(name, 0, value)
	}
}

// Contained implements extend.Client and steps.Client.
func (c clientInside) Contained(name string) {
	if value := recover(); value != nil {
		c.core.PanickedIn(name, 0, value)
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
	return &s.protocol.types.Messages, s.core.Inbound.Scratch()
}

// Decoding returns the message types and the memory to decode one, for extend.ReadPosted.
func (c clientInside) Decoding() (*message.Registry, *message.Scratch) {
	return &c.protocol.types.Messages, c.core.Inbound.Scratch()
}

// CanHost implements steps.Server.
func (s serverInside) CanHost(client Endpoint) error { return canHost(s.Server, ClientOf(client)) }

// Host implements steps.Server.
func (s serverInside) Host(client Endpoint, payload []byte) error {
	return hostWith(s.Server, ClientOf(client), payload)
}

// ServerOf returns the server that an end is, or embeds; nil for a client.
func ServerOf(end Endpoint) *Server {
	s, _ := door.Of(end).(serverInside)
	return s.Server
}

// ClientOf returns the client that an end is, or embeds; nil for a server.
func ClientOf(end Endpoint) *Client {
	c, _ := door.Of(end).(clientInside)
	return c.Client
}

// Core implements the door of package endpoint.
func (s serverInside) Core() *endpoint.End { return &s.core }

// Core implements the door of package endpoint.
func (c clientInside) Core() *endpoint.End { return &c.core }
