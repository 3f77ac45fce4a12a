package collections

import "errors"

var (
	// ErrMalformed says that no honest end sends these bytes, or not at this moment.
	ErrMalformed = errors.New("collections: not legal")
	// ErrIndex says that there is no element in that place.
	ErrIndex = errors.New("collections: no such element")
	// ErrFull says that the collection holds as many elements as it may.
	ErrFull = errors.New("collections: full")
)
