package peer

// MaxCloseDetail is the longest detail of a close message, in bytes.
const MaxCloseDetail = 200

// AppendClose appends the payload of a close message: a byte of reason and the
// detail. The detail is cut to MaxCloseDetail bytes, and what is not printable
// in it becomes question marks.
func AppendClose(b []byte, e Error) []byte {
	b = append(b, byte(e.Reason))
	return append(b, cleanDetail(e.Detail, MaxCloseDetail)...)
}

// ParseClose reads the payload of a close message. A reason that is not known
// here is no error. The error is ErrMalformed.
func ParseClose(payload []byte) (Error, error) {
	if len(payload) < 1 || len(payload) > 1+MaxCloseDetail {
		return Error{}, ErrMalformed
	}
	e := Error{Reason: Reason(payload[0])}
	if e.Reason == ReasonNone || !legalDetail(payload[1:]) {
		return Error{}, ErrMalformed
	}
	e.Detail = string(payload[1:])
	return e, nil
}
