package peer

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arche-netcode/netcode/errs"
)

var (
	// ErrChecksum is returned for a datagram that is damaged, foreign or of another session. Count it and drop it: do
	// not answer it, and do not close.
	ErrChecksum = errors.New("peer: checksum mismatch")
	// ErrDuplicate is returned for a packet that was accepted before.
	ErrDuplicate = errors.New("peer: duplicate packet")
	// ErrOld is returned for a packet that is older than the replay window.
	ErrOld = errors.New("peer: packet is older than the replay window")
	// ErrMalformed is returned for data with a correct checksum and illegal content. In a packet it is a reason to
	// close. In a handshake datagram it is not, since anybody can make one.
	ErrMalformed = errors.New("peer: malformed")
	// ErrAckOfUnsent is returned for a packet that acknowledges a sequence that was never sent. It is a reason to
	// close.
	ErrAckOfUnsent = errors.New("peer: acknowledgement of a packet that was never sent")
	// ErrOverCredit is returned for a reliable message beyond the granted credit. It is a reason to close.
	ErrOverCredit = errors.New("peer: reliable messages beyond the credit")
)

// CloseReason returns the reason with which an error of [Conn.Read], [Reader.Err], [Arrivals.Judge] or [Arrivals.Take]
// closes the connection. It returns ReasonNone if the packet is dropped and the connection stays open.
func CloseReason(err error) errs.Reason {
	switch {
	case errors.Is(err, ErrMalformed):
		return errs.ReasonMalformed
	case errors.Is(err, ErrAckOfUnsent):
		return errs.ReasonAckOfUnsent
	case errors.Is(err, ErrOverCredit):
		return errs.ReasonQueueOverflow
	}
	return errs.ReasonNone
}

// legalDetail reports whether a remote text may be shown to people unchanged: it must be one printable line of UTF-8.
// Other text could forge lines in a log.
func legalDetail(text []byte) bool {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if !legalRune(r, n) {
			return false
		}
		text = text[n:]
	}
	return true
}

func legalRune(r rune, size int) bool {
	return (r != utf8.RuneError || size > 1) && unicode.IsPrint(r)
}

// cleanDetail returns text in a form that may be sent. It replaces illegal runes by question marks and cuts the text to
// at most limit bytes, between runes.
func cleanDetail(text string, limit int) string {
	for i, r := range text {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(text[i:])
		}
		if !legalRune(r, size) {
			text = replaceIllegal(text)
			break
		}
	}
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

func replaceIllegal(text string) string {
	return strings.Map(func(r rune) rune {
		if legalRune(r, 2) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(text, "?"))
}

// FieldError means that a field of a handshake datagram is out of its range. It wraps ErrMalformed.
type FieldError struct {
	Field    string // name of the field, for people
	Value    uint64 // value in the datagram
	Min, Max uint64 // legal range
}

// Error implements error.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %d: it must be %d to %d", e.Field, e.Value, e.Min, e.Max)
}

// Unwrap returns ErrMalformed.
func (e *FieldError) Unwrap() error { return ErrMalformed }

// escape returns a copy on the heap, so that only an error allocates.
func (e FieldError) escape() error { return &e }

// MaxCloseDetail is the longest detail of a close message, in bytes.
const MaxCloseDetail = 200

// AppendClose appends the payload of a close message: a byte of reason and the detail. The detail is cut to
// MaxCloseDetail bytes. Unprintable characters become question marks.
func AppendClose(b []byte, e errs.CloseError) []byte {
	b = append(b, byte(e.Reason))
	return append(b, cleanDetail(e.Detail, MaxCloseDetail)...)
}

// ParseClose reads the payload of a close message. An unknown reason is no error. The error is ErrMalformed.
func ParseClose(payload []byte) (errs.CloseError, error) {
	if len(payload) < 1 || len(payload) > 1+MaxCloseDetail {
		return errs.CloseError{}, ErrMalformed
	}
	e := errs.CloseError{Reason: errs.Reason(payload[0])}
	if e.Reason == errs.ReasonNone || !legalDetail(payload[1:]) {
		return errs.CloseError{}, ErrMalformed
	}
	e.Detail = string(payload[1:])
	return e, nil
}
