//go:build amd64 && !purego

package wire

import "sync/atomic"

// takeWide is Column.Take from the k-th to the to-th index, where all that Take asks for first is so. It says at which it stopped.
//
//go:noescape
func takeWide(c *Column, k, to int, indexes *uint32, h *Held) int

// writeWide writes the symbol and the tokens of the rows of a column, all of its lanes that are in any, where t knows them. Which rows those
// were not is returned: bit k for the k-th. Beyond s.n, up to the next multiple of eight, no lane is usual.
//
//go:noescape
func writeWide(s *Strands, c *Column, t *tokenTables, lanes, context, known, any uint64) (left uint64)

// beginWide is Strands.Begin for count columns, up to the first eight bodies of which one has a symbol that is not known. It says at which it
// stopped.
//
//go:noescape
func beginWide(s *Strands, columns *Column, count int, flat *atomic.Uint32, context, known uint64) (done int)
