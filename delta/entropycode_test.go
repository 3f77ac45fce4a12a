package delta

import (
	"github.com/arche-netcode/netcode/wire"

	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// drawLengths splits random leaves of a tree, which makes the lengths of a complete code.
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

// slowCode is a prefix code as the comment on Code defines it, by its bits.
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

// read takes bits until they are a code.
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
		fast, twin, slow := wire.NewBitReader(buf[:n]), wire.NewBitReader(buf[:n]), newSlowCode(lengths)
		require.Len(t, slow, len(lengths))
		for _, symbol := range symbols {
			require.Equal(t, symbol, c.Read(&fast))
			got, ok := slow.read(&twin)
			require.True(t, ok)
			require.Equal(t, symbol, got)
			require.Equal(t, low(^uint64(0), raw), fast.Read(raw))
			twin.Read(raw)
			require.Equal(t, twin.Remaining(), fast.Remaining())
		}
		require.True(t, fast.Done())
	})
}

// Every bit string is codes to its end: the fast reader and the slow one see the same symbols, and the end alike.
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
	fast, twin := wire.NewBitReader(b), wire.NewBitReader(b)
	for {
		want, ok := slow.read(&twin)
		got := c.Read(&fast)
		require.Equal(t, want, got)
		require.Equal(t, !ok, fast.Failed())
		if !ok {
			require.Zero(t, fast.Remaining())
			require.Zero(t, c.Read(&fast), "after a failure")
			return
		}
		require.Equal(t, twin.Remaining(), fast.Remaining())
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

// A full code table filled wrongly must not be reached: every change of one length is refused.
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

func TestCodeCutAnywhere(t *testing.T) {
	lengths := []uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15}
	c, err := NewCode(lengths)
	require.NoError(t, err)
	buf := make([]byte, 64)
	w := wire.NewBitWriter(buf)
	bits := 0
	for symbol := range lengths {
		c.Write(&w, symbol)
		bits += int(lengths[symbol])
	}
	n := w.Finish()
	for cut := range n {
		r, read := wire.NewBitReader(buf[:cut]), 0
		for !r.Failed() {
			if c.Read(&r); !r.Failed() {
				read++
			}
		}
		require.Less(t, read, len(lengths))
	}
	r := wire.NewBitReader(append(buf[:n:n], 0xFF)) // a tail
	for symbol := range lengths {
		require.Equal(t, symbol, c.Read(&r))
	}
	require.False(t, r.Done())
	require.Equal(t, (n+1)*8-bits, r.Remaining())
}

// skewed returns symbols with the frequencies of small differences: each magnitude half as likely as the one before.
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

func BenchmarkCode(b *testing.B) {
	for name, alphabet := range map[string]int{"131": 131, "1024": 1024} {
		symbols, buf := skewed(1024, alphabet), make([]byte, 4096)
		table := trainSkewed(b, symbols, alphabet)
		w := wire.NewBitWriter(buf)
		b.Run("write"+name, func(b *testing.B) {
			for b.Loop() {
				w = wire.NewBitWriter(buf)
				for _, s := range symbols {
					table.Write(&w, 0, s)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/symbol")
		})
		n := w.Finish()
		b.Run("read"+name, func(b *testing.B) {
			for b.Loop() {
				r := wire.NewBitReader(buf[:n])
				for range symbols {
					table.Read(&r, 0)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/symbol")
		})
	}
}
