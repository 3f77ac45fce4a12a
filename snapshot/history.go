package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// history has the values of rows and entities in the last W ticks, as images of pages. An image is of one row (a component) of the 64
// entities of a page, before the changes of one tick. It has the lanes of the entities that changed. The value at tick t is in the
// first image after t that has the entity. Without such an image the row has not changed since t, so it has its present value
// (rule 4).
//
// Images of the present tick lie in fresh, with room for all entities of the page. Commit packs them into chunks. A chunk is used
// again when all of its images are W ticks old. If the limit allows no further chunk, the oldest tick is forgotten as a whole.
type history struct {
	rows     []rowLog // by row of the schema; the last one is of entities: their masks and generations
	chunks   []chunk
	filling  int        // the chunk that images are packed into
	fresh    []uint32   // lanes of the images of the present tick
	open     []openPage // pages with an image in fresh
	ticks    []tickRows // by tick modulo the length, a power of two above W
	now      tick.Tick
	horizon  tick.Tick // changes at this tick or before are forgotten
	keep     tick.Tick // W, in ticks
	limit    int       // most bytes of the history
	memory   int       // bytes of all of it but fresh
	size     int       // lanes of a chunk, at least
	entities int       // index of the last log in rows
	evicted  uint64    // changed rows that were forgotten before they were W ticks old
}

// rowLog is the images of one row, by page.
type rowLog struct {
	width int // lanes of the row
	pages []pageLog
}

// pageLog is the images of one row and page, the oldest first.
type pageLog struct {
	images      []image                        // ring; the length is a power of two
	first, next uint32                         // numbers of the oldest image and of the next one, not reduced modulo the length
	last        tick.Tick                      // tick of the newest image
	since       [format.PageEntities]tick.Tick // tick of the newest change before the oldest image
}

// image is the lanes of a page's entities before the changes of a tick, in the order of indexes.
type image struct {
	tick  tick.Tick
	rows  uint64 // entities whose row changed in the tick
	there uint64 // those that had the row before, or were alive
	chunk uint32
	lane  uint32 // place of the lanes in the chunk, or in history.fresh
}

// chunk is memory for packed images.
type chunk struct {
	lanes  []uint32
	newest tick.Tick // tick of the newest image in it
}

// openPage names a page of a row.
type openPage struct{ row, page uint32 }

// tickRows is the number of rows that changed in a tick.
type tickRows struct {
	tick tick.Tick
	rows uint64
}

const (
	chunkLanes = 1 << 13

	// Sizes in bytes of a lane, an image, a pageLog without its images, and a tickRows.
	laneSize  = 4
	imageSize = 32
	pageSize  = 8*format.PageEntities + 40
	ticksSize = 16
)

// newHistory returns an empty history with a log for each row of the schema, and one for entities.
func newHistory(schema *Schema, cfg Config) history {
	h := history{
		keep: cfg.Window, limit: cfg.HistoryBytes, entities: schema.Rows(), size: chunkLanes, fresh: make([]uint32, 0, 1),
		rows:  make([]rowLog, schema.Rows()+1),
		ticks: make([]tickRows, 1<<bits.Len(uint(cfg.Window+1))),
	}
	for row := range schema.Rows() {
		h.rows[row].width = int(schema.Widths[row])
	}
	h.rows[h.entities].width = 1 + 2*schema.MaskWords()
	h.memory = len(h.ticks) * ticksSize
	return h
}

// begin starts tick t and forgets the changes of ticks that are W or more ticks old.
func (h *history) begin(t tick.Tick) {
	h.pack()
	h.now, h.horizon = t, max(h.horizon, t-h.keep)
	*h.rowsOf(t) = tickRows{tick: t}
}

// rowsOf returns the slot of tick t. The slot is of another tick if its tick field is not t.
func (h *history) rowsOf(t tick.Tick) *tickRows { return &h.ticks[uint64(t)&uint64(len(h.ticks)-1)] }

// page returns the log of a row and page, nil if none of its rows ever changed.
func (h *history) page(row int, page uint32) *pageLog {
	if pages := h.rows[row].pages; int(page) < len(pages) {
		return &pages[page]
	}
	return nil
}

