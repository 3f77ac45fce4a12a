//go:build netcode_256

package format

import "math/bits"

// MaxRows is the number of replicated component types a protocol may have in this build.
const MaxRows = 256

// MoreRows ends an error about more components, with the way out.
const MoreRows = ": join some into one"

// words are the rows of a Mask, a bit for each. They are no array: the compiler keeps fields in registers.
type words struct{ a, b, c, d uint64 }

// Bit returns the mask with row alone. It is empty for a row that no protocol has.
func Bit(row int) Mask {
	return Mask{words{1 << uint(row), 1 << uint(row-64), 1 << uint(row-128), 1 << uint(row-192)}}
}

// FromWords returns the mask whose rows are the bits of words: row 0 is the lowest bit of the first one.
func FromWords(rows ...uint64) Mask {
	var w [MaskWords]uint64
	copy(w[:], rows)
	return Mask{words{w[0], w[1], w[2], w[3]}}
}

// Word returns rows 64i to 64i+63, the first of them as the lowest bit.
func (m Mask) Word(i int) uint64 { return [MaskWords]uint64{m.a, m.b, m.c, m.d}[i] }

// Union returns the rows that are in m or in n.
func (m Mask) Union(n Mask) Mask { return Mask{words{m.a | n.a, m.b | n.b, m.c | n.c, m.d | n.d}} }

// Intersect returns the rows that are in both.
func (m Mask) Intersect(n Mask) Mask { return Mask{words{m.a & n.a, m.b & n.b, m.c & n.c, m.d & n.d}} }

// Minus returns the rows of m that are not in n.
func (m Mask) Minus(n Mask) Mask { return Mask{words{m.a &^ n.a, m.b &^ n.b, m.c &^ n.c, m.d &^ n.d}} }

// Not returns the rows that are not in m.
func (m Mask) Not() Mask { return Mask{words{^m.a, ^m.b, ^m.c, ^m.d}} }

// Below returns the rows of m whose numbers are below row.
func (m Mask) Below(row int) Mask {
	w := [MaskWords]uint64{m.a, m.b, m.c, m.d}
	for i := range w {
		w[i] &= 1<<uint(max(row-64*i, 0)) - 1
	}
	return Mask{words{w[0], w[1], w[2], w[3]}}
}

// IsZero reports whether no row is present.
func (m Mask) IsZero() bool { return m.a|m.b|m.c|m.d == 0 }

// Count returns the number of rows present.
func (m Mask) Count() int {
	return bits.OnesCount64(m.a) + bits.OnesCount64(m.b) + bits.OnesCount64(m.c) + bits.OnesCount64(m.d)
}

// Lowest returns the lowest row present. m must not be empty.
func (m Mask) Lowest() int {
	switch {
	case m.a != 0:
		return bits.TrailingZeros64(m.a)
	case m.b != 0:
		return 64 + bits.TrailingZeros64(m.b)
	case m.c != 0:
		return 128 + bits.TrailingZeros64(m.c)
	}
	return 192 + bits.TrailingZeros64(m.d)
}

// Rest returns m without its lowest row.
func (m Mask) Rest() Mask {
	if m.a != 0 {
		m.a &= m.a - 1
		return m
	}
	return m.restAbove()
}

// restAbove is Rest where the first 64 rows are absent.
func (m Mask) restAbove() Mask {
	switch {
	case m.b != 0:
		m.b &= m.b - 1
	case m.c != 0:
		m.c &= m.c - 1
	default:
		m.d &= m.d - 1
	}
	return m
}

// Hash mixes the rows into the upper bits of a number.
func (m Mask) Hash() uint64 { return (m.a ^ m.b<<16 ^ m.c<<32 ^ m.d<<48) * 0x9E37_79B9_7F4A_7C15 }
