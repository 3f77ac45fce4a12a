package peer

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/wire"
)

// Challenge is the server's answer to a Hello without a valid cookie: it gives
// the cookie and remembers nothing.
//
//	byte 0     1       9        25
//	+------+-------+--------+----------+
//	| 0x82 | nonce | cookie | checksum |
//	+------+-------+--------+----------+
//	 1      8       16       4
//
// It is the same in every version.
type Challenge struct {
	Nonce  uint64 // of the Hello
	Cookie Cookie // to be sent back in the next Hello; never zero
}

const challengeSize = 25 + wire.ChecksumSize

// AppendChallenge appends the datagram.
func AppendChallenge(b []byte, c Challenge) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindChallenge))
	b = binary.LittleEndian.AppendUint64(b, c.Nonce)
	b = append(b, c.Cookie[:]...)
	return sealDatagram(b, start)
}

// ParseChallenge reads a Challenge datagram. Errors are ErrChecksum and
// ErrMalformed.
func ParseChallenge(datagram []byte) (Challenge, error) {
	if len(datagram) != challengeSize {
		return Challenge{}, ErrMalformed
	}
	b, err := openDatagram(datagram, KindChallenge)
	if err != nil {
		return Challenge{}, err
	}
	c := Challenge{
		Nonce:  binary.LittleEndian.Uint64(b),
		Cookie: Cookie(b[8:24]),
	}
	if c.Cookie.IsZero() {
		return Challenge{}, ErrMalformed
	}
	return c, nil
}
