package wire

import (
	"math/rand/v2"
	"testing"
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
		writesTheBits(t, size, begin, words[:], count, func(w *BitWriter) { w.Piece(&p, count) })
	}
}
