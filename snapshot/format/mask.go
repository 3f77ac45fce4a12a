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

// Lowest is the lowest row present. m must not be zero.
func (m Mask) Lowest() int { return bits.TrailingZeros64(uint64(m)) }

// Bit is zero for a shift of 64 or more, which is what Has of an impossible
// row needs.
func Bit(row int) Mask { return 1 << uint(row) }
