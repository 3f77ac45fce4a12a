package snapshot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Changed indexes are listed once each, in ascending order; those that follow each other are one range.
func TestChangedIndexesAreListedOnce(t *testing.T) {
	const most = 400
	rapid.Check(t, func(t *rapid.T) {
		r := Replica{changed: changedIndexes{set: make([]uint64, (most+63)/64)}}
		var want []uint32
		next := uint32(0)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			index := rapid.Uint32Range(0, most-1).Draw(t, "index")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				r.ClearChanged()
				want = want[:0]
				require.False(t, slices.ContainsFunc(r.changed.set, func(w uint64) bool { return w != 0 }))
			case 1, 2, 3, 4, 5:
				index = min(next, most-1)
			}
			r.changed.add(index)
			next = index + 1
			if !slices.Contains(want, index) {
				want = append(want, index)
				slices.Sort(want)
			}
			var spelled []uint32
			for k, s := range r.ChangedSpans() {
				for i := range s.Count {
					spelled = append(spelled, s.First+i)
				}
				require.True(t, k == 0 || r.ChangedSpans()[k-1].end() != s.First)
			}
			require.Equal(t, want, spelled)
			require.Equal(t, slices.Contains(want, index), r.HasChanged(index))
			if rapid.Bool().Draw(t, "asked") {
				require.Equal(t, want, r.Changed())
			}
		}
	})
}
