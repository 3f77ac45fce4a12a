package delta

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/wire"
)

// drawLengths draws the lengths of a complete code, by splitting random leaves of a tree.
func drawLengths(t *rapid.T, most int) []uint8 {
	lengths := []uint8{0}
	for range rapid.IntRange(0, most-1).Draw(t, "splits") {
		at := rapid.IntRange(0, len(lengths)-1).Draw(t, "at")
		if rapid.Bool().Draw(t, "deepest") {
			for i, n := range lengths {
				if n >= lengths[at] && n < MaxCodeLength {
					at = i
				}
			}
		}
		if lengths[at] < MaxCodeLength {
			lengths[at]++
			lengths = append(lengths, lengths[at])
		}
	}
	return lengths
}

// kraft returns the sum of 2^-length in parts of 2^-15.
func kraft(lengths []uint8) (sum int) {
	for _, n := range lengths {
		sum += 1 << (MaxCodeLength - n)
	}
	return sum
}

// slowCode is a prefix code by the definition in Code's comment, bit by bit.
type slowCode map[string]int

func newSlowCode(lengths []uint8) slowCode {
	slow, code, last := slowCode{}, 0, 0
	for n := 0; n <= MaxCodeLength; n++ {
		for symbol, length := range lengths {
			if int(length) != n {
				continue
			}
			code <<= n - last
			last = n
			text := ""
			for i := n - 1; i >= 0; i-- {
				text += string(rune('0' + code>>i&1))
			}
			slow[text] = symbol
			code++
		}
	}
	return slow
}

// read reads bits until they form a code.
func (s slowCode) read(r *wire.BitReader) (symbol int, ok bool) {
	text := ""
	for {
		if symbol, ok := s[text]; ok {
			return symbol, true
		}
		if r.Remaining() == 0 || len(text) > MaxCodeLength {
			return 0, false
		}
		text += string(rune('0' + r.Read(1)))
	}
}

func TestCodeRoundTripAndSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := drawLengths(t, 300)
		c, err := NewCode(lengths)
		require.NoError(t, err)
		require.Equal(t, len(lengths), c.Symbols())
		symbols := rapid.SliceOfN(rapid.IntRange(0, len(lengths)-1), 0, 100).Draw(t, "symbols")
		raw := uint(rapid.IntRange(0, 64).Draw(t, "raw"))
		buf := make([]byte, 1200)
		w := wire.NewBitWriter(buf)
		for _, symbol := range symbols {
			before := w.Bits()
			c.Write(&w, symbol)
			require.Equal(t, int(lengths[symbol]), w.Bits()-before)
			require.Equal(t, int(lengths[symbol]), c.Length(symbol))
			w.Write(^uint64(0), raw)
		}
		n := w.Finish()
		fast, plain, slow := wire.NewBitReader(buf[:n]), wire.NewBitReader(buf[:n]), newSlowCode(lengths)
		require.Len(t, slow, len(lengths))
		for _, symbol := range symbols {
			require.Equal(t, symbol, c.Read(&fast))
			got, ok := slow.read(&plain)
			require.True(t, ok)
			require.Equal(t, symbol, got)
			require.Equal(t, low(^uint64(0), raw), fast.Read(raw))
			plain.Read(raw)
			require.Equal(t, plain.Remaining(), fast.Remaining())
		}
		require.True(t, fast.Done())
	})
}

// Any bit string is a sequence of codes: the fast and the slow reader find the same symbols and the same end.
func TestCodeReadsAnyBitsAsTheSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := drawLengths(t, 200)
		if len(lengths) == 1 {
			lengths = []uint8{1, 1}
		}
		c, err := NewCode(lengths)
		require.NoError(t, err)
		b := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")
		compareWithSlow(t, c, newSlowCode(lengths), b)
	})
}

func compareWithSlow(t require.TestingT, c *Code, slow slowCode, b []byte) {
	fast, plain := wire.NewBitReader(b), wire.NewBitReader(b)
	for {
		want, ok := slow.read(&plain)
		got := c.Read(&fast)
		require.Equal(t, want, got)
		require.Equal(t, !ok, fast.Failed())
		if !ok {
			require.Zero(t, fast.Remaining())
			require.Zero(t, c.Read(&fast), "after a failure")
			return
		}
		require.Equal(t, plain.Remaining(), fast.Remaining())
	}
}

func TestCodeIsAsDrawn(t *testing.T) {
	c, err := NewCode([]uint8{2, 3, 2, 3, 2})
	require.NoError(t, err)
	buf := make([]byte, 2)
	w := wire.NewBitWriter(buf)
	for symbol := range 5 {
		c.Write(&w, symbol)
	}
	w.Finish()
	require.Equal(t, dumbBits{
		false, false, true, true, false, false, true, true, true, true, true, false,
	}.bytes(), buf)
}

func TestCodeOfOneSymbolTakesNoBits(t *testing.T) {
	c, err := NewCode([]uint8{0})
	require.NoError(t, err)
	var w wire.BitWriter
	c.Write(&w, 0)
	require.Zero(t, w.Bits())
	r := wire.NewBitReader(nil)
	require.Zero(t, c.Read(&r))
	require.True(t, r.Done())
	require.Panics(t, func() { c.Write(&w, 1) })
}

