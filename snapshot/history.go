package snapshot

import (
	"math"
	"math/bits"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// history is the undo log of a store: the values of rows and entities before each change of the last W ticks. Each change writes the
// old value and its age into the log. To find a value as of tick t, rowAt walks back from the newest change. A row that has not
// changed needs no entry: its present value is its value at every tick since then (rule 4).
//
// An undoEntry has the changes of one stripe in one tick: of one row (a component), for 64 entities with neighbouring indexes. The
// entry has one bit for each changed entity, and their old lanes one behind the other.
//
// The log is a ring of bounded size. Entries leave it in the order of ticks, by age or because the ring is full. Every change after
// the horizon is in it.
type history struct {
	entries   []undoEntry // ring; entries[n mod length] is entry n; the length is a power of two
	lanes     []uint32    // ring of old lanes; the length is a power of two
	next      uint64      // number of the next entry; the first is 1
	oldest    uint64      // number of the oldest entry in the log
	lane      uint64      // position of the next lanes, not reduced modulo the length
	firstLane uint64      // position of the oldest lanes in the log
	now       tick.Tick
	from      tick.Tick // first tick that may have entries in the log
	horizon   tick.Tick // changes at this tick or before are not in the log
	keep      tick.Tick // W, in ticks
	limit     int       // most bytes for the whole history
	beside    int       // bytes outside the two rings
	entities  int       // index in rows of the log of entities: their masks and generations; the logs before it are of the schema's rows
	rows      []rowLog
	evicted   uint64      // changed rows that were forgotten before they were W ticks old
	ticks     []tickStart // by tick modulo the length, a power of two above W
}

// tickStart is the begin of a tick in the log: the number of its first entry, and the position of that entry's lanes.
type tickStart struct {
	tick         tick.Tick
	number, lane uint64
}

// rowLog is the log of one row, for all entities.
type rowLog struct {
	width   int         // lanes of the row
	stripes []stripe    // by index / stripeRows
	since   []tick.Tick // by index: tick of the newest change, if that is in neither of the stripe's two newest ticks
}

// stripeRows is the number of entities of a stripe, with neighbouring indexes.
const stripeRows = 64

// stripe is the newest changes of one row, for 64 entities with neighbouring indexes: its two newest ticks with changes.
type stripe struct {
	tick       tick.Tick // newest tick in which any of the rows changed
	before     tick.Tick // the tick with changes before that
	rows       uint64    // entities whose row changed at tick
	rowsBefore uint64    // entities whose row changed at before
	newest     uint64    // number of the newest entry of the stripe, 0 for none
}

// undoEntry has the old lanes of those rows of a stripe that changed in one tick, in the order of indexes. The lanes of each row
// follow its age: the ticks for which the row had that value, at least. Rows that were absent have a bit in rows and no lanes.
type undoEntry struct {
	tick   tick.Tick // tick of the change
	lane   uint64    // position of the lanes in history.lanes
	rows   uint64    // entities whose row changed
	there  uint64    // those of rows that had the row before; in the log of entities, that were alive
	back   uint32    // distance to the previous entry of the same stripe, in entries; 0: it is not in the log
	stripe uint32    // index / stripeRows
	row    uint16    // as in history.rows
	room   uint16    // rows for which lanes are reserved
	_      uint32    // pads the entry to 48 bytes on 32-bit machines too
}

const (
	ageLanes = 1

	// Sizes in bytes of an undoEntry, a lane, a stripe, a tick and a tickStart.
	entrySize  = 48
	laneSize   = 4
	stripeSize = 40
	tickSize   = 8
	begunSize  = 24

	firstChanges = 1 << 9
)

// newHistory returns an empty history with a log for each row of the schema, and one for entities.
func newHistory(schema *Schema, cfg Config) history {
	h := history{
		keep: cfg.Window, limit: cfg.HistoryBytes, entities: schema.Rows(),
		entries: make([]undoEntry, firstChanges), lanes: make([]uint32, 16*firstChanges),
		next: 1, oldest: 1,
		rows:  make([]rowLog, schema.Rows()+1),
		ticks: make([]tickStart, 1<<bits.Len(uint(cfg.Window+1))),
	}
	for row := range schema.Rows() {
		h.rows[row].width = int(schema.Widths[row])
	}
	h.rows[h.entities].width = 1 + 2*schema.MaskWords()
	h.beside = len(h.ticks) * begunSize
	return h
}

// begin starts tick t and forgets the changes of ticks that are W or more ticks old.
func (h *history) begin(t tick.Tick) {
	to := t - h.keep
	*h.begun(t) = tickStart{t, h.next, h.lane}
	h.now = t
	h.forget(to)
	h.horizon = max(h.horizon, to)
}

// forget forgets the changes of all ticks up to tick to. It reads only the starts of ticks, since the entries are no longer in the
// processor's cache.
func (h *history) forget(to tick.Tick) {
	if to >= h.now {
		h.from, h.oldest, h.firstLane = h.now, h.next, h.lane
		return
	}
	for h.from = max(h.from, to+1); h.begun(h.from).tick != h.from; h.from++ {
	}
	first := h.begun(h.from)
	h.oldest, h.firstLane = max(h.oldest, first.number), max(h.firstLane, first.lane)
}

// begun returns the slot of tick t. The slot is of another tick if its tick field is not t.
func (h *history) begun(t tick.Tick) *tickStart { return &h.ticks[uint64(t)&uint64(len(h.ticks)-1)] }

// at returns the slot of the entry with a number, whether it is in the log or not.
func (h *history) at(number uint64) *undoEntry { return &h.entries[number&uint64(len(h.entries)-1)] }

// entry returns the entry with a number, nil if it is not in the log.
func (h *history) entry(number uint64) *undoEntry {
	if number < h.oldest || number == 0 {
		return nil
	}
	return h.at(number)
}

// past returns the log of a row and makes room for an index. want is the number of indexes to make room for at once.
func (h *history) past(row int, index uint32, want int) *rowLog {
	p := &h.rows[row]
	if n := int(index)/stripeRows + 1; n > len(p.stripes) {
		want = (want + stripeRows - 1) / stripeRows
		h.beside -= p.bytes()
		p.stripes, p.since = grown(p.stripes, n, want), grown(p.since, n*stripeRows, want*stripeRows)
		h.beside += p.bytes()
	}
	return p
}

// bytes returns the memory of the log outside the rings: 8.6 bytes for each index.
func (p *rowLog) bytes() int { return cap(p.stripes)*stripeSize + cap(p.since)*tickSize }

// sinceOf returns the tick of the newest change of a row, tick.None if there was none.
func (h *history) sinceOf(row int, index uint32) tick.Tick {
	p := &h.rows[row]
	if int(index)/stripeRows >= len(p.stripes) {
		return tick.None
	}
	s, bit := &p.stripes[index/stripeRows], uint64(1)<<(index%stripeRows)
	switch {
	case s.rows&bit != 0:
		return s.tick
	case s.rowsBefore&bit != 0:
		return s.before
	}
	return p.since[index]
}

// note writes the old value of a row into the log, at its first change in this tick. It returns false if the row has an entry of this
// tick already. want is as for past.
func (h *history) note(row int, index uint32, there bool, lanes []uint32, want int) bool {
	p := h.past(row, index, want)
	s, bit := &p.stripes[index/stripeRows], uint64(1)<<(index%stripeRows)
	if s.tick == h.now && s.rows&bit != 0 {
		return false
	}
	p.advanceTo(s, index/stripeRows, h.now)
	if !there {
		h.open(s, row, index/stripeRows, 0, 0).rows |= bit
	} else {
		c := h.open(s, row, index/stripeRows, 1, bits.OnesCount64(s.rowsBefore))
		to := h.insert(c, bit, ageLanes+p.width)
		to[0] = h.age(p.lastOf(s, index))
		copy(to[ageLanes:], lanes)
	}
	s.rows |= bit
	return true
}

// advanceTo makes now the newest tick of a stripe. The newest tick becomes the one before, and ticks of older changes go to since.
func (p *rowLog) advanceTo(s *stripe, number uint32, now tick.Tick) {
	if s.tick == now {
		return
	}
	for left := s.rowsBefore &^ s.rows; left != 0; left &= left - 1 {
		p.since[int(number)*stripeRows+bits.TrailingZeros64(left)] = s.before
	}
	s.before, s.rowsBefore, s.tick, s.rows = s.tick, s.rows, now, 0
}

// lastOf returns the tick of the newest change of a row that has not changed at s.tick.
func (p *rowLog) lastOf(s *stripe, index uint32) tick.Tick {
	if s.rowsBefore>>(index%stripeRows)&1 != 0 {
		return s.before
	}
	return p.since[index]
}

// age returns the ticks from since to now, at most the largest uint32.
func (h *history) age(since tick.Tick) uint32 {
	return uint32(min(h.now-since, math.MaxUint32))
}

// insert adds a row to an entry of this tick that has room for it, and returns the place for its age and lanes. Rows behind it in the
// order of indexes move; most often there are none.
func (h *history) insert(c *undoEntry, bit uint64, stride int) []uint32 {
	lanes := h.value(c.lane, int(c.room)*stride)
	at, end := bits.OnesCount64(c.there&(bit-1))*stride, bits.OnesCount64(c.there)*stride
	copy(lanes[at+stride:], lanes[at:end])
	c.rows |= bit
	c.there |= bit
	return lanes[at : at+stride]
}

// value returns n lanes at a position.
func (h *history) value(place uint64, n int) []uint32 {
	i := int(place & uint64(len(h.lanes)-1))
	return h.lanes[i : i+n : i+n]
}

// rowAt returns the lanes of a row at tick t, for a row that changed after t. It walks back from the newest entry of the stripe to the
// first change of the row after t. It returns nil if that change is not in the log, or if the row was absent at t.
func (h *history) rowAt(row int, index uint32, t tick.Tick) []uint32 {
	stripes := h.rows[row].stripes
	if int(index/stripeRows) >= len(stripes) {
		return nil
	}
	number, bit, stride := stripes[index/stripeRows].newest, uint64(1)<<(index%stripeRows), ageLanes+h.rows[row].width
	if !plain.On {
		if c := h.firstAfter(number, bit, t); c != nil {
			return h.old(c, bit, stride)[ageLanes:]
		}
	}
	for number >= h.oldest { // ends at 0 too: oldest is at least 1
		c := h.at(number)
		if c.tick <= t {
			break
		}
		if c.there&bit != 0 {
			if lanes := h.old(c, bit, stride); t >= c.tick-tick.Tick(lanes[0]) { // the value that was replaced at c.tick was already set at t
				return lanes[ageLanes:]
			}
		}
		if c.back == 0 {
			break
		}
		number -= uint64(c.back)
	}
	return nil
}

// old returns the age and the old lanes of a row in an entry.
func (h *history) old(c *undoEntry, bit uint64, stride int) []uint32 {
	place := int((c.lane + uint64(bits.OnesCount64(c.there&(bit-1))*stride)) & uint64(len(h.lanes)-1))
	return h.lanes[place : place+stride : place+stride]
}

// firstAfter returns the entry of the first change of a row after tick t. It returns nil unless guess finds the entries of the stripe
// in all ticks from t+1 to that change. That is usual: most rows change in each tick or rest for a few. It reads no lanes, so that
// cache misses for several rows overlap. rowAt finds the same entry without it.
func (h *history) firstAfter(newest uint64, bit uint64, t tick.Tick) *undoEntry {
	for ; ; t++ {
		number := h.guess(newest, t)
		if number == 0 {
			return nil
		}
		switch c := h.at(number); {
		case c.there&bit != 0:
			return c
		case c.rows&bit != 0: // it was not there
			return nil
		}
	}
}

// guess returns the number of the stripe's entry in the tick after t, 0 if it does not find it. newest is the stripe's newest entry. A
// stripe that changes in every tick mostly has the same place among the entries of each tick. So guess looks there, instead of
// following undoEntry.back.
func (h *history) guess(newest uint64, t tick.Tick) uint64 {
	if newest < h.oldest {
		return 0
	}
	c := h.at(newest)
	from, to := h.begun(c.tick), h.begun(t+1)
	if from.tick != c.tick || to.tick != t+1 {
		return 0
	}
	number := to.number + newest - from.number
	if to.number < h.oldest || number >= h.next { // of a tick that is held in part, the row's change may be the part that is not
		return 0
	}
	if of := h.at(number); of.tick == t+1 && of.of(c.row, c.stripe) {
		return number
	}
	return 0
}

// of reports whether an entry is of a row and a stripe.
func (c *undoEntry) of(row uint16, stripe uint32) bool { return c.row == row && c.stripe == stripe }

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
// false if the entity was not alive at t, or if that change is not in the log.
func (h *history) entityAt(index uint32, t tick.Tick) (rows Mask, generation uint32, lived bool) {
	v := h.rowAt(h.entities, index, t)
	if v == nil {
		return Mask{}, 0, false
	}
	var words [format.MaskWords]uint64
	for i, lane := range v[:len(v)-1] {
		words[i/2] |= uint64(lane) << (i % 2 * 32)
	}
	return format.FromWords(words[:]...), v[len(v)-1], true
}

// open returns the entry of a stripe in this tick, with room for the lanes of more further rows. It adds the entry, or moves its
// lanes, if needed. A new entry gets room for likely rows if that is more. advanceTo was called before.
func (h *history) open(s *stripe, row int, number uint32, more, likely int) *undoEntry {
	c := h.entry(s.newest)
	if c == nil || c.tick != h.now {
		if stride := ageLanes + h.rows[row].width; likely > more && h.fits(h.lane, likely*stride) {
			more = likely
		}
		return h.addEntry(s, row, number, more)
	}
	rows, room, stride := bits.OnesCount64(c.there)+more, int(c.room), ageLanes+h.rows[row].width
	if rows <= room {
		return c
	}
	if c.lane+uint64(room*stride) == h.lane && h.fits(c.lane, rows*stride) { // no lanes follow: it grows in place
		h.lane, c.room = h.lane+uint64((rows-room)*stride), uint16(rows)
		return c
	}
	most := min(max(rows, 2*room), stripeRows)
	lane := h.reserveLanes(most * stride)
	if s.newest < h.oldest { // reserveLanes evicted the entry itself
		return h.addEntry(s, row, number, more)
	}
	copy(h.value(lane, most*stride), h.value(c.lane, room*stride))
	c.lane, c.room, h.lane = lane, uint16(most), lane+uint64(most*stride)
	return c
}

// fits reports whether there is room for n lanes at a position, without a break at the end of the ring.
func (h *history) fits(place uint64, n int) bool {
	size := len(h.lanes)
	return int(place&uint64(size-1))+n <= size && int(place-h.firstLane)+n <= size
}

// addEntry adds an entry of a stripe in this tick, with room for the lanes of room rows.
func (h *history) addEntry(s *stripe, row int, number uint32, room int) *undoEntry {
	n := room * (ageLanes + h.rows[row].width)
	lane := h.reserveLanes(n)
	if h.next-h.oldest >= uint64(len(h.entries)) && !h.grow() {
		h.evict()
	}
	c := h.at(h.next)
	*c = undoEntry{tick: h.now, lane: lane, stripe: number, row: uint16(row), room: uint16(room)}
	if back := h.next - s.newest; s.newest >= h.oldest && back <= 1<<32-1 {
		c.back = uint32(back)
	}
	s.newest, h.lane = h.next, lane+uint64(n)
	h.next++
	return c
}

// reserveLanes makes room for n neighbouring lanes and returns their position.
func (h *history) reserveLanes(n int) uint64 {
	for {
		size, at := uint64(len(h.lanes)), h.lane
		if left := size - at&(size-1); uint64(n) > left {
			at += left
		}
		if h.oldest == h.next {
			h.firstLane = at
		}
		if h.fits(at, n) {
			return at
		}
		if !h.growLanes() {
			h.evict()
		}
	}
}

// evict forgets the oldest tick with entries: a tick is in the log as a whole or not at all.
func (h *history) evict() {
	for left := h.oldest; h.oldest == left; {
		t := h.from
		for n := h.oldest; n < h.next && h.at(n).tick == t; n++ {
			h.evicted += uint64(bits.OnesCount64(h.at(n).rows))
		}
		h.horizon = max(h.horizon, t)
		if h.forget(t); t == h.now {
			return
		}
	}
}

// bytes returns the memory of the history.
func (h *history) bytes() int { return len(h.entries)*entrySize + len(h.lanes)*laneSize + h.beside }

// HistoryBytes returns the memory of the history, in bytes.
func (s *Store) HistoryBytes() int { return s.past.bytes() }

// grow makes the ring of entries larger if the limit allows it.
func (h *history) grow() bool {
	each, _ := h.lately()
	n := h.larger(len(h.entries), each, entrySize)
	if n == 0 {
		return false
	}
	larger := make([]undoEntry, n)
	for k := h.oldest; k < h.next; k++ {
		larger[k&uint64(n-1)] = *h.at(k)
	}
	h.entries = larger
	return true
}

// growLanes makes the ring of lanes larger if the limit allows it, or if it is too small even when empty. Positions stay valid:
// neighbouring lanes are neighbours in a ring of twice the length too.
func (h *history) growLanes() bool {
	size := len(h.lanes)
	_, each := h.lately()
	n := h.larger(size, each, laneSize)
	if n == 0 {
		if h.oldest < h.next {
			return false
		}
		n = 2 * size
	}
	larger := make([]uint32, n)
	for at := h.firstLane; at < h.lane; {
		piece := h.lanes[at&uint64(size-1):]
		piece = piece[:min(uint64(len(piece)), h.lane-at)]
		at += uint64(copy(larger[at&uint64(n-1):], piece))
	}
	h.lanes = larger
	return true
}

// larger returns the next length of a ring: twice the present one, or the length that W ticks need if each takes as much as the last
// ones. It returns 0 if the limit allows no more. each is the elements that a tick takes, size the bytes of one.
func (h *history) larger(length int, each uint64, size int) int {
	room := h.limit - h.bytes()
	if length*size > room {
		return 0
	}
	n := 2 * length
	for want := each * uint64(h.keep+2); uint64(n) < want && (2*n-length)*size <= room; {
		n *= 2
	}
	return n
}

// lately returns how many entries and lanes each of the last two ticks took: of both, the smaller number.
func (h *history) lately() (changes, lanes uint64) {
	now, last, first := h.begun(h.now), h.begun(h.now-1), h.begun(h.now-2)
	if last.tick != h.now-1 || first.tick != h.now-2 || first.number < h.oldest {
		return 0, 0
	}
	return min(now.number-last.number, last.number-first.number), min(now.lane-last.lane, last.lane-first.lane)
}
