package peer

import "fmt"

// FieldError says that a field of a handshake datagram is out of its range. It wraps ErrMalformed.
type FieldError struct {
	Field    string // Its name, for people.
	Value    uint64 // The value in the datagram.
	Min, Max uint64 // The legal range.
}

// Error implements error.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %d: it must be %d to %d", e.Field, e.Value, e.Min, e.Max)
}

// Unwrap returns ErrMalformed.
func (e *FieldError) Unwrap() error { return ErrMalformed }

// escape returns a copy on the heap, so that only an error allocates.
func (e FieldError) escape() error { return &e }
