package kernel

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/rowtest"
)

// Take gives the same rows as Put one by one, up to the first entity that lacks a version.
func TestTakeIsPut(t *testing.T) {
	taken := 0
	rapid.Check(t, takes(&taken))
	if !testing.Short() {
		require.Greater(t, taken, 40)
	}
}

// FuzzTake is TestTakeIsPut for a fuzzer.
func FuzzTake(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(takes(new(int)))) }

func takes(taken *int) func(*rapid.T) {
	return func(t *rapid.T) {
		n := rapid.SampledFrom([]int{3, 4, 3, 4, 1, 2}).Draw(t, "lanes")
		set := rapid.OneOf(rapid.Just(^uint64(0)), rapid.Uint64(), rapid.Map(rapid.IntRange(0, 64), func(n int) uint64 { return 1<<n - 1 }),
			rapid.Map(rapid.IntRange(0, 63), func(n int) uint64 { return ^(1 << n) }))
		h := RowSlice{First: 64 * rapid.Uint32Range(0, 9).Draw(t, "first"), InBase: set.Draw(t, "at T")}
		if h.InBefore = h.InBase; rapid.Bool().Draw(t, "others at T'") {
			h.InBefore = set.Draw(t, "at T'")
		}
		lane := rapid.OneOf(rapid.Uint32Range(0, 2), rapid.SampledFrom([]uint32{1 << 31, 1<<31 + 1, 1<<31 - 1, 1<<32 - 1}))
		draw := func(rows, stride int) []uint32 {
			return rapid.SliceOfN(lane, rows*stride, rows*stride).Draw(t, "rows")
		}
		h.Now, h.Base, h.Before = draw(64, n), draw(bits.OnesCount64(h.InBase), n), draw(bits.OnesCount64(h.InBefore), n)
		indexes := rapid.SliceOfN(rapid.Uint32Range(h.First, h.First+70), 1, MaxStreams).Draw(t, "indexes")
		if rapid.IntRange(0, 2).Draw(t, "in a row") > 0 {
			for i := range indexes {
				indexes[i] = h.First + (indexes[0]-h.First)/2 + uint32(i)
			}
		}
		k := rapid.IntRange(0, len(indexes)-1).Draw(t, "from")

		var got, want Column
		got.Begin(n, Wide() && rapid.Bool().Draw(t, "several at a time"))
		want.Begin(n, false)
		to, end := got.Take(k, indexes, &h), k
		for ; end < len(indexes); end++ {
			in := indexes[end] - h.First
			if in >= 64 || h.InBase&h.InBefore>>in&1 == 0 {
				break
			}
			below := uint64(1)<<in - 1
			row := func(of []uint32, set uint64) []uint32 {
				return of[bits.OnesCount64(set&below)*n:][:n]
			}
			want.Put(end, h.Now[int(in)*n:][:n], row(h.Base, h.InBase), row(h.Before, h.InBefore))
		}
		require.Equal(t, end, to)
		*taken += to - k
		require.Equal(t, want.Any, got.Any)
		require.Equal(t, want.Differ, got.Differ)
		for at := range want.Now {
			if at%Lanes < n {
				require.Equal(t, [3]uint32{want.Now[at], want.Base[at], want.Before[at]}, [3]uint32{got.Now[at], got.Base[at], got.Before[at]})
			}
		}
	}
}

// Take copies nothing from a RowSlice that is shorter than its sets.
func TestTakeStaysInside(t *testing.T) {
	for _, cut := range []func(*RowSlice){
		func(h *RowSlice) { h.Now = h.Now[1:] }, func(h *RowSlice) { h.Base = h.Base[1:] }, func(h *RowSlice) { h.Before = h.Before[1:] },
	} {
		h := RowSlice{Now: make([]uint32, 192), Base: make([]uint32, 192), Before: make([]uint32, 192), InBase: ^uint64(0), InBefore: ^uint64(0)}
		var c Column
		c.Begin(3, Wide())
		require.Equal(t, 2, c.Take(0, []uint32{0, 63}, &h))
		cut(&h)
		require.Zero(t, c.Take(0, []uint32{0, 63}, &h))
	}
	h := RowSlice{Now: make([]uint32, 192), Base: make([]uint32, 192), Before: make([]uint32, 192), InBase: ^uint64(0), InBefore: ^uint64(0)}
	var c Column
	c.Begin(3, Wide())
	many := make([]uint32, MaxStreams+1)
	require.Equal(t, 3, c.Take(3, many, &h), "more bodies than go side by side")
	require.Equal(t, MaxStreams, c.Take(3, many[:MaxStreams], &h))
	require.Equal(t, 5, c.Take(5, many[:5], &h), "none")
}
