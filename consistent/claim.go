package consistent

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// A claim tells that a client has all state of a tick once it has some packets, from the server to a client:
//
//	 0      1      2      3      4 …
//	+-------------+-------------+--------------+
//	|    tick     |   packet    |    needed    |
//	+-------------+-------------+--------------+
//
//	tick    16 bits LE, the low bits of the tick
//	packet  16 bits LE, the low bits of the number of the packet that the section is in
//	needed  0 to 128 bytes, least significant bit first: bit i is the packet i + 1 before it. The last byte is not zero
//
// The packet itself is needed too: it has come where the section is read.

const (
	claimHead = 4
	// maxBack is how far before the claim's packet a needed one may be.
	maxBack     = 1024
	neededWords = maxBack / 64
)

var errClaim = errors.New("a claim of a complete tick that is not legal")

// claim is a section that came.
type claim struct {
	tick   uint16
	packet uint16
	needed [neededWords]uint64
}

// size is the number of bytes of a claim.
func (c *claim) size() int {
	for i := len(c.needed) - 1; i >= 0; i-- {
		if c.needed[i] != 0 {
			return claimHead + (64*i+bits.Len64(c.needed[i])+7)/8
		}
	}
	return claimHead
}

// put writes a claim. There is room for its size.
func (c *claim) put(dst []byte) int {
	n := c.size()
	binary.LittleEndian.PutUint16(dst, c.tick)
	binary.LittleEndian.PutUint16(dst[2:], c.packet)
	for i := range dst[claimHead:n] {
		dst[claimHead+i] = byte(c.needed[i/8] >> (8 * (i % 8)))
	}
	return n
}

// parseClaim reads a claim.
func parseClaim(payload []byte) (c claim, err error) {
	n := len(payload)
	if n < claimHead || n > claimHead+maxBack/8 || n > claimHead && payload[n-1] == 0 {
		return c, errClaim
	}
	c.tick, c.packet = binary.LittleEndian.Uint16(payload), binary.LittleEndian.Uint16(payload[2:])
	for i, b := range payload[claimHead:] {
		c.needed[i/8] |= uint64(b) << (8 * (i % 8))
	}
	return c, nil
}