// at returns the image with a number.
func (p *pageLog) at(number uint32) *image { return &p.images[number&uint32(len(p.images)-1)] }

// newest returns the newest image.
func (p *pageLog) newest() *image { return p.at(p.next - 1) }

// after returns the number of the first image after tick t, next if there is none. A page has at most one image a tick, so the number
// of ticks bounds how far back it lies.
func (p *pageLog) after(t tick.Tick) uint32 {
	if p.first == p.next || p.last <= t {
		return p.next
	}
	k := p.next - uint32(min(p.last-t, tick.Tick(p.next-p.first)))
	for p.at(k).tick <= t {
		k++
	}
	return k
}

// changeAfter returns the image with the first change of a row after tick t, nil if there is none.
func (p *pageLog) changeAfter(bit uint64, t tick.Tick) *image {
	for k := p.after(t); k != p.next; k++ {
		if c := p.at(k); c.rows&bit != 0 {
			return c
		}
	}
	return nil
}

// sinceOf returns the tick of the newest change of a row, tick.None if there was none.
func (h *history) sinceOf(row int, index uint32) tick.Tick {
	p := h.page(row, index/format.PageEntities)
	if p == nil {
		return tick.None
	}
	for k := p.next; k != p.first; k-- {
		if c := p.at(k - 1); c.rows&bitOf(index) != 0 {
			return c.tick
		}
	}
	return p.since[index%format.PageEntities]
}

// changedAfter reports whether a row changed after tick t.
func (h *history) changedAfter(row int, index uint32, t tick.Tick) bool {
	p := h.page(row, index/format.PageEntities)
	return p != nil && (t < h.horizon && p.since[index%format.PageEntities] > t || p.changeAfter(bitOf(index), t) != nil)
}

// rowAt returns the lanes of a row at tick t. now is the present ones. It returns nil if a change after t is forgotten, or if the row
// was absent at t.
func (h *history) rowAt(row int, index uint32, t tick.Tick, now []uint32) []uint32 {
	p := h.page(row, index/format.PageEntities)
	if p == nil {
		return now
	}
	if t < h.horizon && p.since[index%format.PageEntities] > t {
		return nil
	}
	c := p.changeAfter(bitOf(index), t)
	if c == nil {
		return now
	}
	if c.there&bitOf(index) == 0 || c.tick <= h.horizon {
		return nil
	}
	n := h.rows[row].width
	if c.tick == h.now && len(h.open) > 0 {
		return h.fresh[int(c.lane)+int(index%format.PageEntities)*n:][:n:n]
	}
	return h.chunks[c.chunk].lanes[int(c.lane)+bits.OnesCount64(c.there&(bitOf(index)-1))*n:][:n:n]
}

// packed returns the lanes of an image, and the entities that have them. It returns none if they are forgotten.
func (h *history) packed(c *image) ([]uint32, uint64) {
	if c.there == 0 || c.tick <= h.horizon {
		return nil, 0
	}
	return h.chunks[c.chunk].lanes[c.lane:], c.there
}

// note copies the old value of a row to the image of this tick, at its first change. It returns false if the image has the row
// already. want is the number of indexes to make room for at once.
func (h *history) note(row int, index uint32, there bool, lanes []uint32, want int) bool {
	c, n, bit := h.imageOf(row, index/format.PageEntities, want), h.rows[row].width, bitOf(index)
	if c.rows&bit != 0 {
		return false
	}
	c.rows |= bit
	if there {
		copy(h.unpacked(c, n)[int(index%format.PageEntities)*n:], lanes)
		c.there |= bit
	}
	return true
}

// noteRows does what note does for entities of a page that have the row. lanes is the row of all entities of the page.
func (h *history) noteRows(row int, page uint32, rows uint64, lanes []uint32, want int) {
	c, n := h.imageOf(row, page, want), h.rows[row].width
	to, whole := h.unpacked(c, n), c.there == 0 && bits.OnesCount64(rows) > format.PageEntities/2
	rows &^= c.rows
	c.rows, c.there = c.rows|rows, c.there|rows
	if whole {
		copy(to, lanes)
		return
	}
	for ; rows != 0; rows &= rows - 1 {
		at := bits.TrailingZeros64(rows) * n
		for i, v := range lanes[at : at+n] {
			to[at+i] = v
		}
	}
}

