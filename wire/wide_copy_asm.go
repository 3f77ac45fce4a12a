//go:build amd64 && !purego

package wire

// runWide copies the lanes of a run: width of them, eight at least or none, from a bit of the first byte on, which is shift, and then size bytes of the rest, 32 at least
// or none. It reads up to eight bytes behind the lanes of the first, and asks for the memory that is so many bytes ahead of where it writes. It
// is false when something is not finite.
//
//go:noescape
func runWide(dst *uint32, first *byte, shift, width uintptr, rest *byte, size, ahead uintptr) bool
