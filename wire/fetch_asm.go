//go:build (amd64 || arm64) && !purego

package wire

// fetchLines asks for as many lines of 64 bytes, one behind the other, the first of them that of p. The compiler knows an instruction for that,
// but gives it to the runtime only.
//
//go:noescape
func fetchLines(p *byte, lines uintptr)

// fetchRows asks for n rows of size bytes: those of the indexes of the ids in memory that begins with the row of the index first.
//
//go:noescape
func fetchRows(p *byte, size uintptr, first uint32, ids *NetworkID, n int)
