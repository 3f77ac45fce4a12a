package delta

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/quantize"
)

// Strands are the bodies of several records that are made side by side, each a string of bits of its own: what is done of
// one row is done for all of them before the next row, so that what one waits for overlaps with others, and what a row's
// kind takes is at hand. Each comes to the bits that Delta.Code appends row by row; tests hold them against each other.
// The zero value is empty.
type Strands struct {
	batch
	words Words // of a row that is coded on its own

	// Of a column of rotations: where they move to, and the length of that.
	to     [groupLanes][MaxStrands]int64
	length [MaxStrands]uint64

	// Of a lane: the movement that leads to what is expected, and how far the lane is from that.
	movement, distance [MaxStrands]int64
}

type batch = kernel.Batch

// Column is one row of each of the bodies that are made side by side.
type Column = kernel.Column

// Held are rows of up to 64 bodies as they are kept, one behind the other in the order of their indexes.
type Held = kernel.RowSlice

// BeginColumn begins a column of rows of d, which have at most MaxStrandLanes.
func (d *Delta) BeginColumn(c *Column) { c.Begin(len(d.lanes), d.wide) }

const (
	// MaxStrands is how many bodies are made side by side.
	MaxStrands = kernel.MaxStreams
	// MaxStrandRows is how many rows a body may have then.
	MaxStrandRows = 4
	// MaxStrandLanes is how many lanes each of them may have.
	MaxStrandLanes = groupLanes
)

// Begin begins n strands with which of their rows differ: a symbol of a table for so many rows.
func (s *Strands) Begin(n int, t *Table, columns []Column, v *quantize.Versions) {
	s.N = n
	rows, flat := uint(len(columns))&7, t.flatten() // at most MaxStrandRows
	context, known := AgeClass(v.Age)*(1<<rows+1)+1<<rows, 0
	if v.Before != nil {
		context, known = context-1<<rows, 1<<rows-1
	}
	first := 0
	if columns[0].Wide && n <= MaxStrands && (context+known+1)<<rows <= len(flat) {
		first = kernel.Begin(&s.batch, &columns[0], len(columns), &flat[0], uint64(context), uint64(known))
	}
	for ; first < n; first += 8 {
		var changed, moved uint64 // of eight bodies
		for i := range columns {
			differ := binary.LittleEndian.Uint64(columns[i].Differ[first&(MaxStrands-8):])
			changed |= nonzero8(differ) << i
			moved |= nonzero8(differ>>groupLanes) << i
		}
		for k := first; k < min(first+8, n); k++ {
			at, symbol := context+int(moved)&known, int(changed)&(1<<rows-1)
			e := flat[at<<rows+symbol].Load()
			if e == 0 {
				e = t.unfold(at, symbol)
			}
			s.Acc[k], s.Have[k], s.At[k], s.Miss[k] = uint64(e&0xFFFF), uint64(e>>16), k*kernel.StreamBytes, 0
			s.Differ[k] = uint8(symbol)
			changed, moved = changed>>8, moved>>8
		}
	}
}

// nonzero8 has for each of eight bytes one that says whether any of its lower four bits is set.
func nonzero8(b uint64) uint64 {
	return (b&0x0F0F0F0F0F0F0F0F + 0x0F0F0F0F0F0F0F0F) >> 4 & 0x0101010101010101
}

// Rows returns how many rows of the k-th body differ.
func (s *Strands) Rows(k int) int { return bits.OnesCount8(s.Differ[k]) }

// Bits returns how many bits a strand has.
func (s *Strands) Bits(k int) int { return (s.At[k]-k*kernel.StreamBytes)*8 + int(s.Have[k]) }

// Word returns the first bits of a strand, zeros behind the last, and whether it has no more.
func (s *Strands) Word(k int) (word uint64, all bool) {
	if s.At[k] == k*kernel.StreamBytes {
		return s.Acc[k], true
	}
	return binary.LittleEndian.Uint64(s.Bytes[k*kernel.StreamBytes:]), false
}

// put appends bits, 0 to 56, those above being zero.
func (s *Strands) put(k int, v uint64, n uint) {
	was := s.Have[k] & 63
	s.Acc[k] |= v << was
	if s.Have[k] = was + uint64(n); s.Have[k] >= 64 {
		s.spill(k, v>>(64-was))
	}
}

// spill moves a full accumulator to the bytes; what was left of what it had no room for begins the next.
func (s *Strands) spill(k int, left uint64) {
	binary.LittleEndian.PutUint64(s.Bytes[s.At[k]:], s.Acc[k])
	s.Acc[k], s.Have[k], s.At[k] = left, s.Have[k]-64, s.At[k]+8
}

// Strand appends the bits of a strand and fills the last word with zeros as Finish does. Nothing may be unfinished in w.
func (w *Words) Strand(s *Strands, k int) {
	for at := k * kernel.StreamBytes; at < s.At[k]; at += 8 {
		w.list = append(w.list, binary.LittleEndian.Uint64(s.Bytes[at:]))
	}
	if s.Have[k] > 0 {
		w.list = append(w.list, s.Acc[k])
	}
}

// shorten makes room for the short tokens of all contexts. They come there when they are first asked for.
func (t *Table) shorten() []atomic.Uint32 {
	t.onceShort.Do(func() {
		n := len(t.codes) * kernel.ShortTokens
		t.short = make([]atomic.Uint32, n+2)
		t.short[n].Store(kernel.ShortKnown)
	})
	return t.short
}

// findTables returns where the codes of a row's lanes begin.
func (d *Delta) findTables() (t kernel.TokenTables) {
	t.Flat = &d.groups[0].flat[0]
	for i := range d.lanes {
		if short := d.lanes[i].short; short != nil {
			t.Short[i], t.Last[i] = &short[0], uint32(len(short)-1)
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
	if distance < kernel.ShortTokens {
		l.short[context*kernel.ShortTokens+int(distance)].Store(uint32(code) | kernel.ShortKnown | uint32(size)<<kernel.ShortSize)
	}
	return code, size
}
