package replica

import (
	"math/bits"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// IndexRange is a range of consecutive indexes.
type IndexRange struct {
	Index, Count uint32 // the lowest index, and the number of indexes
}

// leastRanges is the least room for ranges: a world in which all move has a few, and now and then a few more where a packet was lost. That
// must not be an allocation.
const leastRanges = 64

func (s *IndexRange) end() uint32 { return s.Index + s.Count }

// changedIndexes is the set of indexes that changed since clear.
type changedIndexes struct {
	set    []uint64 // one bit for each index
	listed bool     // ranges is up to date
	ranges []IndexRange
	list   []uint32 // result of Changed
}

// add adds an index. It must be below 64*len(set).
func (c *changedIndexes) add(index uint32) {
	c.set[index>>6] |= 1 << (index & 63)
	c.listed = false
}

func (c *changedIndexes) clear() {
	clear(c.set)
	c.ranges, c.listed = c.ranges[:0], true
}

// spans returns the set as ranges, in ascending order.
func (c *changedIndexes) spans() []IndexRange {
	if c.listed {
		return c.ranges
	}
	if c.listed = true; c.ranges == nil {
		c.ranges = make([]IndexRange, 0, leastRanges)
	}
	c.ranges = c.ranges[:0]
	for w, rest := range c.set {
		for rest != 0 {
			from := bits.TrailingZeros64(rest)
			n := bits.TrailingZeros64(^(rest >> from))
			rest &^= (1<<n - 1) << from
			first := uint32(w*64 + from)
			if k := len(c.ranges) - 1; k >= 0 && c.ranges[k].end() == first {
				c.ranges[k].Count += uint32(n)
				continue
			}
			c.ranges = append(c.ranges, IndexRange{Index: first, Count: uint32(n)})
		}
	}
	return c.ranges
}

// Changed returns the indexes that changed since ClearChanged, each once, in ascending order. The slice belongs to the
// Replica.
func (r *Replica) Changed() []uint32 {
	c := &r.changed
	c.list = c.list[:0]
	for _, s := range c.spans() {
		for i := range s.Count {
			c.list = append(c.list, s.Index+i)
		}
	}
	return c.list
}

// HasChanged reports whether Changed contains an index.
func (r *Replica) HasChanged(index uint32) bool {
	set := r.changed.set
	return int(index>>6) < len(set) && set[index>>6]>>(index&63)&1 != 0
}

// ChangedRanges returns the indexes of Changed as ranges. The slice belongs to the Replica.
func (r *Replica) ChangedRanges() []IndexRange { return r.changed.spans() }

// ClearChanged empties Changed.
func (r *Replica) ClearChanged() { r.changed.clear() }

// The newest rows of an entity are the rows of its newest version, in the block that they were decoded into: nothing is
// copied. When that version has left the history, they are the evicted rows of its life.

// Row returns the newest lanes of a row, or nil if the entity lacks it. The slice belongs to the Replica: read it and
// do not keep it.
func (r *Replica) Row(index uint32, row int) []uint32 {
	h := r.head(index)
	if h < 0 || r.lives[h].gone {
		return nil
	}
	if !r.lives[h].mask.Has(row) {
		band := r.schema.Band(r.lives[h].mask, row)
		if band < 0 {
			return nil
		}
		return r.bands.fine(band, r.newestRow(h, band))
	}
	return r.newestRow(h, row)
}

// newestRow returns the newest lanes of a row that a life has.
func (r *Replica) newestRow(h int32, row int) []uint32 {
	if r.schema.Tags.Has(row) {
		return []uint32{}
	}
	l := &r.lives[h]
	if l.newestTick != l.applied { // the versions received since Lose are older than the applied state
		return r.rowsBeforeLose.row(l.index, row)
	}
	if v := r.history.at(l.newest()); v != nil {
		return r.history.row(l.newestTick, v, row)
	}
	if r.evicted[h].mask.Has(row) {
		return r.evictedRows.row(uint32(h), row)[sinceWords:]
	}
	return r.rowsBeforeLose.row(l.index, row)
}

// keepNewest copies the newest rows of all entities, before the history is dropped.
func (r *Replica) keepNewest() {
	for index, h := range r.heads {
		if h < 0 || r.lives[h].gone {
			continue
		}
		for m := r.lives[h].mask.Minus(r.schema.Tags); !m.IsZero(); m = m.Rest() {
			row := m.Lowest()
			copy(r.rowsBeforeLose.row(uint32(index), row), r.newestRow(h, row))
		}
	}
}

// EntityRange is a range of entities with consecutive indexes, the same generation and the same rows. Their lanes in one
// tick are consecutive, too: see [Replica.Lanes].
type EntityRange struct {
	Index, Generation, Count uint32      // index of the first; generation of each; number of entities
	Mask                     format.Mask // rows of each
	Tick                     tick.Tick   // tick of the state of each
	Width                    int         // lanes of each
	offset                   int         // offset of the first entity's lanes in the lanes of the tick
}

// leastRange is the least number of entities in a range. Fewer entities are faster one by one.
const leastRange = 4

// RangeAt returns the range of at most count entities that begins at an index, with their newest state. It returns false if the
// range has fewer than leastRange entities, or if the first entity cannot be in a range: it is not alive, its rows are
// not consecutive, or a row has entity fields, is always sent whole or is a band. The caller then handles Count
// entities one by one, at least one.
func (r *Replica) RangeAt(index, count uint32) (e EntityRange, ok bool) {
	e.Count = 1
	h := r.head(index)
	if h < 0 || r.lives[h].gone {
		return e, false
	}
	l := &r.lives[h]
	layout := r.layouts.of(l.mask)
	if l.newestTick != l.applied || !layout.batch || r.bands != nil && l.mask.Overlaps(r.schema.Coarse) {
		return e, false
	}
	v := r.history.at(l.newest())
	if v == nil {
		return e, false
	}
	e = EntityRange{Index: index, Generation: l.generation, Mask: l.mask, Tick: l.newestTick, Width: layout.lanes, offset: int(v.first)}
	versions, place := r.history.block(e.Tick).versions, l.newestPlace
	heads := r.heads[index:min(len(r.heads), int(index)+int(count))]
	for _, h := range heads {
		if h < 0 {
			break
		}
		l := &r.lives[h]
		if l.newestTick != e.Tick || l.newestPlace != place+int32(e.Count) || l.applied != e.Tick || l.generation != e.Generation ||
			l.mask != e.Mask || l.gone {
			break
		}
		e.Count++
	}
	// Lanes of consecutive places are in ascending order, but there may be gaps between them.
	for last := int(e.Count) - 1; int(versions[int(place)+last].first) != e.offset+last*e.Width; last-- {
		e.Count--
	}
	return e, e.Count >= leastRange
}

// Lanes returns the lanes of a row of a range from the first entity on, and their number in each entity. Those of the
// k-th entity begin at k*Width. It returns nil if the range's tick has left the history since. The slice belongs to
// the Replica: read it and do not keep it.
func (r *Replica) Lanes(e *EntityRange, row int) (lanes []uint32, n int) {
	b := r.history.block(e.Tick)
	if b.tick != e.Tick {
		return nil, 0
	}
	l := r.layouts.of(e.Mask)
	return b.lanes[e.offset+int(l.at[row]):], int(l.width[row])
}
