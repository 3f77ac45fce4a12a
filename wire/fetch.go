package wire

// Fetch asks the processor for memory that is about to be read or written. It waits for nothing and changes nothing: where memory is in no cache
// any more, and something else is to be done first, it is near when it is needed. Touching it does not do the same: nothing that comes behind a
// load that waits is done before it, but for a few hundred instructions.
func Fetch(memory []byte) {
	if len(memory) > 0 {
		fetchLines(&memory[0], (uintptr(len(memory))+fetchLine-1)/fetchLine)
	}
}

// FetchLanes is Fetch of lanes.
func FetchLanes(lanes []uint32) { Fetch(memoryOf(lanes)) }

// fetchLine is the bytes that come into a cache together.
const fetchLine = 64

// FetchRows is Fetch of the rows of some entities by their indexes: of rows of width values each, one behind the other, the first of them that of
// the index first. Of each row the first and the last line are asked for.
func FetchRows[T any](rows []T, width int, first uint32, ids []NetworkID) {
	if len(rows) > 0 && len(ids) > 0 {
		at, size := bytesOf(rows)
		fetchRows(at, uintptr(width)*size, first, &ids[0], len(ids))
	}
}
