//go:build !amd64 || purego

package wire

// differingRows is never called: no Rows are wide here.
func differingRows(*byte, *byte, int, int) (rows uint64) {
	panic("wire: differingRows where nothing is wide")
}
