package wire

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// TestFetchChangesNothing asks for memory of all lengths, from any place on, up to the end of what was allocated.
func TestFetchChangesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(16, 2))
	for range 2000 {
		memory := make([]byte, random.IntN(4096))
		lanes := make([]uint32, random.IntN(1024))
		for i := range memory {
			memory[i] = byte(random.Uint32())
		}
		for i := range lanes {
			lanes[i] = random.Uint32()
		}
		wantMemory, wantLanes := slices.Clone(memory), slices.Clone(lanes)
		from := random.IntN(len(memory) + 1)
		Fetch(memory[from : from+random.IntN(len(memory)-from+1)])
		first := random.IntN(len(lanes) + 1)
		FetchLanes(lanes[first:])
		FetchOf(lanes[:first])
		pages := make([][]uint32, random.IntN(4))
		for i := range pages {
			if random.IntN(3) > 0 {
				pages[i] = lanes
			}
		}
		indexes := make([]uint32, random.IntN(40))
		for i := range indexes {
			indexes[i] = random.Uint32N(1 << (1 + random.IntN(31)))
		}
		wantIndexes := slices.Clone(indexes)
		FetchPaged(pages, uint(random.IntN(9)), random.IntN(9), indexes)
		require.Equal(t, wantIndexes, indexes)
		require.Equal(t, wantMemory, memory)
		require.Equal(t, wantLanes, lanes)
	}
	Fetch(nil)
	FetchLanes(nil)
	FetchPaged(nil, 8, 3, []uint32{1})
}

// Nothing that is asked for goes to the heap, or a client would allocate each tick.
func TestFetchAllocatesNothing(t *testing.T) {
	sum := byte(0)
	alloctest.Zero(t, 100, func() {
		var memory [256]byte
		var lanes [64]uint32
		Fetch(memory[:])
		FetchLanes(lanes[:])
		var pages [2][]uint32
		FetchPaged(pages[:], 8, 3, lanes[:])
		sum += memory[7] + byte(lanes[7])
	})
	require.Zero(t, sum)
}

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
