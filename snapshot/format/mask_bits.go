package format

import "github.com/arche-netcode/netcode/wire"

// In a protocol of up to 64 components, a record has one bit for each component. With more, most of these bits would be 0. So they are
// divided into blocks of blockRows: a bit for each block tells if the entity has any of its rows, and the bits of these blocks follow.
const blockRows = 8

// WriteMask writes the rows of an entity, numbered without those in unknown.
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

// ReadMask reads what WriteMask wrote. It returns false for an empty block that is announced: a mask has one encoding only.
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

// MaskBits returns the most bits of a mask in a record. For a client that lacks some rows, each row may be in a block of its own, or
// all in the first 64 bits.
func (s *Schema) MaskBits(m Mask) int {
	if s.Rows() <= 64 {
		return s.Rows()
	}
	return max(64, blocksOf(s.Rows())+blockRows*min(m.Count(), blocksOf(s.Rows())))
}

// blocksOf returns the number of blocks of n rows. The last block may be shorter.
func blocksOf(rows int) int { return (rows + blockRows - 1) / blockRows }

// blockBits returns the number of rows of a block, of rows in all.
func blockBits(rows, block int) uint { return uint(min(blockRows, rows-block*blockRows)) }

// rowsOf returns the rows of a block as bits.
func rowsOf(m Mask, block int) uint64 {
	return m.Word(block*blockRows/64) >> (block * blockRows % 64) & (1<<blockRows - 1)
}
