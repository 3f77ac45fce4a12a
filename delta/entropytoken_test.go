package delta

import (
	"github.com/arche-netcode/netcode/wire"

	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// flatTokens returns a table in which every token can be written.
func flatTokens(t testing.TB, width, contexts int) *Table {
	t.Helper()
	trainer := NewTrainer()
	trainer.Table("flat", TokenSymbols(width), contexts)
	set, err := trainer.Build()
	require.NoError(t, err)
	table, err := set.Find("flat", TokenSymbols(width), contexts)
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
			require.Equal(t, table.TokenLength(i&1, v), w.Bits()-before)
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
	require.Equal(t, 3, TokenSymbols(1))
	require.Equal(t, 131, TokenSymbols(33))
	require.Equal(t, 251, TokenSymbols(MaxTokenBits))
	require.Panics(t, func() { TokenSymbols(0) })
	require.Panics(t, func() { TokenSymbols(64) })
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

func TestMovementContext(t *testing.T) {
	seen := map[int]bool{}
	for _, v := range []int64{0, 1, -1, 2, -2, 3, -3, 4, -4, 1000, -1000, 2047, 2048, -2048, 1 << 40, math.MaxInt64, math.MinInt64} {
		context := MovementContext(v)
		require.GreaterOrEqual(t, context, 0)
		require.Less(t, context, MovementContexts)
		if v != 0 && v != math.MinInt64 {
			require.NotEqual(t, context, MovementContext(-v), v)
		}
	}
	for v := int64(-5000); v <= 5000; v++ {
		seen[MovementContext(v)] = true
	}
	require.Len(t, seen, MovementContexts)
	require.Equal(t, MovementContext(2), MovementContext(3))
	require.NotEqual(t, MovementContext(3), MovementContext(4))
}

// FuzzReadToken: tokens read from any bits are written again as the same bits.
func FuzzReadToken(f *testing.F) {
	trainer := NewTrainer()
	counter := trainer.Table("t", TokenSymbols(33), 3)
	random := rand.New(rand.NewPCG(5, 6))
	buf := make([]byte, 200)
	for range 5000 {
		counter.CountToken(random.IntN(3), int64(random.NormFloat64()*100))
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

// BenchmarkToken codes residuals of motion as T1 will: three contexts, mostly small.
func BenchmarkToken(b *testing.B) {
	random := rand.New(rand.NewPCG(7, 8))
	trainer, values := NewTrainer(), make([]int64, 1024)
	counter := trainer.Table("t", TokenSymbols(33), MovementContexts)
	contexts := make([]int, len(values))
	for i := range values {
		contexts[i] = MovementContext(int64(random.NormFloat64() * 30))
		values[i] = int64(random.NormFloat64() * 6)
		counter.CountToken(contexts[i], values[i])
	}
	set, err := trainer.Build()
	require.NoError(b, err)
	table, buf := set.All()[0], make([]byte, 8192)
	w := wire.NewBitWriter(buf)
	report := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(values)), "ns/symbol")
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			w = wire.NewBitWriter(buf)
			for i, v := range values {
				table.WriteToken(&w, contexts[i], v)
			}
		}
		report(b)
	})
	n := w.Finish()
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			r := wire.NewBitReader(buf[:n])
			for i := range values {
				table.ReadToken(&r, contexts[i])
			}
		}
		report(b)
	})
}
