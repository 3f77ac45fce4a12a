package kernel

import (
	"encoding/binary"
	"unsafe"
)

// firstByte returns the address of a lane as that of a byte.
func firstByte(first *uint32) *byte {
	// SAFETY: any number may be read as bytes.
	return (*byte)(unsafe.Pointer(first))
}

// wordAt returns the eight bytes at offset, little-endian.
func wordAt(base *byte, offset uintptr) uint64 {
	// SAFETY: Column.Take counts the rows first, so that eight bytes lie there; as bytes they need no alignment.
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(base), offset))[:])
}
