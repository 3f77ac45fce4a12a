package wire

import "encoding/binary"

// Piece is bits that a BitWriter wrote, as they lie in its buffer: to another one that has come as far
// within a word of 64, they are copied as memory.
type Piece struct {
	words []byte // of 8; zeros behind the last bit
	begin uint   // where in the first word they begin, 0..63
}

// Since makes it the bits that w wrote since mark, a copy that was made of w before. It must not be
// called after Finish, nor on an overflowed writer.
func (p *Piece) Since(mark, w *BitWriter) {
	p.words = append(p.words[:0], w.buf[mark.next:w.next]...)
	p.words, p.begin = binary.LittleEndian.AppendUint64(p.words, w.acc), mark.n
}

// Reserve makes room for so many bytes.
func (p *Piece) Reserve(n int) {
	if n > cap(p.words) {
		p.words = append(make([]byte, 0, n), p.words...)
	}
}

// Piece appends the first count bits of p, which must have as many.
func (w *BitWriter) Piece(p *Piece, count int) {
	end := p.begin + uint(count)
	whole := int(end >> 6 << 3) // bytes of words that are full then
	if w.n != p.begin || whole == 0 || w.next < 0 || whole > len(w.buf)-w.next {
		w.shifted(p, count)
		return
	}
	to, first := w.buf[w.next:w.next+whole], binary.LittleEndian.Uint64(p.words)
	copy(to, p.words[:whole])
	binary.LittleEndian.PutUint64(to, first>>p.begin<<p.begin|w.acc)
	w.next += whole
	w.acc, w.n = 0, end&63
	if w.n > 0 {
		w.acc = binary.LittleEndian.Uint64(p.words[whole:]) & (1<<w.n - 1)
	}
}

// shifted is Piece for a writer that stands elsewhere within a word, or has no room for it.
func (w *BitWriter) shifted(p *Piece, count int) {
	if count == 0 {
		return
	}
	first := min(count, 64-int(p.begin))
	w.Write(binary.LittleEndian.Uint64(p.words)>>p.begin, uint(first))
	w.Append(p.words[8:], count-first)
}
