package webtransport

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/webtransport-go"

	"github.com/arche-netcode/netcode/transport"
)

// session is one WebTransport session as a queued.Pipe.
type session struct {
	*webtransport.Session
	ended bool // Read has returned the last datagram
}

// CodeLast is the code of a session that its other end closed with a last datagram as the reason, in hexadecimal digits: a page that is
// left has no time for a datagram, and the reason goes with the end of the session.
const CodeLast = 1

// Write implements queued.Pipe. It waits while QUIC's congestion window is full and its queue of 32 datagrams too.
func (s *session) Write(datagram []byte) error {
	err := s.SendDatagram(datagram)
	if tooLarge := (*quic.DatagramTooLargeError)(nil); errors.As(err, &tooLarge) {
		return transport.ErrTooLarge
	}
	return err
}

// Read implements queued.Pipe.
func (s *session) Read(buf []byte) (int, error) {
	datagram, err := s.ReceiveDatagram(context.Background()) // It returns when the session ends.
	if err != nil {
		if datagram = s.last(); len(datagram) == 0 {
			return 0, err
		}
	}
	if len(datagram) > len(buf) {
		return 0, transport.ErrTooLarge
	}
	return copy(buf, datagram), nil
}

// last returns the last datagram of a session that ended, once; nil if it has none.
func (s *session) last() []byte {
	if s.ended {
		return nil
	}
	s.ended = true
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := s.AcceptUniStream(ctx)
	// of a session that has ended: its reason
	end := (*webtransport.SessionError)(nil)
	if !errors.As(err, &end) || !end.Remote || end.ErrorCode != CodeLast {
		return nil
	}
	datagram, err := hex.DecodeString(end.Message)
	if err != nil {
		return nil
	}
	return datagram
}

// Close implements queued.Pipe.
func (s *session) Close() error { return s.CloseWithError(0, "") }
