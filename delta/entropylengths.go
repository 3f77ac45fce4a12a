package delta

import (
	"cmp"
	"slices"
)

// leaf is a symbol while its code's length is looked for.
type leaf struct {
	weight uint64
	symbol int
}

// codeLengths returns the lengths of the complete prefix code of at most limit bits that makes the sum of weight ×
// length least, by package-merge (Larmore and Hirschberg, 1990). Every symbol gets a code; equal weights get the shorter
// code for the lower symbol, so the answer depends on nothing but the weights. Weights must be above zero and their sum,
// times limit, must fit 64 bits; there must be no more than 2^limit of them.
func codeLengths(weights []uint64, limit int) []uint8 {
	lengths := make([]uint8, len(weights))
	if len(weights) < 2 {
		return lengths
	}
	leaves := make([]leaf, len(weights))
	for symbol, w := range weights {
		leaves[symbol] = leaf{w, symbol}
	}
	slices.SortFunc(leaves, func(a, b leaf) int {
		return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(b.symbol, a.symbol))
	})
	// A level's list holds every leaf, and every two neighbours of the level below as a package, by weight. What is
	// kept of each level is which of its items are leaves.
	isLeaf := make([][]bool, limit)
	var list, packages []uint64
	for level := range isLeaf {
		list, isLeaf[level] = mergeLevel(leaves, packages)
		packages = packages[:0:0]
		for i := 0; i+1 < len(list); i += 2 {
			packages = append(packages, list[i]+list[i+1])
		}
	}
	// The 2n-2 lightest items of the top level are the code: a leaf there costs its symbol one bit more, a package
	// stands for two items of the level below.
	take := 2*len(leaves) - 2
	for level := limit - 1; level >= 0 && take > 0; level-- {
		chosen := 0
		for _, l := range isLeaf[level][:take] {
			if l {
				lengths[leaves[chosen].symbol]++
				chosen++
			}
		}
		take = 2 * (take - chosen)
	}
	return lengths
}

// mergeLevel merges leaves and packages by weight, a leaf first where they weigh the same.
func mergeLevel(leaves []leaf, packages []uint64) (list []uint64, isLeaf []bool) {
	list = make([]uint64, 0, len(leaves)+len(packages))
	isLeaf = make([]bool, 0, cap(list))
	for i, j := 0, 0; i < len(leaves) || j < len(packages); {
		if j == len(packages) || i < len(leaves) && leaves[i].weight <= packages[j] {
			list, isLeaf = append(list, leaves[i].weight), append(isLeaf, true)
			i++
			continue
		}
		list, isLeaf = append(list, packages[j]), append(isLeaf, false)
		j++
	}
	return list, isLeaf
}
