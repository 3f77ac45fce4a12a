package wire

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A piece is appended as bit by bit, by a writer that has come as far within a word as the one that wrote it, by any
// other, and where it does not fit.
func TestBitWriterPiece(t *testing.T) {
	random := rand.New(rand.NewPCG(16, 5))
	var p Piece
	for range 20000 {
		var words [9]uint64
		for i := range words {
			words[i] = random.Uint64()
		}
		from := NewBitWriter(make([]byte, 128))
		for range random.IntN(200) {
			from.Write(1, 1)
		}
		mark, length := from, random.IntN(64*len(words)+1)
		from.Words(words[:], length)
		p.Since(&mark, &from)

		begin, count, size := uint(mark.Bits()&63), random.IntN(length+1), random.IntN(100)
		if random.IntN(2) == 0 {
			begin = uint(random.IntN(65))
		}
		whole := make([]byte, size+16)
		got, want := NewBitWriter(whole[:size:size]), NewBitWriter(make([]byte, size))
		got.Write(0x5A5A_5A5A_5A5A_5A5A, begin)
		want.Write(0x5A5A_5A5A_5A5A_5A5A, begin)
		got.Piece(&p, count)
		for i := range count {
			want.Write(words[i/64]>>(i%64), 1)
		}
		require.Equal(t, want.Bits(), got.Bits())
		got.Write(0x2A5, 10)
		want.Write(0x2A5, 10)
		require.Equal(t, want.Finish(), got.Finish())
		if !got.Overflowed() {
			require.Equal(t, want.buf, got.buf)
		}
		require.Equal(t, make([]byte, 16), whole[size:], "past the buffer")
	}
}
