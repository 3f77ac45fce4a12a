package snapshot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestTouches holds what was touched against a list to which each index is added once: over runs behind the last one, within it,
// over it and elsewhere.
func TestTouches(t *testing.T) {
	const most = 400
	rapid.Check(t, func(t *rapid.T) {
		r := Replica{touched: touches{set: bitset(nil).grownTo(most)}}
		var want []uint32
		end := uint32(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			index := rapid.Uint32Range(0, most-1).Draw(t, "index")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				r.ClearChanged()
				want = want[:0]
				require.Zero(t, r.touched.set.count())
			case 1, 2, 3, 4:
				index = min(end, most-1)
			case 5:
				index = min(index, end)
			}
			n := rapid.IntRange(1, min(130, most-int(index))).Draw(t, "n")
			r.touched.add(index, n)
			end = index + uint32(n)
			for i := index; i < end; i++ {
				if !slices.Contains(want, i) {
					want = append(want, i)
				}
			}
			require.Equal(t, len(want), r.touched.n)
			var spelled []uint32
			for k, s := range r.ChangedSpans() {
				for i := range s.Count {
					spelled = append(spelled, s.First+i)
				}
				require.True(t, k == 0 || r.ChangedSpans()[k-1].end() != s.First, "those that lie together are one")
			}
			require.Equal(t, want, spelled)
			if rapid.Bool().Draw(t, "asked") {
				require.Equal(t, want, r.Changed())
			}
		}
	})
}

// TestFollowed holds those that were followed against a list of them.
func TestFollowed(t *testing.T) {
	const most = 300
	rapid.Check(t, func(t *rapid.T) {
		var f followed
		f.add(0, 7, most)
		f.add(100, 3, most)
		f.clear() // of an earlier tick
		var want [most]bool
		count, end := 0, 0
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			from := end
			if rapid.IntRange(0, 3).Draw(t, "elsewhere") == 0 {
				from = rapid.IntRange(0, most-1).Draw(t, "from")
			}
			upTo := from
			for upTo < min(most, from+rapid.IntRange(1, 90).Draw(t, "n")) && !want[upTo] {
				want[upTo] = true
				upTo++
			}
			if upTo == from {
				continue
			}
			f.add(uint32(from), upTo-from, most)
			count, end = count+upTo-from, min(upTo, most-1)
			require.Equal(t, count, f.n)
			for i, is := range want {
				require.Equal(t, is, f.has(uint32(i)), i)
			}
		}
	})
}
