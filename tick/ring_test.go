package tick_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
)

func TestRing(t *testing.T) {
	r := tick.NewRing[string](3)
	require.Equal(t, 4, r.Len(), "rounded up")
	require.Equal(t, tick.None, r.Newest())
	_, ok := r.Get(1)
	require.False(t, ok)
	require.Nil(t, r.Put(tick.None))
	require.Nil(t, r.Put(-3))

	*r.Put(1) = "one"
	*r.Put(4) = "four"
	v, ok := r.Get(1)
	require.True(t, ok)
	require.Equal(t, "one", *v)
	_, ok = r.Get(2)
	require.False(t, ok, "never put")

	place := r.Put(5)
	require.Equal(t, "one", *place, "the place still holds the tick that it takes over from")
	*place = "five"
	_, ok = r.Get(1)
	require.False(t, ok)
	require.Nil(t, r.Put(1), "too old")
	*r.Put(2) = "two"
	v, _ = r.Get(2)
	require.Equal(t, "two", *v, "older than the newest and still within")
	require.Same(t, v, r.Put(2))

	*r.Put(1000) = "far"
	for tk := tick.Tick(0); tk < 1000; tk++ {
		_, ok = r.Get(tk)
		require.False(t, ok)
	}
	require.Equal(t, tick.Tick(1000), r.Newest())
}

// TestRingModel compares the ring with a map that is trimmed to the newest ticks.
func TestRingModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := tick.NewRing[int](rapid.IntRange(-1, 20).Draw(t, "size"))
		size := tick.Tick(r.Len())
		model, newest := map[tick.Tick]int{}, tick.None
		at := tick.Tick(1)
		for i := range rapid.IntRange(0, 100).Draw(t, "steps") {
			at = max(at+tick.Tick(rapid.IntRange(-8, 12).Draw(t, "move")), -2)
			place := r.Put(at)
			require.Equal(t, at > 0 && at > newest-size, place != nil)
			if place != nil {
				*place, model[at], newest = i, i, max(newest, at)
			}
			asked := at + tick.Tick(rapid.IntRange(-25, 25).Draw(t, "asked"))
			want, ok := model[asked]
			ok = ok && asked > newest-size
			got, have := r.Get(asked)
			require.Equal(t, ok, have)
			if ok {
				require.Equal(t, want, *got)
			}
		}
	})
}

func TestRingAllocatesNothing(t *testing.T) {
	r, at := tick.NewRing[[4]int](64), tick.Tick(0)
	alloctest.Zero(t, 100, func() {
		at++
		r.Put(at)[0] = int(at)
		r.Get(at - 3)
	})
}
