package format

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestMasksAreSetsOfRows compares masks with maps.
func TestMasksAreSetsOfRows(t *testing.T) {
	type set map[int]bool
	draw := func(t *rapid.T, name string) (m Mask, s set) {
		s = set{}
		for _, row := range rapid.SliceOf(rapid.IntRange(0, MaxRows-1)).Draw(t, name) {
			m, s[row] = m.With(row), true
		}
		return m, s
	}
	same := func(t *rapid.T, has func(row int) bool, m Mask) {
		count, rest := 0, m
		for row := range MaxRows {
			require.Equal(t, has(row), m.Has(row), "row %d", row)
			require.Equal(t, count, m.Below(row).Count())
			if !has(row) {
				continue
			}
			count++
			require.Equal(t, row, rest.Lowest())
			rest = rest.Rest()
		}
		require.True(t, rest.IsZero())
		require.Equal(t, count == 0, m.IsZero())
		require.Equal(t, count, m.Count())
		require.False(t, m.Has(-1) || m.Has(MaxRows))
	}
	rapid.Check(t, func(t *rapid.T) {
		a, sa := draw(t, "a")
		b, sb := draw(t, "b")
		row := rapid.IntRange(0, MaxRows-1).Draw(t, "row")
		same(t, func(r int) bool { return sa[r] }, a)
		same(t, func(r int) bool { return !sa[r] }, a.Not())
		same(t, func(r int) bool { return sa[r] && r != row }, a.Without(row))
		same(t, func(r int) bool { return sa[r] || sb[r] }, a.Union(b))
		same(t, func(r int) bool { return sa[r] && sb[r] }, a.Intersect(b))
		same(t, func(r int) bool { return sa[r] && !sb[r] }, a.Minus(b))
		same(t, func(r int) bool { return sa[r] != sb[r] }, a.Differ(b))
		require.Equal(t, !a.Intersect(b).IsZero(), a.Overlaps(b))
		require.Equal(t, a.Union(b) == b, a.Within(b))
		var words []uint64
		for i := range MaskWords {
			words = append(words, a.Word(i))
		}
		require.Equal(t, a, FromWords(words...))
		same(t, func(int) bool { return true }, AllRows())
		require.Equal(t, "[0 2 63]", Bit(63).With(2).With(0).String())
	})
}
