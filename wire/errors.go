package wire

import "errors"

// Errors of readers and parsers. Callers that hold a checksummed packet treat each as malformed.
var (
	// ErrTruncated says that the bytes end before the value does.
	ErrTruncated = errors.New("wire: truncated")
	// ErrMalformed says that the bytes are no legal encoding of anything.
	ErrMalformed = errors.New("wire: malformed")
	// ErrTooLong says that a length is above the limit that the caller gave.
	ErrTooLong = errors.New("wire: longer than allowed")
	// ErrOverflow says that a value does not fit the writer's buffer.
	ErrOverflow = errors.New("wire: buffer full")
	// ErrNotFinite says that a NaN or an infinity was to be written where none may travel.
	ErrNotFinite = errors.New("wire: not finite")
	// ErrTrailing says that bytes are left over after the value.
	ErrTrailing = errors.New("wire: bytes left over")
	// ErrTooDeep says that a value has more values within values than MaxDepth.
	ErrTooDeep = errors.New("wire: nested too deep")
)
