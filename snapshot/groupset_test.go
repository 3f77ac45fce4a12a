package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Against a map, over many rounds.
func TestGroupSetAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := groupSet{}
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
