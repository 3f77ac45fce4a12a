package replica

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// version is an entity after one decoded record: all its rows as of the tick of the block that stores it. It belongs to
// its record, and is never found by a search for an earlier tick (rule 2). A client writes one for every record, so it
// must be small.
type version struct {
	index, generation uint32
	mask              format.Mask
	first             int32  // offset of its lanes in the block; rows are in ascending order
	olderPlace        int32  // place of the version before it, see older
	olderAge          uint32 // ticks since the version before it, see older
	baseAge           uint32 // ticks since the baseline of the record; 0 if it has none
}

// older refers to the version before v of the same life. t is the tick of v.
func (v *version) older(t tick.Tick) versionRef {
	return versionRef{tick: t - tick.Tick(v.olderAge), place: v.olderPlace}
}

// setOlder makes ref the version before v. t is the tick of v. An age that does not fit is cut: the history ends long
// before.
func (v *version) setOlder(t tick.Tick, ref versionRef) {
	v.olderAge, v.olderPlace = uint32(min(t-ref.tick, math.MaxUint32)), ref.place
}

// base returns the tick of the record's baseline, or tick.None. t is the tick of v.
func (v *version) base(t tick.Tick) tick.Tick {
	if v.baseAge == 0 {
		return tick.None
	}
	return t - tick.Tick(v.baseAge)
}

// versionRef refers to a version by its tick and its place in the block of the tick. The zero value refers to none.
type versionRef struct {
	tick  tick.Tick
	place int32
}

// tickBlock stores the versions of one tick. Its slices are reused.
type tickBlock struct {
	tick       tick.Tick
	versions   []version
	lanes      []uint32
	superseded []uint64 // bit by place: a version with the same rows followed within graceTicks
	unsorted   bool     // versions is not in ascending order of index
	order      []int32  // if unsorted: places in order of index, each index once; see sort
	ordered    int      // length of versions when order was made
}

// versionList contains the versions of a tick in order of index, each index once.
type versionList struct {
	versions []version
	order    []int32 // places in versions; nil: versions is in order
}

// len returns the number of versions in the list.
func (l *versionList) len() int {
	if l.order == nil {
		return len(l.versions)
	}
	return len(l.order)
}

// at returns the i-th version of the list.
func (l *versionList) at(i int) *version {
	if l.order == nil {
		return &l.versions[i]
	}
	return &l.versions[l.order[i]]
}

// graceTicks is the number of ticks that versions stay after the last record that may be coded against them.
//
// A version that is superseded within graceTicks by one with the same rows is not evicted: the newer one is still in
// the history. If a record is coded against the older version, its unchanged rows did not change since. So the newer
// version has the same values.
const graceTicks = 4

// versionHistory stores decoded versions by tick. They are dropped by tick only, never with the entity (rules 4 and 7).
type versionHistory struct {
	layouts *rowLayouts
	blocks  []*tickBlock // by tick modulo length, which is a power of two above keep
	empty   *tickBlock   // entry of every tick without versions
	spare   *tickBlock   // for a payload whose tick has no block yet
	free    []*tickBlock // blocks to reuse; the last one is most likely in the processor's cache
	memory  blockMemory
	keep    tick.Tick
	horizon tick.Tick // versions at or before this tick have left
}

// newVersionHistory returns a history that stores versions for keep ticks, and accepts versions of the keep ticks
// before start.
func newVersionHistory(layouts *rowLayouts, keep, start tick.Tick) versionHistory {
	size := 1
	for size <= int(keep) {
		size *= 2
	}
	empty := new(tickBlock)
	return versionHistory{
		layouts: layouts, blocks: slices.Repeat([]*tickBlock{empty}, size), empty: empty,
		keep: keep, horizon: max(start-keep, tick.None),
	}
}

// block returns the block at the position of a tick. It may belong to another tick.
func (h *versionHistory) block(t tick.Tick) *tickBlock { return h.blocks[int(t)&(len(h.blocks)-1)] }

