package errs

import "strconv"

// Reason is the reason why a connection ended, or why none was made. It is sent as one byte, so its numbers are part of
// the protocol. Reason is an error: errors.Is(err, errs.ReasonFull) tests for one.
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

// CloseError is the end of a connection: its reason, and a detail for people.
type CloseError struct {
	Reason Reason // why it ended
	Detail string // one printable line, may be empty or from the remote end
}

// Error returns the reason, followed by the detail if there is one.
func (e *CloseError) Error() string {
	if e.Detail == "" {
		return e.Reason.String()
	}
	return e.Reason.String() + ": " + e.Detail
}

// Unwrap returns the reason, so that errors.Is compares reasons.
func (e *CloseError) Unwrap() error { return e.Reason }
