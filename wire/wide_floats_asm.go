//go:build amd64 && !purego

package wire

// floatsWide is Strands.floatsAt for the first rows of a column, four lanes at a time. Contexts is the place of the first code of the first context.
//
//go:noescape
func floatsWide(s *Strands, c *Column, rows int, contexts uint32, age, span float64)
