package wire

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
)

// Strands are the bodies of several records that are made side by side, each a string of bits of its own: what is done of
// one row is done for all of them before the next row, so that what one waits for overlaps with others, and what a row's
// kind takes is at hand. Each comes to the bits that Delta.Code appends row by row; tests hold them against each other.
// The zero value is empty.
type Strands struct {
	n      int
	acc    [MaxStrands]uint64 // by strand: bits not yet among the bytes,
	have   [MaxStrands]uint64 // how many these are, up to 63,
	at     [MaxStrands]int    // and the byte that they go to
	miss   [MaxStrands]uint64 // Versions.Miss, as many times shortTokens
	differ [MaxStrands]uint8  // rows
	words  Words              // of a row that goes its own way
	bits   [MaxStrands * strandBytes]byte

	// Of the column that is coded:
	token  [MaxStrands * groupLanes]uint32 // by body and lane: where in the lane's short tokens its token is
	far    [MaxStrands * groupLanes]farToken
	raw    [MaxStrands * groupLanes]uint32 // of floats: the raw bits behind the token's code
	odd    [MaxStrands]uint8               // in which lanes rows differ that go their own way
	usual  [MaxStrands]uint8               // and those that do not
	to     [groupLanes][MaxStrands]int64   // of rotations: where they go, and how long that is
	length [MaxStrands]uint64

	aim  [groupLanes][MaxStrands]float64 // of rotations, where they go, and the square of how long that is: aimWide
	from wideColumn                      // where rows would come from, a tick before T, if they went on as is expected of them

	movement, distance [MaxStrands]int64 // of a lane: the movement that leads to what is expected, and how far it is from that
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

// farToken is a token that is none of the short ones: how far a lane is off, counted as for those, and in which context.
type farToken struct {
	distance uint64
	context  uint64
}

// Begin begins n strands with which of their rows differ: a symbol of a table for so many rows.
func (s *Strands) Begin(n int, t *Table, columns []Column, v *Versions) {
	s.n = n
	rows, flat := uint(len(columns))&7, t.flatten() // at most MaxStrandRows
	context, known := AgeClass(v.Age)*(1<<rows+1)+1<<rows, 0
	if v.Before != nil {
		context, known = context-1<<rows, 1<<rows-1
	}
	first := 0
	if columns[0].wide && n <= MaxStrands && (context+known+1)<<rows <= len(flat) {
		first = beginWide(s, &columns[0], len(columns), &flat[0], uint64(context), uint64(known))
	}
	for ; first < n; first += 8 {
		var changed, moved uint64 // of eight bodies
		for i := range columns {
			differ := binary.LittleEndian.Uint64(columns[i].differ[first&(MaxStrands-8):])
			changed |= nonzero8(differ) << i
			moved |= nonzero8(differ>>groupLanes) << i
		}
		for k := first; k < min(first+8, n); k++ {
			at, symbol := context+int(moved)&known, int(changed)&(1<<rows-1)
			e := flat[at<<rows+symbol].Load()
			if e == 0 {
				e = t.unfold(at, symbol)
			}
			s.acc[k], s.have[k], s.at[k], s.miss[k] = uint64(e&0xFFFF), uint64(e>>16), k*strandBytes, 0
			s.differ[k] = uint8(symbol)
			changed, moved = changed>>8, moved>>8
		}
	}
}

// nonzero8 has for each of eight bytes one that says whether any of its lower four bits is set.
func nonzero8(b uint64) uint64 {
	return (b&0x0F0F0F0F0F0F0F0F + 0x0F0F0F0F0F0F0F0F) >> 4 & 0x0101010101010101
}

// Rows returns how many rows of the k-th body differ.
func (s *Strands) Rows(k int) int { return bits.OnesCount8(s.differ[k]) }

// Bits returns how many bits a strand has.
func (s *Strands) Bits(k int) int { return (s.at[k]-k*strandBytes)*8 + int(s.have[k]) }

// Word returns the first bits of a strand, zeros behind the last, and whether it has no more.
func (s *Strands) Word(k int) (word uint64, all bool) {
	if s.at[k] == k*strandBytes {
		return s.acc[k], true
	}
	return binary.LittleEndian.Uint64(s.bits[k*strandBytes:]), false
}

// put appends bits, 0 to 56, those above being zero.
func (s *Strands) put(k int, v uint64, n uint) {
	was := s.have[k] & 63
	s.acc[k] |= v << was
	if s.have[k] = was + uint64(n); s.have[k] >= 64 {
		s.spill(k, v>>(64-was))
	}
}

// spill moves a full accumulator to the bytes; what was left of what it had no room for begins the next.
func (s *Strands) spill(k int, left uint64) {
	binary.LittleEndian.PutUint64(s.bits[s.at[k]:], s.acc[k])
	s.acc[k], s.have[k], s.at[k] = left, s.have[k]-64, s.at[k]+8
}

// Strand appends the bits of a strand and fills the last word with zeros as Finish does. Nothing may be unfinished in w.
func (w *Words) Strand(s *Strands, k int) {
	for at := k * strandBytes; at < s.at[k]; at += 8 {
		w.list = append(w.list, binary.LittleEndian.Uint64(s.bits[at:]))
	}
	if s.have[k] > 0 {
		w.list = append(w.list, s.acc[k])
	}
}

// Short tokens are those of distances below shortTokens, counted 0 -1 1 -2 2 and so on and folded by the sign of the movement
// that leads there. Each is one number, found by context and distance: its code with its raw bits, and how many bits that
// are. Behind those of all contexts are that of nothing, without a bit, and one that is never known.
const (
	shortTokens = 256
	shortCode   = 1<<23 - 1 // a code and five raw bits are 20 at most
	shortKnown  = 1 << 23
	shortSize   = 24
)

// shorten makes room for the short tokens of all contexts. They come there when they are first asked for.
func (t *Table) shorten() []atomic.Uint32 {
	t.onceShort.Do(func() {
		n := len(t.codes) * shortTokens
		t.short = make([]atomic.Uint32, n+2)
		t.short[n].Store(shortKnown)
	})
	return t.short
}

// tokenTables are where the codes of a row's lanes begin.
type tokenTables struct {
	flat  *atomic.Uint32             // which lanes differ
	short [groupLanes]*atomic.Uint32 // short tokens,
	last  [groupLanes]uint32         // and which is the last of them
}

func (d *Delta) tokenTables() (t tokenTables) {
	t.flat = &d.groups[0].flat[0]
	for i := range d.lanes {
		if short := d.lanes[i].short; short != nil {
			t.short[i], t.last[i] = &short[0], uint32(len(short)-1)
		}
	}
	return t
}

// long is the token of a distance, counted as for short ones, of which there is no short one or which was not asked for yet.
//
//go:noinline
func (l *deltaLane) long(distance uint64, context int) (code uint64, size uint) {
	symbol, raw, rawBits := Token(int64(distance>>1) ^ -int64(distance&1))
	e := flatCode(l.table, l.flat, context, symbol, deltaFlat)
	length := uint(e >> 16)
	code, size = raw<<(length&63)|uint64(e&0xFFFF), length+rawBits
	if distance < shortTokens {
		l.short[context*shortTokens+int(distance)].Store(uint32(code) | shortKnown | uint32(size)<<shortSize)
	}
	return code, size
}