// unpacked returns the lanes of an image of this tick: n for each entity of the page. It makes room for them if the image has none.
func (h *history) unpacked(c *image, n int) []uint32 {
	n *= format.PageEntities
	if c.there == 0 {
		c.lane = uint32(len(h.fresh))
		h.fresh = grown(h.fresh, len(h.fresh)+n, 2*(len(h.fresh)+n))
	}
	return h.fresh[c.lane:][:n]
}

// imageOf returns the image of a row and page in this tick. It begins one if there is none.
func (h *history) imageOf(row int, page uint32, want int) *image {
	l := &h.rows[row]
	if int(page) >= len(l.pages) {
		h.memory -= cap(l.pages) * pageSize
		l.pages = grown(l.pages, int(page)+1, (want+format.PageEntities-1)/format.PageEntities)
		h.memory += cap(l.pages) * pageSize
	}
	p := &l.pages[page]
	if p.first != p.next && p.last == h.now {
		return p.newest()
	}
	if int(p.next-p.first) == len(p.images) {
		h.growPage(p)
	}
	h.open = append(h.open, openPage{uint32(row), page})
	p.next, p.last = p.next+1, h.now
	*p.newest() = image{tick: h.now}
	return p.newest()
}

// forget removes the images up to a tick.
func (p *pageLog) forget(horizon tick.Tick) {
	end, seen := p.after(horizon), uint64(0)
	for k := end; k != p.first; k-- {
		c := p.at(k - 1)
		for left := c.rows &^ seen; left != 0; left &= left - 1 {
			p.since[bits.TrailingZeros64(left)] = c.tick
		}
		seen |= c.rows
	}
	p.first = end
}

// growPage makes room for one more image of a page that is full: without those that are forgotten, or in more memory. If the limit
// allows no more, it forgets the oldest ticks.
func (h *history) growPage(p *pageLog) {
	n := max(2*len(p.images), 1)
	for p.first != p.next {
		if p.forget(h.horizon); int(p.next-p.first) < len(p.images) {
			return
		}
		if h.bytes()+(n-len(p.images))*imageSize <= h.limit {
			break
		}
		h.evict()
	}
	larger := make([]image, n)
	for k := p.first; k != p.next; k++ {
		larger[k&uint32(n-1)] = *p.at(k)
	}
	h.memory += (n - len(p.images)) * imageSize
	p.images = larger
}

// pack moves the images of the present tick into chunks, without the entities that did not change. If they do not fit the limit the
// tick is forgotten.
func (h *history) pack() {
	if len(h.open) == 0 {
		return
	}
	for _, o := range h.open {
		h.rowsOf(h.now).rows += uint64(bits.OnesCount64(h.rows[o.row].pages[o.page].newest().rows))
	}
	if h.now <= h.horizon { // a capture that alone is larger than the limit
		h.evicted += h.rowsOf(h.now).rows
		h.fresh, h.open = h.fresh[:0], h.open[:0]
		return
	}
	for _, o := range h.open {
		if c := h.rows[o.row].pages[o.page].newest(); c.there != 0 && !h.packImage(c, h.rows[o.row].width) {
			break
		}
	}
	h.fresh, h.open = h.fresh[:0], h.open[:0]
}

// packImage moves an image into a chunk. It returns false if there is no room for it.
func (h *history) packImage(c *image, n int) bool {
	size := bits.OnesCount64(c.there) * n
	at := h.chunkFor(size)
	if at < 0 {
		return false
	}
	to, from := &h.chunks[at], h.fresh[c.lane:]
	c.chunk, c.lane, to.newest = uint32(at), uint32(len(to.lanes)), h.now
	to.lanes = to.lanes[:len(to.lanes)+size]
	packed := to.lanes[c.lane:]
	if c.there == ^uint64(0) {
		copy(packed, from)
		return true
	}
	for left := c.there; left != 0; left &= left - 1 {
		at := packed[:n]
		for i, v := range from[bits.TrailingZeros64(left)*n:][:n] {
			at[i] = v
		}
		packed = packed[n:]
	}
	return true
}

