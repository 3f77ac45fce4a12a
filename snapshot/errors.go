package snapshot

import "errors"

var (
	// ErrNotYet: the tick is later than the newest one.
	ErrNotYet = errors.New("snapshot: that tick is still to come")
	// ErrNoRow: the schema has no such row.
	ErrNoRow = errors.New("snapshot: no such row")
	// ErrEvicted: the tick is before the history.
	ErrEvicted = errors.New("snapshot: that tick is outside the history")
	// ErrNotAlive: the entity was not alive at that tick.
	ErrNotAlive = errors.New("snapshot: no such entity at that tick")
)
