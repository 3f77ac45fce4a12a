package netecs

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Fields and their handles are what a map of them says, after any changes.
func TestLinksAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l handleIndex
		model := map[int]handle{}
		numbers := []uint32{0, 1, 2, 3, 64, 65, 128, 1 << 31, 1<<32 - 1}
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			field := rapid.IntRange(0, 200).Draw(t, "field")
			number := rapid.SampledFrom(numbers).Draw(t, "number")
			h := handle{number, rapid.Uint32Range(0, 3).Draw(t, "generation")}
			l.set(field, h)
			if model[field] = h; number == 0 {
				delete(model, field)
			}
			if rapid.IntRange(0, 99).Draw(t, "clear") == 0 {
				l.clear()
				clear(model)
			}
		}
		require.Equal(t, len(model), l.count)
		for _, number := range numbers {
			want, got := []int{}, []int{}
			for field, h := range model {
				if h.number == number {
					want = append(want, field)
				}
			}
			for field := l.first(number); field >= 0; field = l.after(field) {
				got = append(got, field)
			}
			slices.Sort(want)
			slices.Sort(got)
			require.Equal(t, want, got, "%d", number)
		}
		for field := range 210 {
			require.Equal(t, model[field], l.get(field))
		}
	})
}
