package peer

import "errors"

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
