package format

import "github.com/arche-netcode/netcode/wire"

// A protocol of up to 64 components has a bit for each of them in a record. With more, most of these bits would be 0: they are in
// blocks of blockRows, a bit for each block tells if an entity has any of it, and the bits of such blocks follow.
const blockRows = 8

// WriteMask writes the rows of an entity, among those that the other end has: all but unknown.
func (s *Schema) WriteMask(w *wire.BitWriter, m, unknown Mask) {
	n := s.Rows() - unknown.Count()
	if m = m.Squeeze(unknown); n <= 64 {
		w.Write(m.Word(0), uint(n))
		return
	}
	blocks := uint64(0)
	for block := range blocksOf(n) {
		if rowsOf(m, block) != 0 {
			blocks |= 1 << block
		}
	}
	w.Write(blocks, uint(blocksOf(n)))
	for block := range blocksOf(n) {
		if rows := rowsOf(m, block); rows != 0 {
			w.Write(rows, blockBits(n, block))
		}
	}
}

// ReadMask reads what WriteMask wrote. It is false for a block that is announced and empty: there is one encoding of a mask.
func (s *Schema) ReadMask(b *wire.BitReader, unknown Mask) (m Mask, ok bool) {
	n := s.Rows() - unknown.Count()
	if n <= 64 {
		return FromWords(b.Read(uint(n))).Spread(unknown), true
	}
	var words [MaskWords]uint64
	blocks, ok := b.Read(uint(blocksOf(n))), true
	for block := range blocksOf(n) {
		if blocks>>block&1 != 0 {
			rows := b.Read(blockBits(n, block))
			words[block*blockRows/64] |= rows << (block * blockRows % 64)
			ok = ok && rows != 0
		}
	}
	return FromWords(words[:]...).Spread(unknown), ok
}

// MaskBits is the most bits of a mask in a record. By the numbers of a client that lacks others, each row may be in a block of its own, or all in 64 bits.
func (s *Schema) MaskBits(m Mask) int {
	if s.Rows() <= 64 {
		return s.Rows()
	}
	return max(64, blocksOf(s.Rows())+blockRows*min(m.Count(), blocksOf(s.Rows())))
}

// blocksOf is the number of blocks of so many rows. The last one may be shorter.
func blocksOf(rows int) int { return (rows + blockRows - 1) / blockRows }

// blockBits is the number of rows of a block of so many.
func blockBits(rows, block int) uint { return uint(min(blockRows, rows-block*blockRows)) }

// rowsOf returns the rows of a block as bits.
func rowsOf(m Mask, block int) uint64 {
	return m.Word(block*blockRows/64) >> (block * blockRows % 64) & (1<<blockRows - 1)
}
