package wire

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pieces come to what Write of each comes to: the buffer, the writer, what was written since a mark, and what follows, also
// where they do not fit any more.
func TestPiecesAreWrittenAsOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		size := r.IntN(200)
		a, b := NewBitWriter(make([]byte, size)), NewBitWriter(make([]byte, size))
		for range r.IntN(4) {
			v, n := r.Uint64(), uint(r.IntN(65))
			a.Write(v, n)
			b.Write(v, n)
		}
		markA, markB := a, b
		for range 1 + r.IntN(3) {
			pieces := make([]Piece, r.IntN(40))
			for i := range pieces {
				n := uint64(r.IntN(MaxPiece + 1))
				if r.IntN(2) == 0 {
					n &= 7
				}
				pieces[i] = Piece{Bits: r.Uint64() & (1<<n - 1), N: n}
			}
			a.Pieces(pieces)
			for _, p := range pieces {
				b.Write(p.Bits, uint(p.N))
			}
			requireSameWriter(t, &a, &b)
			if !a.Overflowed() {
				require.Equal(t, b.Since(&markB, nil), a.Since(&markA, nil))
			}
			if r.IntN(4) == 0 {
				a, b = markA, markB
			}
			v, n := r.Uint64(), uint(r.IntN(65))
			a.Write(v, n)
			b.Write(v, n)
			requireSameWriter(t, &a, &b)
		}
		n := b.Finish()
		require.Equal(t, n, a.Finish())
		require.Equal(t, b.buf[:n], a.buf[:n])
	}
}

func requireSameWriter(t *testing.T, a, b *BitWriter) {
	t.Helper()
	require.Equal(t, []any{b.acc, b.n, b.next}, []any{a.acc, a.n, a.next})
	if b.next <= len(b.buf) {
		require.Equal(t, b.buf[:b.next], a.buf[:b.next])
	}
}

// BenchmarkPieces is 40 pieces that are others each time, in a writer that a pointer leads to.
func BenchmarkPieces(b *testing.B) {
	pieces, r := make([]Piece, 1<<14), rand.New(rand.NewPCG(3, 4))
	for i := range pieces {
		n := uint64(r.IntN(48))
		pieces[i] = Piece{Bits: r.Uint64() & (1<<n - 1), N: n}
	}
	buf, w := make([]byte, 1200), new(BitWriter)
	bench := func(f func(pieces []Piece)) func(b *testing.B) {
		return func(b *testing.B) {
			for i := range b.N {
				*w = NewBitWriter(buf)
				w.Write(1, 64)
				at := i * 40 & (len(pieces)/2 - 1)
				f(pieces[at : at+40])
			}
		}
	}
	b.Run("one by one", bench(func(pieces []Piece) {
		for i := range pieces {
			w.Write(pieces[i].Bits, uint(pieces[i].N))
		}
	}))
	b.Run("together", bench(func(pieces []Piece) { w.Pieces(pieces) }))
}
