package wire

import (
	"encoding/binary"
	"sync/atomic"
)

// Strands are the bodies of several records that are made side by side, each a string of bits of its own: what is done of
// one row is done for all of them before the next row, so that what one waits for overlaps with others, and what a row's
// kind takes is at hand. Each comes to the bits that Delta.Code appends row by row; tests hold them against each other.
// The zero value is empty.
type Strands struct {
	n       int
	strands [MaxStrands]strand
	words   Words // of a row that goes its own way
	bits    [MaxStrands * strandBytes]byte
}

const (
	// MaxStrands is how many bodies are made side by side.
	MaxStrands = 32
	// MaxStrandRows is how many rows a body may have then.
	MaxStrandRows = 4
	// MaxStrandLanes is how many lanes each of them may have.
	MaxStrandLanes = groupLanes
	// strandBytes is more than such a body takes: a symbol for the rows, and for each row one for its lanes and a token of a
	// symbol and 31 raw bits for each of these; and 8 bytes behind it.
	strandBytes = 128
)

// strand is one string of bits.
type strand struct {
	acc  uint64 // bits not yet among the bytes
	n    uint   // how many: up to 7 between two writes
	at   int    // byte that acc goes to
	miss int    // Versions.Miss
}

// Column is one row of the bodies that are made side by side: now, at T and at T', where that is not leaned on as at T. What
// lanes it has not are of no meaning.
type Column struct {
	Now, Base, Before [MaxStrands][MaxStrandLanes]uint32 // by body: its row now, at T and at T'
	changed, moved    [MaxStrands]uint8                  // in which lanes they differ
	odd               [MaxStrands]uint8                  // as changed, of a row that goes its own way
	off               [MaxStrands][groupLanes]offset
	to                [MaxStrands][groupLanes]int64 // of rotations: where they go, and the square of how long that is
	square            [MaxStrands]uint64
}

// offset is how far a lane is from what is expected of it, folded by the sign of the movement that leads there and counted
// 0 -1 1 -2 2 and so on; and where in a table the contexts of such a movement begin, from those of the age.
type offset struct {
	distance uint64
	context  int
}

// Changed returns the lanes in which the k-th row differs from what it was at T, bit i for lane i.
func (c *Column) Changed(k int) uint8 { return c.changed[k] }

// Reset begins n strands.
func (s *Strands) Reset(n int) {
	s.n = n
	for k := range s.strands[:n] {
		st := &s.strands[k]
		st.acc, st.n, st.at, st.miss = 0, 0, k*strandBytes, 0
	}
}

// Bits returns how many bits a strand has.
func (s *Strands) Bits(k int) int {
	st := &s.strands[k]
	return (st.at-k*strandBytes)*8 + int(st.n)
}

// put appends bits, 0 to 56, those above being zero. Whatever they are there is no branch.
func (s *Strands) put(st *strand, v uint64, n uint) {
	acc, size, at := st.acc|v<<(st.n&63), st.n+n, st.at
	binary.LittleEndian.PutUint64(s.bits[at:], acc)
	st.acc, st.n, st.at = acc>>(size&^7&63), size&7, at+int(size>>3)
}

// Which appends to each strand which of its rows differ: a symbol of a table for so many rows.
func (s *Strands) Which(t *Table, columns []Column, v *Versions) {
	n, flat := len(columns), t.flatten()
	of, known := 1<<(uint(n)&7), 0
	context := AgeClass(v.Age)*(of+1) + of
	if v.Before != nil {
		context, known = context-of, of-1
	}
	for k := range s.n {
		changed, moved := 0, 0
		for i := range columns {
			changed |= int(bit(columns[i].changed[k] != 0)) << (uint(i) & 7)
			moved |= int(bit(columns[i].moved[k] != 0)) << (uint(i) & 7)
		}
		at := context + moved&known
		e := flat[at*of+changed].Load()
		if e == 0 {
			e = t.unfold(at, changed)
		}
		s.put(&s.strands[k], uint64(e&0xFFFF), uint(e>>16))
	}
}

// Strand appends the bits of a strand, fills the last word with zeros as Finish does, and returns the first. Nothing may be
// unfinished in w.
func (w *Words) Strand(s *Strands, k int) uint64 {
	n, at := s.Bits(k), k*strandBytes
	if n == 0 {
		return 0
	}
	binary.LittleEndian.PutUint64(s.bits[s.strands[k].at:], s.strands[k].acc)
	i := len(w.list)
	for ; n > 64; n -= 64 {
		w.list = append(w.list, binary.LittleEndian.Uint64(s.bits[at:]))
		at += 8
	}
	last := binary.LittleEndian.Uint64(s.bits[at:]) & (1<<(uint(n)&63) - 1 - uint64(n)>>6) // all of 64
	w.list = append(w.list, last)
	return w.list[i]
}

// Short tokens, of distances that are counted below shortTokens, have their code, their raw bits and how many these are
// together in one number, which is found by context and distance: one look, and no arithmetic.
const (
	shortTokens = 128
	shortSize   = 24 // from which bit on the number of bits is
)

// shorten makes room for the short tokens of all contexts. They come there when they are first asked for.
func (t *Table) shorten() []atomic.Uint32 {
	t.onceShort.Do(func() { t.short = make([]atomic.Uint32, len(t.codes)*shortTokens) })
	return t.short
}

// long is the token of a distance, counted as in offset, that has no short one or whose short one was not asked for yet.
//
//go:noinline
func (l *deltaLane) long(distance uint64, context int) (code uint64, size uint) {
	symbol, raw, rawBits := Token(int64(distance>>1) ^ -int64(distance&1))
	e := flatCode(l.table, l.flat, context, symbol, deltaFlat)
	length := uint(e >> 16)
	code, size = raw<<(length&63)|uint64(e&0xFFFF), length+rawBits
	if distance < shortTokens {
		l.short[context*shortTokens+int(distance)].Store(uint32(code) | uint32(size)<<shortSize)
	}
	return code, size
}
