package wire

import "encoding/binary"

// Piece is a few bits that are appended with others.
type Piece struct {
	Bits uint64 // the first of them in bit 0, zeros above the last
	N    uint64 // how many: at most MaxPiece
}

// MaxPiece is how many bits a Piece may have: with a part of a byte before them they fit a word.
const MaxPiece = 56

// Pieces appends one piece behind the other, as Write of each does. What was begun is kept as a part of a byte, so that
// each is one store and nothing depends on how many bits went before.
func (w *BitWriter) Pieces(pieces []Piece) {
	done := w.pieces(pieces)
	for i := range pieces[done:] {
		p := &pieces[done+i]
		w.Write(p.Bits, uint(p.N))
	}
}

// pieces is Pieces for as many as are sure to fit, and returns how many that were.
func (w *BitWriter) pieces(pieces []Piece) int {
	at := w.next
	if at < 8 || at > len(w.buf)-16 { // so that what it began with can be read again
		return 0
	}
	binary.LittleEndian.PutUint64(w.buf[at:], w.acc)
	to := w.buf[at+int(w.n>>3&7):]
	done, left, acc, n := appendPieces(to, pieces, w.acc>>(w.n&56), uint64(w.n&7))
	end := len(w.buf) - left
	if back := (end - at) & 7; back > 0 { // again as Write has it: whole words from where it began
		acc = acc<<(8*back) | binary.LittleEndian.Uint64(w.buf[end-8:])>>(64-8*back)
		end, n = end-back, n+8*uint64(back)
	}
	w.acc, w.n, w.next = acc, uint(n), end
	return done
}

// appendPieces appends pieces to bytes, behind the n bits of acc, as long as eight bytes are left. It returns how many
// pieces that were, how many bytes are left, and the bits that are not among those before.
func appendPieces(to []byte, pieces []Piece, acc, n uint64) (done, left int, accLeft, nLeft uint64) {
	for done < len(pieces) && len(to) >= 8 {
		p := &pieces[done]
		done++
		acc |= p.Bits << (n & 63)
		n += p.N
		binary.LittleEndian.PutUint64(to, acc)
		acc >>= n & 56
		to = to[n>>3&7:]
		n &= 7
	}
	return done, len(to), acc, n
}
