package snapshot

import "github.com/arche-netcode/netcode/tick"

// The newest rows of an entity are those of its newest version, where they
// were decoded: nothing is copied. When that has left the window they lie in
// what remains of its life.

// Row is the newest lanes of a row, nil when the entity lacks it. The slice is
// the Replica's own: read it, do not keep it.
func (r *Replica) Row(index uint32, row int) []uint32 {
	h := r.head(index)
	if h < 0 || r.lives[h].gone || !r.masks[index].Has(row) {
		return nil
	}
	return r.newestRow(h, row)
}

// newestRow is Row of a life that has it.
func (r *Replica) newestRow(h int32, row int) []uint32 {
	if r.schema.tags.Has(row) {
		return []uint32{}
	}
	l := &r.lives[h]
	if l.newest.tick != l.applied { // what came since the past was lost is older
		return r.lost.row(l.index, row)
	}
	if l.newest.tick > r.past.horizon {
		lanes := r.past.block(l.newest.tick).lanes[l.first:]
		return r.shapes.of(r.masks[l.index]).row(lanes, row)
	}
	if r.olds.heads[h].mask.Has(row) {
		return r.olds.place(h, row)[sinceWords:]
	}
	return r.lost.row(l.index, row)
}

// Present is where the newest lanes of an entity lie, in one piece: from first on
// among those of a tick, one row behind the other, as [Replica.Lanes] and
// [Replica.Place] tell. It is false when the entity does not live with this
// generation and just these rows, and when its rows do not lie in one piece: then
// [Replica.Row] finds them.
func (r *Replica) Present(index, generation uint32, mask Mask) (t tick.Tick, first int32, ok bool) {
	h := r.head(index)
	if h < 0 || r.masks[index] != mask {
		return tick.None, 0, false
	}
	l := &r.lives[h]
	return l.newest.tick, l.first, l.generation == generation && !l.gone && l.newest.tick == l.applied && l.newest.tick > r.past.horizon
}

// Stretch is entities one behind the other by index, with the same generation
// and rows, whose newest lanes lie one behind the other too.
type Stretch struct {
	Index, Generation, Count uint32    // of the first, of each, and how many
	Mask                     Mask      // rows that each has
	Tick                     tick.Tick // as of which each is known, and which Lanes is to be asked for
	First, Width             int32     // as [Replica.Present] tells of the first; and the lanes of each
}

// Stretch is what is known together of an entity and those behind it, at most
// count. It is false where each has to be looked at by itself; Count is then how
// many that are.
func (r *Replica) Stretch(index, count uint32) (s Stretch, ok bool) {
	i, in := r.covers.seek(index)
	switch {
	case !in && i < len(r.covers.list):
		s.Count = min(count, r.covers.list[i].index-index)
		return s, false
	case !in || r.covers.list[i].tick <= r.past.horizon:
		s.Count = count
		return s, false
	}
	c := &r.covers.list[i]
	skipped := index - c.index
	return Stretch{
		Index: index, Generation: c.generation, Count: min(count, uint32(c.n)-skipped), Mask: c.mask,
		Tick: c.tick, First: int32(c.first) + int32(skipped)*int32(c.width), Width: int32(c.width),
	}, true
}

// Single is a stretch of an entity that Stretch knows nothing of, if its rows are such that it could be one of a stretch: none names entities, and they lie in
// one piece.
func (r *Replica) Single(index uint32) (s Stretch, ok bool) {
	h := r.head(index)
	if h < 0 {
		return s, false
	}
	shape := r.shapes.of(r.masks[index])
	s = Stretch{Index: index, Generation: r.lives[h].generation, Count: 1, Mask: r.masks[index], Width: int32(shape.lanes)}
	s.Tick, s.First, ok = r.Present(index, s.Generation, s.Mask)
	return s, ok && r.schema.inRuns(s.Mask)
}

// GoesOn reports whether another stretch begins where this one ends, and could be one with it.
func (s *Stretch) GoesOn(next *Stretch) bool {
	return next.Index == s.Index+s.Count && next.Generation == s.Generation && next.Mask == s.Mask &&
		next.Tick == s.Tick && next.First == s.First+int32(s.Count)*s.Width
}

// Lanes is all lanes of a tick that Present gave, nil when something was read
// since and the tick has left. The slice is the Replica's own: read it, do not
// keep it.
func (r *Replica) Lanes(t tick.Tick) []uint32 {
	if b := r.past.block(t); b.tick == t {
		return b.lanes
	}
	return nil
}

// Place is where the lanes of a row of the mask lie among those of all its rows.
func (r *Replica) Place(mask Mask, row int) (first, end int) {
	s := r.shapes.of(mask)
	return int(s.at[row]), int(s.at[row] + s.width[row])
}

// rescue keeps the newest rows of all entities beside the past that is given up.
func (r *Replica) rescue() {
	for index, h := range r.heads {
		if h < 0 || r.lives[h].gone {
			continue
		}
		for m := r.masks[index] &^ r.schema.tags; m != 0; m &= m - 1 {
			row := m.next()
			copy(r.lost.row(uint32(index), row), r.newestRow(h, row))
		}
	}
}
