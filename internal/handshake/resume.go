package handshake

import (
	"io"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

const (
	// resumeEvery is the interval between Resumes. After resumeQuick of silence it is resumeSlowly.
	resumeEvery, resumeSlowly = 30 * time.Millisecond, 250 * time.Millisecond
	resumeQuick               = 2 * time.Second
	// unprovenAfter is the silence after which a client accepts a Reset without the token of its session: the sender
	// answers this client, and the server is silent.
	unprovenAfter = 500 * time.Millisecond
)

// Resume is a client's attempt to reach the server of its session again after a silence.
type Resume struct {
	client wire.ClientID // The client of the session.
	nonce  uint64        // The nonce of the session.
	token  peer.Token    // The token of the session: a Reset with it is authentic.
	number uint32        // The number of the newest Resume of the session.

	Asks    bool   // The server was asked in this silence, and path is set. Otherwise Ask begins.
	path    uint64 // A random number for this silence.
	cookie  peer.Cookie
	sayAt   time.Duration
	moved   bool             // The server sees this end at another address.
	refused *errs.CloseError // The server refuses the new address for now.
}

// NewResume returns the state of a session without a silence.
func NewResume(client wire.ClientID, nonce uint64, token peer.Token) Resume {
	return Resume{client: client, nonce: nonce, token: token}
}

// Heard ends the attempt: a packet arrived. It reports whether the session continues at another address.
func (r *Resume) Heard() (moved bool) {
	moved = r.moved
	*r = Resume{client: r.client, nonce: r.nonce, token: r.token, number: r.number}
	return moved
}

// Due reports whether a Resume is due after a silence. quiet is the shortest silence for a Resume.
func (r *Resume) Due(now, silence, quiet time.Duration) bool {
	return silence >= quiet && (!r.Asks || now >= r.sayAt)
}

// Ask begins the Resumes of a silence, under a random path.
func (r *Resume) Ask(path uint64) { r.Asks, r.path = true, path }

// Append appends a Resume. check is the start value of the checksums of the client's packets.
func (r *Resume) Append(b []byte, check wire.Checksum, now, silence time.Duration) []byte {
	r.sayAt = now + resumeEvery
	if silence >= resumeQuick {
		r.sayAt = now + resumeSlowly
	}
	r.number++
	return peer.AppendResume(b, peer.Resume{Client: r.client, Nonce: r.nonce, Path: r.path, Number: r.number, Cookie: r.cookie}, check)
}

// Send sends a due Resume. check is the start value of the checksums of the client's packets. The error is from random.
func (r *Resume) Send(out Outbox, to transport.Addr, check wire.Checksum, now, silence time.Duration, random io.Reader) error {
	if !r.Asks {
		path, err := Random(random)
		if err != nil {
			return err
		}
		r.Ask(path)
	}
	if out.send(to, peer.HelloSize, func(b []byte) []byte { return r.Append(b, check, now, silence) }) {
		out.Stats.Resumes++
	}
	return nil
}

// Take handles a datagram of the server.
func (r *Resume) Take(kind peer.Kind, packet []byte, now time.Duration) Answer {
	if !r.Asks {
		return Answer{}
	}
	switch kind {
	case peer.KindChallenge:
		challenge, err := peer.ParseChallenge(packet)
		if err != nil || challenge.Nonce != r.path {
			return Answer{}
		}
		if challenge.Cookie != r.cookie {
			r.cookie, r.moved, r.sayAt = challenge.Cookie, true, now
		}
		return Answer{Effect: Challenged}
	case peer.KindRefuse:
		refuse, err := peer.ParseRefuse(packet)
		if err != nil || refuse.Nonce != r.path {
			return Answer{}
		}
		r.refused = &errs.CloseError{Reason: refuse.Reason, Detail: refuse.Detail}
		return Answer{Effect: Noted}
	case peer.KindReset:
		reset, err := peer.ParseReset(packet)
		if err != nil || reset.Path != r.path || reset.Client != r.client || reset.Nonce != r.nonce {
			return Answer{} // It is not an answer, or answers a Resume that was damaged on its way.
		}
		return Answer{Effect: Reset, Reset: reset}
	}
	return Answer{}
}

// Believes reports whether a Reset ends the session. A Reset with the token of the session is authentic. A server that
// was restarted with another key has no token; its Reset counts only after a long silence.
func (r *Resume) Believes(reset *peer.Reset, silence time.Duration) bool {
	return reset.Token.Equal(r.token) || silence >= unprovenAfter
}

// GivenUp returns the reason of the end of a connection whose server was silent for too long.
func (r *Resume) GivenUp() *errs.CloseError {
	if r.refused != nil {
		return r.refused
	}
	return &errs.CloseError{Reason: errs.ReasonTimeout}
}
