package peer

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/wire"
)

// HelloSize is the length of every Hello datagram, in bytes. It is padded so
// that no answer is larger than the question: a server that is asked from forged
// addresses is no amplifier.
const HelloSize = 1200

// Hello is the client's wish to connect, sent until it is answered.
//
//	byte 0     1         3       11         19       35      37
//	+------+---------+-------+----------+--------+-------+------------+---------+----------+
//	| 0x81 | version | nonce | protocol | cookie | types | digest ... | padding | checksum |
//	+------+---------+-------+----------+--------+-------+------------+---------+----------+
//	 1      2         8       8          16       2       4 each       zeros     4
//
// The part before the types is the same in every version.
type Hello struct {
	Version  uint16 // of the wire format: [Version] at this end
	Nonce    uint64 // random, fresh for each attempt to connect
	Protocol uint64 // hash of the client's protocol
	Cookie   Cookie // from the server's Challenge; zero at first
	// Digest describes the client's protocol type by type, so that a refusal can
	// name the first that differs. It is empty if Version is not this one's.
	Digest Digest
}

const (
	helloFixed = 37 // up to the digest, the first byte included
	helloTypes = 35
	helloSpace = HelloSize - helloFixed - wire.ChecksumSize

	// MaxDigest is the largest number of hashes of a digest in a Hello.
	MaxDigest = helloSpace / 4
)

// Digest is one 32-bit hash for each type of a protocol, in canonical order.
// Only the first MaxDigest of them travel, and how many there are.
type Digest struct {
	types  uint16
	hashes []byte // 4 bytes each
}

// NewDigest returns the digest of the given hashes. Types above 65535 are not
// counted.
func NewDigest(hashes []uint32) Digest {
	d := Digest{types: uint16(min(len(hashes), 1<<16-1))}
	for _, h := range hashes[:min(len(hashes), MaxDigest)] {
		d.hashes = binary.LittleEndian.AppendUint32(d.hashes, h)
	}
	return d
}

// Types returns how many types the protocol has.
func (d Digest) Types() int { return int(d.types) }

// Len returns how many hashes are here: Types, or MaxDigest if that is less.
func (d Digest) Len() int { return len(d.hashes) / 4 }

// At returns the hash of type i, 0 <= i < Len.
func (d Digest) At(i int) uint32 { return binary.LittleEndian.Uint32(d.hashes[4*i:]) }

// FirstDifference returns the first place where the two differ, and whether
// there is one among the hashes that travel.
func (d Digest) FirstDifference(other Digest) (index int, found bool) {
	n := min(d.Len(), other.Len())
	for i := range n {
		if d.At(i) != other.At(i) {
			return i, true
		}
	}
	return n, d.types != other.types
}

// AppendHello appends the datagram, HelloSize bytes.
func AppendHello(b []byte, h Hello) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindHello))
	b = binary.LittleEndian.AppendUint16(b, h.Version)
	b = binary.LittleEndian.AppendUint64(b, h.Nonce)
	b = binary.LittleEndian.AppendUint64(b, h.Protocol)
	b = append(b, h.Cookie[:]...)
	b = binary.LittleEndian.AppendUint16(b, h.Digest.types)
	b = append(b, h.Digest.hashes...)
	for len(b)-start < HelloSize-wire.ChecksumSize {
		b = append(b, 0)
	}
	return sealDatagram(b, start)
}

// ParseHello reads a Hello datagram. The digest is a part of the datagram, not
// a copy. A Hello of another version is read as far as versions agree, with no
// error. Errors are ErrChecksum and ErrMalformed.
func ParseHello(datagram []byte) (Hello, error) {
	if len(datagram) != HelloSize {
		return Hello{}, ErrMalformed
	}
	b, err := openDatagram(datagram, KindHello)
	if err != nil {
		return Hello{}, err
	}
	h := Hello{
		Version:  binary.LittleEndian.Uint16(b),
		Nonce:    binary.LittleEndian.Uint64(b[2:]),
		Protocol: binary.LittleEndian.Uint64(b[10:]),
		Cookie:   Cookie(b[18:34]),
	}
	if h.Version != Version {
		return h, nil
	}
	h.Digest.types = binary.LittleEndian.Uint16(b[helloTypes-1:])
	b = b[helloFixed-1:]
	size := 4 * min(int(h.Digest.types), MaxDigest)
	h.Digest.hashes = b[:size:size]
	for _, padding := range b[size:] {
		if padding != 0 {
			return Hello{}, ErrMalformed
		}
	}
	return h, nil
}
