//go:build !amd64 || purego

package wire

// fetchRows does nothing: this processor is not asked for rows.
func fetchRows(_ *[]uint32, _, _, _ uintptr, _ *uint32, _ uintptr) {}
