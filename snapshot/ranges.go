package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
)

// Span is indexes that follow each other.
type Span struct {
	First, Count uint32 // the lowest one, and how many they are
}

func (s *Span) end() uint32 { return s.First + s.Count }

// changedIndexes is the indexes that changed since they were cleared, each once, in the order of their first change.
type changedIndexes struct {
	ranges []Span
	set    []uint64 // a bit for each index
	list   []uint32 // the same one by one, made when asked for
	n      int      // how many indexes they are
}

// add notes that an index changed. The set must have room for it.
func (c *changedIndexes) add(index uint32) {
	word, bit := &c.set[index>>6], uint64(1)<<(index&63)
	if *word&bit != 0 {
		return
	}
	*word |= bit
	c.n++
	if k := len(c.ranges) - 1; k >= 0 && c.ranges[k].end() == index {
		c.ranges[k].Count++
		return
	}
	c.ranges = append(c.ranges, Span{First: index, Count: 1})
}

func (c *changedIndexes) clear() {
	for _, s := range c.ranges {
		clear(c.set[s.First>>6 : (s.end()-1)>>6+1]) // the other indexes of these words are in ranges too
	}
	c.ranges, c.list, c.n = c.ranges[:0], c.list[:0], 0
}

// Changed lists the indexes that changed since ClearChanged, each once, in the order of their first change. The slice is the
// Replica's own.
func (r *Replica) Changed() []uint32 {
	c := &r.changed
	if len(c.list) < c.n {
		c.list = slices.Grow(c.list[:0], c.n)
		for _, s := range c.ranges {
			for i := range s.Count {
				c.list = append(c.list, s.First+i)
			}
		}
	}
	return c.list
}

// HasChanged reports whether Changed lists an index.
func (r *Replica) HasChanged(index uint32) bool {
	set := r.changed.set
	return int(index>>6) < len(set) && set[index>>6]>>(index&63)&1 != 0
}

// ChangedSpans is Changed with indexes that follow each other as one range. The slice is the Replica's own.
func (r *Replica) ChangedSpans() []Span { return r.changed.ranges }

// ClearChanged starts a new list.
func (r *Replica) ClearChanged() { r.changed.clear() }

// The newest rows of an entity are those of its newest version, where they were decoded: nothing is copied. When that version has
// left the history, they are its life's evicted rows.

// Row returns the newest lanes of a row, nil when the entity lacks it. The slice is the Replica's own: read it, do not keep it.
func (r *Replica) Row(index uint32, row int) []uint32 {
	h := r.head(index)
	if h < 0 || r.lives[h].gone || !r.lives[h].mask.Has(row) {
		return nil
	}
	return r.newestRow(h, row)
}

// newestRow is Row of a life that has the row.
func (r *Replica) newestRow(h int32, row int) []uint32 {
	if r.schema.tags.Has(row) {
		return []uint32{}
	}
	l := &r.lives[h]
	if l.newestTick != l.applied { // the versions that came since the history was lost are older
		return r.kept.row(l.index, row)
	}
	if v := r.history.at(l.newest()); v != nil {
		return r.history.row(v, row)
	}
	if r.evicted[h].mask.Has(row) {
		return r.left.row(uint32(h), row)[sinceWords:]
	}
	return r.kept.row(l.index, row)
}

// keepNewest keeps the newest rows of all entities when the history is dropped.
func (r *Replica) keepNewest() {
	for index, h := range r.heads {
		if h < 0 || r.lives[h].gone {
			continue
		}
		for m := r.lives[h].mask &^ r.schema.tags; m != 0; m &= m - 1 {
			row := m.next()
			copy(r.kept.row(uint32(index), row), r.newestRow(h, row))
		}
	}
}

// Present tells where the newest lanes of an entity are: from first on among those of tick t, one row behind the other (see
// [Replica.Lanes] and [Replica.Place]). It is false when the entity does not live with this generation and just these rows, and when
// its rows are not in one piece; [Replica.Row] finds them then.
func (r *Replica) Present(index, generation uint32, mask Mask) (t tick.Tick, first int32, ok bool) {
	h := r.head(index)
	if h < 0 {
		return tick.None, 0, false
	}
	l := &r.lives[h]
	if l.generation != generation || l.gone || l.mask != mask || l.newestTick != l.applied {
		return tick.None, 0, false
	}
	v := r.history.at(l.newest())
	if v == nil {
		return tick.None, 0, false
	}
	return v.tick, v.first, true
}

// Stretch is entities with consecutive indexes, the same generation and the same rows. Their newest lanes follow each other too.
type Stretch struct {
	Index, Generation, Count uint32    // of the first; of each; how many
	Mask                     Mask      // rows of each
	Tick                     tick.Tick // as of which each is known, see Lanes
	First, Width             int32     // place of the lanes of the first; lanes of each
}

// Stretch returns the range of at most count entities that begins at an index. It is false where there are fewer than leastRange, or
// the entity there is none that could be in a range; Count is then how many are to be looked at one by one.
func (r *Replica) Stretch(index, count uint32) (s Stretch, ok bool) {
	s, ok = r.rangeOf(index, count)
	s.Count = max(s.Count, 1)
	return s, ok && s.Count >= leastRange
}

// leastRange is how many entities a range has at least: fewer are quicker one by one.
const leastRange = 4

// rangeOf returns the range of at most count entities that begins at an index. It is false when the entity there is none that could be
// in a range: it does not live, its rows are not in one piece, or a row of it has entities or is sent whole.
func (r *Replica) rangeOf(index, count uint32) (e Stretch, ok bool) {
	h := r.head(index)
	if h < 0 || r.lives[h].gone || !r.schema.inBatches(r.lives[h].mask) {
		return e, false
	}
	l := &r.lives[h]
	e = Stretch{Index: index, Generation: l.generation, Mask: l.mask}
	if e.Tick, e.First, ok = r.Present(index, l.generation, l.mask); !ok {
		return e, false
	}
	versions, next := r.history.block(e.Tick).versions, e.First
	e.Width = int32(r.layouts.of(e.Mask).lanes)
	heads := r.heads[index:min(len(r.heads), int(index)+int(count))]
	for _, h := range heads {
		if h < 0 {
			break
		}
		l := &r.lives[h]
		if l.newestTick != e.Tick || l.applied != e.Tick || l.generation != e.Generation || l.mask != e.Mask || l.gone ||
			versions[l.newestPlace].first != next {
			break
		}
		e.Count++
		next += e.Width
	}
	return e, true
}

// Lanes returns all lanes of a tick that Present or Stretch gave, nil when a payload was read since and the tick has left. The slice is
// the Replica's own: read it, do not keep it.
func (r *Replica) Lanes(t tick.Tick) []uint32 {
	if b := r.history.block(t); b.tick == t {
		return b.lanes
	}
	return nil
}

// Place tells where the lanes of a row of the mask are among those of all its rows.
func (r *Replica) Place(mask Mask, row int) (first, end int) {
	l := r.layouts.of(mask)
	return int(l.at[row]), int(l.at[row] + l.width[row])
}
