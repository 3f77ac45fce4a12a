//go:build amd64 && !purego

package wire

// fixedRunRows quantises the first of n rows of a column, as long as all of the run's fields are within their bounds, and returns how many it did. The
// column begins with the first of the fields. The processor must be wide.
//
//go:noescape
func fixedRunRows(r *fixedRun, column *byte, size int, rows *int32, n int, lanes *uint32, stride int) (done int)

// quatFours quantises the first of n rows of a column, four at a time, as long as the fast path of quantiseQuat is for all four, and returns how many it
// did. The column begins with the rotation. The processor must be wide.
//
//go:noescape
func quatFours(q *quatNumbers, column *byte, size int, rows *int32, n int, lanes *uint32, stride int) (done int)
