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
	// ErrChecksum is returned for a datagram that is damaged, foreign or of another session. Count it and drop it: do
	// not answer it, and do not close.
	ErrChecksum = errors.New("peer: checksum mismatch")
	// ErrDuplicate is returned for a packet that was accepted before.
	ErrDuplicate = errors.New("peer: duplicate packet")
	// ErrOld is returned for a packet that is older than the replay window.
	ErrOld = errors.New("peer: packet is older than the replay window")
	// ErrMalformed is returned for data with a correct checksum and illegal content. In a packet it is a reason to
	// close. In a handshake datagram it is not, since anybody can make one.
	ErrMalformed = errors.New("peer: malformed")
	// ErrAckOfUnsent is returned for a packet that acknowledges a sequence that was never sent. It is a reason to
	// close.
	ErrAckOfUnsent = errors.New("peer: acknowledgement of a packet that was never sent")
	// ErrOverCredit is returned for a reliable message beyond the granted credit. It is a reason to close.
	ErrOverCredit = errors.New("peer: reliable messages beyond the credit")
)

// CloseReason returns the reason with which an error of [Conn.Read], [Reader.Err], [Arrivals.Judge] or [Arrivals.Take]
// closes the connection. It returns ReasonNone if the packet is dropped and the connection stays open.
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

// Reason is the reason why a connection ended, or why none was made. It is sent as one byte, so its numbers are part of
// the protocol. Reason is an error: errors.Is(err, peer.ReasonFull) tests for one.
type Reason uint8

// The reasons. Reasons from ReasonFull on are given only before a connection is open.
const (
	// ReasonNone is the zero value: no reason. It is never sent.
	ReasonNone Reason = 0
	// ReasonClosed is a clean close by the other end.
	ReasonClosed Reason = 1
	// ReasonKicked means that the server's game code removed the client.
	ReasonKicked Reason = 2
	// ReasonShuttingDown means that the server shuts down.
	ReasonShuttingDown Reason = 3
	// ReasonTimeout means that nothing arrived for the silence timeout.
	ReasonTimeout Reason = 4
	// ReasonReplaced means that the same address opened a new connection, that the client called Connect again, or that this
	// end was silent and a new client of its host needed the place at a full server.
	ReasonReplaced Reason = 5
	// ReasonMalformed means that a packet had a correct checksum and illegal content.
	ReasonMalformed Reason = 6
	// ReasonAckOfUnsent means that the other end acknowledged a packet that was never sent.
	ReasonAckOfUnsent Reason = 7
	// ReasonQueueOverflow means that a queue of reliable messages exceeded its limit.
	ReasonQueueOverflow Reason = 8
	// ReasonRateLimit means that the other end exceeded its quota by far for a long time.
	ReasonRateLimit Reason = 9
	// ReasonHandlerPanic means that a handler for a message of the other end panicked, or another function of the game
	// that was called for the connection. The detail contains the end and the function.
	ReasonHandlerPanic Reason = 10
	// ReasonNotAllowed means that the other end repeatedly wrote state that it has no authority over.
	ReasonNotAllowed Reason = 11
	// ReasonTooManyEntities means that the server showed more entities than the client's Config.MaxEntities.
	ReasonTooManyEntities Reason = 12
	// ReasonTakenOver means that the same player connected again, by the identity that the server's OnApprove accepted.
	// The old connection ends with this reason.
	ReasonTakenOver Reason = 13
	// ReasonReset means that the server does not know the session any more, usually since it was restarted.
	ReasonReset Reason = 14

	// ReasonFull means that the server has no free client slot.
	ReasonFull Reason = 32
	// ReasonWrongProtocol means that the two ends registered different types.
	ReasonWrongProtocol Reason = 33
	// ReasonWrongVersion means that the two ends have different protocol versions.
	ReasonWrongVersion Reason = 34
	// ReasonHandshakeTimeout means that no connection was made in time.
	ReasonHandshakeTimeout Reason = 35
	// ReasonCrowded means that the client's address, or its network, already has the allowed number of clients at the
	// server.
	ReasonCrowded Reason = 36
	// ReasonBusy means that too many attempts to connect come from the client's address or its network. The client
	// continues to try. Its attempt ends with this reason if it gets no other answer in time.
	ReasonBusy Reason = 37
	// ReasonNotApproved means that the server's OnApprove refused the client. The detail is the text that OnApprove
	// returned.
	ReasonNotApproved Reason = 38
	// ReasonPending means that the server's OnApprove has not decided about the client. The client continues to ask.
	// Its attempt ends with this reason if there is no decision in time.
	ReasonPending Reason = 39
	// ReasonAlreadyConnected means that the player, by its identity, is already connected, and the server keeps the
	// first connection (Config.RefuseSecond).
	ReasonAlreadyConnected Reason = 40

	// lastReason is the last reason of netcode. Higher numbers belong to the game.
	lastReason = ReasonAlreadyConnected
)

// Ours reports whether a reason is one of netcode's, and not one of the game's.
func (r Reason) Ours() bool { return r <= lastReason }

// String returns the reason as words, or its number if it is unknown: a newer peer may have more reasons.
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

// Error returns String. A Reason can thus be the target of errors.Is.
func (r Reason) Error() string { return r.String() }

// Error is the end of a connection: its reason, and a detail for people.
type Error struct {
	Reason Reason // why it ended
	Detail string // one printable line, may be empty or from the remote end
}

// Error returns the reason, followed by the detail if there is one.
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Reason.String()
	}
	return e.Reason.String() + ": " + e.Detail
}

// Unwrap returns the reason, so that errors.Is compares reasons.
func (e *Error) Unwrap() error { return e.Reason }

// legalDetail reports whether a remote text may be shown to people unchanged: it must be one printable line of UTF-8.
// Other text could forge lines in a log.
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

// cleanDetail returns text in a form that may be sent. It replaces illegal runes by question marks and cuts the text to
// at most limit bytes, between runes.
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
	Field    string // name of the field, for people
	Value    uint64 // value in the datagram
	Min, Max uint64 // legal range
}

// Error implements error.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %d: it must be %d to %d", e.Field, e.Value, e.Min, e.Max)
}

// Unwrap returns ErrMalformed.
func (e *FieldError) Unwrap() error { return ErrMalformed }

// escape returns a copy on the heap, so that only an error allocates.
func (e FieldError) escape() error { return &e }

// MaxCloseDetail is the longest detail of a close message, in bytes.
const MaxCloseDetail = 200

// AppendClose appends the payload of a close message: a byte of reason and the detail. The detail is cut to
// MaxCloseDetail bytes. Unprintable characters become question marks.
func AppendClose(b []byte, e Error) []byte {
	b = append(b, byte(e.Reason))
	return append(b, cleanDetail(e.Detail, MaxCloseDetail)...)
}

// ParseClose reads the payload of a close message. An unknown reason is no error. The error is ErrMalformed.
func ParseClose(payload []byte) (Error, error) {
	if len(payload) < 1 || len(payload) > 1+MaxCloseDetail {
		return Error{}, ErrMalformed
	}
	e := Error{Reason: Reason(payload[0])}
	if e.Reason == ReasonNone || !legalDetail(payload[1:]) {
		return Error{}, ErrMalformed
	}
	e.Detail = string(payload[1:])
	return e, nil
}
