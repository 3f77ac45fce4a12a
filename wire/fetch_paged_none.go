//go:build !amd64 || purego

package wire

// fetchPaged does nothing: this processor is not asked for rows.
func fetchPaged(_ *[]uint32, _, _, _ uintptr, _ *uint32, _ uintptr) {}
