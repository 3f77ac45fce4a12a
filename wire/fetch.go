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

// FetchOf is Fetch of a list of anything.
func FetchOf[T any](list []T) {
	if len(list) > 0 {
		at, size := bytesOf(list)
		fetchLines(at, (uintptr(len(list))*size+fetchLine-1)/fetchLine)
	}
}

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

// FetchPaged is Fetch of rows of so many lanes, which lie in pages of 1<<shift rows each, by their indexes.
func FetchPaged(pages [][]uint32, shift uint, lanes int, indexes []uint32) {
	if len(pages) > 0 && len(indexes) > 0 {
		fetchPaged(&pages[0], uintptr(len(pages)), uintptr(shift&31), uintptr(lanes)*4, &indexes[0], uintptr(len(indexes)))
	}
}
