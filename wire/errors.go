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
	// ErrMalformed means that the bytes are not a legal encoding.
	ErrMalformed = errors.New("wire: malformed")
	// ErrTooLong means that a length exceeds the caller's limit.
	ErrTooLong = errors.New("wire: longer than allowed")
	// ErrOverflow means that a value does not fit the writer's buffer.
	ErrOverflow = errors.New("wire: buffer full")
	// ErrNotFinite means that a NaN or an infinity was written to a field that does not allow it.
	ErrNotFinite = errors.New("wire: not finite")
	// ErrTrailing means that bytes are left over after the value.
	ErrTrailing = errors.New("wire: bytes left over")
	// ErrTooDeep means that values are nested deeper than MaxDepth.
	ErrTooDeep = errors.New("wire: nested too deep")
)

// LengthError means that a text, a slice or a count exceeds its limit and was not written. It wraps ErrTooLong.
// Untrusted bytes that are too long give ErrTooLong itself, which needs no memory.
type LengthError struct {
	Field  string // path of the field, such as "Lines[2]", if Find has found it
	Length int    // bytes of a text or byte slice, elements of a slice; negative for a negative count
	Limit  int    // maximum

	at uintptr // address of the value, only for comparison
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

// Find sets Field to the path of the value within *v. Call it while the value is still at the address from which it was
// serialized. A value that was copied before serialization is not found.
func (e *LengthError) Find(v any) {
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && !p.IsNil() {
		e.Field = pathTo(p.Elem(), e.at, "", MaxDepth)
	}
}

// pathTo returns the path from v to the text, slice or number at an address; "" if there is none.
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

// mayHold reports whether elements of a kind may contain a text, a slice or a count.
func mayHold(kind reflect.Kind) bool {
	switch kind {
	case reflect.Struct, reflect.Pointer, reflect.String, reflect.Slice, reflect.Array:
		return true
	}
	return false
}

// pathIf returns the path of a value if it is at the address.
func pathIf(v reflect.Value, at uintptr, path string) string {
	if !v.CanAddr() || v.UnsafeAddr() != at {
		return ""
	}
	return path
}
