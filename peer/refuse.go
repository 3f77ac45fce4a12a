package peer

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/wire"
)

// MaxRefuseDetail is the longest detail of a Refuse, in bytes. With it the
// datagram is still smaller than a Hello.
const MaxRefuseDetail = 480

// Refuse is the server's answer to a Hello with a valid cookie that it will not
// accept.
//
//	byte 0     1       9        10
//	+------+-------+--------+------------+----------+
//	| 0x84 | nonce | reason | detail ... | checksum |
//	+------+-------+--------+------------+----------+
//	 1      8       1        0..480       4
//
// It is the same in every version.
type Refuse struct {
	Nonce  uint64 // of the Hello
	Reason Reason // never ReasonNone
	Detail string // one printable line of UTF-8; for ReasonWrongProtocol, the first difference
}

const refuseFixed = 10

// AppendRefuse appends the datagram. The detail is cut to MaxRefuseDetail bytes,
// and what is not printable in it becomes question marks.
func AppendRefuse(b []byte, r Refuse) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindRefuse))
	b = binary.LittleEndian.AppendUint64(b, r.Nonce)
	b = append(b, byte(r.Reason))
	b = append(b, cleanDetail(r.Detail, MaxRefuseDetail)...)
	return sealDatagram(b, start)
}

// ParseRefuse reads a Refuse datagram. A reason that is not known here is no
// error. Errors are ErrChecksum and ErrMalformed.
func ParseRefuse(datagram []byte) (Refuse, error) {
	const fixed = refuseFixed + wire.ChecksumSize
	if len(datagram) < fixed || len(datagram)-fixed > MaxRefuseDetail {
		return Refuse{}, ErrMalformed
	}
	b, err := openDatagram(datagram, KindRefuse)
	if err != nil {
		return Refuse{}, err
	}
	r := Refuse{Nonce: binary.LittleEndian.Uint64(b), Reason: Reason(b[8])}
	detail := b[refuseFixed-1:]
	if r.Reason == ReasonNone || !legalDetail(detail) {
		return Refuse{}, ErrMalformed
	}
	r.Detail = string(detail)
	return r, nil
}

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
