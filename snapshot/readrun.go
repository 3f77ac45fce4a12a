package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Where nothing has been acknowledged yet and everything moves, a payload is
// records of the same kind, each of the entity behind the one before. Such a
// run is read, and takes effect, as one: what is the same in all of them is
// looked at once.

// run is records that lean on nothing, of entities one behind the other by
// index, with the same generation and the same rows, which are all exact floats.
// Their versions have a place and no content before they take effect.
type run struct {
	at, n             int // the first among the records of the stage, and how many
	index, generation uint32
	mask              Mask
	first, width      int // lanes of the first in the block, and of each
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
}

// begin makes v the version of the first record.
func (u *run) begin(v *version, t tick.Tick) {
	*v = version{generation: u.generation, first: int32(u.first), basePlace: -1, tick: t, mask: u.mask}
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

// decodeRun stages the records that follow the last one in a run, and returns
// how many. next is the index behind that one's. What it leaves, or all where
// somebody is asked about each record, is read one by one.
func (r *Replica) decodeRun(b *wire.BitReader, context int, next uint32) uint32 {
	s := &r.stage
	v := &s.versions[len(s.versions)-1]
	generation, mask := v.generation, v.mask
	shape := r.shapes.of(mask)
	if !shape.floats || v.base != tick.None || r.guard != nil {
		return 0
	}
	h := r.headOf(context, generation, mask)
	most := min(b.Remaining()/(int(h.bits)+32*shape.lanes), int(MaxEntities-next))
	if h.bits == 0 || most <= 0 {
		return 0
	}
	first := len(s.lanes)
	s.lanes = extended(s.lanes, most*shape.lanes)
	n := wire.ReadFloatRows(b, s.lanes[first:], shape.lanes, h.pattern, h.bits)
	s.lanes = s.lanes[:first+n*shape.lanes]
	if n == 0 {
		return 0
	}
	s.runs = append(s.runs, run{
		at: len(s.indexes), n: n, index: next, generation: generation, mask: mask, first: first, width: shape.lanes,
	})
	s.versions = slices.Grow(s.versions, n)[:len(s.versions)+n]
	from := len(s.indexes)
	s.indexes = extended(s.indexes, n)
	for i := range s.indexes[from:] {
		s.indexes[from+i] = next + uint32(i)
	}
	return uint32(n)
}

// commitRun enters the records of a run, as record does, up to the first about
// which there is more to say. It returns how many: their versions lie from
// place on.
func (r *Replica) commitRun(b *block, u *run, place int) int {
	if int(u.index)+u.n > len(r.heads) {
		return 0
	}
	heads, masks := r.heads[u.index:][:u.n], r.masks[u.index:][:u.n]
	versions := b.versions[place:][:u.n]
	shape, from := r.shapes.of(u.mask), (*block)(nil)
	for i := range versions {
		n := heads[i]
		if n < 0 {
			return i
		}
		l := &r.lives[n]
		if l.generation != u.generation || l.gone || l.applied >= b.tick || l.newest.tick >= b.tick {
			return i
		}
		v, first := &versions[i], u.first+i*u.width
		v.life, v.generation, v.first, v.basePlace = n, u.generation, int32(first), -1
		v.tick, v.base, v.mask, v.moved = b.tick, tick.None, u.mask, 0
		v.over, v.prevTick, v.prevPlace = 0, l.newest.tick, l.newest.place
		if l.newest.tick > r.past.horizon {
			if from == nil || from.tick != l.newest.tick {
				from = r.past.block(l.newest.tick)
				from.last = max(from.last, b.tick)
			}
			w := &from.versions[l.newest.place]
			if w.mask == u.mask && shape.differ(from.lanes[w.first:], b.lanes[first:]) {
				w.over = uint32(b.tick - w.tick)
				from.over++
			}
		}
		l.newest.tick, l.newest.place, l.applied = b.tick, int32(place+i), b.tick
		masks[i] = u.mask
		r.touch(u.index + uint32(i))
	}
	return u.n
}
