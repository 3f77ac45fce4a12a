package netcode

import (
	"fmt"

	"github.com/arche-netcode/netcode/peer"
)

// PacketSizeError says that a packet size is out of its range.
type PacketSizeError struct {
	Size     int // Bytes that were asked for.
	Min, Max int // Bytes that are possible: MinPacketSize to the Config.PacketSize of the server.
}

// Error implements error.
func (e *PacketSizeError) Error() string {
	return fmt.Sprintf("netcode: a packet size is from %d to %d bytes, not %d: Config.PacketSize of the server is the most", e.Min, e.Max, e.Size)
}

// SetPacketSize bounds the packets that the server sends to one client, in bytes: for a client whose path takes less than
// Config.PacketSize. n is from MinPacketSize to Config.PacketSize. The client bounds its own by Client.SetPacketSize. Call it in
// OnConnect: while messages for the client wait or are not acknowledged, it returns ErrMessagesWait and changes nothing. The other errors
// are ErrNotConnected and *PacketSizeError. The player of a host has no packets.
func (s *Server) SetPacketSize(client ClientID, n int) error {
	c := s.client(client)
	if c == nil {
		return ErrNotConnected
	}
	if err := c.setPacketSize(n, s.config.PacketSize); err != nil {
		return err
	}
	c.view.SetPayload(peer.MaxPayload(n))
	return nil
}

// SetPacketSize bounds the packets that this client sends, in bytes: for a path that takes less than what the server allows. n is
// from MinPacketSize to Config.PacketSize of the server. It holds for this connection: call it in OnConnect. The errors are those of
// Server.SetPacketSize.
func (c *Client) SetPacketSize(n int) error {
	if c.state != Connected {
		return ErrNotConnected
	}
	if err := c.setPacketSize(n, c.agreed.PacketSize); err != nil {
		return err
	}
	if c.own.view != nil {
		c.own.view.SetPayload(peer.MaxPayload(n))
	}
	return nil
}

// setPacketSize is SetPacketSize for either end.
func (l *link) setPacketSize(n, most int) error {
	switch {
	case l.near != nil:
		return nil
	case n < MinPacketSize || n > most:
		return &PacketSizeError{Size: n, Min: MinPacketSize, Max: most}
	case !l.outgoing.SetPacketSize(n):
		return ErrMessagesWait
	}
	l.conn.SetPacketSize(n)
	l.packetSize = n
	return nil
}
