package peer

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWindowAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w window
		through := map[uint64]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			from := w.base + rapid.Uint64Range(0, ReliableWindow-1).Draw(t, "n")
			end := from + rapid.Uint64Range(1, 200).Draw(t, "run")
			for n := from; n < min(end, w.base+ReliableWindow); n++ {
				require.Equal(t, through[n], w.has(n), "%d", n)
				if n < w.base {
					continue
				}
				w.set(n)
				through[n] = true
			}
			if rapid.Bool().Draw(t, "close the gap") {
				n := w.base
				w.set(n)
				through[n] = true
			}
			oldest := uint64(0)
			for through[oldest] {
				oldest++
			}
			require.Equal(t, oldest, w.base)
			for n := w.base; n < w.base+ReliableWindow; n++ {
				require.Equal(t, through[n], w.has(n), "%d from %d", n, w.base)
			}
		}
	})
}
