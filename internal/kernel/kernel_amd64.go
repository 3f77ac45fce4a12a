//go:build !purego && !netcode_plain

package kernel

import "sync/atomic"

// Wide reports whether the processor has AVX2, FMA, BMI1, BMI2 and POPCNT. It takes a microsecond in a virtual machine: callers ask when a protocol is compiled,
// not in each tick. No function below may be called if it is false.
func Wide() bool

// CopyFloats copies lanes from the wire: size bytes, 32 at least. It is false if one is not a finite float.
//
//go:noescape
func CopyFloats(dst *uint32, src *byte, size uintptr) bool

// DifferingRows compares n rows of 8, 12 or 16 bytes, n being a multiple of 8 and not 0, and returns a bit for each row that differs.
//
//go:noescape
func DifferingRows(a, b *byte, size, n int) (rows uint64)

// Overlay3 writes n rows of three words to two copies of them, n being a multiple of eight and not 0. The lanes of the next row are step bytes on. It ends
// before eight rows of which one differs between the copies or has its new value already, and returns how many it wrote. It accesses nothing but those rows.
//
//go:noescape
func Overlay3(live, kept *byte, lanes *uint32, step, n uintptr) uintptr

// Overlay4 is Overlay3 for rows of four words.
//
//go:noescape
func Overlay4(live, kept *byte, lanes *uint32, step, n uintptr) uintptr

// FixedRows quantises the first of n rows of a column, as long as all fields of the run are within their bounds, and returns how many. The column begins with the
// first of the fields.
//
//go:noescape
func FixedRows(r *FixedRun, column *byte, size int, rows *int32, n int, lanes *uint32, stride int) (done int)

// QuatRows quantises the first of n rows of a column of rotations, four at a time, as long as the fast path of quantize is for all four, and returns how many.
// The column begins with the rotation.
//
//go:noescape
func QuatRows(q *QuatNumbers, column *byte, size int, rows *int32, n int, lanes *uint32, stride int) (done int)

// FixedValues is the inverse of FixedRows: it writes the fields of n rows, n being 1 at least, into components of size bytes each. It accesses nothing but
// these fields and their lanes.
//
//go:noescape
func FixedValues(r *FixedRun, column *byte, size int, lanes *uint32, stride, n int)

// SnapBlocks quantises the first of n blocks of floats, as long as all of a block are within their bounds, and writes them back as their lanes tell. It returns
// how many.
//
//go:noescape
func SnapBlocks(b *FixedBlock, floats *byte, lanes *uint32, n int) (done int)

// SnapQuats quantises n blocks of QuatBlock rotations that lie one behind the other, and writes them back as their lanes tell. It ends behind the first block
// with rotations that it leaves alone, which plain code has to do: odd has a bit for each, see OddQuat. It returns how many blocks it went over.
//
//go:noescape
func SnapQuats(q *QuatNumbers, rotations *byte, lanes *uint32, n int) (done int, odd uint64)

// QuatValues is the inverse of QuatRows: it writes the first of n rotations, four at a time, as long as all numbers of the four are an int32, and returns how
// many.
//
//go:noescape
func QuatValues(q *QuatNumbers, column *byte, size int, lanes *uint32, stride, n int) (done int)

// DifferingLanes compares n rows of three or four words, 1 at least, that lie one behind the other with lanes that are stride apart. It returns a bit for each
// row that differs; 1 if any does of more than 64.
//
//go:noescape
func DifferingLanes(words, lanes *uint32, row, stride, n int) (rows uint64)

// FloatTokens finds the tokens of the first rows of a column of floats, four lanes at a time. Contexts is the place of the first code of the first context.
//
//go:noescape
func FloatTokens(c *Column, rows int, contexts uint32, age, span float64)

// WriteFloats writes the k-th of bodies whose columns have their tokens, to out and behind have bits in acc. It returns how many words it filled, the bits
// behind these, and which rows differ; -1 if a code is not known. Out has room for StreamBytes and one word.
//
//go:noescape
func WriteFloats(t *FloatCodes, columns *Column, k int, out *uint64, acc, have uint64) (words int, rest, left uint64, rows int)

// take is Column.Take from the k-th to the to-th index, after the checks of Take. It returns where it stopped.
//
//go:noescape
func take(c *Column, k, to int, indexes *uint32, h *RowSlice) int

// touch is Column.Touch from the k-th up to the to-th index, after the checks of Take.
//
//go:noescape
func touch(c *Column, k, to int, indexes *uint32, h *RowSlice)

// Write appends the symbol and the tokens of the rows of a column, of all lanes that are in any, if t has them. It returns the rows that it did not write: bit k
// for the k-th. No row from s.N up to the next multiple of eight has usual lanes.
//
//go:noescape
func Write(s *Batch, c *Column, t *TokenTables, lanes, context, known, any uint64) (left uint64)

// Begin begins the streams for count columns, up to the first eight of which one has a symbol that is not known. It returns where it stopped.
//
//go:noescape
func Begin(s *Batch, columns *Column, count int, flat *atomic.Uint32, context, known uint64) (done int)

// Tokens fills in s.Token, s.Far and s.Miss of the first s.N rows of a column, and up to three more, from s.Usual: the tokens of usual lanes that moved from
// before to base, and the token of nothing for others. Lanes are below 2^31 and no larger than top; base less before is within 32 bits, their sum may be out of
// bounds.
//
//go:noescape
func Tokens(s *Batch, now, base, before *Rows, top *Tops, contexts, nothing uint16)

// Retrace fills in where rows would have been a tick before base if they moved on by their movement from before, times age through span, rounded to the nearest:
// base less that, up to 2^31-1. Half is half of span, rounded down, and 1/2; part is 1 through span.
//
//go:noescape
func Retrace(to, base, before *Rows, rows int, age, half, part float64)

// AimQuats fills in s.Usual, s.Odd and s.Aim of the first s.N rows of a column of rotations, and up to three more.
//
//go:noescape
func AimQuats(s *Batch, c *Column, t *Quats)

// QuatParts fills in s.Origin of the rows that AimQuats found usual.
//
//go:noescape
func QuatParts(s *Batch, c *Column, t *Quats)

// Expect fills in e for the first n rows of a column: base has those as of T, before those as of T', each stride lanes behind the one before it. Lanes that
// a row has not are read nowhere.
//
//go:noescape
func Expect(e *Expected, m *Movement, base, before *uint32, stride, n int)

// ReadRows reads the rows of the entities from the k-th up to end, of the first of them only those of left, lowest first. If left is Unread, it reads first
// which rows these are. It stops before a row that is nil, has no usual code, is illegal, or whose bits end in less than 8 bytes, and returns the rows of that
// entity that it did not read, and which entity that is; 0 and the last one if it read all. lanes are those of the k-th entity, each stride behind those of the
// one before it, and begin as the rows as of T; of the row where it stops they are undefined.
//
//go:noescape
func ReadRows(q *Bits, group *ReadGroup, left uint, k, end int, lanes *uint32, stride int) (rows uint, at int)