func TestNewCodeRefuses(t *testing.T) {
	repeat := func(n int, length uint8) []uint8 {
		list := make([]uint8, n)
		for i := range list {
			list[i] = length
		}
		return list
	}
	for name, c := range map[string]struct {
		lengths []uint8
		err     error
	}{
		"none":                      {nil, ErrAlphabet},
		"too many":                  {repeat(MaxSymbols+1, 13), ErrAlphabet},
		"three of one bit":          {repeat(3, 1), ErrCodeOverfull},
		"a bit too full":            {append(repeat(8, 3), 15), ErrCodeOverfull},
		"a bit too empty":           {append(repeat(7, 3), 4), ErrCodeUnderfull},
		"one symbol of one bit":     {[]uint8{1}, ErrCodeUnderfull},
		"one symbol of 15 bits":     {[]uint8{15}, ErrCodeUnderfull},
		"a symbol without a code":   {[]uint8{1, 1, 0}, ErrCodeUnderfull},
		"two that take no bits":     {[]uint8{0, 0}, ErrCodeUnderfull},
		"16 bits":                   {[]uint8{1, 16}, ErrCodeTooDeep},
		"255 bits":                  {[]uint8{255}, ErrCodeTooDeep},
		"the largest that can be":   {repeat(MaxSymbols, 12), nil},
		"the deepest that can be":   {[]uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15}, nil},
		"as deep, one step missing": {[]uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, ErrCodeUnderfull},
	} {
		got, err := NewCode(c.lengths)
		require.ErrorIs(t, err, c.err, name)
		require.Equal(t, c.err == nil, got != nil, name)
	}
}

// Every change of one length of a complete code is refused.
func TestNewCodeRefusesEveryChangedLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := drawLengths(t, 60)
		at := rapid.IntRange(0, len(lengths)-1).Draw(t, "at")
		was := lengths[at]
		lengths[at] = rapid.Uint8Range(0, 20).Draw(t, "length")
		_, err := NewCode(lengths)
		require.Equal(t, lengths[at] == was, err == nil)
	})
}

// skewed returns symbols with the frequencies of small differences: each magnitude is half as likely as the previous
// one.
func skewed(count, symbols int) []int {
	random := rand.New(rand.NewPCG(3, 4))
	list := make([]int, count)
	for i := range list {
		list[i] = min(int(random.ExpFloat64()*8), symbols-1)
	}
	return list
}

func trainSkewed(tb testing.TB, symbols []int, alphabet int) *Table {
	tb.Helper()
	trainer := NewTrainer()
	counter := trainer.Table("skewed", alphabet, 1)
	for _, s := range symbols {
		counter.Count(0, s)
	}
	set, err := trainer.Build()
	require.NoError(tb, err)
	table, err := set.Find("skewed", alphabet, 1)
	require.NoError(tb, err)
	return table
}

func TestCodesAllocateNothing(t *testing.T) {
	symbols, buf := skewed(500, 131), make([]byte, 2000)
	table := trainSkewed(t, symbols, 131)
	alloctest.Zero(t, 100, func() {
		w := wire.NewBitWriter(buf)
		for _, s := range symbols {
			table.Write(&w, 0, s)
			table.WriteToken(&w, 0, int64(s)-40)
		}
		r := wire.NewBitReader(buf[:w.Finish()])
		for _, s := range symbols {
			if table.Read(&r, 0) != s || table.ReadToken(&r, 0) != int64(s)-40 {
				t.Fatal("not what was written")
			}
		}
	})
}

// dumbHuffman returns the cost of an optimal prefix code of any depth, and its depth. It joins the two lightest trees,
// of equal ones the flattest, until one is left.
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
			return 1 << rapid.IntRange(0, 12).Draw(t, "log") // steep, so that the limit has an effect
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

// Fibonacci weights give the deepest Huffman tree.
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
	// Symbols of equal weight are ordered by number, so that a table does not depend on the sort algorithm.
	require.Equal(t, []uint8{2, 2, 2, 3, 3}, codeLengths([]uint64{1, 1, 1, 1, 1}, MaxCodeLength))
}

// flatTokens returns a table that can encode every token.
func flatTokens(t testing.TB, width, contexts int) *Table {
	t.Helper()
	trainer := NewTrainer()
	trainer.Table("flat", tokenSymbols(width), contexts)
	set, err := trainer.Build()
	require.NoError(t, err)
	table, err := set.Find("flat", tokenSymbols(width), contexts)
	require.NoError(t, err)
	return table
}

func drawToken(t *rapid.T, width int) int64 {
	v := int64(rapid.Uint64Range(0, 1<<width-1).Draw(t, "magnitude") >> rapid.IntRange(0, width-1).Draw(t, "smaller"))
	if rapid.Bool().Draw(t, "below zero") {
		return -v
	}
	return v
}

