//go:build amd64 && !purego

package wire

// differingRows is Rows.Differing for n rows of 8, 12 or 16 bytes, a multiple of 8 of them that is not 0. The processor must be wide.
//
//go:noescape
func differingRows(a, b *byte, size, n int) (rows uint64)