// at returns the version of a ref, or nil if it has left or the ref refers to none.
func (h *versionHistory) at(ref versionRef) *version {
	if ref.tick <= h.horizon {
		return nil
	}
	return &h.block(ref.tick).versions[ref.place]
}

// lanes returns the lanes of all rows of a version. t is its tick.
func (h *versionHistory) lanes(t tick.Tick, v *version) []uint32 {
	return h.block(t).lanes[v.first:][:h.layouts.of(v.mask).lanes]
}

// row returns the lanes of one row of a version. t is its tick, and the version has the row.
func (h *versionHistory) row(t tick.Tick, v *version, row int) []uint32 {
	return h.layouts.of(v.mask).row(h.block(t).lanes[v.first:], row)
}

// blockOf returns the block that a payload of tick t is decoded into. If it is the spare block, it is not part of the
// history before enter.
func (h *versionHistory) blockOf(t tick.Tick) *tickBlock {
	if b := h.block(t); b.tick == t {
		return b
	}
	if h.spare == nil {
		if n := len(h.free) - 1; n >= 0 {
			h.spare, h.free = h.free[n], h.free[:n]
		} else {
			h.spare = new(tickBlock)
		}
	}
	b := h.spare
	b.tick, b.versions, b.lanes, b.superseded = t, b.versions[:0], b.lanes[:0], b.superseded[:0]
	b.unsorted, b.ordered = false, 0
	return b
}

// enter adds a block from blockOf to the history.
func (h *versionHistory) enter(b *tickBlock) {
	had, n := len(b.superseded), (len(b.versions)+63)/64
	if n > had {
		b.superseded = h.memory.marks.grow(b.superseded, n-had)[:n]
		clear(b.superseded[had:])
	}
	if b == h.spare {
		h.blocks[int(b.tick)&(len(h.blocks)-1)], h.spare = b, nil
	}
}

// list returns the versions of a tick. The list is valid until the next payload takes effect.
func (h *versionHistory) list(t tick.Tick) (l versionList, ok bool) {
	if t <= h.horizon {
		return l, false
	}
	b := h.block(t)
	if b.tick != t {
		return l, false
	}
	l.versions = b.versions
	if b.unsorted {
		if b.ordered != len(b.versions) {
			h.sort(b)
		}
		l.order = b.order
	}
	return l, true
}

// sort sorts the versions of a block by index. If an index has several versions, the last one counts.
func (h *versionHistory) sort(b *tickBlock) {
	b.order = h.memory.order.grow(b.order[:0], len(b.versions))
	for place := range b.versions {
		b.order = append(b.order, int32(place))
	}
	slices.SortFunc(b.order, func(x, y int32) int {
		if c := cmp.Compare(b.versions[x].index, b.versions[y].index); c != 0 {
			return c
		}
		return cmp.Compare(y, x)
	})
	b.order = slices.CompactFunc(b.order, func(x, y int32) bool { return b.versions[x].index == b.versions[y].index })
	b.ordered = len(b.versions)
}

// advance moves the horizon for a newest tick. It evicts the versions that leave, oldest tick first.
func (r *Replica) advance(newest tick.Tick) {
	h := &r.history
	horizon := newest - h.keep
	if horizon <= h.horizon {
		return
	}
	// All versions have ticks from the horizon to horizon+keep, however far the newest tick jumps.
	for t := h.horizon + 1; t <= min(horizon, h.horizon+h.keep); t++ {
		b := h.block(t)
		if b.tick != t {
			continue
		}
		for w, superseded := range b.superseded {
			for m := ^superseded; m != 0; m &= m - 1 {
				i := w*64 + bits.TrailingZeros64(m)
				if i >= len(b.versions) {
					break
				}
				v := &b.versions[i]
				r.evict(t, v, b.lanes[v.first:])
			}
		}
		h.memory.leave(b)
		h.free = append(h.free, b)
		h.blocks[int(t)&(len(h.blocks)-1)] = h.empty
	}
	h.horizon = horizon
}

