//go:build amd64 && !purego

package wire

// fetchPaged asks for rows of size bytes, n of them, which lie in pages of 1<<shift rows by index. Of an index that has no page it asks for nothing.
//
//go:noescape
func fetchPaged(pages *[]uint32, count, shift, size uintptr, indexes *uint32, n uintptr)
