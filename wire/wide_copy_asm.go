//go:build amd64 && !purego

package wire

// runWide copies the lanes of a run: size bytes, 32 at least. It is false when something is not finite.
//
//go:noescape
func runWide(dst *uint32, src *byte, size uintptr) bool
