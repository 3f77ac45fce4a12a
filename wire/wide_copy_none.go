//go:build !amd64 || purego

package wire

// runWide is never called: wide says no.
func runWide(*uint32, *byte, uintptr) bool { panic("not reached") }
