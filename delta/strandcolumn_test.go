package delta

import (
	"github.com/arche-netcode/netcode/quantize"

	"math/bits"
	"testing"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Rows that are taken together are those that are put one by one, up to the first that is not held in all versions.
func TestTakeIsPut(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		n, gap := rapid.SampledFrom([]int{3, 4, 3, 4, 1, 2}).Draw(t, "lanes"), rapid.IntRange(0, 2).Draw(t, "gap")
		set := rapid.OneOf(rapid.Just(^uint64(0)), rapid.Uint64(), rapid.Map(rapid.IntRange(0, 64), func(n int) uint64 { return 1<<n - 1 }),
			rapid.Map(rapid.IntRange(0, 63), func(n int) uint64 { return ^(1 << n) }))
		h := Held{First: 64 * rapid.Uint32Range(0, 9).Draw(t, "first"), InBase: set.Draw(t, "at T"), Gap: gap}
		if h.InBefore = h.InBase; rapid.Bool().Draw(t, "others at T'") {
			h.InBefore = set.Draw(t, "at T'")
		}
		lane := rapid.OneOf(rapid.Uint32Range(0, 2), rapid.SampledFrom([]uint32{1 << 31, 1<<31 + 1, 1<<31 - 1, 1<<32 - 1}))
		draw := func(rows, stride int) []uint32 {
			return rapid.SliceOfN(lane, rows*stride, rows*stride).Draw(t, "rows")
		}
		h.Now, h.Base, h.Before = draw(64, n), draw(bits.OnesCount64(h.InBase), n+gap), draw(bits.OnesCount64(h.InBefore), n+gap)
		indexes := rapid.SliceOfN(rapid.Uint32Range(h.First, h.First+70), 1, MaxStrands).Draw(t, "indexes")
		if rapid.IntRange(0, 2).Draw(t, "in a row") > 0 {
			for i := range indexes {
				indexes[i] = h.First + (indexes[0]-h.First)/2 + uint32(i)
			}
		}
		k := rapid.IntRange(0, len(indexes)-1).Draw(t, "from")

		var got, want Column
		got.Begin(n, kernel.Wide() && rapid.Bool().Draw(t, "several at a time"))
		want.Begin(n, false)
		to, end := got.Take(k, indexes, &h), k
		for ; end < len(indexes); end++ {
			in := indexes[end] - h.First
			if in >= 64 || h.InBase&h.InBefore>>in&1 == 0 {
				break
			}
			below := uint64(1)<<in - 1
			row := func(of []uint32, set uint64) []uint32 {
				return of[bits.OnesCount64(set&below)*(n+gap)+gap:][:n]
			}
			want.Put(end, h.Now[int(in)*n:][:n], row(h.Base, h.InBase), row(h.Before, h.InBefore))
		}
		if n != 3 && n != 4 || !kernel.HostLittle {
			require.Equal(t, k, to, "rows of other widths are none of its own")
			return
		}
		require.Equal(t, end, to)
		taken += to - k
		require.Equal(t, want.Any, got.Any)
		require.Equal(t, want.Differ, got.Differ)
		for at := range want.Now {
			if at%groupLanes < n {
				require.Equal(t, [3]uint32{want.Now[at], want.Base[at], want.Before[at]}, [3]uint32{got.Now[at], got.Base[at], got.Before[at]})
			}
		}
	})
	if !testing.Short() {
		require.Greater(t, taken, 40)
	}
}

// What is shorter than its sets say, as nothing of ours is, is not taken.
func TestTakeStaysInside(t *testing.T) {
	for _, cut := range []func(*Held){
		func(h *Held) { h.Now = h.Now[1:] }, func(h *Held) { h.Base = h.Base[1:] }, func(h *Held) { h.Before = h.Before[1:] },
	} {
		h := Held{Now: make([]uint32, 192), Base: make([]uint32, 256), Before: make([]uint32, 256), InBase: ^uint64(0), InBefore: ^uint64(0), Gap: 1}
		var c Column
		c.Begin(3, kernel.Wide())
		require.Equal(t, 2, c.Take(0, []uint32{0, 63}, &h))
		cut(&h)
		require.Zero(t, c.Take(0, []uint32{0, 63}, &h))
	}
	h := Held{Now: make([]uint32, 192), Base: make([]uint32, 256), Before: make([]uint32, 256), InBase: ^uint64(0), InBefore: ^uint64(0), Gap: 1}
	var c Column
	c.Begin(3, kernel.Wide())
	many := make([]uint32, MaxStrands+1)
	require.Equal(t, 3, c.Take(3, many, &h), "more bodies than go side by side")
	require.Equal(t, MaxStrands, c.Take(3, many[:MaxStrands], &h))
	require.Equal(t, 5, c.Take(5, many[:5], &h), "none")
}

// Making bodies side by side allocates nothing, rows that go their own way included.
func TestStrandsAllocateNothing(t *testing.T) {
	var s Strands
	var c Column
	which, err := Shipped().Find("rows.1", 2, WhichContexts(1))
	require.NoError(t, err)
	for _, d := range append(strandDeltas(t, false), strandDeltas(t, true)...) {
		v := quantize.Versions{Before: make([]uint32, len(d.lanes)), Age: 1, Span: 1}
		now := make([]uint32, len(d.lanes))
		turn := func(by uint32) {
			d.BeginColumn(&c)
			for k := range uint32(MaxStrands) {
				for i := range now {
					now[i] = (k + by) & uint32(d.top(i))
				}
				c.Put(int(k), now, v.Before, v.Before)
			}
			s.Begin(MaxStrands, which, []Column{c}, &v)
			d.CodeColumn(&s, &c, &v)
		}
		for by := range uint32(40) { // what is asked for the first time has its tables made
			turn(by)
		}
		if d.plan.Extrapolates() {
			continue // it is asked for its extrapolation by way of a pool
		}
		alloctest.Zero(t, 5, func() { turn(3) }, d.plan.Name())
	}
}
