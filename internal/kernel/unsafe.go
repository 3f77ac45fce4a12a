package kernel

import "unsafe"

// lanesAt returns n lanes from the first one.
func lanesAt(first *uint32, n int) []uint32 {
	// SAFETY: Column.Point checked that n lanes lie there.
	return unsafe.Slice(first, n)
}
