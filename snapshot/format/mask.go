package format

import "math/bits"

// MaxRows is the number of replicated component types a protocol may have.
const MaxRows = 64

// Mask says which rows an entity has: bit r is set when row r is present.
type Mask uint64

// Has reports whether row is present. Rows outside 0..63 are absent.
func (m Mask) Has(row int) bool { return m&Bit(row) != 0 }

// With returns m with row present.
func (m Mask) With(row int) Mask { return m | Bit(row) }

// Without returns m with row absent.
func (m Mask) Without(row int) Mask { return m &^ Bit(row) }

// Count is the number of rows present.
func (m Mask) Count() int { return bits.OnesCount64(uint64(m)) }

// Squeeze numbers the rows of m by their place among all rows but those of unknown, of which m has none.
func (m Mask) Squeeze(unknown Mask) (squeezed Mask) {
	if unknown == 0 {
		return m
	}
	for ; m != 0; m &= m - 1 {
		row := m.Lowest()
		squeezed = squeezed.With(row - (unknown & (Bit(row) - 1)).Count())
	}
	return squeezed
}

// Lowest is the lowest row present. m must not be zero.
func (m Mask) Lowest() int { return bits.TrailingZeros64(uint64(m)) }

// Spread is the inverse of Squeeze.
func (m Mask) Spread(unknown Mask) (spread Mask) {
	if unknown == 0 {
		return m
	}
	row := -1
	for ; m != 0; m >>= 1 {
		for row++; unknown.Has(row); row++ {
		}
		if m&1 != 0 {
			spread = spread.With(row)
		}
	}
	return spread
}

// Bit is zero for a shift of 64 or more, which is what Has of an impossible
// row needs.
func Bit(row int) Mask { return 1 << uint(row) }