// evictedVersion is the newest version of a life that has left the history. Its rows are in Replica.evictedRows.
type evictedVersion struct {
	tick tick.Tick // tick.None: none has left yet
	mask format.Mask
}

// sinceWords is the number of words in front of an evicted row. They contain the tick since which the row has its
// value.
const sinceWords = 2

// evict makes v the evicted version of its life. v is of tick t and newer than the present one. A row that has not
// changed for an hour still has its baseline (rule 4). So each row is stored with the tick since which it has its
// value.
//
// If the version before v was not evicted, it was superseded within graceTicks. The rows of v then have their value
// since the tick after the last evicted version.
func (r *Replica) evict(t tick.Tick, v *version, lanes []uint32) {
	n := r.find(v.index, v.generation)
	if n < 0 {
		return // the life was dropped
	}
	e := &r.evicted[n]
	was, since := e.mask, t
	if e.tick != v.older(t).tick {
		since = e.tick + 1
	}
	e.tick, e.mask = t, v.mask
	for m := v.mask.Minus(r.schema.Tags); !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		width := int(r.schema.Widths[row])
		stored := r.evictedRows.row(uint32(n), row)
		if !slices.Equal(stored[sinceWords:], lanes[:width]) || !was.Has(row) {
			copy(stored[sinceWords:], lanes[:width])
			stored[0], stored[1] = uint32(since), uint32(since>>32)
		}
		lanes = lanes[width:]
	}
}

// evictedRow returns a row of a life as of t. It returns false if the row got its value after t.
func (r *Replica) evictedRow(life int32, row int, t tick.Tick) ([]uint32, bool) {
	e := &r.evicted[life]
	if e.tick == tick.None || t > e.tick || !e.mask.Has(row) || r.schema.Tags.Has(row) {
		return nil, false
	}
	stored := r.evictedRows.row(uint32(life), row)
	if tick.Tick(uint64(stored[0])|uint64(stored[1])<<32) > t {
		return nil, false
	}
	return stored[sinceWords:], true
}

// rowPages stores the rows of numbered objects, in pages that are allocated at their first use.
type rowPages struct {
	schema *format.Schema
	extra  int // words in front of each row
	pages  [][][]uint32
}

func newRowPages(schema *format.Schema, extra int) rowPages {
	return rowPages{schema: schema, extra: extra, pages: make([][][]uint32, schema.Rows())}
}

// rowsPerPage is the number of rows of a page.
const rowsPerPage = 256

// row returns the memory of a row of an object.
func (p *rowPages) row(number uint32, row int) []uint32 {
	n, page := int(p.schema.Widths[row])+p.extra, int(number/rowsPerPage)
	for page >= len(p.pages[row]) {
		p.pages[row] = append(p.pages[row], nil)
	}
	if p.pages[row][page] == nil {
		p.pages[row][page] = make([]uint32, rowsPerPage*n)
	}
	at := int(number%rowsPerPage) * n
	return p.pages[row][page][at : at+n]
}

// rowLayout contains the positions of the rows of a mask among the lanes of an entity with exactly these rows.
type rowLayout struct {
	mask   format.Mask
	lanes  int
	floats bool // all rows are floats that are sent unchanged
	batch  bool // its records are read in batches: see Schema.InBatches
	at     [format.MaxRows]int32
	width  [format.MaxRows]int32
}

// row returns the lanes of a row among the lanes of all rows of the mask.
func (l *rowLayout) row(lanes []uint32, row int) []uint32 {
	at := l.at[row]
	return lanes[at : at+l.width[row]]
}

// rowLayouts caches the layouts of the masks that were used last. Most worlds have few masks, and every record needs a
// layout.
type rowLayouts struct {
	schema *format.Schema
	cached [1 << layoutBits]rowLayout
}

