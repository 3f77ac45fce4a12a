package snapshot

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Where everything moves, a payload is mostly one run and nothing else. Such a one
// is told from others by a few comparisons, and read without asking at each number
// what may follow. Most go on where the payload before them ended, about entities
// whose lives the same cover stands for: then nothing is to be found out, and a few
// numbers rise. Read reads every other payload the long way, on which these would
// come to the same.

// lone is a payload that is nothing but one run.
type lone struct {
	part              int
	index, generation uint32
	mask              Mask
	n, width          int    // how many records, and lanes of each
	first             uint   // the bit where the lanes of the first begin
	others            []byte // lanes of those behind it
}

const (
	// leastLone is how many bytes hold all that is looked at before the lanes, each
	// number at its longest, and a word behind.
	leastLone = 33
	// mostVar is how many bits a part or a generation of it may have, and
	// mostLoneRows how many rows there may be: what more have is read otherwise.
	mostVar, mostLoneRows = 27, 48
)

// readLone reads a payload that is nothing but one run. Where it says false it is to be
// read the long way, and nothing has happened.
func (r *Replica) readLone(payload []byte) bool {
	var q lone
	if r.guard != nil || r.apart || !r.lone(payload, &q) {
		return false
	}
	s := tick.Near(binary.LittleEndian.Uint16(payload), r.newest)
	return s == r.newest && r.goOn(payload, &q) || s > tick.None && s > r.newest-r.window && r.readRun(payload, &q, s)
}

// readRun makes a run take effect, whatever there is to say about its entities.
func (r *Replica) readRun(payload []byte, q *lone, now tick.Tick) bool {
	s := &r.stage
	s.reset(r.past.begin(now))
	first := len(s.lanes)
	s.lanes = extended(s.lanes, q.n*q.width)
	lanes := s.lanes[first:]
	if !wire.PeekFloats(lanes[:q.width], payload, q.first) || !wire.CopyFloats(lanes[q.width:], q.others) {
		return false
	}
	to := s.addRun()
	to.at, to.n, to.index, to.generation, to.mask = 0, q.n, q.index, q.generation, q.mask
	to.first, to.width = first, q.width
	s.versions = room(s.versions, q.n, 0)[:len(s.versions)+q.n]
	s.epoch, s.part = r.epoch, q.part
	s.back()
	r.commit(now)
	return true
}

// goOn makes a run of the newest tick take effect that goes on where the last one
// ended: where the versions of the block end there end that run, the cover before and
// what both are about.
func (r *Replica) goOn(payload []byte, q *lone) bool {
	b, k := r.past.block(r.newest), r.covers.at
	if b.tick != r.newest || k == 0 || k >= len(r.covers.list) || len(r.covers.list) > r.covers.most || len(b.runs) == 0 {
		return false
	}
	last, next, u := &r.covers.list[k-1], &r.covers.list[k], &b.runs[len(b.runs)-1]
	first, place, n := len(b.lanes), len(b.versions), q.n
	if next.index != q.index || next.n < n || next.generation != q.generation || next.mask != q.mask ||
		last.tick != b.tick || !last.reaches(q, first, place, next.life) ||
		u.place+int32(u.n) != int32(place) || u.prev.tick != next.tick || u.prev.place+int32(u.n) != next.place {
		return false
	}
	end := first + n*q.width
	if len(b.parts) >= maxParts || b.count+n > maxListedAt || cap(b.lanes) < end || cap(b.versions) < place+n {
		return false
	}
	lanes := b.lanes[first:end]
	if !wire.PeekFloats(lanes[:q.width], payload, q.first) || !wire.CopyFloats(lanes[q.width:], q.others) {
		return false
	}
	r.stats.Snapshots++
	r.stats.Records += uint64(n)
	b.lanes, b.versions = b.lanes[:end], b.versions[:place+n]
	b.open(q.part)
	b.noteRun(q.index, int32(place), n)
	r.follow(b.tick, versionRef{tick: next.tick, place: next.place}, n)
	r.touchRun(q.index, n)
	last.n, u.n = last.n+n, u.n+n
	if next.skip(n); next.n == 0 {
		r.covers.drop(k)
	}
	return true
}

// reaches reports whether a run ends where another begins, in every respect but that
// of what they follow.
func (u *run) reaches(q *lone, first, place int, life int32) bool {
	n := int32(u.n)
	return u.end() == q.index && u.generation == q.generation && u.mask == q.mask &&
		u.first+u.n*u.width == first && u.place+n == int32(place) && u.life+n == life
}

// lone finds out whether a payload is nothing but one run, and whether each number of
// it but the tick and the floats is legal.
func (r *Replica) lone(payload []byte, q *lone) bool {
	rows := uint(r.schema.Rows())
	if len(payload) < leastLone || rows > mostLoneRows {
		return false
	}
	epoch, at := uint64(0), uint(17)
	if r.epoch != 0 {
		epoch, at = 1|uint64(r.epoch)<<1, 33
	}
	w := wire.Peek(payload, 0)
	if w&(1<<at-1)>>16 != epoch {
		return false
	}
	w = wire.Peek(payload, at)
	part, n := wire.PeekVar(w)
	if n > mostVar || part >= maxParts || w>>n&3 != 0 { // no despawns, no list
		return false
	}
	q.part, at = int(part), at+n+2
	symbol, n := r.schema.codes.gap.Peek(0, w>>(n+2))
	class := uint(symbol) / 2
	if symbol == gapEnd || symbol%2 != 0 || class > maxGapClass { // it is usual
		return false
	}
	w, at = wire.Peek(payload, at+n), at+n
	if q.index = uint32(class - 1); class > 2 {
		q.index = 1<<(class-2) | uint32(w)&(1<<(class-2)-1)
		w, at = w>>(class-2), at+class-2
	}
	generation, n := wire.PeekVar(w >> 1)
	if w&1 != 0 || generation == 0 || n > mostVar { // against a baseline
		return false
	}
	q.generation, at = uint32(generation), at+1+n
	q.mask, q.first = Mask(wire.Peek(payload, at)&(1<<rows-1)), at+rows
	return r.wholeRun(payload, q)
}

// maxGapClass is the class of the largest index, and one.
const maxGapClass = 21

// wholeRun is lone from behind the rows of the first record on.
func (r *Replica) wholeRun(payload []byte, q *lone) bool {
	shape := r.shapes.of(q.mask)
	q.width = shape.lanes
	at := q.first + 32*uint(q.width)
	said, codes := int(at/8)+1, &r.schema.codes // zeros follow up to that byte
	if !shape.floats || said >= len(payload) || payload[at/8]>>(at%8) != 1 || payload[said] == 0 {
		return false
	}
	q.n = int(payload[said]) + 1
	from := said + 1
	end := from + 4*(q.n-1)*q.width
	if q.n > int(MaxEntities-q.index) || end+codes.endSize != len(payload) || payload[end] != codes.end[0] || codes.endSize > 1 && payload[end+1] != codes.end[1] {
		return false
	}
	q.others = payload[from:end]
	return true
}
