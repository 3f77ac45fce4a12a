package wire

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// Errors of readers and parsers. Callers that hold a checksummed packet treat each as malformed.
var (
	// ErrTruncated means that the bytes end before the value does.
	ErrTruncated = errors.New("wire: truncated")
	// ErrMalformed means that the bytes are no legal encoding of anything.
	ErrMalformed = errors.New("wire: malformed")
	// ErrTooLong means that a length is above the limit that the caller gave.
	ErrTooLong = errors.New("wire: longer than allowed")
	// ErrOverflow means that a value does not fit the writer's buffer.
	ErrOverflow = errors.New("wire: buffer full")
	// ErrNotFinite means that a NaN or an infinity was to be written where none may be sent.
	ErrNotFinite = errors.New("wire: not finite")
	// ErrTrailing means that bytes are left over after the value.
	ErrTrailing = errors.New("wire: bytes left over")
	// ErrTooDeep means that a value has more values within values than MaxDepth.
	ErrTooDeep = errors.New("wire: nested too deep")
)

// LengthError means that a text, a slice or a count is longer than its limit, so that it is not written. It wraps ErrTooLong. Bytes from
// outside that are too long give ErrTooLong itself, which costs no memory.
type LengthError struct {
	Field  string // Path of the field, such as "Lines[2]", once Find has found it; else empty.
	Length int    // Bytes of a text or of bytes, elements of a slice; below 0 for a count that is.
	Limit  int    // The most that may be sent.

	at uintptr // Address of the value, to be compared only.
}

// Error implements error.
func (e *LengthError) Error() string {
	name := e.Field
	if name == "" {
		name = "wire: a value"
	}
	return fmt.Sprintf("%s is %d long, at most %d may travel", name, e.Length, e.Limit)
}

// Unwrap returns ErrTooLong.
func (e *LengthError) Unwrap() error { return ErrTooLong }

// Find sets Field to the path of the value within what v points to. It is called while that still lies where it was serialized. A value
// that was copied before it was handed to the serializer is not found.
func (e *LengthError) Find(v any) {
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && !p.IsNil() {
		e.Field = pathTo(p.Elem(), e.at, "", MaxDepth)
	}
}

// pathTo returns the path from v to the text, slice or number at an address; empty where there is none.
func pathTo(v reflect.Value, at uintptr, path string, depth int) string {
	if depth == 0 {
		return ""
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if path != "" {
				name = path + "." + name
			}
			if found := pathTo(v.Field(i), at, name, depth-1); found != "" {
				return found
			}
		}
		return ""
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return pathTo(v.Elem(), at, path, depth-1)
	case reflect.String, reflect.Int:
		return pathIf(v, at, path)
	case reflect.Slice:
		if found := pathIf(v, at, path); found != "" {
			return found
		}
	case reflect.Array:
	default:
		return ""
	}
	if !mayHold(v.Type().Elem().Kind()) {
		return ""
	}
	for i := range v.Len() {
		if found := pathTo(v.Index(i), at, path+"["+strconv.Itoa(i)+"]", depth-1); found != "" {
			return found
		}
	}
	return ""
}

// mayHold reports whether elements of a kind may have a text, a slice or a count in them.
func mayHold(kind reflect.Kind) bool {
	switch kind {
	case reflect.Struct, reflect.Pointer, reflect.String, reflect.Slice, reflect.Array:
		return true
	}
	return false
}

// pathIf returns the path of a value if it lies at the address.
func pathIf(v reflect.Value, at uintptr, path string) string {
	if !v.CanAddr() || v.UnsafeAddr() != at {
		return ""
	}
	return path
}
