package quantize

import (
	"encoding/binary"
	"runtime"

	"github.com/arche-netcode/netcode/internal/kernel"
)

// CopyFloats reads the lanes of float32 fields that travel exactly, of rows that were written one behind the other from a byte
// of their own on. It is false when one is not finite, and when the bytes are fewer than the lanes are.
func CopyFloats(lanes []uint32, buf []byte) bool {
	if len(buf) < 4*len(lanes) {
		return false
	}
	if QuickWords && len(lanes) >= 16 {
		return copyWords(lanes, buf, exponentOnes)&exponentCarries == 0
	}
	carries := uint32(0)
	for i := range lanes {
		v := binary.LittleEndian.Uint32(buf[4*i:])
		lanes[i] = v
		carries |= (v + exponentOne) ^ v
	}
	return carries>>31 == 0
}

// FloatRows reads rows of float32 fields that travel exactly, as CopyFloats does. It knows whether the processor takes 32 bytes at
// a time: make one with NewFloatRows, once. The zero value comes to the same, some bytes at a time.
type FloatRows struct{ wide bool }

// NewFloatRows asks the processor what it has, which takes a microsecond or more.
func NewFloatRows() FloatRows { return FloatRows{wide: kernel.Wide()} }

// leastWide is how many lanes at least are read by the processor's widest moves, eight at a time and the last eight of them together.
const leastWide = 8

// Copy is CopyFloats.
func (f FloatRows) Copy(lanes []uint32, buf []byte) bool {
	if !f.wide || len(lanes) < leastWide || len(buf) < 4*len(lanes) {
		return CopyFloats(lanes, buf)
	}
	return kernel.CopyFloats(&lanes[0], &buf[0], uintptr(4*len(lanes)))
}

// QuickWords says that words of eight bytes are in memory as on the wire, the lower lane first, and that the processor does not mind
// where they begin: then lanes may be moved two at a time. Package netecs asks the same.
const QuickWords = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" || runtime.GOARCH == "wasm"

// What is added to the exponents of floats goes over into the place of the sign where all bits of one are set: it is not finite.
const (
	exponent        = 0x7F80_0000
	exponentOne     = 0x0080_0000
	exponents       = exponent<<32 | exponent
	exponentOnes    = exponentOne<<32 | exponentOne
	exponentCarries = 0x8000_0000_8000_0000
)
