//go:build !netcode_256

package format

import "math/bits"

// MaxRows is the number of replicated component types a protocol may have in this build. The tag netcode_256 makes it 256.
const MaxRows = 64

// MoreRows ends an error about more components, with the way out.
const MoreRows = ": join some into one, or build both ends with -tags netcode_256 for up to 256"

// words are the rows of a Mask, a bit for each.
type words struct{ a uint64 }

// Bit returns the mask with row alone. It is empty for a row that no protocol has.
func Bit(row int) Mask { return Mask{words{1 << uint(row)}} }

// FromWords returns the mask whose rows are the bits of words: row 0 is the lowest bit of the first one.
func FromWords(rows ...uint64) Mask {
	var w [MaskWords]uint64
	copy(w[:], rows)
	return Mask{words{w[0]}}
}

// Word returns rows 64i to 64i+63, the first of them as the lowest bit.
func (m Mask) Word(i int) uint64 {
	if i > 0 {
		return 0
	}
	return m.a
}

// Union returns the rows that are in m or in n.
func (m Mask) Union(n Mask) Mask { return Mask{words{m.a | n.a}} }

// Intersect returns the rows that are in both.
func (m Mask) Intersect(n Mask) Mask { return Mask{words{m.a & n.a}} }

// Minus returns the rows of m that are not in n.
func (m Mask) Minus(n Mask) Mask { return Mask{words{m.a &^ n.a}} }

// Not returns the rows that are not in m.
func (m Mask) Not() Mask { return Mask{words{^m.a}} }

// Below returns the rows of m whose numbers are below row.
func (m Mask) Below(row int) Mask { return Mask{words{m.a & (1<<uint(row) - 1)}} }

// IsZero reports whether no row is present.
func (m Mask) IsZero() bool { return m.a == 0 }

// Count returns the number of rows present.
func (m Mask) Count() int { return bits.OnesCount64(m.a) }

// Lowest returns the lowest row present. m must not be empty.
func (m Mask) Lowest() int { return bits.TrailingZeros64(m.a) }

// Rest returns m without its lowest row.
func (m Mask) Rest() Mask { return Mask{words{m.a & (m.a - 1)}} }

// Hash mixes the rows into the upper bits of a number.
func (m Mask) Hash() uint64 { return m.a * 0x9E37_79B9_7F4A_7C15 }
