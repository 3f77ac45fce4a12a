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

	// Of the column that is coded:
	off    [MaxStrands][groupLanes]offset
	to     [MaxStrands][groupLanes]int64 // of rotations: where they go, and the square of how long that is
	square [MaxStrands]uint64
	odd    [MaxStrands]uint8 // in which lanes rows differ that go their own way
	usual  [MaxStrands]uint8 // and those that do not
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
	n    uint   // how many: up to 63
	at   int    // byte that acc goes to
	miss uint64 // Versions.Miss
}

// Column is one row of the bodies that are made side by side: now, at T and at T', where that is not leaned on as at T. What
// lanes it has not are of no meaning.
type Column struct {
	Now, Base, Before [MaxStrands][MaxStrandLanes]uint32 // by body: its row now, at T and at T'
	changed, moved    [MaxStrands]uint8                  // in which lanes they differ
	any               uint8                              // in which lanes any differs from T
}

// offset is how far a lane is from what is expected of it, folded by the sign of the movement that leads there and counted
// 0 -1 1 -2 2 and so on; and in its lowest bits where in a table the contexts of such a movement begin, from those of the age.
type offset uint64

// contextBits is more than such a context takes.
const contextBits = 8

func (o offset) distance() uint64 { return uint64(o) >> contextBits }
func (o offset) context() int     { return int(o & (1<<contextBits - 1)) }

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

// Word returns the first bits of a strand, zeros behind the last, and whether it has no more.
func (s *Strands) Word(k int) (word uint64, all bool) {
	if st := &s.strands[k]; st.at == k*strandBytes {
		return st.acc, true
	}
	return binary.LittleEndian.Uint64(s.bits[k*strandBytes:]), false
}

// put appends bits, 0 to 56, those above being zero.
func (s *Strands) put(st *strand, v uint64, n uint) {
	was := st.n & 63
	st.acc |= v << was
	if st.n = was + n; st.n >= 64 {
		s.spill(st, v>>(64-was))
	}
}

// spill moves a full accumulator to the bytes; what was left of what it had no room for begins the next.
func (s *Strands) spill(st *strand, left uint64) {
	binary.LittleEndian.PutUint64(s.bits[st.at:], st.acc)
	st.acc, st.n, st.at = left, st.n-64, st.at+8
}

// Which appends to each strand which of its rows differ: a symbol of a table for so many rows.
func (s *Strands) Which(t *Table, columns []Column, v *Versions) {
	rows, flat := uint(len(columns))&7, t.flatten()
	context, known := AgeClass(v.Age)*(1<<rows+1)+1<<rows, 0
	if v.Before != nil {
		context, known = context-1<<rows, 1<<rows-1
	}
	for first := 0; first < s.n; first += 8 {
		var changed, moved uint64 // of eight bodies
		for i := range columns {
			changed |= nonzero8(columns[i].changed[first&(MaxStrands-8):]) << i
			moved |= nonzero8(columns[i].moved[first&(MaxStrands-8):]) << i
		}
		for k := first; k < min(first+8, s.n); k++ {
			at, symbol := context+int(moved)&known, int(changed)&(1<<rows-1)
			e := flat[at<<rows+symbol].Load()
			if e == 0 {
				e = t.unfold(at, symbol)
			}
			s.put(&s.strands[k], uint64(e&0xFFFF), uint(e>>16))
			changed, moved = changed>>8, moved>>8
		}
	}
}

// nonzero8 has for each of eight bytes below 128 one that says whether it is not zero.
func nonzero8(b []uint8) uint64 {
	return (binary.LittleEndian.Uint64(b) + 0x7F7F7F7F7F7F7F7F) >> 7 & 0x0101010101010101
}

// Strand appends the bits of a strand and fills the last word with zeros as Finish does. Nothing may be unfinished in w.
func (w *Words) Strand(s *Strands, k int) {
	st := &s.strands[k]
	for at := k * strandBytes; at < st.at; at += 8 {
		w.list = append(w.list, binary.LittleEndian.Uint64(s.bits[at:]))
	}
	if st.n > 0 {
		w.list = append(w.list, st.acc)
	}
}

// Short tokens, of distances that are counted below shortTokens, have their code, their raw bits and how many these are
// together in one number, which is found by context and distance: one look, and no arithmetic. Above the last bit is a one,
// which tells how many they are. Two of them are in one word: the fewer lines of memory, the fewer are waited for.
const (
	shortTokens = 128
	shortBits   = 16 // longer ones, with that one, are not among them
)

// shorten makes room for the short tokens of all contexts. They come there when they are first asked for.
func (t *Table) shorten() []atomic.Uint32 {
	t.onceShort.Do(func() { t.short = make([]atomic.Uint32, len(t.codes)*shortTokens/2) })
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
	if distance < shortTokens && size < shortBits {
		l.short[(context*shortTokens+int(distance))/2].Or(uint32(code|1<<size) << (distance & 1 * shortBits))
	}
	return code, size
}
