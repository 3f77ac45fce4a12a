package netecs

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Who lies on a circle is who comes back to itself, after any turns; and who was told of is at least who changed.
func TestCirclesAgainstWalking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 12
		var c cycleFinder
		model := [n]int{}
		comesBack := func(start int) bool {
			at := start
			for range n {
				if at = model[at] - 1; at < 0 || at == start {
					break
				}
			}
			return at == start
		}
		before := [n]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "captures") {
			for range rapid.IntRange(0, 6).Draw(t, "turns") {
				index, target := rapid.IntRange(0, n-1).Draw(t, "index"), rapid.IntRange(0, n).Draw(t, "target")
				model[index] = target
				c.setTarget(uint32(index), uint32(target)-1, target > 0)
			}
			told := map[uint32]bool{}
			for _, index := range c.settle() {
				told[index] = true
			}
			for i := range n {
				now := comesBack(i)
				require.Equal(t, now, c.on(uint32(i)), "%d in %v", i, model)
				require.True(t, now == before[i] || told[uint32(i)])
				before[i] = now
			}
		}
		c.clear()
		require.Empty(t, c.settle())
		require.False(t, c.on(3))
	})
}
