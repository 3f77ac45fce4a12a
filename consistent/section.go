package consistent

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// A section is sent from the server to a client. It contains a claim about its own packet, the state of a lost packet, or both:
//
//	 0      1      2      3      4      5 …
//	+-------------+------+-------------+----------+-------- … --+
//	|   packet    |  n   |    tick     |  needed  |    state    |
//	+-------------+------+-------------+----------+-------- … --+
//
//	packet  16 bits LE, the low bits of the packet's number: of the packet that the section is in, or of an earlier one
//	n       8 bits: bytes of needed, 0 to 128; 255: no claim, and neither tick nor needed
//	tick    16 bits LE, the low bits of the tick that the claim is about
//	needed  n bytes, least significant bit first: bit i is the packet i + 1 before. The last byte is not zero
//	state   a snapshot payload: of the earlier packet, which is presumed lost. Empty in a section of its own packet
//
// A claim means: a client that has the state of this packet and of the needed ones has the complete state of the tick.

const (
	sectionHead = 3
	claimHead   = 2
	noClaim     = 255
	// maxBack is the maximum distance from the claim's packet back to a needed one.
	maxBack     = 1024
	neededWords = maxBack / 64
)

// errSection means that a section is malformed.
var errSection = errors.New("a section of complete ticks that is not legal")

// section is a decoded section.
type section struct {
	packet  uint16
	claimed bool
	tick    uint16
	needed  [neededWords]uint64
	state   []byte
}

// need marks the packet back packets before as needed.
func (s *section) need(back uint64) { s.needed[(back-1)/64] |= 1 << ((back - 1) % 64) }

// width returns the number of bytes of needed.
func (s *section) width() int {
	for i := len(s.needed) - 1; i >= 0; i-- {
		if s.needed[i] != 0 {
			return (64*i + bits.Len64(s.needed[i]) + 7) / 8
		}
	}
	return 0
}

// size returns the number of bytes of the section.
func (s *section) size() int {
	if !s.claimed {
		return sectionHead + len(s.state)
	}
	return sectionHead + claimHead + s.width() + len(s.state)
}

// put appends the encoded section.
func (s *section) put(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, s.packet)
	if !s.claimed {
		return append(append(dst, noClaim), s.state...)
	}
	n := s.width()
	dst = binary.LittleEndian.AppendUint16(append(dst, byte(n)), s.tick)
	for i := range n {
		dst = append(dst, byte(s.needed[i/8]>>(8*(i%8))))
	}
	return append(dst, s.state...)
}

// parse decodes a section. Its state is a subslice of payload.
func (s *section) parse(payload []byte) error {
	if len(payload) < sectionHead {
		return errSection
	}
	*s = section{packet: binary.LittleEndian.Uint16(payload), claimed: payload[2] != noClaim, state: payload[sectionHead:]}
	if !s.claimed {
		if len(s.state) == 0 {
			return errSection
		}
		return nil
	}
	n := int(payload[2])
	if n > maxBack/8 || len(s.state) < claimHead+n {
		return errSection
	}
	s.tick = binary.LittleEndian.Uint16(s.state)
	needed := s.state[claimHead : claimHead+n]
	if s.state = s.state[claimHead+n:]; n > 0 && needed[n-1] == 0 {
		return errSection
	}
	for i, b := range needed {
		s.needed[i/8] |= uint64(b) << (8 * (i % 8))
	}
	return nil
}

// check validates a received section.
func check(payload []byte) error {
	var s section
	return s.parse(payload)
}

// near returns the packet number nearest to packet that has these low 16 bits.
func near(low uint16, packet uint64) uint64 { return packet + uint64(int64(int16(low-uint16(packet)))) }
