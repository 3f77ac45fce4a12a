package handshake

import (
	"io"
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

const (
	// resumeEvery is the interval between Resumes, and resumeSlowly that after resumeQuick of silence.
	resumeEvery, resumeSlowly = 30 * time.Millisecond, 250 * time.Millisecond
	resumeQuick               = 2 * time.Second
	// unprovenAfter is the silence after which a client believes a Reset without the token of its session: it answers this
	// client, and the server is not heard.
	unprovenAfter = 500 * time.Millisecond
)

// Resume is the attempt of a client to be heard again by the server of its session.
type Resume struct {
	client wire.ClientID // Of the session,
	nonce  uint64        // with which it is named.
	token  peer.Token    // A Reset with it is the server's.
	number uint32        // Of the newest Resume of the session.

	Asks    bool   // The server is silent, and was asked: the silence has a path. Else Ask begins one.
	path    uint64 // Of this silence.
	cookie  peer.Cookie
	sayAt   time.Duration
	moved   bool        // The server sees this end at another address.
	refused *peer.Error // It has no room for that, at present.
}

// NewResume returns the state of a session in which nothing was asked.
func NewResume(client wire.ClientID, nonce uint64, token peer.Token) Resume {
	return Resume{client: client, nonce: nonce, token: token}
}

// Heard ends the attempt: a packet came. It reports whether the session goes on at another address than before.
func (r *Resume) Heard() (moved bool) {
	moved = r.moved
	*r = Resume{client: r.client, nonce: r.nonce, token: r.token, number: r.number}
	return moved
}

// Due reports whether a Resume is to be sent after a silence; quiet is the shortest one that counts.
func (r *Resume) Due(now, silence, quiet time.Duration) bool {
	return silence >= quiet && (!r.Asks || now >= r.sayAt)
}

// Ask begins to ask in this silence, under a random path.
func (r *Resume) Ask(path uint64) { r.Asks, r.path = true, path }

// Append appends a Resume. check is that of the client's packets.
func (r *Resume) Append(b []byte, check wire.Checksum, now, silence time.Duration) []byte {
	r.sayAt = now + resumeEvery
	if silence >= resumeQuick {
		r.sayAt = now + resumeSlowly
	}
	r.number++
	return peer.AppendResume(b, peer.Resume{Client: r.client, Nonce: r.nonce, Path: r.path, Number: r.number, Cookie: r.cookie}, check)
}

// Send sends a Resume, which is due. check is that of the client's packets. The error is that of the source of random numbers.
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

// Take takes a datagram of the server.
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
		r.refused = &peer.Error{Reason: refuse.Reason, Detail: refuse.Detail}
		return Answer{Effect: Noted}
	case peer.KindReset:
		reset, err := peer.ParseReset(packet)
		if err != nil || reset.Path != r.path || reset.Client != r.client || reset.Nonce != r.nonce {
			return Answer{} // Not an answer, or one to a Resume that was damaged on its way.
		}
		return Answer{Effect: Reset, Reset: reset}
	}
	return Answer{}
}

// Believes reports whether a Reset ends the session. With the token of the session only its server can have said so. Without, as from
// a server that was restarted with another key, it has to answer a long silence.
func (r *Resume) Believes(reset *peer.Reset, silence time.Duration) bool {
	return reset.Token.Equal(r.token) || silence >= unprovenAfter
}

// GivenUp returns the reason of the end of a connection to a server that was silent for too long.
func (r *Resume) GivenUp() *peer.Error {
	if r.refused != nil {
		return r.refused
	}
	return &peer.Error{Reason: peer.ReasonTimeout}
}