const layoutBits = 4

func newRowLayouts(schema *format.Schema) *rowLayouts { return &rowLayouts{schema: schema} }

// of returns the layout of a mask. It is valid until the next call.
func (c *rowLayouts) of(mask format.Mask) *rowLayout {
	l := &c.cached[mask.Hash()>>(64-layoutBits)]
	if l.mask != mask {
		c.fill(l, mask)
	}
	return l
}

func (c *rowLayouts) fill(l *rowLayout, mask format.Mask) {
	l.mask, l.lanes, l.floats, l.batch = mask, 0, c.schema.OnlyFloats(mask), c.schema.InBatches(mask)
	for m := mask; !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		l.at[row], l.width[row] = int32(l.lanes), c.schema.Widths[row]
		l.lanes += int(c.schema.Widths[row])
	}
}

// blockMemory is the memory of the blocks of a history. A large tick that leaves returns its memory, for the next large
// tick. So the history needs memory for the sum of its ticks. Without it each block would grow to the size of the
// largest tick.
type blockMemory struct {
	versions slabs[version]
	lanes    slabs[uint32]
	marks    slabs[uint64]
	order    slabs[int32]
}

// bytes returns the size of all memory, spare or in use.
func (m *blockMemory) bytes() int {
	return m.versions.made*versionSize + 8*m.marks.made + 4*(m.lanes.made+m.order.made)
}

// leave empties a block whose tick leaves the history. It takes back memory that the tick used little of.
func (m *blockMemory) leave(b *tickBlock) {
	b.tick, b.ordered = tick.None, 0
	b.versions, b.lanes, b.order = m.versions.leave(b.versions), m.lanes.leave(b.lanes), m.order.leave(b.order)
	b.superseded = m.marks.leave(b.superseded)
}

const (
	versionSize = 24 + 8*format.MaskWords

	// leastSlab is the capacity up to which memory stays with its block.
	leastSlab = 64
	// mostSlack is the factor by which the capacity of a block may exceed its length when its tick leaves.
	mostSlack = 4
	// mostClasses is the largest difference between the capacity class of spare memory and the class that a block
	// needs. A class is a power of two. So a game that slows down to a tenth does not allocate. Larger memory is kept
	// for ticks that need it.
	mostClasses = 4
)

// slabs is memory for one kind of element. Capacities are powers of two.
type slabs[T any] struct {
	spare [bits.UintSize][][]T // by logarithm of the capacity
	usual int                  // moving average of the elements per tick, times 8
	made  int                  // capacity of all memory in elements, spare or in use
}

// grow returns s with capacity for n more elements.
func (p *slabs[T]) grow(s []T, n int) []T {
	need := len(s) + n
	if need <= cap(s) {
		return s
	}
	if cap(s) == 0 {
		return p.take(max(need, leastSlab, p.usual/8))
	}
	larger := append(p.take(2*need), s...)
	p.give(s)
	return larger
}

// take returns memory for at least n elements.
func (p *slabs[T]) take(n int) []T {
	class := bits.Len(uint(n - 1))
	for k := class; k <= min(class+mostClasses, bits.UintSize-1); k++ {
		if last := len(p.spare[k]) - 1; last >= 0 {
			s := p.spare[k][last]
			p.spare[k] = p.spare[k][:last]
			return s
		}
	}
	p.made += 1 << class
	return make([]T, 0, 1<<class)
}

// give returns memory to the spare memory.
func (p *slabs[T]) give(s []T) {
	class := bits.Len(uint(cap(s) - 1))
	p.spare[class] = append(p.spare[class], s[:0])
}

// leave empties the memory of a block. It takes it back if the tick used little of it.
func (p *slabs[T]) leave(s []T) []T {
	p.usual += len(s) - p.usual/8
	if cap(s) <= leastSlab || cap(s) <= mostSlack*len(s) {
		return s[:0]
	}
	p.give(s)
	return nil
}
