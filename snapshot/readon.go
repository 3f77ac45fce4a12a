package snapshot

import "github.com/arche-netcode/netcode/wire"

// Where everything moves, most payloads of a tick are one run each, of the entities
// behind those of the payload before, whose lives the same cover stands for. Of such
// a sequel there is nothing to find out: a few comparisons tell it from others, and
// then a few numbers rise. Read reads every other payload the long way, on which a
// sequel would come to the same.

// sequel is a payload that is nothing but one run.
type sequel struct {
	part              int
	index, generation uint32
	mask              Mask
	n, width          int    // how many records, and lanes of each
	first             uint   // the bit where the lanes of the first begin
	others            []byte // lanes of those behind it
}

const (
	// leastSequel is how many bytes hold all that is looked at before the lanes, each
	// number at its longest, and a word behind.
	leastSequel = 33
	// mostVar is how many bits a part or a generation of a sequel may have, and
	// mostSequelRows how many rows there may be: what more have is read otherwise.
	mostVar, mostSequelRows = 27, 48
)

// readOn reads a payload of the newest tick if it is a sequel. Where it says false it
// is to be read the long way, and nothing has happened.
func (r *Replica) readOn(payload []byte) bool {
	b, k := r.past.block(r.newest), r.covers.at
	if b.tick != r.newest || k == 0 || k >= len(r.covers.list) || len(r.covers.list) > r.covers.most || len(b.runs) == 0 ||
		r.guard != nil || r.apart {
		return false
	}
	var q sequel
	if !r.sequel(payload, &q) {
		return false
	}
	last, next, u := &r.covers.list[k-1], &r.covers.list[k], &b.runs[len(b.runs)-1]
	first, place, n := len(b.lanes), len(b.versions), q.n
	if next.index != q.index || next.n < n || next.generation != q.generation || next.mask != q.mask || next.tick >= b.tick ||
		last.tick != b.tick || !last.reaches(&q, first, place, next.life) || !u.reaches(&q, first, place, next.life) ||
		u.prev.tick != next.tick || u.prev.place+int32(u.n) != next.place {
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

// reaches reports whether a run ends where a sequel begins, in every respect but that
// of what they follow.
func (u *run) reaches(q *sequel, first, place int, life int32) bool {
	n := int32(u.n)
	return u.end() == q.index && u.generation == q.generation && u.mask == q.mask &&
		u.first+u.n*u.width == first && u.place+n == int32(place) && u.life+n == life
}

// sequel finds out whether a payload is nothing but one run of the newest tick, and
// whether each number of it but the floats is legal.
func (r *Replica) sequel(payload []byte, q *sequel) bool {
	rows := uint(r.schema.Rows())
	if len(payload) < leastSequel || rows > mostSequelRows {
		return false
	}
	head, at := uint64(r.newest.Low()), uint(17)
	if r.epoch != 0 {
		head, at = head|1<<16|uint64(r.epoch)<<17, 33
	}
	if wire.Peek(payload, 0)&(1<<at-1) != head {
		return false
	}
	w := wire.Peek(payload, at)
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

// wholeRun is sequel from behind the rows of the first record on.
func (r *Replica) wholeRun(payload []byte, q *sequel) bool {
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
	if end+codes.endSize != len(payload) || payload[end] != codes.end[0] || codes.endSize > 1 && payload[end+1] != codes.end[1] {
		return false
	}
	q.others = payload[from:end]
	return true
}