func TestTokensRoundTrip(t *testing.T) {
	tables := make([]*Table, MaxTokenBits+1)
	for width := 1; width <= MaxTokenBits; width++ {
		tables[width] = flatTokens(t, width, 2)
	}
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, MaxTokenBits).Draw(t, "width")
		table := tables[width]
		var values []int64
		buf := make([]byte, 1000)
		w := wire.NewBitWriter(buf)
		for i := range rapid.IntRange(0, 40).Draw(t, "count") {
			v := drawToken(t, width)
			before := w.Bits()
			table.WriteToken(&w, i&1, v)
			require.Equal(t, tokenLength(table, i&1, v), w.Bits()-before)
			values = append(values, v)
		}
		n := w.Finish()
		r := wire.NewBitReader(buf[:n])
		for i, v := range values {
			require.Equal(t, v, table.ReadToken(&r, i&1))
		}
		require.True(t, r.Done())
		for cut := range n {
			r := wire.NewBitReader(buf[:cut])
			for i := range values {
				table.ReadToken(&r, i&1)
			}
			require.True(t, r.Failed())
			require.Zero(t, table.ReadToken(&r, 0))
		}
	})
}

// The documented symbols, counted out for small numbers, and the edges of large ones.
func TestTokenIsAsDocumented(t *testing.T) {
	for v, want := range map[int64][3]uint64{
		0: {0, 0, 0}, 1: {1, 0, 0}, -1: {2, 0, 0},
		2: {3, 0, 0}, -2: {4, 0, 0}, 3: {5, 0, 0}, -3: {6, 0, 0},
		4: {7, 0, 1}, 5: {7, 1, 1}, -5: {8, 1, 1}, 6: {9, 0, 1}, -7: {10, 1, 1},
		8: {11, 0, 2}, 15: {13, 3, 2},
		math.MaxInt64: {249, 1<<61 - 1, 61}, -math.MaxInt64: {250, 1<<61 - 1, 61},
	} {
		symbol, raw, n := Token(v)
		require.Equal(t, want, [3]uint64{uint64(symbol), raw, uint64(n)}, v)
	}
	require.Equal(t, 3, tokenSymbols(1))
	require.Equal(t, 131, tokenSymbols(33))
	require.Equal(t, 251, tokenSymbols(MaxTokenBits))
	var w wire.BitWriter
	small := flatTokens(t, 4, 1)
	require.Panics(t, func() { small.WriteToken(&w, 0, 16) })
	require.Panics(t, func() { flatTokens(t, 63, 1).WriteToken(&w, 0, math.MinInt64) })
}

func TestReadTokenRefusesAnAlphabetOfSomethingElse(t *testing.T) {
	trainer := NewTrainer()
	counter := trainer.Table("mask", 300, 1)
	for range 1000 {
		counter.Count(0, 299)
	}
	set, err := trainer.Build()
	require.NoError(t, err)
	table := set.All()[0]
	buf := make([]byte, 20)
	w := wire.NewBitWriter(buf)
	table.Write(&w, 0, 299)
	w.Finish()
	r := wire.NewBitReader(buf)
	require.Zero(t, table.ReadToken(&r, 0))
	require.True(t, r.Failed())
}

// FuzzReadToken: tokens read from any bits are written again as the same bits.
func FuzzReadToken(f *testing.F) {
	trainer := NewTrainer()
	counter := trainer.Table("t", tokenSymbols(33), 3)
	random := rand.New(rand.NewPCG(5, 6))
	buf := make([]byte, 200)
	for range 5000 {
		countToken(counter, random.IntN(3), int64(random.NormFloat64()*100))
	}
	set, err := trainer.Build()
	require.NoError(f, err)
	table := set.All()[0]
	w := wire.NewBitWriter(buf)
	for i := range int64(12) {
		table.WriteToken(&w, int(i)%3, i*i*i*i*i*(1-i%2*2))
	}
	f.Add(buf[:w.Finish()])
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, again := wire.NewBitReader(b), make([]byte, len(b)+16)
		w := wire.NewBitWriter(again)
		for i := 0; ; i++ {
			v := table.ReadToken(&r, i%3)
			if r.Failed() {
				require.Zero(t, v)
				break
			}
			table.WriteToken(&w, i%3, v)
			if w.Bits()+r.Remaining() != len(b)*8 {
				t.Fatalf("%d is written in other bits than it was read from", v)
			}
		}
		whole := w.Bits() / 8
		w.Finish()
		require.Equal(t, b[:whole], again[:whole])
	})
}

// dumbBits is the model of a bit stream: one bool a bit.
type dumbBits []bool

// bytes packs the model, bit 0 of byte 0 first.
func (d dumbBits) bytes() []byte {
	b := make([]byte, (len(d)+7)/8)
	for i, bit := range d {
		if bit {
			b[i/8] |= 1 << (i % 8)
		}
	}
	return b
}

// low returns the bits low bits of v.
func low(v uint64, bits uint) uint64 {
	if bits == 64 {
		return v
	}
	return v & (1<<bits - 1)
}
