package peer

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/wire"
)

// seal appends the checksum over b[start:].
func seal(check wire.Checksum, b []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(b, check.Sum(b[start:]))
}

// unseal returns what comes before the checksum if that is right.
func unseal(check wire.Checksum, b []byte) (body []byte, ok bool) {
	if len(b) < wire.ChecksumSize {
		return nil, false
	}
	body = b[:len(b)-wire.ChecksumSize]
	return body, binary.LittleEndian.Uint32(b[len(body):]) == check.Sum(body)
}
