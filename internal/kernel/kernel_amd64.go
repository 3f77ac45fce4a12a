//go:build !purego && !netcode_plain

package kernel

// Wide reports whether the processor has AVX2, FMA, BMI1, BMI2 and POPCNT. It takes a microsecond in a virtual machine:
// call it when a protocol is compiled, not each tick. If it is false no function below may be called.
func Wide() bool

// FloatTokens finds the tokens of the first rows of a column of floats, two rows at a time. contexts is the index of
// the first code of the first context. It does not find those of the lanes in c.Large, and returns whether there are any,
// be it in lanes that did not change. If turns is not 0, the rows are rotations, which go on turning so many steps from T' to T.
//
//go:noescape
func FloatTokens(c *Column, rows int, contexts uint32, age, span float64, turns int64) (large bool)

// WriteFloats writes the k-th entity of columns that have their tokens, to out, after the have bits of acc. It returns
// the number of words written, the remaining bits, and the mask of differing rows; -1 if a code is not cached. out has
// room for StreamBytes and one word.
//
//go:noescape
func WriteFloats(t *FloatCodes, columns *Column, k int, out *uint64, acc, have uint64) (words int, rest, left uint64, rows int)

// take is Column.Take for the indexes k..to-1, after the checks of Take. It returns where it stopped.
//
//go:noescape
func take(c *Column, k, to int, indexes *uint32, h *RowSlice) int

// touch is Column.Touch for the indexes k..to-1, after the checks of Take.
//
//go:noescape
func touch(c *Column, k, to int, indexes *uint32, h *RowSlice)

// Tokens computes s.Token, s.Far and s.Miss of the first s.N rows of a column, and of up to three more. Lanes in
// s.Usual get the token for a movement from before to base, other lanes the empty token. Lanes are below 2^31 and at
// most top. base - before fits 32 bits; base plus this movement may be out of bounds.
//
//go:noescape
func Tokens(s *Batch, now, base, before *Rows, top *Tops, contexts, nothing uint16)

// Retrace computes base - (base - before) × age / span, rounded to the nearest and at most 2^31-1: the rows a tick
// before base on a straight line with the extrapolated movement. half is half of span, rounded down, plus 1/2; part is
// 1/span.
//
//go:noescape
func Retrace(to, base, before *Rows, rows int, age, half, part float64)

// AimQuats computes s.Usual, s.Odd and s.Aim of the first s.N rows of a column of rotations, and of up to three more.
//
//go:noescape
func AimQuats(s *Batch, c *Column, t *Quats)

// QuatParts computes s.Origin of the rows in s.Usual.
//
//go:noescape
func QuatParts(s *Batch, c *Column, t *Quats)

// Expect computes e for the first n rows of a column. base has the rows as of T, before those as of T'; consecutive
// rows are stride lanes apart. It does not access lanes that the row lacks.
//
//go:noescape
func Expect(e *Expected, m *Movement, base, before *uint32, stride, n int)

// ReadRows reads the rows of the entities k..end-1; of the first entity only those in left, lowest first. If left is
// Unread it reads the mask first. It stops before a row that is nil, has a rare code, is illegal, or comes within the
// last 8 bytes. It returns the unread rows of that entity and its number; 0 and the last entity if it read all. lanes
// starts at the k-th entity, with consecutive entities stride lanes apart, and has the rows as of T on entry. The lanes
// of the row where it stops are undefined.
//
//go:noescape
func ReadRows(q *Bits, group *ReadGroup, left uint, k, end int, lanes *uint32, stride int) (rows uint, at int)
