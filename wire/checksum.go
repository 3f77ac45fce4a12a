package wire

import "hash/crc32"

// ChecksumSize is the length of the checksum at the end of each packet, in bytes. It is little-endian.
const ChecksumSize = 4

// Checksum is the running CRC-32 (IEEE 802.3, reflected polynomial 0xEDB88320, as in zlib) after the
// session's epoch and protocol hash. Both are mixed into every packet's checksum without being sent, so
// a packet of an earlier session, or of another protocol, fails like a damaged one. It detects faults,
// not attackers.
type Checksum uint32

// NewChecksum returns the state that Sum continues from: the CRC over the epoch (4 bytes) and the
// protocol hash (8 bytes), both little-endian. Two epochs under one hash never give the same state.
func NewChecksum(epoch uint32, protocol uint64) Checksum {
	crc := ^uint32(0)
	for shift := 0; shift < 32; shift += 8 {
		crc = crc32.IEEETable[byte(crc)^byte(epoch>>shift)] ^ crc>>8
	}
	for shift := 0; shift < 64; shift += 8 {
		crc = crc32.IEEETable[byte(crc)^byte(protocol>>shift)] ^ crc>>8
	}
	return Checksum(^crc)
}

// Sum returns the checksum of a packet's bytes b, without the checksum itself.
func (c Checksum) Sum(b []byte) uint32 { return crc32.Update(uint32(c), crc32.IEEETable, b) }
