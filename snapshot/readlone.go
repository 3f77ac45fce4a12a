package snapshot

import (
	"encoding/binary"
	"math/bits"

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
	// mostVar is how many bits a part of it may have: what has more is read otherwise.
	mostVar = 27
)

// sequel is what a payload begins with that goes on, as far as payloads of its tick that are about the same cover have in common. Nothing that it
// says may be otherwise while it is known: who changes any of that has it forgotten.
type sequel struct {
	known      bool // the run and the cover that came last end where the cover begins
	k          int  // which cover
	tick       tick.Tick
	head, tail uint64 // tick and epoch; what stands between an index and the lanes: no baseline, generation, rows
	headMask   uint64
	tailMask   uint64
	part, size uint // how many bits head has, behind which the part is, and tail
	generation uint32
	mask       Mask
}

// readLone reads a payload that is nothing but one run, of the newest tick where the last one
// ended, or at the first cover and of a newer tick. Where it says false it is to be read the long way,
// and nothing has happened.
func (r *Replica) readLone(payload []byte) bool {
	e := &r.sequel
	if len(payload) < leastLone || !r.goesOn(payload) && !r.foresee(payload) {
		return false
	}
	next := &r.covers.list[e.k]
	part, at := e.begins(payload, &r.schema.codes, next.index)
	if at == 0 {
		return false
	}
	n, from := r.schema.codes.wholeRun(payload, at, next.width)
	if n == 0 || n > next.n {
		return false
	}
	b := r.past.block(e.tick)
	if e.tick > r.newest {
		b = r.past.begin(e.tick)
	}
	first, end := len(b.lanes), len(b.lanes)+n*next.width
	if b == &r.past.spare || cap(b.lanes) < end || !b.fits(n) {
		return false
	}
	if !r.schema.floats.Run(b.lanes[first:end], next.width, payload, at, from, behindNext(n, next)) {
		return false
	}
	if e.tick > r.newest {
		r.turn(e.tick)
		r.beginAtFirst(b)
	}
	b.lanes = b.lanes[:end]
	r.goOn(b, r.covers.at, part, n)
	return true
}

// goesOn reports whether all is known of what comes next, and a payload is of that tick.
func (r *Replica) goesOn(payload []byte) bool {
	e := &r.sequel
	return e.known && e.k == r.covers.at && binary.LittleEndian.Uint64(payload)&e.headMask == e.head && len(r.past.block(e.tick).runs) > 0
}

// forget has nothing known of what comes next: it is found out anew.
func (e *sequel) forget() { e.known = false }

// behindNext is how many lanes behind those of n records those of the payload after the next one will be, if as many come each time, and 0 where the cover ends before.
// Memory that was last written as long ago as versions are kept is in no cache near the core: what is asked for
// here is there when its turn comes. That of the next one was asked for when the one before this was read.
func behindNext(n int, u *cover) int {
	if u.n <= 2*n {
		return 0
	}
	return 2 * n * u.width
}

// foresee finds out what a payload begins with that goes on where the last one ended, or, if this one is of a newer tick, that begins
// one. It is false where there can be none, or this one is none.
func (r *Replica) foresee(payload []byte) bool {
	e := &r.sequel
	e.forget()
	if r.guard != nil || r.apart || len(r.covers.list) > r.covers.most {
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
	if c := &r.covers.list[k]; (e.generation != c.generation || e.mask != c.mask) && !e.of(c, uint(r.schema.Rows())) {
		return false
	}
	e.k, e.tick = k, now
	e.head, e.part = uint64(uint16(now)), 17
	if r.epoch != 0 {
		e.head, e.part = e.head|1<<16|uint64(r.epoch)<<17, 33
	}
	e.headMask = 1<<e.part - 1
	return binary.LittleEndian.Uint64(payload)&e.headMask == e.head
}

// of notes what stands between an index and the lanes of records about those of a cover. It is false where that are more bits than
// are looked at together.
func (e *sequel) of(c *cover, rows uint) bool {
	number, n := wire.VarBits(uint64(c.generation))
	if n+rows+1 > wire.PeekBits {
		return false
	}
	e.generation, e.mask = c.generation, c.mask
	e.tail, e.size = number<<1|uint64(c.mask)<<(n+1), 1+n+rows
	e.tailMask = 1<<e.size - 1
	return true
}

// begins reports whether a payload of such a tick and epoch is about somebody of the cover, and nothing else stands in front: of which part it is, and at which
// bit its lanes begin, or 0.
func (e *sequel) begins(payload []byte, c *codes, index uint32) (part int, at uint) {
	p, n := wire.PeekVar(binary.LittleEndian.Uint64(payload) >> (e.part & 63))
	if n > mostVar || p >= maxParts {
		return 0, 0
	}
	gap := &c.gaps[bits.Len32(index)]
	at = e.part + n
	if wire.Peek(payload, at)&gap.mask != gap.code|uint64(index&gap.raw)<<(gap.size&63) {
		return 0, 0
	}
	at += uint(gap.all)
	if wire.Peek(payload, at)&e.tailMask != e.tail {
		return 0, 0
	}
	return int(p), at + e.size
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
	c.list = append(c.list, cover{})
	for i := len(c.list) - 1; i > 0; i-- { // there are few: mostly one
		c.list[i] = c.list[i-1]
	}
	c.at = 1
	u, next := &c.list[0], &c.list[1]
	u.at, u.n, u.first, u.place, u.tick = 0, 0, len(b.lanes), int32(len(b.versions)), b.tick
	u.prev = versionRef{tick: next.tick, place: next.place}
	b.addRun(&u.run)
}

// goOn makes n records of a payload take effect, whose lanes are in the block: those of the first of
// the cover that was found last, which go on where the run and the cover before end.
func (r *Replica) goOn(b *block, k, part, n int) {
	two, u := r.covers.list[k-1:][:2], &b.runs[len(b.runs)-1]
	last, next := &two[0], &two[1]
	r.stats.Snapshots++
	r.stats.Records += uint64(n)
	b.noteLone(part, next.index, n)
	r.follow(b.tick, versionRef{tick: next.tick, place: next.place}, n)
	r.touched.add(next.index, n)
	last.n, u.n = last.n+n, u.n+n
	if next.skip(n); next.n == 0 {
		r.covers.drop(k)
		r.sequel.forget()
		return
	}
	r.sequel.k, r.sequel.known = k, len(r.covers.list) <= r.covers.most
}
