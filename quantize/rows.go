package quantize

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/internal/kernel"
)

// Rows compares rows of as many bytes each that lie one behind the other, up to 64 at once.
type Rows struct {
	size int
	wide bool // the processor is, and rows are of 8, 12 or 16 bytes
}

// NewRows prepares to compare rows of size bytes each. It asks the processor what it can do, which is not for each tick.
func NewRows(size int) Rows {
	return Rows{size: size, wide: (size == 8 || size == 12 || size == 16) && kernel.Wide()}
}

// Differing is which of n rows, 64 at most, are not the same in both memories, which have as many bytes each: a bit for each row, from the lowest on.
func (r Rows) Differing(a, b []byte, n int) (rows uint64) {
	a, b = a[:n*r.size], b[:n*r.size]
	done := 0
	if r.wide && n >= 8 {
		done = n &^ 7
		rows = kernel.DifferingRows(&a[0], &b[0], r.size, done)
	}
	if done < n {
		rows |= r.differing(a[done*r.size:], b[done*r.size:], n-done) << done
	}
	return rows
}

// DifferingLanes is Differing for rows of lanes, of 4 bytes each.
func (r Rows) DifferingLanes(a, b []uint32, n int) (rows uint64) {
	return r.Differing(lanesMemory(a), lanesMemory(b), n)
}

// differing is Differing in plain code. Rows of the usual sizes have no branch that nobody can foresee.
func (r Rows) differing(a, b []byte, n int) (rows uint64) {
	switch size := r.size; size {
	case 8:
		for i := 0; len(a) >= 8 && len(b) >= 8; i, a, b = i+1, a[8:], b[8:] {
			d := binary.LittleEndian.Uint64(a) ^ binary.LittleEndian.Uint64(b)
			rows |= (d | -d) >> 63 << (i & 63)
		}
	case 12:
		for i := 0; len(a) >= 12 && len(b) >= 12; i, a, b = i+1, a[12:], b[12:] {
			x, y := (*[12]byte)(a), (*[12]byte)(b)
			d := (binary.LittleEndian.Uint64(x[:8]) ^ binary.LittleEndian.Uint64(y[:8])) | (binary.LittleEndian.Uint64(x[4:]) ^ binary.LittleEndian.Uint64(y[4:]))
			rows |= (d | -d) >> 63 << (i & 63)
		}
	case 16:
		for i := 0; len(a) >= 16 && len(b) >= 16; i, a, b = i+1, a[16:], b[16:] {
			x, y := (*[16]byte)(a), (*[16]byte)(b)
			d := (binary.LittleEndian.Uint64(x[:8]) ^ binary.LittleEndian.Uint64(y[:8])) | (binary.LittleEndian.Uint64(x[8:]) ^ binary.LittleEndian.Uint64(y[8:]))
			rows |= (d | -d) >> 63 << (i & 63)
		}
	default:
		for i := 0; i < n; i, a, b = i+1, a[size:], b[size:] {
			if string(a[:size]) != string(b[:size]) {
				rows |= 1 << (i & 63)
			}
		}
	}
	return rows
}
