package handshake

import (
	"errors"
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

const (
	// HelloEvery is the interval between Hellos until one is answered.
	HelloEvery = 250 * time.Millisecond
	// JoinEvery is the interval between Joins of an accepted client. They end with the Welcome.
	JoinEvery = 100 * time.Millisecond
	// cookieFor is the least time for which a cookie is kept. It is a round trip of 1.75 s: three longer ones do not fit into HandshakeTimeout
	// (5 s). Another cookie that comes in this time answers an earlier Hello, and so does the Accept for that cookie.
	cookieFor = 7 * HelloEvery
)

// Attempt is one attempt to connect.
//
//	Hello -> Challenge -> Hello with its cookie -> Accept -> Join -> Welcome
type Attempt struct {
	Server  transport.Addr // The only one whose answers count.
	Nonce   uint64         // Names the attempt.
	Seed    peer.SkipSeed  // Of the connection.
	Payload []byte         // Of the Join.
	speaks  []Protocol     // That are left to try, the present one first.
	refuse  peer.Refuse    // Of the first of them, which the player is told.
	Rejoins bool           // The session was reset and the client is to connect again (Config.Rejoin).

	cookie   peer.Cookie
	cookieAt time.Duration // When the cookie came.
	waits    bool          // Its time runs from the next frame on: only frames know the time.
	began    time.Duration
	sayAt    time.Duration // When the next Hello or Join is due.
	busy     bool          // The server answered that too many attempts come from here.
	pending  bool          // The server answered that it has not decided yet.

	accept   peer.Accept // The offer of the server,
	accepted bool        // if it did: then this end joins, until it is welcome.
	joinedAt time.Duration
	joins    bool // A Join was sent, the first at joinedAt.
}

// Protocol describes a protocol in a Hello.
type Protocol struct {
	Hash   uint64      // Of the whole,
	Digest peer.Digest // and of its entries.
}

// New returns an attempt whose time runs from the next frame on. The server is offered the protocols one after the other, until it
// speaks one.
func New(server transport.Addr, nonce uint64, seed peer.SkipSeed, payload []byte, speaks []Protocol) Attempt {
	return Attempt{Server: server, Nonce: nonce, Seed: seed, Payload: payload, speaks: speaks, waits: true}
}

// Protocol returns the one that is offered, and after an Accept the one of the session.
func (a *Attempt) Protocol() Protocol { return a.speaks[0] }

// Begin notes the time of the first frame of an attempt, or the rest of a frame in which one began.
func (a *Attempt) Begin(now time.Duration) {
	if a.waits {
		a.began, a.sayAt, a.waits = now, now, false
	}
}

// Shift makes up for a stall of this process, in which nothing was read.
func (a *Attempt) Shift(stall time.Duration) { a.began += stall }

// Over reports whether the attempt took too long.
func (a *Attempt) Over(now, limit time.Duration) bool { return now-a.began >= limit }

// Due reports whether a Hello or a Join is to be sent.
func (a *Attempt) Due(now time.Duration) bool { return now >= a.sayAt }

// Append appends the datagram that is due, a Hello or, after an Accept, a Join.
func (a *Attempt) Append(b []byte, now time.Duration) (datagram []byte, kind peer.Kind) {
	if !a.accepted {
		a.sayAt = now + HelloEvery
		return peer.AppendHello(b, peer.Hello{Version: peer.Version, Nonce: a.Nonce, Protocol: a.speaks[0].Hash, Cookie: a.cookie, Digest: a.speaks[0].Digest}), peer.KindHello
	}
	a.sayAt = now + JoinEvery
	if !a.joins {
		a.joinedAt, a.joins = now, true
	}
	fromClient, _ := a.Checksums()
	return peer.AppendJoin(b, peer.Join{Nonce: a.Nonce, Cookie: a.cookie, Payload: a.Payload}, fromClient), peer.KindJoin
}

// Send sends the datagram that is due. It returns the reason of the end of an attempt that takes longer than limit.
func (a *Attempt) Send(out Outbox, now, limit time.Duration) (over *peer.Error) {
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

// Accept is the offer of the server.
func (a *Attempt) Accept() peer.Accept { return a.accept }

// JoinedAt is the time of the first Join.
func (a *Attempt) JoinedAt() time.Duration { return a.joinedAt }

// Checksums returns the start values of the checksums of the session, see the function Checksums.
func (a *Attempt) Checksums() (fromClient, fromServer wire.Checksum) {
	return Checksums(a.accept.Epoch, a.speaks[0].Hash)
}

// Checksums returns the start values of the checksums of a session, for packets from the client and from the server. A
// packet that the network sends back to its sender fails: the two never agree.
func Checksums(epoch uint32, protocol uint64) (fromClient, fromServer wire.Checksum) {
	check := wire.NewChecksum(epoch, protocol)
	return check, ^check
}

// ParseWelcome reads a Welcome of the session that was accepted.
func (a *Attempt) ParseWelcome(packet []byte) (peer.Welcome, error) {
	_, fromServer := a.Checksums()
	return peer.ParseWelcome(packet, fromServer)
}

// Answer is the effect of a datagram of the server.
type Answer struct {
	Effect  Effect       // Foreign for none.
	Refuse  peer.Refuse  // Of Refused.
	Welcome peer.Welcome // Of Welcomed.
	Reset   peer.Reset   // Of Reset.
	Err     error        // Of Malformed.
}

// Effect counts the effects of a datagram.
type Effect uint8

// The effects.
const (
	Foreign    Effect = iota // None: it is no answer to this attempt.
	Noted                    // It was taken in.
	Challenged               // It brought a cookie.
	Refused                  // It ends the attempt.
	Welcomed                 // The session is there.
	Malformed                // It has a value that no server can have, which ends the attempt.
	Reset                    // The server says that it does not know the session.
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
		case peer.ReasonWrongProtocol, peer.ReasonWrongVersion:
			stats.RefusedProtocol++
		case peer.ReasonFull:
			stats.RefusedFull++
		case peer.ReasonCrowded:
			stats.RefusedAddress++
		case peer.ReasonBusy:
			stats.BusyAddress++
		}
	}
}

