package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// Against a map, over many rounds, also where the rounds go around.
func TestGroupSetAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := groupSet{round: ^uint32(0) - 2}
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			g.clear()
			require.Empty(t, g.list)
			held, order := map[uint32]bool{}, []uint32(nil)
			step := rapid.SampledFrom([]uint32{1, 64, 1 << 16, 1 << 24}).Draw(t, "step")
			for _, n := range rapid.SliceOfN(rapid.Uint32Range(0, 99), 0, 200).Draw(t, "groups") {
				group := n*step + 1
				if g.add(group); !held[group] {
					held[group], order = true, append(order, group)
				}
			}
			require.ElementsMatch(t, order, g.list)
			if len(order) > 0 {
				require.Equal(t, order, g.list, "in the order in which they came")
			}
		}
	})
}

// However many groups a unit has, each is found by looking at few.
func TestGroupSetOfMany(t *testing.T) {
	var g groupSet
	g.clear()
	const n = 20000
	for _, step := range []uint32{1, 64, 1 << 16} {
		for i := range uint32(n) {
			g.add(i/2*step + 1)
		}
		require.Len(t, g.list, n/2, "each %d", step)
		longest, taken := 0, 0
		for i := range 2 * len(g.slots) {
			if taken++; g.slots[i%len(g.slots)].round != g.round {
				longest, taken = max(longest, taken), 0
			}
		}
		require.Less(t, longest, 300, "each %d", step)
		g.clear()
	}
	alloctest.Zero(t, 10, func() {
		g.clear()
		for i := range uint32(n) {
			g.add(i)
		}
	})
}
