package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPackedBits(t *testing.T) {
	base := make([]quantised, 901)
	now := make([]quantised, 901)
	require.Equal(t, packedCount, packedBits(now, base), "nothing differs")
	now[0].position[0] = 15
	require.Equal(t, packedCount+1+1+2+1+3*6, packedBits(now, base), "three short numbers")
	now[0].position[0] = 16
	require.Equal(t, packedCount+1+1+2+1+2*6+10, packedBits(now, base), "one is longer")
	now[0].position[0] = 256
	require.Equal(t, packedCount+1+1+2+1+packedPlace, packedBits(now, base), "in full")
	now[0] = quantised{largest: 2}
	require.Equal(t, packedCount+1+1+2+1+packedTurned, packedBits(now, base), "another component is left out")
	now[0] = quantised{interacting: true}
	require.Equal(t, packedCount+1+1+2, packedBits(now, base), "only the flag")
}

func TestPackedIndex(t *testing.T) {
	for step, want := range map[int]int{1: 1, 2: 4, 5: 4, 6: 6, 13: 6, 14: 8, 29: 8, 30: 10, 61: 10, 62: 12, 125: 12, 126: 16, 900: 16} {
		require.Equal(t, want, packedIndex(step), "%d", step)
	}
}

// Without loss the baseline is one round trip old; with loss on the way there or back, older.
func TestPackedAges(t *testing.T) {
	frames, moves := make([][]quantised, 400), &changes{at: make([][]int32, 1)}
	for f := range frames { // costs as many bits as the baseline's age in frames is long
		frames[f] = make([]quantised, 1)
		frames[f][0].position[0] = int32(f) * 40 // short up to 6 frames
		if f > 0 {
			moves.addBodies([]int{0})
		}
	}
	ten := 100 * time.Millisecond
	clean, err := playPacked(frames, moves, lossPoint{roundTrip: ten})
	require.NoError(t, err)
	perFrame := packedCount + 1 + 1 + 2 + 1 + 2*6 + 10
	require.InDelta(t, 399*perFrame, clean.bits, 200)
	require.Equal(t, 3, clean.staleness.quantile(0.5), "half a round trip")
	require.Equal(t, 3, clean.staleness.quantile(0.99))
	lossy, err := playPacked(frames, moves, lossPoint{roundTrip: ten, loss: 0.5})
	require.NoError(t, err)
	require.Greater(t, lossy.bits, clean.bits*11/10)
	require.Greater(t, lossy.staleness.quantile(0.99), 6)
}