// Take takes a datagram of the server. Only an end that saw the Hello knows its nonce.
func (a *Attempt) Take(kind peer.Kind, packet []byte, now time.Duration) Answer {
	switch kind {
	case peer.KindChallenge:
		challenge, err := peer.ParseChallenge(packet)
		if err != nil || challenge.Nonce != a.Nonce {
			return Answer{}
		}
		if challenge.Cookie != a.cookie && (a.cookie.IsZero() || now-a.cookieAt >= cookieFor) { // The one before is not valid any more.
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

// outOfRange is the effect of a datagram with an error: Malformed for a value of ours that is out of its range, else none.
func outOfRange(err error, ours bool) Answer {
	var field *peer.FieldError
	if !ours || !errors.As(err, &field) {
		return Answer{}
	}
	return Answer{Effect: Malformed, Err: err}
}

// refused takes a refusal. Some of them pass: this end tries on until its time is over. A server that does not speak the protocol is
// offered the next one, under a nonce of its own: a refusal that comes twice does not refuse that too.
func (a *Attempt) refused(refuse peer.Refuse, now time.Duration) Answer {
	switch {
	case refuse.Reason == peer.ReasonBusy:
		a.busy = true
	case refuse.Reason == peer.ReasonPending:
		a.pending = true
	case refuse.Reason == peer.ReasonWrongProtocol && len(a.speaks) > 1:
		if a.refuse.Reason == peer.ReasonNone {
			a.refuse = refuse
		}
		a.speaks, a.Nonce, a.cookie = a.speaks[1:], a.Nonce+1, peer.Cookie{}
		a.accepted, a.joins, a.sayAt = false, false, now
	case refuse.Reason == peer.ReasonWrongProtocol && a.refuse.Reason != peer.ReasonNone:
		return Answer{Effect: Refused, Refuse: a.refuse}
	default:
		return Answer{Effect: Refused, Refuse: refuse}
	}
	return Answer{Effect: Noted, Refuse: refuse}
}

// GivenUp returns the reason of the end of an attempt that took longer than limit.
func (a *Attempt) GivenUp(limit time.Duration) *peer.Error {
	switch {
	case a.busy:
		return &peer.Error{Reason: peer.ReasonBusy, Detail: fmt.Sprintf("%v answered nothing else in %v", a.Server, limit)}
	case a.pending:
		return &peer.Error{Reason: peer.ReasonPending, Detail: fmt.Sprintf("%v had not decided in %v", a.Server, limit)}
	case a.accepted:
		return &peer.Error{Reason: peer.ReasonHandshakeTimeout, Detail: fmt.Sprintf("%v accepted, and made no session in %v", a.Server, limit)}
	}
	return &peer.Error{Reason: peer.ReasonHandshakeTimeout, Detail: fmt.Sprintf("no answer from %v in %v", a.Server, limit)}
}
