package format

import (
	"fmt"
	"math/bits"
)

// MaxRows is the number of replicated component types a protocol may have.
const MaxRows = 64

// Mask is a set of rows: those that an entity has, or those that a client may see. The zero Mask is empty. Masks are equal if == says so.
//
// To visit the rows in ascending order:
//
//	for m := rows; !m.IsZero(); m = m.Rest() {
//		row := m.Lowest()
//	}
type Mask struct{ word uint64 }

// Bit returns the mask with row alone. It is empty for a row that no protocol has.
func Bit(row int) Mask { return Mask{1 << uint(row)} }

// AllRows returns the mask with every row that a protocol may have.
func AllRows() Mask { return Mask{}.Not() }

// FromWords returns the mask whose rows are the bits of words: row 0 is the lowest bit of the first one.
func FromWords(words ...uint64) (m Mask) {
	if len(words) > 0 {
		m.word = words[0]
	}
	return m
}

// Word returns rows 64i to 64i+63, the first of them as the lowest bit.
func (m Mask) Word(i int) uint64 {
	if i == 0 {
		return m.word
	}
	return 0
}

// Has reports whether row is present. Rows that no protocol has are absent.
func (m Mask) Has(row int) bool { return m.word&(1<<uint(row)) != 0 }

// With returns m with row present.
func (m Mask) With(row int) Mask { return Mask{m.word | 1<<uint(row)} }

// Without returns m with row absent.
func (m Mask) Without(row int) Mask { return Mask{m.word &^ (1 << uint(row))} }

// Union returns the rows that are in m or in n.
func (m Mask) Union(n Mask) Mask { return Mask{m.word | n.word} }

// Squeeze numbers the rows of m by their place among all rows but those of unknown, of which m has none.
func (m Mask) Squeeze(unknown Mask) (squeezed Mask) {
	if unknown.IsZero() {
		return m
	}
	for ; !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		squeezed = squeezed.With(row - unknown.Below(row).Count())
	}
	return squeezed
}

// Spread is the inverse of Squeeze.
func (m Mask) Spread(unknown Mask) (spread Mask) {
	if unknown.IsZero() {
		return m
	}
	for row, place := -1, -1; !m.IsZero(); m = m.Rest() {
		for place < m.Lowest() {
			if row++; !unknown.Has(row) {
				place++
			}
		}
		spread = spread.With(row)
	}
	return spread
}

// Intersect returns the rows that are in both.
func (m Mask) Intersect(n Mask) Mask { return Mask{m.word & n.word} }

// Minus returns the rows of m that are not in n.
func (m Mask) Minus(n Mask) Mask { return Mask{m.word &^ n.word} }

// Differ returns the rows that are in one of them only.
func (m Mask) Differ(n Mask) Mask { return Mask{m.word ^ n.word} }

// Overlaps reports whether some row is in both.
func (m Mask) Overlaps(n Mask) bool { return m.word&n.word != 0 }

// Within reports whether every row of m is in n.
func (m Mask) Within(n Mask) bool { return m.word&^n.word == 0 }

// Not returns the rows that are not in m.
func (m Mask) Not() Mask { return Mask{^m.word} }

// Below returns the rows of m whose numbers are below row.
func (m Mask) Below(row int) Mask { return Mask{m.word & (1<<uint(row) - 1)} }

// IsZero reports whether no row is present.
func (m Mask) IsZero() bool { return m.word == 0 }

// Count returns the number of rows present.
func (m Mask) Count() int { return bits.OnesCount64(m.word) }

// Lowest returns the lowest row present. m must not be empty.
func (m Mask) Lowest() int { return bits.TrailingZeros64(m.word) }

// Rest returns m without its lowest row.
func (m Mask) Rest() Mask { return Mask{m.word & (m.word - 1)} }

// String lists the rows, as in [0 2].
func (m Mask) String() string {
	rows := []int{}
	for ; !m.IsZero(); m = m.Rest() {
		rows = append(rows, m.Lowest())
	}
	return fmt.Sprint(rows)
}
