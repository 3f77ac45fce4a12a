package delta

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// observation is one counted symbol.
type observation struct{ context, symbol int }

func buildFrom(t require.TestingT, list []observation, symbols, contexts int) *Tables {
	trainer := NewTrainer()
	counter := trainer.Table("t", symbols, contexts)
	for _, o := range list {
		counter.Count(o.context, o.symbol)
	}
	set, err := trainer.Build()
	require.NoError(t, err)
	return set
}

func TestTrainerDependsOnCountsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		symbols, contexts := rapid.IntRange(1, 60).Draw(t, "symbols"), rapid.IntRange(1, 5).Draw(t, "contexts")
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) observation {
			return observation{rapid.IntRange(0, contexts-1).Draw(t, "context"), rapid.IntRange(0, symbols-1).Draw(t, "symbol")}
		}), 0, 200).Draw(t, "seen")
		set := buildFrom(t, list, symbols, contexts)
		shuffled := rapid.Permutation(list).Draw(t, "shuffled")
		require.Equal(t, set.AppendText(nil), buildFrom(t, shuffled, symbols, contexts).AppendText(nil))
		table, err := set.Find("t", symbols, contexts)
		require.NoError(t, err)
		for context := range contexts {
			lengths := make([]uint8, symbols)
			for symbol := range symbols {
				lengths[symbol] = uint8(table.Length(context, symbol))
			}
			require.Equal(t, 1<<MaxCodeLength, kraft(lengths), "every symbol has a code, and no bits are left over")
		}
	})
}

// A rarely counted context is coded like the whole table, a frequent one by its own counts.
func TestTrainerBorrows(t *testing.T) {
	var list []observation
	for range 10000 {
		list = append(list, observation{0, 7})
	}
	for range 3000 {
		list = append(list, observation{1, 9})
	}
	list = append(list, observation{2, 20})
	table := buildFrom(t, list, 64, 4).All()[0]
	require.Equal(t, 1, table.Length(0, 7))
	require.Equal(t, 1, table.Length(1, 9))
	require.Equal(t, 1, table.Length(3, 7), "never seen: as the whole table")
	require.LessOrEqual(t, table.Length(2, 7), 2)
	require.LessOrEqual(t, table.Length(2, 20), 4)
	require.Less(t, table.Length(2, 20), table.Length(2, 30))
}

// Counts saturate, and the largest do not overflow.
func TestTrainerSaturates(t *testing.T) {
	trainer := NewTrainer()
	counter := trainer.Table("t", MaxSymbols, 4)
	for i := range counter.counts {
		counter.counts[i] = mostCounts
	}
	counter.Count(0, 0)
	require.Equal(t, uint64(mostCounts), counter.counts[0])
	set, err := trainer.Build()
	require.NoError(t, err)
	require.Equal(t, 12, set.All()[0].Length(3, 4095))
	// The bound that codeLengths requires, at the largest sizes that can be trained.
	most := smoothed(mostCounts, mostCounts*maxContexts, mostCounts*maxContexts)
	require.Less(t, float64(most)*MaxSymbols*MaxCodeLength, math.Ldexp(1, 64))
}

// A table that does not fit into a set is left out alone: smaller ones with fewer counts are still taken.
func TestATableThatDoesNotFitLeavesRoomForTheNext(t *testing.T) {
	full := [][2]int{{2, maxContexts}, {2, maxContexts}, {2, maxContexts}, {2, maxContexts}, {2, maxContexts}, {2, maxContexts}, {2, maxContexts}}
	for _, test := range []struct {
		tables [][2]int // symbols and contexts, highest count first
		known  []string
		left   []string
		codes  int
	}{
		{append(full, [][2]int{{2, 900}, {2, 193}, {2, 100}, {2, 93}, {2, 24}, {2, 1}}...), strings.Split("abcdefghjl", ""), []string{"i", "k", "m"}, maxCodes},
		{append(full, [2]int{2, maxContexts}), strings.Split("abcdefgh", ""), nil, maxCodes},
		{[][2]int{{1000, maxContexts}, {200, 200}, {4, 100}}, []string{"a", "c"}, []string{"b"}, maxContexts + 100},
	} {
		trainer := NewTrainer()
		for i, size := range test.tables {
			c := trainer.Table(string(rune('a'+i)), size[0], size[1])
			for n := range 100 - i {
				c.Count(n%size[1], 0)
			}
		}
		trainer.Table("few", 2, 1).Count(0, 0)
		tables, err := trainer.BuildKnown(10)
		require.NoError(t, err)
		var known []string
		codes := 0
		for _, table := range tables.All() {
			known = append(known, table.Name())
			codes += table.Contexts()
		}
		require.Equal(t, test.known, known)
		require.Equal(t, test.left, trainer.LeftOut(10))
		require.Equal(t, test.codes, codes)
		require.LessOrEqual(t, len(tables.AppendText(nil)), maxTableText)
	}
}

func TestTrainerPanicsOnMisuse(t *testing.T) {
	trainer := NewTrainer()
	counter := trainer.Table("t", 4, 2)
	for _, misuse := range []func(){
		func() { trainer.Table("t", 4, 2) },
		func() { trainer.Table("a b", 4, 2) },
		func() { trainer.Table("u", 0, 2) },
		func() { trainer.Table("u", MaxSymbols+1, 2) },
		func() { trainer.Table("u", 4, 0) },
		func() { trainer.Table("u", 4, maxContexts+1) },
		func() { counter.Count(0, 4) },
		func() { counter.Count(2, 0) },
		func() { counter.Count(0, -1) },
		func() { counter.Count(-1, 0) },
	} {
		require.Panics(t, misuse)
	}
}

// Trained tables cost little more than the entropy of their training data.
func TestTrainedTablesComeCloseToTheEntropy(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	trainer, counts := NewTrainer(), map[int]int{}
	counter := trainer.Table("t", tokenSymbols(20), 1)
	var values []int64
	for range 20000 {
		v := int64(random.NormFloat64() * 40)
		values = append(values, v)
		symbol, _, _ := Token(v)
		counts[symbol]++
		countToken(counter, 0, v)
	}
	set, err := trainer.Build()
	require.NoError(t, err)
	table, spent, entropy := set.All()[0], 0, 0.0
	for _, v := range values {
		symbol, _, _ := Token(v)
		spent += table.Length(0, symbol)
	}
	for _, n := range counts {
		entropy -= float64(n) * math.Log2(float64(n)/float64(len(values)))
	}
	require.InDelta(t, entropy, float64(spent), entropy*0.02)
	require.GreaterOrEqual(t, float64(spent), entropy)
}

// tokenSymbols is the alphabet of tokens for magnitudes up to width bits.
func tokenSymbols(width int) int { return 3 + 4*(width-1) }

// countToken counts the token of v.
func countToken(c *Counter, context int, v int64) {
	symbol, _, _ := Token(v)
	c.Count(context, symbol)
}

// tokenLength returns how many bits v takes in a context.
func tokenLength(t *Table, context int, v int64) int {
	symbol, _, n := Token(v)
	return t.Length(context, symbol) + int(n)
}

// flatSource is a TableSource with codes of about equal length.
type flatSource struct{}

// Table implements TableSource.
func (flatSource) Table(_, class string, symbols, contexts int) (*Table, error) {
	return flatTable(class, symbols, contexts)
}
