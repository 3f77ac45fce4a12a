package format

import "fmt"

// Mask is a set of rows: those that an entity has, or those that a client may see. The zero Mask is empty. Masks are compared with ==.
// It has one word of 64 bits, or four in a build with the tag netcode_256 (docs/adr/0060).
//
// To visit the rows in ascending order:
//
//	for m := rows; !m.IsZero(); m = m.Rest() {
//		row := m.Lowest()
//	}
type Mask struct{ words }

// MaskWords is the number of 64-bit words of a Mask.
const MaskWords = MaxRows / 64

// AllRows returns the mask with every row that a protocol may have.
func AllRows() Mask { return Mask{}.Not() }

// Has reports whether row is present. Rows that no protocol has are absent.
func (m Mask) Has(row int) bool { return m.Overlaps(Bit(row)) }

// With returns m with row present.
func (m Mask) With(row int) Mask { return m.Union(Bit(row)) }

// Without returns m with row absent.
func (m Mask) Without(row int) Mask { return m.Minus(Bit(row)) }

// Squeeze returns m with rows numbered by their place among all rows that are not in unknown. m must have none of unknown.
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

// Overlaps reports whether some row is in both.
func (m Mask) Overlaps(n Mask) bool { return !m.Intersect(n).IsZero() }

// Within reports whether every row of m is in n.
func (m Mask) Within(n Mask) bool { return m.Minus(n).IsZero() }

// Differ returns the rows that are in only one of m and n.
func (m Mask) Differ(n Mask) Mask { return m.Union(n).Minus(m.Intersect(n)) }

// String lists the rows, as in [0 2].
func (m Mask) String() string {
	rows := []int{}
	for ; !m.IsZero(); m = m.Rest() {
		rows = append(rows, m.Lowest())
	}
	return fmt.Sprint(rows)
}
