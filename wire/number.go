package wire

import "encoding/binary"

// shape says how numbers lie in memory and on the wire. Only machines that keep the most significant byte
// first, and those whose int has 4 bytes, need it: everywhere else memory is what travels.
type shape struct {
	size   int  // bytes in memory: 1, 2, 4, 8
	wire   int  // bytes on the wire, size or more
	big    bool // in memory the most significant byte comes first
	signed bool // what is missing on the wire repeats the sign
}

// load returns the number at the start of b, its sign extended where it has one.
func (s shape) load(b []byte) (v uint64) {
	for i := range s.size {
		at := i
		if s.big {
			at = s.size - 1 - i
		}
		v |= uint64(b[at]) << (8 * i)
	}
	if unused := 64 - 8*uint(s.size); s.signed {
		v = uint64(int64(v<<unused) >> unused)
	}
	return v
}

// store is the inverse of load.
func (s shape) store(b []byte, v uint64) {
	for i := range s.size {
		at := i
		if s.big {
			at = s.size - 1 - i
		}
		b[at] = byte(v >> (8 * i))
	}
}

// storeNumbers moves numbers from memory to the wire, which has room for them.
func storeNumbers(dst, memory []byte, s shape) {
	var form [8]byte
	for ; len(memory) > 0; memory, dst = memory[s.size:], dst[s.wire:] {
		binary.LittleEndian.PutUint64(form[:], s.load(memory))
		copy(dst[:s.wire], form[:])
	}
}

// loadNumbers moves numbers from the wire to memory, which has room for them. It stops and returns false
// at one that memory cannot hold.
func loadNumbers(memory, src []byte, s shape) bool {
	for ; len(memory) > 0; memory, src = memory[s.size:], src[s.wire:] {
		var form [8]byte
		copy(form[:], src[:s.wire])
		v := binary.LittleEndian.Uint64(form[:])
		s.store(memory, v)
		if s.wire > s.size && s.load(memory) != v {
			return false
		}
	}
	return true
}

// areBools reports whether each byte is 0 or 1.
func areBools(b []byte) bool {
	for _, one := range b {
		if one > 1 {
			return false
		}
	}
	return true
}
