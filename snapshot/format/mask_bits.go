package format

import "github.com/arche-netcode/netcode/wire"

// A protocol of up to 64 components has a bit for each of them in a record. With more, most of these bits would be 0: they are in
// blocks of blockRows, a bit for each block tells if an entity has any of it, and the bits of such blocks follow.
const blockRows = 8

// WriteMask writes the rows of an entity.
func (s *Schema) WriteMask(w *wire.BitWriter, m Mask) {
	if s.Rows() <= 64 {
		w.Write(m.Word(0), uint(s.Rows()))
		return
	}
	blocks := uint64(0)
	for block := range s.blocks() {
		if rowsOf(m, block) != 0 {
			blocks |= 1 << block
		}
	}
	w.Write(blocks, uint(s.blocks()))
	for block := range s.blocks() {
		if bits := rowsOf(m, block); bits != 0 {
			w.Write(bits, s.blockBits(block))
		}
	}
}

// ReadMask reads what WriteMask wrote. It is false for a block that is announced and empty: there is one encoding of a mask.
func (s *Schema) ReadMask(b *wire.BitReader) (Mask, bool) {
	if s.Rows() <= 64 {
		return FromWords(b.Read(uint(s.Rows()))), true
	}
	var words [MaskWords]uint64
	blocks, ok := b.Read(uint(s.blocks())), true
	for block := range s.blocks() {
		if blocks>>block&1 != 0 {
			bits := b.Read(s.blockBits(block))
			words[block*blockRows/64] |= bits << (block * blockRows % 64)
			ok = ok && bits != 0
		}
	}
	return FromWords(words[:]...), ok
}

// MaskBits is the number of bits of a mask in a record.
func (s *Schema) MaskBits(m Mask) int {
	n := s.Rows()
	if n > 64 {
		n = s.blocks()
		for block := range s.blocks() {
			if rowsOf(m, block) != 0 {
				n += int(s.blockBits(block))
			}
		}
	}
	return n
}

// blocks is the number of blocks of rows. The last one may be shorter.
func (s *Schema) blocks() int { return (s.Rows() + blockRows - 1) / blockRows }

// blockBits is the number of rows of a block.
func (s *Schema) blockBits(block int) uint { return uint(min(blockRows, s.Rows()-block*blockRows)) }

// rowsOf returns the rows of a block as bits.
func rowsOf(m Mask, block int) uint64 {
	return m.Word(block*blockRows/64) >> (block * blockRows % 64) & (1<<blockRows - 1)
}
