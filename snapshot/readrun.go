package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Where nothing has been acknowledged yet and everything moves, a payload is
// records of the same kind, each of the entity behind the one before. Such a
// run is read, and takes effect, as one: what is the same in all of them is
// looked at once.

// run is records that lean on nothing, of entities one behind the other by
// index, with the same generation and the same rows, which are all exact floats.
type run struct {
	at, n             int // the first among the records of the stage, and how many
	index, generation uint32
	mask              Mask
	first, width      int // lanes of the first in the block, and of each

	// Of a run that took effect. The places of what it follows, and the lives, are
	// one behind the other too.
	place, life int32
	prev        versionRef
}

// runHead is the bits that the next record of a run begins with.
type runHead struct {
	context    int
	generation uint32
	mask       Mask
	pattern    uint64
	bits       uint // 0: they are too many
}

// skip takes away the first records.
func (u *run) skip(n int) {
	u.at, u.n, u.index, u.first = u.at+n, u.n-n, u.index+uint32(n), u.first+n*u.width
	u.place, u.life, u.prev.place = u.place+int32(n), u.life+int32(n), u.prev.place+int32(n)
}

// version makes v the version of the first record.
func (u *run) version(v *version, t tick.Tick) {
	*v = version{
		life: u.life, generation: u.generation, first: int32(u.first), basePlace: -1, tick: t, mask: u.mask, prev: u.prev,
	}
}

// headOf is the bits between two records of a run.
func (r *Replica) headOf(context int, generation uint32, mask Mask) *runHead {
	h := &r.run
	if h.context == context && h.generation == generation && h.mask == mask {
		return h
	}
	*h = runHead{context: context, generation: generation, mask: mask}
	var buf [64]byte
	w := wire.NewBitWriter(buf[:])
	symbol, _, _ := gapSymbol(0, true)
	r.schema.codes.gap.Write(&w, context, symbol)
	w.Bool(false)
	w.Var(uint64(generation))
	w.Write(uint64(mask), uint(r.schema.Rows()))
	if n := w.Bits(); n <= wire.HeadBits {
		b := wire.NewBitReader(buf[:w.Finish()])
		h.bits, h.pattern = uint(n), b.Read(uint(n))
	}
	return h
}

// decodeRun stages the records that follow the last one in a run with it, and
// returns how many. next is the index behind that one's. What it leaves, or all where
// somebody is asked about each record, is read one by one.
func (r *Replica) decodeRun(b *wire.BitReader, context int, next uint32) uint32 {
	s := &r.stage
	v := &s.versions[len(s.versions)-1]
	generation, mask := v.generation, v.mask
	shape := r.shapes.of(mask)
	if !shape.floats || v.base != tick.None || r.guard != nil || r.apart {
		return 0
	}
	h := r.headOf(context, generation, mask)
	most := min(b.Remaining()/(int(h.bits)+32*shape.lanes), int(MaxEntities-next))
	if h.bits == 0 || most <= 0 {
		return 0
	}
	first, from := int(v.first), len(s.lanes)
	s.lanes = extended(s.lanes, most*shape.lanes)
	n := wire.ReadFloatRows(b, s.lanes[from:], shape.lanes, h.pattern, h.bits)
	s.lanes = s.lanes[:from+n*shape.lanes]
	if n == 0 {
		return 0
	}
	s.runs = append(s.runs, run{
		at: len(s.indexes) - 1, n: 1 + n, index: next - 1, generation: generation, mask: mask, first: first, width: shape.lanes,
	})
	s.versions = room(s.versions, n)[:len(s.versions)+n]
	at := len(s.indexes)
	s.indexes = extended(s.indexes, n)
	for i := range s.indexes[at:] {
		s.indexes[at+i] = next + uint32(i)
	}
	return uint32(n)
}

// commitRun enters the first records of a run as record does, with places from
// place on, and takes them away from it: all until one about which there is more
// to say. It returns how many. Their versions are put together when somebody
// asks for one.
func (r *Replica) commitRun(b *block, u *run, place int) (done int) {
	for u.n > 0 && int(u.index) < len(r.heads) {
		h := r.heads[u.index]
		if h < 0 || !r.carriesOn(h, u, b.tick) {
			break
		}
		began := *u
		began.place, began.life, began.prev = int32(place+done), h, r.lives[h].newest
		began.n = r.enterRun(b, &began)
		b.runs = append(b.runs, began)
		u.skip(began.n)
		done += began.n
	}
	return done
}

// carriesOn reports whether there is nothing to say about a life but that it has
// another version.
func (r *Replica) carriesOn(h int32, u *run, now tick.Tick) bool {
	l := &r.lives[h]
	return l.generation == u.generation && !l.gone && l.applied < now && l.newest.tick == l.applied && r.masks[u.index] == u.mask
}

// enterRun makes the records of a run their entities' newest, until one of a
// life or behind a version that is not one behind that of the record before. It
// returns how many, at least one.
func (r *Replica) enterRun(b *block, u *run) (n int) {
	most := min(u.n, len(r.heads)-int(u.index), len(r.lives)-int(u.life))
	lives, heads, masks := r.lives[u.life:][:most], r.heads[u.index:][:most], r.masks[u.index:][:most]
	before, prev, now := u.prev.tick, u.prev.place, b.tick
	var followed *block
	var olds []uint32
	if before > r.past.horizon && now-before <= spareTicks {
		followed = r.past.block(before)
		followed.over = followed.over.grownTo(len(followed.versions))
		olds = followed.lanes
	}
	shape, lanes, first, place := r.shapes.of(u.mask), b.lanes[u.first:], int32(u.first), u.place
	for n < len(lives) {
		l := &lives[n]
		if heads[n] != u.life+int32(n) || l.newest.tick != before || l.newest.place != prev || l.applied != before ||
			l.generation != u.generation || l.gone || masks[n] != u.mask {
			break
		}
		if followed != nil && (shape.rows <= probes && shape.apart(olds[l.first:], lanes) || shape.differ(olds[l.first:], lanes)) {
			followed.over.set(uint32(prev))
			followed.overs++
		}
		l.newest.tick, l.newest.place, l.applied, l.first = now, place, now, first
		lanes = lanes[u.width:]
		n, first, place, prev = n+1, first+int32(u.width), place+1, prev+1
	}
	r.touchRun(u.index, n)
	return n
}

// touchRun is touch for n indexes one behind the other.
func (r *Replica) touchRun(index uint32, n int) {
	for n > 0 {
		word, bit := index>>6, index&63
		k := min(n, 64-int(bit))
		set := ^uint64(0) >> (64 - k) << bit
		if r.touched[word]&set != 0 {
			for i := range uint32(k) {
				r.touch(index + i)
			}
		} else {
			r.touched[word] |= set
			at := len(r.changed)
			r.changed = extended(r.changed, k)
			for i := range r.changed[at:] {
				r.changed[at+i] = index + uint32(i)
			}
		}
		index, n = index+uint32(k), n-k
	}
}
