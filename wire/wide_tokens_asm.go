//go:build amd64 && !purego

package wire

// findWide fills in s.token, s.far and s.miss of the first s.n rows of a column, and up to three more, from s.usual: where lanes that go the usual way have
// their tokens, having moved from before to base, where the token of nothing is for others. Lanes are below 2^31 and no larger than top says, and
// base less before is within 32 bits, their sum may be out of bounds.
//
//go:noescape
func findWide(s *Strands, now, base, before *wideColumn, top *wideTops, contexts, nothing uint16)

// goOnWide fills in where rows would have been a tick before base, were they to go on by what they have moved from before, times age through span, rounded to
// the nearest: base less that, up to 2^31-1. Half is half of span, rounded down, and 1/2; part is 1 through span.
//
//go:noescape
func goOnWide(to, base, before *wideColumn, rows int, age, half, part float64)

// aimWide fills in s.usual, s.odd and s.aim of the first s.n rows of a column of rotations, and up to three more.
//
//go:noescape
func aimWide(s *Strands, c *Column, t *turnNumbers)

// partsWide fills in s.from of them.
//
//go:noescape
func partsWide(s *Strands, c *Column, t *turnNumbers)
