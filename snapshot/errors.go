package snapshot

import "errors"

var (
	// ErrMalformed: no legal encoder wrote these bytes. The connection closes.
	ErrMalformed = errors.New("snapshot: malformed")
	// ErrStale: the packet is a window or more behind what was decoded. It is
	// dropped unread and not acknowledged (rule 4).
	ErrStale = errors.New("snapshot: older than the window")
	// ErrBaseline: a record leans on something this end no longer holds. The
	// packet is dropped whole and not acknowledged (rule 5).
	ErrBaseline = errors.New("snapshot: leans on a baseline that is not held")
	// ErrTooMany: there are more entities than Config.MaxEntities. The connection
	// closes.
	ErrTooMany = errors.New("snapshot: more entities than this end takes")
	// ErrGuarded: a record says what its sender may not (Replica.Guard).
	ErrGuarded = errors.New("snapshot: not the sender's to say")
	// ErrNotYet: a tick was asked for that is still to come.
	ErrNotYet = errors.New("snapshot: that tick is still to come")
	// ErrNoRow: the schema has no such row.
	ErrNoRow = errors.New("snapshot: no such row")
	// ErrEvicted: a tick was asked for that is no longer held.
	ErrEvicted = errors.New("snapshot: that tick is outside the history")
	// ErrNoRecord: no record of that tick was decoded.
	ErrNoRecord = errors.New("snapshot: no record of that tick")
	// ErrNotAlive: no such entity lived at that tick.
	ErrNotAlive = errors.New("snapshot: no such entity at that tick")
)
