package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAheadIsOfThePayloadAfterTheNext asks of each lane whether it is asked for: those of as many records as have come, behind as many more, which
// the cover says are left, and for which there is memory.
func TestAheadIsOfThePayloadAfterTheNext(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 16))
	none, some := 0, 0
	for range 5000 {
		lanes := make([]uint32, random.IntN(200))
		for i := range lanes {
			lanes[i] = uint32(i)
		}
		end := random.IntN(len(lanes) + 1)
		b := block{lanes: lanes[:random.IntN(end+1)]}
		size, left := 1+random.IntN(60), random.IntN(200)
		var want []uint32
		for i := range lanes {
			if i >= end+size && i < end+2*size && i < end+left {
				want = append(want, uint32(i))
			}
		}
		got := b.ahead(end, size, left)
		require.Equal(t, len(want), len(got), "of %d lanes, %d behind %d, %d left", len(lanes), size, end, left)
		if len(want) == 0 {
			none++
			continue
		}
		some++
		require.Equal(t, want, got)
		require.Same(t, &lanes[want[0]], &got[0])
	}
	require.NotZero(t, none)
	require.NotZero(t, some)
}
