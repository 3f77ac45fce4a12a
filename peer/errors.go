package peer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// ErrChecksum is returned for what is damaged, foreign or of another
	// session. It is to be counted and dropped: never answered, never a reason
	// to close.
	ErrChecksum = errors.New("peer: checksum mismatch")
	// ErrDuplicate is returned for a packet that was accepted before.
	ErrDuplicate = errors.New("peer: duplicate packet")
	// ErrOld is returned for a packet that the replay window has left behind.
	ErrOld = errors.New("peer: packet is older than the replay window")
	// ErrMalformed is returned for what passed its checksum and is not legal.
	// In a packet it is a reason to close; in a handshake datagram, which
	// anybody can make, it is not.
	ErrMalformed = errors.New("peer: malformed")
	// ErrAckOfUnsent is returned for a packet that acknowledges what was never
	// sent. It is a reason to close.
	ErrAckOfUnsent = errors.New("peer: acknowledgement of a packet that was never sent")
	// ErrOverCredit is returned for a reliable message beyond the credit that was
	// granted. It is a reason to close.
	ErrOverCredit = errors.New("peer: reliable messages beyond the credit")
)

// CloseReason returns the reason for which an error of [Conn.Read], [Reader.Err],
// [Arrivals.Judge] or [Arrivals.Take] closes the connection, and ReasonNone for an error after which
// the packet is dropped and the connection goes on.
func CloseReason(err error) Reason {
	switch {
	case errors.Is(err, ErrMalformed):
		return ReasonMalformed
	case errors.Is(err, ErrAckOfUnsent):
		return ReasonAckOfUnsent
	case errors.Is(err, ErrOverCredit):
		return ReasonQueueOverflow
	}
	return ReasonNone
}

// Reason tells why a connection ended, or why none was made. It is sent as one
// byte, so its numbers are part of the protocol. Reason is an error, so that
// errors.Is(err, peer.ReasonFull) asks for one.
type Reason uint8

// The reasons. The second half can only be given before a connection is open.
const (
	// ReasonNone is the zero value: no reason. It is never sent.
	ReasonNone Reason = 0
	// ReasonClosed is a clean close by the other end.
	ReasonClosed Reason = 1
	// ReasonKicked means that the server's game code removed the client.
	ReasonKicked Reason = 2
	// ReasonShuttingDown means that the server ends for everybody.
	ReasonShuttingDown Reason = 3
	// ReasonTimeout means that nothing arrived for the silence timeout.
	ReasonTimeout Reason = 4
	// ReasonReplaced means that the same address opened a new connection, or that
	// the client itself was told to Connect again.
	ReasonReplaced Reason = 5
	// ReasonMalformed means that a packet passed its checksum and was not legal.
	ReasonMalformed Reason = 6
	// ReasonAckOfUnsent means that a packet was acknowledged that was never sent.
	ReasonAckOfUnsent Reason = 7
	// ReasonQueueOverflow means that a queue of reliable messages went over its cap.
	ReasonQueueOverflow Reason = 8
	// ReasonRateLimit means that the other end sent far beyond its quota for long.
	ReasonRateLimit Reason = 9
	// ReasonHandlerPanic means that a handler panicked on a message of the other end, or another function of the game that was called
	// for the connection. The detail names the end and the function.
	ReasonHandlerPanic Reason = 10
	// ReasonNotAllowed means that the other end wrote, again and again, what it has no authority over.
	ReasonNotAllowed Reason = 11
	// ReasonTooManyEntities means that the server showed more entities than the client's Config.MaxEntities.
	ReasonTooManyEntities Reason = 12
	// ReasonTakenOver means that the same player, by the identity that the server's OnApprove accepted, connected anew. Its old
	// connection ends with this.
	ReasonTakenOver Reason = 13
	// ReasonReset means that the server does not know the session any more: as a rule it was restarted.
	ReasonReset Reason = 14

	// ReasonFull means that the server has no free client slot.
	ReasonFull Reason = 32
	// ReasonWrongProtocol means that the two ends registered different types.
	ReasonWrongProtocol Reason = 33
	// ReasonWrongVersion means that the two ends speak different protocol versions.
	ReasonWrongVersion Reason = 34
	// ReasonHandshakeTimeout means that no connection came about in time.
	ReasonHandshakeTimeout Reason = 35
	// ReasonCrowded means that the client's address, or the network around it, has as many clients at the server as it may.
	ReasonCrowded Reason = 36
	// ReasonBusy means that too many attempts to connect come from the client's address, or from the network around it. The
	// client goes on trying, and its attempt ends with this if it gets no other answer in time.
	ReasonBusy Reason = 37
	// ReasonNotApproved means that the server's OnApprove refused the client. The detail is the text that it gave.
	ReasonNotApproved Reason = 38
	// ReasonPending means that the server's OnApprove has not decided about the client. The client goes on asking, and its attempt ends
	// with this if there is no decision in time.
	ReasonPending Reason = 39
	// ReasonAlreadyConnected means that the player, by its identity, is connected already, and the server lets the first
	// connection stay (Config.RefuseSecond).
	ReasonAlreadyConnected Reason = 40

	// lastReason is the last of those above. Higher numbers belong to the game.
	lastReason = ReasonAlreadyConnected
)

