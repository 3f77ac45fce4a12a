package transport

import (
	"errors"
	"time"
)

// MaxDatagram is the largest datagram that any connection takes, in bytes: what is left of an IPv4 datagram of 65,535
// bytes after its headers.
const MaxDatagram = 65507

var (
	// ErrClosed is returned by Send and Receive after Close. It is the only error that ends a connection.
	ErrClosed = errors.New("transport: connection closed")

	// ErrTooLarge means that one datagram was dropped because it does not fit: on Send into what the connection or the
	// network takes, on Receive into the buffer of the caller.
	ErrTooLarge = errors.New("transport: datagram too large")

	// ErrAddress means that an address cannot be sent to from this connection: it is not valid, or of another family.
	ErrAddress = errors.New("transport: address cannot be reached from this connection")
)

// Conn is one end of an unreliable datagram service: datagrams may be lost, repeated, reordered or damaged.
//
// Neither Send nor Receive ever blocks, so that the tick never waits for a socket. Unless an implementation says
// otherwise, Send and Receive are called from one goroutine at a time.
type Conn interface {
	// Send hands one datagram to the network, or drops it when there is no room at that moment; the drop is counted and
	// is no error. The datagram is not kept. ErrClosed is final, any other error concerns this datagram only.
	// An empty datagram is not sent.
	Send(to Addr, datagram []byte) error

	// Receive copies the next datagram into buf and tells how long it is and who sent it. With nothing waiting, n is zero
	// and err is nil; empty datagrams are skipped inside. ErrClosed is final; after any other error the caller goes on.
	// IPv4 senders have IPv4 addresses, never IPv6 addresses that stand for them.
	Receive(buf []byte) (n int, from Addr, err error)

	// LocalAddr returns the address that this end is bound to.
	LocalAddr() Addr

	// Close ends the connection and whatever works for it. A second call does nothing.
	Close() error
}

// RunSender is implemented by a Conn that sends several datagrams to one address with less work than one by one.
type RunSender interface {
	// SendRun sends datagrams that lie one after the other in memory, each of size bytes but for the last, which may be
	// shorter. It is Send for each of them: the far end sees no difference. The error is the first one. A type that wraps a
	// connection and has a Send of its own needs a SendRun of its own too, or none.
	SendRun(to Addr, datagrams []byte, size int) error
}

// BatchSender is implemented by a Conn that sends to several addresses with less work than to one after the other.
type BatchSender interface {
	// SendAll is SendRun of each of runs, in order: to[i] gets runs[i], of datagrams of sizes[i] bytes. The error is the first
	// one, and failed the run that it is about. A type that wraps a connection and has a Send of its own needs a SendAll of its own too,
	// or none.
	SendAll(to []Addr, runs [][]byte, sizes []int) (failed int, err error)
}

// Timed is implemented by a Conn that knows when datagrams came, before Receive was called for them.
type Timed interface {
	// Waited returns for how long the datagram that Receive returned last had been here by then.
	Waited() time.Duration
}

// WaitedOf is Waited of a connection, or of any other value: 0 if it is not Timed.
func WaitedOf(conn any) time.Duration {
	if t, ok := conn.(Timed); ok {
		return t.Waited()
	}
	return 0
}

// Secured is implemented by a Conn that knows whether anyone on the path can read or change its datagrams. A Conn without it is in
// clear.
type Secured interface {
	// Secure is true if nobody can.
	Secure() bool
}

// Overheader is implemented by a Conn that makes datagrams longer on their way, as encryption does.
type Overheader interface {
	// Overhead is the bytes that are added to each datagram.
	Overhead() int
}

// OverheadOf returns the bytes that a connection, or any other value, adds to each datagram: 0 if it is no Overheader.
func OverheadOf(conn any) int {
	if o, ok := conn.(Overheader); ok {
		return o.Overhead()
	}
	return 0
}

// IsSecure reports whether a connection, or any other value, is a Secured one and secure.
func IsSecure(conn any) bool {
	s, ok := conn.(Secured)
	return ok && s.Secure()
}

// Prover is implemented by a Conn that has proof of who its peers are, as transport/secure has by their connect tokens.
type Prover interface {
	// Proved returns the user at an address, and what else the proof says of it, which is not to be changed. ok is false where
	// nothing is proved.
	Proved(of Addr) (user string, data []byte, ok bool)
}

// Mover is implemented by a Conn that follows its peers to other paths and keeps their addresses, as transport/secure does. Who measures
// paths has to know: the new one may be slower, and take smaller datagrams.
type Mover interface {
	// Moved returns a move that was not returned yet, by peer the last one. ok is false if there is none.
	Moved() (m Move, ok bool)
}

// Move is a change of the path to a peer.
type Move struct {
	Peer     Addr // By this address it is known, before and after.
	From, To Addr // There it received, and receives now. Both are Peer where this end is the one that moved.
}

// moved is Moved of any connection.
func moved(conn Conn) (m Move, ok bool) {
	if p, is := conn.(Mover); is {
		return p.Moved()
	}
	return Move{}, false
}

// proved is Proved of any connection.
func proved(conn Conn, of Addr) (user string, data []byte, ok bool) {
	if p, is := conn.(Prover); is {
		return p.Proved(of)
	}
	return "", nil, false
}