// chunkFor returns a chunk with room for n lanes: the one that is being filled, one whose images are forgotten, or a new one. An image
// that is larger than chunks are gets one of its own. If the limit allows no new one it forgets the oldest ticks. It returns -1 if even
// the present tick had to be forgotten.
func (h *history) chunkFor(n int) int {
	if n <= h.size && len(h.chunks) > 0 && cap(h.chunks[h.filling].lanes)-len(h.chunks[h.filling].lanes) >= n {
		return h.filling
	}
	for ; h.horizon < h.now; h.evict() {
		at := h.freeChunk(n)
		if at < 0 {
			h.freeChunks(max(h.size, n))
			at = h.addChunk(max(h.size, n))
		}
		if at >= 0 {
			if n <= h.size {
				h.filling = at
			}
			return at
		}
	}
	return -1
}

// freeChunk empties a chunk whose images are forgotten, and that has room for n lanes. It returns -1 if there is none.
func (h *history) freeChunk(n int) int {
	for k := range h.chunks {
		c := (h.filling + 1 + k) % len(h.chunks)
		if at := &h.chunks[c]; at.newest <= h.horizon && cap(at.lanes) >= n {
			at.lanes = at.lanes[:0]
			return c
		}
	}
	return -1
}

// freeChunks returns the memory of chunks whose images are forgotten, but not of the one that is being filled, until the limit allows n
// more lanes.
func (h *history) freeChunks(n int) {
	for k := range h.chunks {
		if c := &h.chunks[k]; k != h.filling && c.newest <= h.horizon && h.bytes()+n*laneSize > h.limit {
			h.memory -= cap(c.lanes) * laneSize
			c.lanes = nil
		}
	}
}

// addChunk adds a chunk of n lanes. It returns -1 if the limit does not allow it, unless it is the first one.
func (h *history) addChunk(n int) int {
	if len(h.chunks) > 0 && h.bytes()+n*laneSize > h.limit {
		return -1
	}
	h.memory += n * laneSize
	for k := range h.chunks {
		if c := &h.chunks[k]; c.lanes == nil {
			c.lanes = make([]uint32, 0, n)
			return k
		}
	}
	h.chunks = append(h.chunks, chunk{lanes: make([]uint32, 0, n)})
	return len(h.chunks) - 1
}

// evict forgets the oldest tick with changes.
func (h *history) evict() {
	for h.horizon < h.now {
		h.horizon++
		if of := h.rowsOf(h.horizon); of.tick == h.horizon && of.rows > 0 {
			h.evicted += of.rows
			return
		}
	}
}

// noteEntity writes the mask and the generation that an entity had before this tick into the log. See note.
func (h *history) noteEntity(index uint32, lived bool, rows Mask, generation uint32, room int) {
	var lanes [2*format.MaskWords + 1]uint32
	n := h.rows[h.entities].width - 1
	for i := range n {
		lanes[i] = uint32(rows.Word(i/2) >> (i % 2 * 32))
	}
	lanes[n] = generation
	h.note(h.entities, index, lived, lanes[:n+1], room)
}

// entityAt returns the mask and the generation of an entity at tick t, for an entity whose mask or life changed after t. It returns
// false if the entity was not alive at t, or if that change is forgotten.
func (h *history) entityAt(index uint32, t tick.Tick) (rows Mask, generation uint32, lived bool) {
	v := h.rowAt(h.entities, index, t, nil)
	if v == nil {
		return Mask{}, 0, false
	}
	var words [format.MaskWords]uint64
	for i, lane := range v[:len(v)-1] {
		words[i/2] |= uint64(lane) << (i % 2 * 32)
	}
	return format.FromWords(words[:]...), v[len(v)-1], true
}

// bytes returns the memory of the history that HistoryBytes limits: all but the images of the present tick.
func (h *history) bytes() int { return h.memory }

// HistoryBytes returns the memory of the history, in bytes.
func (s *Store) HistoryBytes() int { return s.past.bytes() }