// Ours reports whether a reason is one of those above, and not one that a game has given.
func (r Reason) Ours() bool { return r <= lastReason }

// String returns the reason as words, or its number when it is not known here
// (a newer peer may have more reasons).
func (r Reason) String() string {
	switch r {
	case ReasonNone:
		return "no reason"
	case ReasonClosed:
		return "closed"
	case ReasonKicked:
		return "kicked"
	case ReasonShuttingDown:
		return "server is shutting down"
	case ReasonTimeout:
		return "timed out"
	case ReasonReplaced:
		return "replaced by a new connection"
	case ReasonMalformed:
		return "malformed packet"
	case ReasonAckOfUnsent:
		return "acknowledged a packet that was never sent"
	case ReasonQueueOverflow:
		return "queue overflow"
	case ReasonRateLimit:
		return "sent too much for too long"
	case ReasonHandlerPanic:
		return "a handler panicked"
	case ReasonNotAllowed:
		return "wrote what it has no authority over"
	case ReasonTooManyEntities:
		return "more entities than Config.MaxEntities"
	case ReasonTakenOver:
		return "the same player connected anew"
	case ReasonReset:
		return "the server does not know the session any more"
	case ReasonFull:
		return "server is full"
	case ReasonWrongProtocol:
		return "wrong protocol"
	case ReasonWrongVersion:
		return "wrong protocol version"
	case ReasonHandshakeTimeout:
		return "handshake timed out"
	case ReasonCrowded:
		return "too many clients from one address or network"
	case ReasonBusy:
		return "too many attempts to connect from one address or network"
	case ReasonNotApproved:
		return "not approved"
	case ReasonPending:
		return "not decided yet"
	case ReasonAlreadyConnected:
		return "the player is connected already"
	}
	return "reason " + strconv.Itoa(int(r))
}

// Error is String, so that a Reason can be the target of errors.Is.
func (r Reason) Error() string { return r.String() }

// Error is the end of a connection: its reason, and a detail for people.
type Error struct {
	Reason Reason // why it ended
	Detail string // may be empty; one printable line, from the remote end perhaps
}

// Error returns the reason, followed by the detail if there is one.
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Reason.String()
	}
	return e.Reason.String() + ": " + e.Detail
}

// Unwrap returns the reason, so that errors.Is works by reason.
func (e *Error) Unwrap() error { return e.Reason }

// legalDetail reports whether a remote text may be shown to people as it is:
// UTF-8 in one printable line. Anything else could forge lines in a log.
func legalDetail(text []byte) bool {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if !legalRune(r, n) {
			return false
		}
		text = text[n:]
	}
	return true
}

func legalRune(r rune, size int) bool {
	return (r != utf8.RuneError || size > 1) && unicode.IsPrint(r)
}

// cleanDetail returns text as it may be sent: every rune that is not legal as a
// question mark, cut to at most limit bytes without cutting a rune.
func cleanDetail(text string, limit int) string {
	for i, r := range text {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(text[i:])
		}
		if !legalRune(r, size) {
			text = replaceIllegal(text)
			break
		}
	}
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

func replaceIllegal(text string) string {
	return strings.Map(func(r rune) rune {
		if legalRune(r, 2) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(text, "?"))
}

// FieldError means that a field of a handshake datagram is out of its range. It wraps ErrMalformed.
type FieldError struct {
	Field    string // Its name, for people.
	Value    uint64 // The value in the datagram.
	Min, Max uint64 // The legal range.
}

// Error implements error.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %d: it must be %d to %d", e.Field, e.Value, e.Min, e.Max)
}

// Unwrap returns ErrMalformed.
func (e *FieldError) Unwrap() error { return ErrMalformed }

// escape returns a copy on the heap, so that only an error allocates.
func (e FieldError) escape() error { return &e }
