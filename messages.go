package netcode

import (
	"reflect"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// SendTo sends a message to one connected client, in one of the next packets. It is unreliable: the network may lose
// it. The errors are ErrNotConnected, ErrNotRegistered, ErrOutboxFull, *TooLargeError and *UnsendableError; after each
// nothing was sent.
func SendTo[T any](s *Server, client ClientID, m *T) error {
	c := s.client(client)
	if c == nil {
		return ErrNotConnected
	}
	sent, err := encode(s.protocol, &s.encoder, m, s.config.PacketSize)
	return c.post(sent, err)
}

// Broadcast sends a message to every connected client; it is encoded once. The error is that of the first client which
// it could not be sent to; the others get it all the same.
func Broadcast[T any](s *Server, m *T) error {
	sent, err := encode(s.protocol, &s.encoder, m, s.config.PacketSize)
	var first error
	for _, c := range s.sessions {
		if c.state != connected {
			continue
		}
		if err := c.post(sent, err); err != nil && first == nil {
			first = err
		}
	}
	if first == nil {
		first = err
	}
	return first
}

// SendMessage sends a message to the server, in the packet of the next network tick. It is unreliable: the network may
// lose it. The errors are those of SendTo.
func SendMessage[T any](c *Client, m *T) error {
	if c.state != Connected {
		return ErrNotConnected
	}
	sent, err := encode(c.protocol, &c.encoder, m, c.agreed.PacketSize)
	return c.post(sent, err)
}

// post puts an encoded message into the outbox and counts why it could not.
func (l *link) post(m encoded, err error) error {
	if err == nil && !l.outbox.push(m.of.ID(), m.of.Stage, m.payload) {
		l.stats.OutboxFull++
		err = ErrOutboxFull
	} else if _, tooLarge := err.(*TooLargeError); tooLarge {
		l.stats.TooLarge++
	}
	return err
}

// encoded is a message ready to travel; payload is good until the next one is encoded.
type encoded struct {
	of      *message.Type
	payload []byte
}

// encode makes the payload of a message for packets of a size. A value that cannot travel as it is has no place in a
// message: unlike a component there is no last good value to keep, and there is a caller to tell.
func encode[T any](p *Protocol, e *message.Encoder, m *T, packetSize int) (encoded, error) {
	id, ok := p.messages.IDOf(reflect.TypeFor[T]())
	if !ok {
		return encoded{}, ErrNotRegistered
	}
	of, _ := p.messages.Lookup(id)
	if size, limit := message.Size(of.Plan), peer.MaxPayload(packetSize); size > limit {
		return encoded{}, &TooLargeError{Name: of.Name, Size: size, Max: limit}
	}
	payload, fault := message.Encode(e, of.Plan, m)
	if fault.Reason != wire.NoFault {
		return encoded{}, &UnsendableError{Name: of.Name, Field: fault.Field(), Reason: fault.Reason}
	}
	return encoded{of, payload}, nil
}
