package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPeek holds what is looked at against what a reader reads: words, numbers and floats from any bit on.
func TestPeek(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.UintRange(0, 70).Draw(t, "at")
		number := rapid.Uint64Range(0, 1<<25).Draw(t, "number")
		values := rapid.SliceOfN(rapid.Float32(), 0, 12).Draw(t, "values")
		bad := rapid.IntRange(0, 30).Draw(t, "bad")
		if bad < len(values) {
			values[bad] = rapid.SampledFrom([]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)),
				math.Float32frombits(0xFF80_0001), math.Float32frombits(0xFFFF_FFFF)}).Draw(t, "of")
		}
		w := NewBitWriter(make([]byte, 200))
		for i := range at {
			w.Bool(i%3 == 0)
		}
		w.Var(number)
		for _, v := range values {
			w.Write(uint64(math.Float32bits(v)), 32)
		}
		buf := w.buf[:w.Finish()+8]
		word := Peek(buf, at)
		r := NewBitReader(buf)
		r.Read(at & 63)
		r.Read(at &^ 63)
		mark := r
		require.Equal(t, mark.Read(PeekBits), word&(1<<PeekBits-1))
		v, n := PeekVar(word)
		require.Equal(t, number, v)
		require.Equal(t, number, r.Var())
		at += n
		lanes, read := make([]uint32, len(values)), make([]uint32, len(values))
		require.Equal(t, bad >= len(values), PeekFloats(lanes, buf, at))
		for i, v := range values {
			require.Equal(t, math.Float32bits(v), lanes[i])
		}
		require.Equal(t, bad >= len(values), ReadFloats(&r, read))
		require.False(t, PeekFloats(lanes, buf[:at/8+uint(4*len(lanes)+7)], at), "fewer than eight bytes behind")
	})
}

// TestBitsOfAVar holds the bits of a number against those that a writer writes.
func TestBitsOfAVar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64().Draw(t, "number") >> rapid.IntRange(0, 64).Draw(t, "smaller")
		if rapid.Bool().Draw(t, "of the largest") {
			number = ^(number % 8)
		}
		w := NewBitWriter(make([]byte, 40))
		w.Var(number)
		size := w.Bits()
		buf := w.buf[:w.Finish()+8]
		word, n := VarBits(number)
		require.Equal(t, size, int(n))
		if n <= 64 {
			require.Equal(t, Peek(buf, 0), word)
		}
	})
}

// TestPeekVarOfAnyWord holds that nothing of a word that begins no number is taken for one.
func TestPeekVarOfAnyWord(t *testing.T) {
	_, n := PeekVar(0)
	require.Greater(t, n, uint(64))
	for zeros := range uint(64) {
		_, n := PeekVar(1 << zeros)
		require.Equal(t, 2*zeros+varOrder+1, n)
	}
}
