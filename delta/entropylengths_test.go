package delta

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// dumbHuffman returns the cost of the best prefix code of any depth, and its depth: it joins the two lightest trees
// until one is left, and of equal ones the flattest.
func dumbHuffman(weights []uint64) (cost uint64, depth int) {
	type tree struct {
		weight uint64
		depth  int
	}
	var trees []tree
	for _, w := range weights {
		trees = append(trees, tree{weight: w})
	}
	for len(trees) > 1 {
		slices.SortFunc(trees, func(a, b tree) int {
			if a.weight != b.weight {
				return cmp.Compare(a.weight, b.weight)
			}
			return a.depth - b.depth
		})
		joined := tree{trees[0].weight + trees[1].weight, max(trees[0].depth, trees[1].depth) + 1}
		cost += joined.weight
		trees = append(trees[2:], joined)
	}
	return cost, trees[0].depth
}

// dumbLimited tries every code of at most limit bits, and returns the cost of the best.
func dumbLimited(weights []uint64, limit int) uint64 {
	heaviest := slices.Clone(weights)
	slices.Sort(heaviest)
	slices.Reverse(heaviest)
	best := uint64(math.MaxUint64)
	var try func(at, least, room int, cost uint64)
	try = func(at, least, room int, cost uint64) {
		if at == len(heaviest) {
			best = min(best, cost)
			return
		}
		for n := least; n <= limit; n++ {
			if room >= 1<<(limit-n) {
				try(at+1, n, room-1<<(limit-n), cost+heaviest[at]*uint64(n))
			}
		}
	}
	try(0, 1, 1<<limit, 0)
	return best
}

func costOf(weights []uint64, lengths []uint8) (cost uint64) {
	for symbol, n := range lengths {
		cost += weights[symbol] * uint64(n)
	}
	return cost
}

func drawWeights(t *rapid.T, most int) []uint64 {
	top := rapid.SampledFrom([]uint64{1, 3, 50, 1 << 20, 1 << 40}).Draw(t, "top")
	return rapid.SliceOfN(rapid.Uint64Range(1, top), 2, most).Draw(t, "weights")
}

func TestCodeLengthsAreAsGoodAsHuffman(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		weights := drawWeights(t, 200)
		lengths := codeLengths(weights, MaxCodeLength)
		require.Equal(t, 1<<MaxCodeLength, kraft(lengths))
		cost, depth := dumbHuffman(weights)
		if depth <= MaxCodeLength {
			compared++
			require.Equal(t, cost, costOf(weights, lengths))
		}
		require.GreaterOrEqual(t, costOf(weights, lengths), cost)
	})
	require.True(t, compared > 0 || testing.Short())
}

func TestCodeLengthsAreTheBestWithinTheLimit(t *testing.T) {
	limited := 0
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) uint64 {
			return 1 << rapid.IntRange(0, 12).Draw(t, "log") // steep, so that the limit matters
		}), 2, 8).Draw(t, "weights")
		limit := rapid.IntRange(3, 6).Draw(t, "limit")
		lengths := codeLengths(weights, limit)
		for _, n := range lengths {
			require.LessOrEqual(t, int(n), limit)
		}
		require.Equal(t, 1<<MaxCodeLength, kraft(lengths))
		require.Equal(t, dumbLimited(weights, limit), costOf(weights, lengths))
		if _, depth := dumbHuffman(weights); depth > limit {
			limited++
		}
	})
	require.True(t, limited > 0 || testing.Short(), "the limit never mattered")
}

// Weights like Fibonacci's numbers make the deepest Huffman tree there is.
func TestCodeLengthsOfTheDeepestTree(t *testing.T) {
	weights := []uint64{1, 1}
	for len(weights) < 40 {
		weights = append(weights, weights[len(weights)-1]+weights[len(weights)-2])
	}
	_, depth := dumbHuffman(weights)
	require.Greater(t, depth, MaxCodeLength)
	lengths := codeLengths(weights, MaxCodeLength)
	require.Equal(t, 1<<MaxCodeLength, kraft(lengths))
	require.Equal(t, uint8(MaxCodeLength), slices.Max(lengths))
}

func TestCodeLengthsOfLargeAlphabets(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4095, MaxSymbols} {
		weights := make([]uint64, n)
		for i := range weights {
			weights[i] = uint64(i)*uint64(i) + 1
		}
		lengths := codeLengths(weights, MaxCodeLength)
		require.Equal(t, 1<<MaxCodeLength, kraft(lengths))
		for i := 1; i < n; i++ {
			require.LessOrEqual(t, lengths[i], lengths[i-1], "the heavier is longer")
		}
	}
	// What weighs the same is in order of the symbols, so that a table never depends on how sorting works.
	require.Equal(t, []uint8{2, 2, 2, 3, 3}, codeLengths([]uint64{1, 1, 1, 1, 1}, MaxCodeLength))
}
