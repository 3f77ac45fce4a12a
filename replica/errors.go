package replica

import "errors"

var (
	// ErrMalformed: no legal encoder wrote these bytes. The connection closes.
	ErrMalformed = errors.New("replica: malformed")
	// ErrStale: the packet is a window or more behind what was decoded. It is
	// dropped unread and not acknowledged (rule 4).
	ErrStale = errors.New("replica: older than the window")
	// ErrBaseline: a record leans on something this end no longer holds. The
	// packet is dropped whole and not acknowledged (rule 5).
	ErrBaseline = errors.New("replica: leans on a baseline that is not held")
	// ErrTooMany: there are more entities than Config.MaxEntities. The connection
	// closes.
	ErrTooMany = errors.New("replica: more entities than this end takes")
	// ErrGuarded: a record says what its sender may not (Replica.Guard).
	ErrGuarded = errors.New("replica: not the sender's to say")
)
