package collections

import (
	"errors"
	"fmt"
)

var (
	// ErrReadOnly tells that this end may not change the collection: the server writes.
	ErrReadOnly = errors.New("netcode: only the server changes a collection")
	// ErrNoElement tells that the list has no such element.
	ErrNoElement = errors.New("netcode: the list has no such element")

	// errMalformed tells that no honest end sends these bytes, or not at this moment.
	errMalformed = errors.New("collections: not legal")
	// errIndex tells that there is no element in that place.
	errIndex = errors.New("collections: no such element")
	// errFull tells that the collection has as many elements as it may.
	errFull = errors.New("collections: full")
	// errBusy tells that too much waits for a client.
	errBusy = errors.New("collections: too much waits for the client")
)

// FullError tells that a collection has as many elements as it may. Nothing was done.
type FullError struct {
	Name     string // Wire name of the collection.
	Elements int    // The most elements that it may have, by MaxElements and MaxBytes.
}

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("netcode: the collection %s is full: it holds %d elements", e.Name, e.Elements)
}
