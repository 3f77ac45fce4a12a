package snapshot

import (
	"math"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Entities of a page mostly lie one behind the other in R, and in N. Their rows are then extrapolated in batches, a component of all before the next, before
// the first bit is read, and their records take effect as one run. decodeListed comes to the same record by record; tests hold them against each other.

// listPart is entities of a list one behind the other by index, with the same generation and the same rows at R and at N. Their lives, versions and lanes lie
// one behind the other too.
type listPart struct {
	run              // of R
	end     uint32   // behind the last index
	near    int      // where the lanes of N of the first begin, -1: there is no N
	alone   bool     // decodeListed has to read the records
	batch   uint32   // the index of the first of the batch,
	batched uint32   // and behind its last
	old     []uint32 // all lanes of R
	olds    []uint32 // and of N
}

// readBatch is the expectations for up to wire.MaxExpected entities of a part.
type readBatch struct {
	mask      Mask             // rows of each
	groups    []delta.RowGroup // each of as many of them as have their changes told by one symbol
	age, span int64            // ticks from R to S, and from N to R
	reader    delta.RowReader
}

// decodePlaced reads the record of an entity of a list.
func (r *Replica) decodePlaced(b *wire.BitReader, s tick.Tick, l *readList, index uint32) error {
	p := &l.part
	if index >= p.end || index < p.index {
		r.findPart(l, index)
	}
	if p.alone {
		return r.decodeListed(b, s, l, index)
	}
	if index >= p.batched || index < p.batch {
		r.stage.batch.expect(r, s, l, index)
	}
	if !r.decodeExpected(b, l, index) {
		return r.malformed()
	}
	return nil
}

// findPart makes the part of a list one from an entity on.
func (r *Replica) findPart(l *readList, index uint32) {
	p := &l.part
	*p = listPart{alone: true, end: index + 1, run: run{index: index}, near: -1}
	place, n, ok := spanAt(&l.records, index)
	if !ok || place < 0 || l.near == tick.None || r.apart || r.guard != nil {
		return
	}
	base := r.past.block(l.ref)
	if p.run, ok = base.part(place); !ok || !r.schema.inRuns(p.mask) {
		p.run = run{index: index}
		return
	}
	p.index, p.width = index, r.shapes.of(p.mask).lanes
	n = min(n, uint32(p.n), r.sameLives(index, p.life, p.generation))
	nearPlace, most, ok := spanAt(&l.nears, index)
	n = min(n, most)
	if ok {
		if nearPlace < 0 {
			return
		}
		block := r.past.block(l.near)
		u, ok := block.part(nearPlace)
		if !ok {
			return
		}
		if n = min(n, uint32(u.n)); u.life == p.life && u.mask == p.mask {
			p.near, p.olds = u.first, block.lanes
		}
	}
	if p.alone = n == 0; n > 0 {
		p.end, p.old = index+n, base.lanes
	}
}

// part is runAt for any version: one that is in no run is a run of one.
func (b *block) part(place int32) (u run, ok bool) {
	if u, ok = b.runAt(place); ok {
		return u, true
	}
	v := &b.versions[place]
	return run{n: 1, generation: v.generation, mask: v.mask, first: int(v.first), place: place, life: v.life}, true
}

// inRuns reports whether records with these rows may be kept as runs.
func (s *Schema) inRuns(mask Mask) bool { return mask&(s.refs|s.whole) == 0 && mask&^s.tags != 0 }

// sameLives returns of how many entities from an index on the lives lie one behind the other from one on, and have a generation.
func (r *Replica) sameLives(index uint32, life int32, generation uint32) uint32 {
	most, i, in := uint32(math.MaxUint32), 0, false
	if i, in = r.covers.seek(index); in {
		c := &r.covers.list[i]
		if c.generation != generation || c.life+int32(index-c.index) != life {
			return 0
		}
		return c.end() - index
	}
	if i < len(r.covers.list) {
		most = r.covers.list[i].index - index
	}
	n := uint32(0)
	for n < min(most, pageEntities) && int(index+n) < len(r.heads) && r.heads[index+n] == life+int32(n) && r.lives[life+int32(n)].generation == generation {
		n++
	}
	return n
}

// expect makes the batch one of the part of a list, from an entity on.
func (g *readBatch) expect(r *Replica, s tick.Tick, l *readList, index uint32) {
	p := &l.part
	p.batch, p.batched = index, min(p.end, index+delta.MaxExpected)
	g.shape(r, p.mask)
	skipped := int(index-p.index) * p.width
	base, near := p.old[p.first+skipped:], []uint32(nil)
	g.age, g.span = int64(s-l.ref), int64(l.ref-l.near)
	if p.near >= 0 {
		near = p.olds[p.near+skipped:]
	}
	for i := range g.groups {
		g.groups[i].Expect(int(p.batched-index), p.width, base, near, g.age, g.span)
	}
}

// shape makes the rows of the batch those of a mask.
func (g *readBatch) shape(r *Replica, mask Mask) {
	if g.mask == mask {
		return
	}
	shape := r.shapes.of(mask)
	g.mask, g.groups = mask, g.groups[:0]
	for m := mask &^ r.schema.tags; m != 0; {
		var deltas [whichRows]*delta.Delta
		var at [whichRows]int
		n := 0
		for ; m != 0 && n < whichRows; n, m = n+1, m&(m-1) {
			row := m.next()
			deltas[n], at[n] = r.schema.codes.deltas[row], int(shape.at[row])
		}
		g.groups = room(g.groups, 1, 1)
		g.groups = g.groups[:len(g.groups)+1]
		g.groups[len(g.groups)-1].Begin(r.schema.codes.which[n-1], deltas[:n], at[:n])
	}
}

// decodeExpected is decodeListed for an entity of the batch. It returns false for what is not legal.
func (r *Replica) decodeExpected(b *wire.BitReader, l *readList, index uint32) bool {
	g, t, p := &r.stage.batch, &r.stage, &l.part
	at := int(index-p.index) * p.width
	t.record(p, l.ref, index)
	t.extend(p.width)
	lanes, base := t.lanes[len(t.lanes)-p.width:], p.old[p.first+at:][:p.width]
	before := []uint32(nil)
	if p.near >= 0 {
		before = p.olds[p.near+at:][:p.width]
	}
	g.reader.Begin(b)
	ok := g.reader.Entity(g.groups, int(index-p.batch), lanes, base, before)
	g.reader.End(b)
	return ok
}

// record begins a record of an entity of a part. It is one more of the last run where it goes on with that.
func (s *stage) record(p *listPart, ref tick.Tick, index uint32) {
	n := len(s.versions)
	at, place := n-s.from, p.place+int32(index-p.index)
	if n == cap(s.versions) {
		s.moreVersions(1)
	} else {
		s.versions = s.versions[:n+1]
	}
	if n := len(s.runs) - 1; n >= 0 {
		u := &s.runs[n]
		if u.at+u.n == at && u.end() == index && u.base == ref && u.basePlace+int32(u.n) == place && u.generation == p.generation && u.mask == p.mask {
			u.n++
			return
		}
	}
	u := s.addRun()
	u.at, u.n, u.index, u.generation, u.mask = at, 1, index, p.generation, p.mask
	u.first, u.width, u.base, u.basePlace = len(s.lanes), p.width, ref, place
}
