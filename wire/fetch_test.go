package wire

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// TestFetchRowsChangesNothing asks for rows of values of several sizes, those of ids from the first on, and beyond the last.
func TestFetchRowsChangesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(16, 3))
	for range 500 {
		width, first := 1+random.IntN(6), random.Uint32N(1000)
		lanes, pairs := make([]uint32, width*random.IntN(100)), make([][2]uint64, width*random.IntN(100))
		for i := range lanes {
			lanes[i] = random.Uint32()
		}
		for i := range pairs {
			pairs[i] = [2]uint64{random.Uint64(), random.Uint64()}
		}
		ids := make([]NetworkID, random.IntN(40))
		for i := range ids {
			ids[i] = NetworkID{Index: first + random.Uint32N(120), Generation: random.Uint32()}
		}
		wantLanes, wantPairs, wantIDs := slices.Clone(lanes), slices.Clone(pairs), slices.Clone(ids)
		FetchRows(lanes, width, first, ids)
		FetchRows(pairs, width, first, ids)
		require.Equal(t, wantLanes, lanes)
		require.Equal(t, wantPairs, pairs)
		require.Equal(t, wantIDs, ids)
	}
	alloctest.Zero(t, 100, func() {
		lanes, ids := [6]uint32{}, [2]NetworkID{{Index: 1}, {}}
		FetchRows(lanes[:], 3, 0, ids[:])
	})
}
