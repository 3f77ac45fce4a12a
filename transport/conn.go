package transport

import (
	"errors"
	"time"
)

// MaxDatagram is the maximum size of a datagram in bytes: 65,535 bytes of IPv4 minus the headers of IP and UDP.
const MaxDatagram = 65507

var (
	// ErrClosed is returned by Send and Receive after Close. No other error ends a connection.
	ErrClosed = errors.New("transport: connection closed")

	// ErrTooLarge means that one datagram was dropped because of its size: Send exceeded the limit of the connection or the
	// network, or Receive the buffer of the caller.
	ErrTooLarge = errors.New("transport: datagram too large")

	// ErrAddress means that this connection cannot send to an address: it is invalid, or of another family.
	ErrAddress = errors.New("transport: address cannot be reached from this connection")
)

// Conn is one end of an unreliable datagram service: datagrams may be lost, repeated, reordered or damaged.
//
// Send and Receive never block, so that a tick never waits for a socket. They are called from one goroutine at a time, unless an
// implementation allows more.
type Conn interface {
	// Send sends one datagram. If the network has no room the datagram is dropped and counted, without an error. Send does not
	// keep the slice. ErrClosed is final; any other error concerns this datagram only. An empty datagram is not sent.
	Send(to Addr, datagram []byte) error

	// Receive copies the next datagram into buf and returns its size and sender. If none is waiting, n is zero and err is nil;
	// empty datagrams are skipped. ErrClosed is final; after any other error the caller continues. Addresses of IPv4 senders are
	// IPv4, never IPv4-mapped IPv6.
	Receive(buf []byte) (n int, from Addr, err error)

	// LocalAddr returns the address that this end is bound to.
	LocalAddr() Addr

	// Close ends the connection and its goroutines. A second call does nothing.
	Close() error
}

// BatchSender is implemented by a Conn that sends several datagrams faster than one after the other.
type BatchSender interface {
	// SendAll sends runs of datagrams, in order: to[i] receives runs[i], consecutive datagrams of sizes[i] bytes each. The last
	// one may be shorter. Its effect is that of Send for each of them. It returns the first error and the number of the run that
	// failed. A type that wraps a connection and defines Send must define SendAll too, or hide it.
	SendAll(to []Addr, runs [][]byte, sizes []int) (failed int, err error)
}

// Timed is implemented by a Conn that knows the arrival times of datagrams, before Receive is called.
type Timed interface {
	// Waited returns how long the datagram of the last Receive had waited in the queue.
	Waited() time.Duration
}

// WaitedOf returns Waited of a connection or any other value, 0 if it is not Timed.
func WaitedOf(conn any) time.Duration {
	if t, ok := conn.(Timed); ok {
		return t.Waited()
	}
	return 0
}

// Ranker is implemented by a Conn whose peers share a queue. It takes the datagrams of hosts by turns, and prefers peers with a session.
type Ranker interface {
	// Rank tells whether the sender of the datagram of the last Receive has a session with the layer above.
	Rank(session bool)
}

// RankOf calls Rank of a connection or any other value, if it is a Ranker.
func RankOf(conn any, session bool) {
	if r, ok := conn.(Ranker); ok {
		r.Rank(session)
	}
}

// Secured is implemented by a Conn that can protect its datagrams from being read or changed. A Conn without it is unprotected.
type Secured interface {
	// Secure reports whether nobody on the path can read or change datagrams.
	Secure() bool
}

// IsSecure reports whether a connection or any other value is Secured and secure.
func IsSecure(conn any) bool {
	s, ok := conn.(Secured)
	return ok && s.Secure()
}

// Prover is implemented by a Conn that has proof of its peers' identity, such as the connect tokens of transport/secure.
type Prover interface {
	// Proved returns the proved user at an address and further data of the proof, which must not be changed. ok is false without
	// proof.
	Proved(of Addr) (user string, data []byte, ok bool)
}

// proved calls Proved of any connection.
func proved(conn Conn, of Addr) (user string, data []byte, ok bool) {
	if p, is := conn.(Prover); is {
		return p.Proved(of)
	}
	return "", nil, false
}
