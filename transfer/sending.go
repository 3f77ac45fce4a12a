package transfer

import (
	"fmt"
	"slices"

	"github.com/arche-netcode/netcode"
)

// Sending is a transfer that this end sends.
type Sending struct {
	end       *end
	to        *peerState
	id        uint32 // Valid once begun.
	name      string
	data      []byte
	begun     bool
	sent      int
	confirmed int
	over      bool
	err       error
	onEnd     func(err error)
}

// To returns the receiver: a client, or 0 for the server.
func (s *Sending) To() netcode.ClientID { return s.to.id }

// Name returns the name that was given to Send.
func (s *Sending) Name() string { return s.name }

// Progress returns the number of bytes that the receiver confirmed and of all bytes.
func (s *Sending) Progress() (received, all int) { return s.confirmed, len(s.data) }

// Over reports whether the transfer is complete or has failed.
func (s *Sending) Over() bool { return s.over }

// Err returns the reason why the transfer failed. It is nil while the transfer runs, and after success. Otherwise it is
// ErrCancelled, ErrDisconnected, a *RefusedError, or the error of a message that could not be sent.
func (s *Sending) Err() error { return s.err }

// OnEnd sets a function that is called once, with Err, in a frame after the transfer's end.
func (s *Sending) OnEnd(f func(err error)) { s.onEnd = f }

// Cancel aborts the transfer. The receiver drops what it has. If the transfer is over, Cancel does nothing.
func (s *Sending) Cancel() {
	if s.over {
		return
	}
	s.drop()
	s.finish(ErrCancelled)
	if s.begun {
		answer(s.end, s.to, stop{ID: s.id, Sender: true})
	}
}

// drop removes the transfer from the list of its connection.
func (s *Sending) drop() {
	s.to.sending = slices.DeleteFunc(s.to.sending, func(other *Sending) bool { return other == s })
}

// finish ends the transfer, and calls the OnEnd function in the next frame.
func (s *Sending) finish(err error) {
	if s.over {
		return
	}
	s.over, s.err, s.data = true, err, s.data[:len(s.data):len(s.data)]
	s.end.later = append(s.end.later, func() {
		if s.onEnd != nil {
			s.onEnd(s.err)
		}
	})
}

// ready reports whether the transfer has something to send now.
func (s *Sending) ready() bool {
	return !s.begun || s.sent < len(s.data) && s.sent-s.confirmed < unread
}

// step sends the begin or the next piece, and returns the number of its bytes.
func (s *Sending) step() (n int, err error) {
	if !s.begun {
		if err = post(s.end, s.to, &begin{ID: s.to.last + 1, Size: uint32(len(s.data)), Name: s.name}); err == nil {
			s.to.last++
			s.begun, s.id = true, s.to.last
		}
		return nameLimit, err
	}
	m := &s.end.piece
	m.ID, m.Data = s.id, s.data[s.sent:min(s.sent+pieceSize, len(s.data))]
	n = len(m.Data)
	if err = post(s.end, s.to, m); err == nil {
		s.sent += n
	}
	m.Data = nil
	return n, err
}

// confirmed handles the receiver's confirmation.
func (e *end) confirmed(from *peerState, m *got) error {
	i := slices.IndexFunc(from.sending, func(s *Sending) bool { return s.id == m.ID })
	if i < 0 {
		return nil // It was cancelled meanwhile.
	}
	s := from.sending[i]
	if int(m.Bytes) > s.sent || int(m.Bytes) < s.confirmed || !s.begun {
		return errMessage
	}
	if s.confirmed = int(m.Bytes); s.confirmed == len(s.data) {
		s.drop()
		s.finish(nil)
	}
	return nil
}

// String tells the name, the progress and the receiver.
func (s *Sending) String() string {
	return fmt.Sprintf("%q to %s: %d of %d bytes confirmed", s.name, peerName(s.to.id), s.confirmed, len(s.data))
}
