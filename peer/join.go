package peer

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/wire"
)

// Join is the client's answer to Accept, sent until the server's Welcome comes. It is sealed with the checksum of the
// client's packets, which starts from the epoch: so it proves that its sender has received Accept. Only now does the
// server make a session.
//
//	byte 0     1       9        25
//	+------+-------+--------+----------+
//	| 0x85 | nonce | cookie | checksum |
//	+------+-------+--------+----------+
//	 1      8       16       4
//
// It is as long as a Challenge, which may be its answer.
type Join struct {
	Nonce  uint64 // of the Hello
	Cookie Cookie // of the Hello; never zero
}

const joinSize = 25 + wire.ChecksumSize

// AppendJoin appends the datagram. check is that of the client's packets.
func AppendJoin(b []byte, j Join, check wire.Checksum) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindJoin))
	b = binary.LittleEndian.AppendUint64(b, j.Nonce)
	b = append(b, j.Cookie[:]...)
	return seal(check, b, start)
}

// ParseJoin reads a Join datagram, all but its checksum, which is known only when the cookie is: JoinSealed reads that.
// The error is ErrMalformed.
func ParseJoin(datagram []byte) (Join, error) {
	if len(datagram) != joinSize || KindOf(datagram) != KindJoin {
		return Join{}, ErrMalformed
	}
	j := Join{Nonce: binary.LittleEndian.Uint64(datagram[1:]), Cookie: Cookie(datagram[9:25])}
	if j.Cookie.IsZero() {
		return Join{}, ErrMalformed
	}
	return j, nil
}

// JoinSealed reports whether the checksum of a Join is right. check is that of the client's packets.
func JoinSealed(datagram []byte, check wire.Checksum) bool {
	_, ok := unseal(check, datagram)
	return ok
}
