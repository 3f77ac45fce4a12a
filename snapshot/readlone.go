package snapshot

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Where everything moves, a payload is mostly one run and nothing else. It goes on where the
// payload before it ended, or is the first of a tick, and is about entities whose lives one cover
// stands for. So what it begins with is known before it is looked at, but for its tick and its part:
// it is compared with that, and nothing is decoded or looked up. Then a few numbers rise, by as many
// as it has records. Read reads every other payload the long way, on which these would come to the same.

const (
	// leastLone is how many bytes hold all that is looked at before the lanes, each
	// number at its longest, and a word behind.
	leastLone = 33
	// mostVar is how many bits a part of it may have, and mostLoneRows how many rows
	// there may be: what more have is read otherwise.
	mostVar, mostLoneRows = 27, 48
)

// readLone reads a payload that is nothing but one run, of the newest tick where the last one
// ended, or at the first cover and of a newer tick. Where it says false it is to be read the long way,
// and nothing has happened.
func (r *Replica) readLone(payload []byte) bool {
	if r.guard != nil || r.apart || len(payload) < leastLone || len(r.covers.list) > r.covers.most {
		return false
	}
	now, k := r.newest, r.covers.at
	if said := binary.LittleEndian.Uint16(payload); said != uint16(now) {
		if now, k = tick.Near(said, r.newest), 0; now <= r.newest {
			return false
		}
	}
	if k >= len(r.covers.list) || now == r.newest && !r.ended(k) {
		return false
	}
	next := &r.covers.list[k]
	part, at := r.expects(payload, &next.run)
	if at == 0 {
		return false
	}
	n, from := r.schema.codes.wholeRun(payload, at, next.width)
	if n == 0 || n > next.n {
		return false
	}
	b := r.past.block(now)
	if now > r.newest {
		b = r.past.begin(now)
	}
	first, end := len(b.lanes), len(b.lanes)+n*next.width
	if b == &r.past.spare || cap(b.lanes) < end || !b.fits(n) {
		return false
	}
	lanes := b.lanes[first:end]
	wire.FetchLanes(b.ahead(end, n*next.width, (next.n-n)*next.width))
	if !wire.PeekFloats(lanes[:next.width], payload, at) || !wire.CopyFloats(lanes[next.width:], payload[from:]) {
		return false
	}
	if now > r.newest {
		r.turn(now)
		r.beginAtFirst(b)
	}
	b.lanes = b.lanes[:end]
	r.goOn(b, part, n)
	return true
}

// ahead is where the lanes of the payload after the next one will be, behind the end of those of one with so many, if as many come each time and as
// many are left as the cover says. Memory that was last written as long ago as versions are kept is in no cache near the core: what is asked for
// here is there when its turn comes. That of the next one was asked for when the one before this was read.
func (b *block) ahead(end, size, left int) []uint32 {
	from, until := end+size, min(end+2*size, end+left, cap(b.lanes))
	if from >= until {
		return nil
	}
	return b.lanes[from:until]
}

// ended reports whether the run and the cover that came last end where a cover begins that is
// about those behind, and all that there is of the newest tick ends there too.
func (r *Replica) ended(k int) bool {
	b := r.past.block(r.newest)
	if k == 0 || b.tick != r.newest || len(b.runs) == 0 {
		return false
	}
	last, next, u := &r.covers.list[k-1], &r.covers.list[k], &b.runs[len(b.runs)-1]
	n, m, place := int32(last.n), int32(u.n), int32(len(b.versions))
	return last.tick == b.tick && last.end() == next.index && last.generation == next.generation && last.mask == next.mask &&
		last.first+last.n*last.width == len(b.lanes) && last.place+n == place && last.life+n == next.life &&
		u.place+m == place && u.prev.tick == next.tick && u.prev.place+m == next.place
}

// expects reports whether a payload of any tick begins as one does that is a run of the first of u, with
// the same rows, and nothing else: of which part it is, and at which bit its lanes begin, or 0.
func (r *Replica) expects(payload []byte, u *run) (part int, at uint) {
	rows := uint(r.schema.Rows())
	epoch, at := uint64(0), uint(17)
	if r.epoch != 0 {
		epoch, at = 1|uint64(r.epoch)<<1, 33
	}
	p, n := wire.PeekVar(wire.Peek(payload, at))
	if wire.Peek(payload, 16)&(1<<(at-16)-1) != epoch || n > mostVar || p >= maxParts || rows > mostLoneRows {
		return 0, 0
	}
	head, size := r.schema.codes.head(u.index, u.generation)
	at += n
	if size > wire.PeekBits || wire.Peek(payload, at)&(1<<size-1) != head {
		return 0, 0
	}
	at += size
	if wire.Peek(payload, at)&(1<<rows-1) != uint64(u.mask) {
		return 0, 0
	}
	return int(p), at + rows
}

// head is what stands between the part of such a payload and the rows of its first record, and how many
// bits that are. If they are more than wire.PeekBits, it is worth nothing.
func (c *codes) head(index, generation uint32) (head uint64, n uint) {
	gap := &c.gaps[bits.Len32(index)]
	number, size := wire.VarBits(uint64(generation))
	n = 2 + uint(gap.size) // no despawns, no list
	head = uint64(gap.code)<<2 | uint64(index&gap.raw)<<n
	n += uint(bits.OnesCount32(gap.raw)) + 1 // against no baseline
	return head | number<<n, n + size
}

// wholeRun reports how many records a payload has that is nothing but a run of them, each with so many lanes,
// those of the first from a bit on; and at which byte the lanes of the others begin. It is 0 where the payload is
// something else.
func (c *codes) wholeRun(payload []byte, first uint, width int) (n, from int) {
	at := first + 32*uint(width)
	said := int(at/8) + 1 // zeros follow up to that byte
	if said >= len(payload) || payload[said-1]>>(at%8) != 1 || payload[said] == 0 {
		return 0, 0
	}
	more := int(payload[said])
	end := said + 1 + 4*more*width
	if end+c.endSize != len(payload) || payload[end] != c.end[0] || c.endSize > 1 && payload[end+1] != c.end[1] {
		return 0, 0
	}
	return 1 + more, said + 1
}

// beginAtFirst puts a run that has no records yet into a block, and in front of the first cover one of
// that, both about those of whom the first cover is.
func (r *Replica) beginAtFirst(b *block) {
	c := &r.covers
	c.list = slices.Insert(c.list, 0, c.list[0])
	c.at = 1
	u, next := &c.list[0], &c.list[1]
	u.at, u.n, u.first, u.place, u.tick = 0, 0, len(b.lanes), int32(len(b.versions)), b.tick
	u.prev = versionRef{tick: next.tick, place: next.place}
	b.runs = append(room(b.runs, 1, usualParts), u.run)
}

// goOn makes n records of a payload take effect, whose lanes are in the block: those of the first of
// the cover that was found last, which go on where the run and the cover before end.
func (r *Replica) goOn(b *block, part, n int) {
	k := r.covers.at
	last, next, u := &r.covers.list[k-1], &r.covers.list[k], &b.runs[len(b.runs)-1]
	r.stats.Snapshots++
	r.stats.Records += uint64(n)
	b.noteLone(part, next.index, n)
	r.follow(b.tick, versionRef{tick: next.tick, place: next.place}, n)
	r.touched.add(next.index, n)
	last.n, u.n = last.n+n, u.n+n
	if next.skip(n); next.n == 0 {
		r.covers.drop(k)
	}
}
