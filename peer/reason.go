package peer

import "strconv"

// Reason says why a connection ended, or why none was made. It travels as one
// byte, so its numbers are part of the protocol. Reason is an error, so that
// errors.Is(err, peer.ReasonFull) asks for one.
type Reason uint8

// The reasons. The second half can only be given before a connection is open.
const (
	// ReasonNone is the zero value: no reason. It never travels.
	ReasonNone Reason = 0
	// ReasonClosed is a clean close by the other end.
	ReasonClosed Reason = 1
	// ReasonKicked says that the server's game code removed the client.
	ReasonKicked Reason = 2
	// ReasonShuttingDown says that the server ends for everybody.
	ReasonShuttingDown Reason = 3
	// ReasonTimeout says that nothing was heard for the silence timeout.
	ReasonTimeout Reason = 4
	// ReasonReplaced says that the same address opened a new connection, or that
	// the client itself was told to Connect again.
	ReasonReplaced Reason = 5
	// ReasonMalformed says that a packet passed its checksum and was not legal.
	ReasonMalformed Reason = 6
	// ReasonAckOfUnsent says that a packet was acknowledged that was never sent.
	ReasonAckOfUnsent Reason = 7
	// ReasonQueueOverflow says that a queue of reliable messages went over its cap.
	ReasonQueueOverflow Reason = 8
	// ReasonRateLimit says that the other end sent far beyond its quota for long.
	ReasonRateLimit Reason = 9
	// ReasonHandlerPanic says that a handler panicked on a message of the other end, or another function of the game that was called
	// for the connection. The detail names the end and the function.
	ReasonHandlerPanic Reason = 10
	// ReasonNotAllowed says that the other end wrote, again and again, what it has no authority over.
	ReasonNotAllowed Reason = 11
	// ReasonTooManyEntities says that the server showed more entities than the client's Config.MaxEntities.
	ReasonTooManyEntities Reason = 12

	// ReasonFull says that the server has no free client slot.
	ReasonFull Reason = 32
	// ReasonWrongProtocol says that the two ends registered different types.
	ReasonWrongProtocol Reason = 33
	// ReasonWrongVersion says that the two ends speak different protocol versions.
	ReasonWrongVersion Reason = 34
	// ReasonHandshakeTimeout says that no connection came about in time.
	ReasonHandshakeTimeout Reason = 35
	// ReasonCrowded says that the client's address, or the network around it, has as many clients at the server as it may.
	ReasonCrowded Reason = 36
	// ReasonBusy says that too many attempts to connect come from the client's address, or from the network around it. The
	// client goes on trying, and its attempt ends with this if it gets no other answer in time.
	ReasonBusy Reason = 37

	// lastReason is the last of those above. What is beyond belongs to the game.
	lastReason = ReasonBusy
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
