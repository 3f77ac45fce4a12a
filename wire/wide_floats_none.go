//go:build !amd64 || purego

package wire

// floatsWide is never called: see wide.
func floatsWide(*Strands, *Column, int, uint32, float64, float64) {}
