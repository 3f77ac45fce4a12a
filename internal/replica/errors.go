package replica

import "errors"

var (
	// ErrMalformed: no correct encoder wrote these bytes. The connection closes.
	ErrMalformed = errors.New("replica: malformed")
	// ErrStale: the packet is a window or more behind the newest decoded tick. It is dropped unread and not acknowledged (rule 4).
	ErrStale = errors.New("replica: older than the window")
	// ErrBaseline: a record is coded against a version that this end does not have any more. The packet is dropped
	// whole and not acknowledged (rule 5).
	ErrBaseline = errors.New("replica: no such baseline")
	// ErrTooMany: there are more entities than Config.MaxEntities. The connection closes.
	ErrTooMany = errors.New("replica: more entities than this end takes")
	// ErrGuarded: a record has rows that its sender may not write (see Replica.Guard).
	ErrGuarded = errors.New("replica: rows that the sender may not write")
)
