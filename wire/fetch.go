package wire

// FetchRows asks the processor for the rows of some entities by their indexes, which are about to be read or written: of rows of width values each,
// one behind the other, the first of them that of the index first. Of each row the first and the last line are asked for. It waits for nothing and
// changes nothing: where memory is in no cache any more, and something else is to be done first, it is near when it is needed. Touching it does not
// do the same: nothing that comes behind a load that waits is done before it, but for a few hundred instructions.
func FetchRows[T any](rows []T, width int, first uint32, ids []NetworkID) {
	if len(rows) > 0 && len(ids) > 0 {
		at, size := bytesOf(rows)
		fetchRows(at, uintptr(width)*size, first, &ids[0], len(ids))
	}
}
