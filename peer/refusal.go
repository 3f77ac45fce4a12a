package peer

// MaxRefusal is the longest text of a refusal, in bytes.
const MaxRefusal = 200

// AppendRefusal appends the body of a refusal, the error with which a call was answered. The text is cut to MaxRefusal bytes,
// and what is not printable in it becomes question marks.
func AppendRefusal(b []byte, text string) []byte {
	return append(b, cleanDetail(text, MaxRefusal)...)
}

// ParseRefusal reads the body of a refusal. The error is ErrMalformed.
func ParseRefusal(body []byte) (text string, err error) {
	if !LegalRefusal(body) {
		return "", ErrMalformed
	}
	return string(body), nil
}

// LegalRefusal reports whether ParseRefusal would read a body.
func LegalRefusal(body []byte) bool { return len(body) <= MaxRefusal && legalDetail(body) }
