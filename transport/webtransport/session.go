package webtransport

import (
	"context"
	"errors"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/webtransport-go"

	"github.com/arche-netcode/netcode/transport"
)

// session is one WebTransport session as a queued.Pipe.
type session struct {
	*webtransport.Session
}

// Write implements queued.Pipe. It waits while QUIC's congestion window is full and its queue of 32 datagrams too.
func (s session) Write(datagram []byte) error {
	err := s.SendDatagram(datagram)
	if tooLarge := (*quic.DatagramTooLargeError)(nil); errors.As(err, &tooLarge) {
		return transport.ErrTooLarge
	}
	return err
}

// Read implements queued.Pipe.
func (s session) Read(buf []byte) (int, error) {
	datagram, err := s.ReceiveDatagram(context.Background()) // It returns when the session ends.
	if err != nil {
		return 0, err
	}
	if len(datagram) > len(buf) {
		return 0, transport.ErrTooLarge
	}
	return copy(buf, datagram), nil
}

// Close implements queued.Pipe.
func (s session) Close() error { return s.CloseWithError(0, "") }
