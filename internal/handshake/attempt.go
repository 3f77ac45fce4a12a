package handshake

import (
	"errors"
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

const (
	// HelloEvery is the interval between Hellos until one is answered, and JoinEvery that between Hellos with a cookie, and Joins until the
	// Welcome. At 40 % loss in both directions one of three is answered.
	HelloEvery, JoinEvery = 100 * time.Millisecond, 50 * time.Millisecond
	// cookieFor is the least time for which a client uses a cookie: it allows for a round trip of 1.75 s. Three longer
	// round trips do not fit into HandshakeTimeout (5 s). Another cookie in this time answers an earlier Hello, and so
	// does the Accept for that cookie.
	cookieFor = 1750 * time.Millisecond
)

// Attempt is one attempt to connect.
//
//	Hello -> Challenge -> Hello with its cookie -> Accept -> Join -> Welcome
type Attempt struct {
	Server  transport.Addr // Only answers of this address count.
	Nonce   uint64         // The number of the attempt.
	Seed    peer.SkipSeed  // For the connection.
	Payload []byte         // Sent with the Join.
	speaks  []Protocol     // The protocols left to try; the first is offered now.
	refuse  peer.Refuse    // The first refusal for a wrong protocol, which the player is told.
	Rejoins bool           // The session was reset and the client connects again (Config.Rejoin).
	Fault   error          // The newest error that was reported during the attempt, as that of a socket which the server refuses.

	cookie   peer.Cookie
	cookieAt time.Duration // The time at which the cookie arrived.
	waits    bool          // The attempt's time begins with the next frame: only frames know the time.
	began    time.Duration
	sayAt    time.Duration // The time of the next Hello or Join.
	busy     bool          // The server answered that too many attempts come from this address.
	pending  bool          // The server answered that it has not decided yet.

	accept   peer.Accept // The offer of the server, valid if accepted.
	accepted bool        // The server accepted: this end sends Joins until the Welcome.
	joinedAt time.Duration
	joins    bool // A Join was sent, the first at joinedAt.
}

// Protocol describes a protocol in a Hello.
type Protocol struct {
	Hash   uint64      // The hash of the whole protocol.
	Digest peer.Digest // The digest of its entries.
}

// New returns an attempt whose time begins with the next frame. It offers the server the protocols in order, until the
// server speaks one.
func New(server transport.Addr, nonce uint64, seed peer.SkipSeed, payload []byte, speaks []Protocol) Attempt {
	return Attempt{Server: server, Nonce: nonce, Seed: seed, Payload: payload, speaks: speaks, waits: true}
}

// Protocol returns the protocol that is offered now; after an Accept, the protocol of the session.
func (a *Attempt) Protocol() Protocol { return a.speaks[0] }

// Begin sets the time at which an attempt begins, in its first frame.
func (a *Attempt) Begin(now time.Duration) {
	if a.waits {
		a.began, a.sayAt, a.waits = now, now, false
	}
}

// Shift compensates for a stall of this process, in which nothing was read.
func (a *Attempt) Shift(stall time.Duration) { a.began += stall }

// Over reports whether the attempt took too long.
func (a *Attempt) Over(now, limit time.Duration) bool { return now-a.began >= limit }

// Due reports whether a Hello or a Join is due.
func (a *Attempt) Due(now time.Duration) bool { return now >= a.sayAt }

// Append appends the due datagram: a Hello or, after an Accept, a Join.
func (a *Attempt) Append(b []byte, now time.Duration) (datagram []byte, kind peer.Kind) {
	a.sayAt = now + JoinEvery
	if a.cookie.IsZero() {
		a.sayAt = now + HelloEvery
	}
	if !a.accepted {
		return peer.AppendHello(b, peer.Hello{Version: peer.Version, Nonce: a.Nonce, Protocol: a.speaks[0].Hash, Cookie: a.cookie, Digest: a.speaks[0].Digest}), peer.KindHello
	}
	if !a.joins {
		a.joinedAt, a.joins = now, true
	}
	fromClient, _ := a.Checksums()
	return peer.AppendJoin(b, peer.Join{Nonce: a.Nonce, Cookie: a.cookie, Payload: a.Payload}, fromClient), peer.KindJoin
}

// Send sends the datagram if it is due. It returns the reason of the end if the attempt took longer than limit.
func (a *Attempt) Send(out Outbox, now, limit time.Duration) (over *errs.CloseError) {
	a.Begin(now)
	if a.Over(now, limit) {
		out.Stats.HandshakeTimeouts++
		return a.GivenUp(limit)
	}
	if !a.Due(now) {
		return nil
	}
	out.send(a.Server, peer.HelloSize, func(b []byte) []byte {
		datagram, kind := a.Append(b, now)
		if kind == peer.KindHello {
			out.Stats.Hellos++
		} else {
			out.Stats.Joins++
		}
		return datagram
	})
	return nil
}

// Accept returns the offer of the server.
func (a *Attempt) Accept() peer.Accept { return a.accept }

// JoinedAt returns the time of the first Join.
func (a *Attempt) JoinedAt() time.Duration { return a.joinedAt }

// Checksums returns the start values of the session's checksums: see the function Checksums.
func (a *Attempt) Checksums() (fromClient, fromServer wire.Checksum) {
	return Checksums(a.accept.Epoch, a.speaks[0].Hash)
}

// Checksums returns the start values of the checksums of a session, for packets from the client and from the server. They
// always differ, so that a packet that the network sends back to its sender is invalid.
func Checksums(epoch uint32, protocol uint64) (fromClient, fromServer wire.Checksum) {
	check := wire.NewChecksum(epoch, protocol)
	return check, ^check
}

// ParseWelcome reads a Welcome of the accepted session.
func (a *Attempt) ParseWelcome(packet []byte) (peer.Welcome, error) {
	_, fromServer := a.Checksums()
	return peer.ParseWelcome(packet, fromServer)
}

// Answer is the effect of a datagram of the server.
type Answer struct {
	Effect  Effect       // Foreign: no effect.
	Refuse  peer.Refuse  // For Refused.
	Welcome peer.Welcome // For Welcomed.
	Reset   peer.Reset   // For Reset.
	Err     error        // For Malformed.
}

// Effect is the kind of effect of a datagram.
type Effect uint8

// The effects.
const (
	Foreign    Effect = iota // No answer to this attempt.
	Noted                    // It changed the state of the attempt.
	Challenged               // It has a cookie.
	Refused                  // It ends the attempt.
	Welcomed                 // The session exists.
	Malformed                // It has a value that no server can send, which ends the attempt.
	Reset                    // The server does not know the session.
)

// Count counts the effect.
func (a *Answer) Count(stats *peer.HandshakeStats) {
	switch a.Effect {
	case Foreign:
		stats.BadHandshakes++
	case Challenged:
		stats.Challenges++
	case Refused, Noted:
		switch a.Refuse.Reason {
		case errs.ReasonWrongProtocol, errs.ReasonWrongVersion:
			stats.RefusedProtocol++
		case errs.ReasonFull:
			stats.RefusedFull++
		case errs.ReasonCrowded:
			stats.RefusedAddress++
		case errs.ReasonBusy:
			stats.BusyAddress++
		}
	}
}

// Take handles a datagram of the server. The nonce proves that the sender saw the Hello.
func (a *Attempt) Take(kind peer.Kind, packet []byte, now time.Duration) Answer {
	switch kind {
	case peer.KindChallenge:
		challenge, err := peer.ParseChallenge(packet)
		if err != nil || challenge.Nonce != a.Nonce {
			return Answer{}
		}
		if challenge.Cookie != a.cookie && (a.cookie.IsZero() || now-a.cookieAt >= cookieFor) { // The cookie before is no longer valid.
			a.cookie, a.cookieAt, a.sayAt, a.joins, a.accepted = challenge.Cookie, now, now, false, false
		}
		return Answer{Effect: Challenged}
	case peer.KindAccept:
		accept, err := peer.ParseAccept(packet)
		if accept.Nonce != a.Nonce || err != nil {
			return outOfRange(err, accept.Nonce == a.Nonce)
		}
		if !a.accepted {
			a.accept, a.accepted, a.sayAt = accept, true, now
		}
		return Answer{Effect: Noted}
	case peer.KindRefuse:
		refuse, err := peer.ParseRefuse(packet)
		if err != nil || refuse.Nonce != a.Nonce {
			return Answer{}
		}
		return a.refused(refuse, now)
	case peer.KindWelcome:
		if !a.joins {
			return Answer{}
		}
		welcome, err := a.ParseWelcome(packet)
		if err != nil {
			return outOfRange(err, true)
		}
		return Answer{Effect: Welcomed, Welcome: welcome}
	}
	return Answer{}
}

// outOfRange returns the effect of a datagram with an error: Malformed for a value out of range in an answer to this
// attempt, else none.
func outOfRange(err error, ours bool) Answer {
	var field *peer.FieldError
	if !ours || !errors.As(err, &field) {
		return Answer{}
	}
	return Answer{Effect: Malformed, Err: err}
}

// refused handles a refusal. After a temporary one the attempt continues. A server that does not speak the protocol is
// offered the next one. The offer has a new nonce, so that a duplicate of the refusal does not refuse it too.
func (a *Attempt) refused(refuse peer.Refuse, now time.Duration) Answer {
	switch {
	case refuse.Reason == errs.ReasonBusy:
		a.busy = true
	case refuse.Reason == errs.ReasonPending:
		a.pending = true
	case refuse.Reason == errs.ReasonWrongProtocol && len(a.speaks) > 1:
		if a.refuse.Reason == errs.ReasonNone {
			a.refuse = refuse
		}
		a.speaks, a.Nonce, a.cookie = a.speaks[1:], a.Nonce+1, peer.Cookie{}
		a.accepted, a.joins, a.sayAt = false, false, now
	case refuse.Reason == errs.ReasonWrongProtocol && a.refuse.Reason != errs.ReasonNone:
		return Answer{Effect: Refused, Refuse: a.refuse}
	default:
		return Answer{Effect: Refused, Refuse: refuse}
	}
	return Answer{Effect: Noted, Refuse: refuse}
}

// GivenUp returns the reason of the end of an attempt that took longer than limit.
func (a *Attempt) GivenUp(limit time.Duration) *errs.CloseError {
	switch {
	case a.busy:
		return &errs.CloseError{Reason: errs.ReasonBusy, Detail: fmt.Sprintf("%v answered nothing else in %v", a.Server, limit)}
	case a.pending:
		return &errs.CloseError{Reason: errs.ReasonPending, Detail: fmt.Sprintf("%v had not decided in %v", a.Server, limit)}
	case a.accepted:
		return &errs.CloseError{Reason: errs.ReasonHandshakeTimeout, Detail: fmt.Sprintf("%v accepted, and made no session in %v", a.Server, limit)}
	}
	detail := fmt.Sprintf("no answer from %v in %v", a.Server, limit)
	if a.Fault != nil {
		detail += "; " + a.Fault.Error()
	}
	return &errs.CloseError{Reason: errs.ReasonHandshakeTimeout, Detail: detail}
}
