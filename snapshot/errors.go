package snapshot

import "errors"

var (
	// ErrNotYet: a tick was asked for that is still to come.
	ErrNotYet = errors.New("snapshot: that tick is still to come")
	// ErrNoRow: the schema has no such row.
	ErrNoRow = errors.New("snapshot: no such row")
	// ErrEvicted: a tick was asked for that is no longer held.
	ErrEvicted = errors.New("snapshot: that tick is outside the history")
	// ErrNotAlive: no such entity lived at that tick.
	ErrNotAlive = errors.New("snapshot: no such entity at that tick")
)
