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

// TestTouchesApart holds the order in which somebody is touched who is in front of what was touched before: nobody is listed twice, and
// nothing remains of it when a new list begins.
func TestTouchesApart(t *testing.T) {
	r := Replica{touched: touches{set: bitset(nil).grownTo(400)}}
	touch := func(index uint32, n int) { r.touched.add(index, n) }
	for range 2 {
		touch(10, 3)
		touch(5, 5) // up to where the first begin
		touch(10, 2)
		require.Equal(t, []uint32{10, 11, 12, 5, 6, 7, 8, 9}, r.Changed(), "who was touched is not listed again")
		touch(8, 6)
		require.Equal(t, []uint32{10, 11, 12, 5, 6, 7, 8, 9, 13}, r.Changed())
		r.ClearChanged()
		require.Zero(t, r.touched.set.count(), "all of the last list is forgotten")
	}
	touch(1, 1)
	touch(200, 70)
	touch(0, 1)
	r.ClearChanged()
	require.Zero(t, r.touched.set.count())
	touch(230, 1)
	touch(201, 1)
	require.Equal(t, []uint32{230, 201}, r.Changed())
}

// TestFollowedApart holds those that were followed before others in front of them were.
func TestFollowedApart(t *testing.T) {
	var f followed
	f.add(100, 3, 300)
	f.add(0, 7, 300)
	f.add(7, 1, 300)
	for place := range uint32(300) {
		require.Equal(t, place < 8 || place >= 100 && place < 103, f.has(place), place)
	}
	require.Equal(t, 11, f.n)
	f.clear()
	f.add(0, 2, 300)
	require.False(t, f.has(101))
}

// A set grows to what it will need at once, and not word by word.
func TestFollowedApartGrowsOnce(t *testing.T) {
	var f followed
	f.addApart(3, 1, 1000)
	room := cap(f.set)
	f.addApart(900, 5, 1000)
	require.Equal(t, room, cap(f.set), "there was room for all from the first on")
	require.True(t, f.has(904))
	require.False(t, f.has(899))
	f.clear()
	f.addApart(3, 1, 1000)
	require.False(t, f.has(904), "what is grown into again is empty")
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
