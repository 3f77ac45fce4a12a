//go:build (amd64 || arm64) && !purego

package wire

// fetchRows asks for the first and the last line, of 64 bytes, of n rows of size bytes: those of the indexes of the ids in memory that begins with the row of the index first. The compiler knows
// an instruction for that, but gives it to the runtime only.
//
//go:noescape
func fetchRows(p *byte, size uintptr, first uint32, ids *NetworkID, n int)
