package snapshot

import (
	"math"
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// A history says what rows and entities were before each change of the last
// ticks. It is a log: a change writes down the values that it replaces, and
// since when those had been so. The value as of a tick is found from the
// newest one backwards, so a row that slept for an hour needs no memory for it:
// what is in place now, or what the first change replaced, was so at any tick
// since then (rule 4).
//
// A change is that of a stripe in a tick: of all rows of a component that
// changed then, of 64 entities by index. What a tick notes of them lies in one
// piece; what has to be known of each row is a bit, and where many rows go on
// changing together nothing else is written but their old values.
//
// The log is a ring in constant memory. What leaves it, by age or for want of
// room, leaves in the order of ticks: everything about the ticks after the
// horizon is there.
type history struct {
	changes   []undoEntry // by number modulo its length, a power of two
	lanes     []uint32    // likewise
	next      uint64      // number of the next change, from 1
	oldest    uint64      // number of the oldest change that is held
	lane      uint64      // place of the next lanes
	firstLane uint64      // of the lanes that are held
	now       tick.Tick
	from      tick.Tick // the first tick whose changes may be held
	horizon   tick.Tick // changes at or before it are not held
	keep      tick.Tick // W
	limit     int       // bytes that all of it may take
	beside    int       // bytes of it that are not of the rings
	entities  int       // the past that is of the entities themselves; those before it are of the schema's rows
	rows      []rowLog
	evicted   uint64      // rows that left for want of room
	ticks     []tickStart // by tick modulo the length, a power of two above W
}

// tickStart is the place of the first entry of a tick.
type tickStart struct {
	tick         tick.Tick
	number, lane uint64
}

// rowLog is the log of one row of all entities.
type rowLog struct {
	width   int         // lanes
	stripes []logChunk  // by index / stripeRows
	since   []tick.Tick // by index: of which tick a row is that changed in neither of the two ticks of its stripe
}

// stripeRows is the number of entities of a stripe, neighbours by index.
const stripeRows = 64

// logChunk is the newest changes of a row of 64 entities.
type logChunk struct {
	tick   tick.Tick // of the newest change
	before tick.Tick // of the one before it
	rows   uint64    // which changed in the newest
	others uint64    // and in the one before it
	newest uint64    // number of the newest change, 0 for none
}

// undoEntry has the lanes of rows of a stripe as they were until a tick, one row behind the other. In front of the lanes of each row is
// its age, the least number of ticks for which it had been so.
type undoEntry struct {
	tick   tick.Tick // when they were changed
	lane   uint64    // where the lanes are
	rows   uint64    // which of the stripe
	there  uint64    // those of them that were there before, present or alive
	back   uint32    // how many changes before it is the one before of the same stripe, 0: none that is held
	stripe uint32
	row    uint16
	room   uint16 // of how many rows there is room for the lanes
	_      uint32 // so that it is 48 bytes where words are 32 bits, too
}

const (
	ageLanes = 1

	// The bytes of an entry, a lane, a stripe, a tick and the start of a tick.
	changeSize = 48
	laneSize   = 4
	stripeSize = 40
	tickSize   = 8
	begunSize  = 24

	firstChanges = 1 << 9
)

func newHistory(schema *Schema, cfg Config) history {
	h := history{
		keep: cfg.Window, limit: cfg.HistoryBytes, entities: schema.Rows(),
		changes: make([]undoEntry, firstChanges), lanes: make([]uint32, 16*firstChanges),
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

// begin forgets what is too old when tick t begins.
func (h *history) begin(t tick.Tick) {
	to := t - h.keep
	*h.begun(t) = tickStart{t, h.next, h.lane}
	h.now = t
	h.forget(to)
	h.horizon = max(h.horizon, to)
}

// forget forgets the changes of ticks that are not after a tick. No change of
// those is looked at: they were written long ago, and are in no cache.
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

func (h *history) begun(t tick.Tick) *tickStart { return &h.ticks[uint64(t)&uint64(len(h.ticks)-1)] }

func (h *history) at(number uint64) *undoEntry { return &h.changes[number&uint64(len(h.changes)-1)] }

// entry is a change that is held, else nil.
func (h *history) entry(number uint64) *undoEntry {
	if number < h.oldest || number == 0 {
		return nil
	}
	return h.at(number)
}

// past is that of a row, with a place for an index. Want is how many indexes
// there may come to be.
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

// bytes is its memory: 8.6 for each index.
func (p *rowLog) bytes() int { return cap(p.stripes)*stripeSize + cap(p.since)*tickSize }

// sinceOf returns the tick since which a row is as it is now.
func (h *history) sinceOf(row int, index uint32) tick.Tick {
	p := &h.rows[row]
	if int(index)/stripeRows >= len(p.stripes) {
		return tick.None
	}
	s, bit := &p.stripes[index/stripeRows], uint64(1)<<(index%stripeRows)
	switch {
	case s.rows&bit != 0:
		return s.tick
	case s.others&bit != 0:
		return s.before
	}
	return p.since[index]
}

// note writes down what a row was before its change in this tick, once a tick:
// it is false when that has been done. Want is as for past.
func (h *history) note(row int, index uint32, there bool, lanes []uint32, want int) bool {
	p := h.past(row, index, want)
	s, bit := &p.stripes[index/stripeRows], uint64(1)<<(index%stripeRows)
	if s.tick == h.now && s.rows&bit != 0 {
		return false
	}
	p.turn(s, index/stripeRows, h.now)
	if !there {
		h.open(s, row, index/stripeRows, 0, 0).rows |= bit
	} else {
		c := h.open(s, row, index/stripeRows, 1, bits.OnesCount64(s.others))
		to := h.insert(c, bit, ageLanes+p.width)
		to[0] = h.age(p.lastOf(s, index))
		copy(to[ageLanes:], lanes)
	}
	s.rows |= bit
	return true
}

// turn makes a tick the newest of a stripe, if it is not.
func (p *rowLog) turn(s *logChunk, number uint32, now tick.Tick) {
	if s.tick == now {
		return
	}
	for left := s.others &^ s.rows; left != 0; left &= left - 1 {
		p.since[int(number)*stripeRows+bits.TrailingZeros64(left)] = s.before
	}
	s.before, s.others, s.tick, s.rows = s.tick, s.rows, now, 0
}

// lastOf is since when a row has had its value that has not changed in the
// stripe's newest tick yet.
func (p *rowLog) lastOf(s *logChunk, index uint32) tick.Tick {
	if s.others>>(index%stripeRows)&1 != 0 {
		return s.before
	}
	return p.since[index]
}

// age is for how many ticks something has been so, or more.
func (h *history) age(since tick.Tick) uint32 {
	return uint32(min(h.now-since, math.MaxUint32))
}

// insert returns the place for the old lanes of a row that has room in an entry of this tick. Lanes are in the order of indexes; mostly
// it comes last.
func (h *history) insert(c *undoEntry, bit uint64, stride int) []uint32 {
	lanes := h.value(c.lane, int(c.room)*stride)
	at, end := bits.OnesCount64(c.there&(bit-1))*stride, bits.OnesCount64(c.there)*stride
	copy(lanes[at+stride:], lanes[at:end])
	c.rows |= bit
	c.there |= bit
	return lanes[at : at+stride]
}

// value is n lanes at a place.
func (h *history) value(place uint64, n int) []uint32 {
	i := int(place & uint64(len(h.lanes)-1))
	return h.lanes[i : i+n : i+n]
}

// rowAt is the lanes that a row had at tick t, given that it has changed since: nil when that is not held, and when it was not there. It
// goes back from the newest change of the row's stripe to the first one after t that was made of the row.
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
	for number >= h.oldest { // which is not below 1
		c := h.at(number)
		if c.tick <= t {
			break
		}
		if c.there&bit != 0 {
			if lanes := h.old(c, bit, stride); t >= c.tick-tick.Tick(lanes[0]) { // so old was it at least when it changed
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

// old is the lanes of a row in a change, behind their age.
func (h *history) old(c *undoEntry, bit uint64, stride int) []uint32 {
	place := int((c.lane + uint64(bits.OnesCount64(c.there&(bit-1))*stride)) & uint64(len(h.lanes)-1))
	return h.lanes[place : place+stride : place+stride]
}

// firstAfter returns the first change of a row after t if guess finds those of its stripe in each tick up to that, else nil. Most rows
// change in every tick, or rest for a few. It reads no lanes, so that the waits for those of several rows overlap.
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

// guess returns the number of the change of the same stripe in the tick after t, or 0. What changes in every tick mostly does so at the
// same place among the tick's changes as newest, the stripe's newest change: to look there spares the way through all that lie between.
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

// of reports whether a change is that of a stripe.
func (c *undoEntry) of(row uint16, stripe uint32) bool { return c.row == row && c.stripe == stripe }

// noteEntity writes down the rows and the generation that an entity had before this tick. See note.
func (h *history) noteEntity(index uint32, lived bool, rows Mask, generation uint32, room int) {
	var lanes [2*format.MaskWords + 1]uint32
	n := h.rows[h.entities].width - 1
	for i := range n {
		lanes[i] = uint32(rows.Word(i/2) >> (i % 2 * 32))
	}
	lanes[n] = generation
	h.note(h.entities, index, lived, lanes[:n+1], room)
}

// entityAt is the rows and the generation of an entity at tick t, given that
// these have changed since: it is false when it did not live, or that is not held.
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

// open is the change of a stripe in this tick, with room for the lanes of so
// many more rows: at first for as many as likely come. The stripe is at this tick
// already.
func (h *history) open(s *logChunk, row int, number uint32, more, likely int) *undoEntry {
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
	if c.lane+uint64(room*stride) == h.lane && h.fits(c.lane, rows*stride) { // It goes on where it ends.
		h.lane, c.room = h.lane+uint64((rows-room)*stride), uint16(rows)
		return c
	}
	most := min(max(rows, 2*room), stripeRows)
	lane := h.place(most * stride)
	if s.newest < h.oldest { // to make room for it
		return h.addEntry(s, row, number, more)
	}
	copy(h.value(lane, most*stride), h.value(c.lane, room*stride))
	c.lane, c.room, h.lane = lane, uint16(most), lane+uint64(most*stride)
	return c
}

// fits reports whether there is room for n lanes in one piece at a place.
func (h *history) fits(place uint64, n int) bool {
	size := len(h.lanes)
	return int(place&uint64(size-1))+n <= size && int(place-h.firstLane)+n <= size
}

// addEntry adds a change of a stripe in this tick.
func (h *history) addEntry(s *logChunk, row int, number uint32, room int) *undoEntry {
	n := room * (ageLanes + h.rows[row].width)
	lane := h.place(n)
	if h.next-h.oldest >= uint64(len(h.changes)) && !h.grow() {
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

// place makes room for n lanes in one piece and returns where.
func (h *history) place(n int) uint64 {
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

// evict forgets the oldest tick with entries: a tick is known whole or not at all.
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

// bytes is the memory of all of it.
func (h *history) bytes() int { return len(h.changes)*changeSize + len(h.lanes)*laneSize + h.beside }

// HistoryBytes returns the memory of the versions of the last window.
func (s *Store) HistoryBytes() int { return s.past.bytes() }

// grow makes the ring of changes larger if the limit allows it.
func (h *history) grow() bool {
	each, _ := h.lately()
	n := h.larger(len(h.changes), each, changeSize)
	if n == 0 {
		return false
	}
	larger := make([]undoEntry, n)
	for k := h.oldest; k < h.next; k++ {
		larger[k&uint64(n-1)] = *h.at(k)
	}
	h.changes = larger
	return true
}

// growLanes makes the ring of lanes larger if the limit allows it, or when even
// an empty one is too small. Places stay as they are: what is in one piece in a
// ring is so in one that is twice as long.
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

// larger returns the next length of a ring if a tick takes so much of it: twice the length, or at once the length that the window needs
// if that goes on. It is 0 if the limit allows no more.
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

// lately returns the least number of entries and lanes that the two ticks before this one took.
func (h *history) lately() (changes, lanes uint64) {
	now, last, first := h.begun(h.now), h.begun(h.now-1), h.begun(h.now-2)
	if last.tick != h.now-1 || first.tick != h.now-2 || first.number < h.oldest {
		return 0, 0
	}
	return min(now.number-last.number, last.number-first.number), min(now.lane-last.lane, last.lane-first.lane)
}

// logOffset is the distance in the log from the entries of one tick to those with the values at T and at T'. Entities that change in
// every tick mostly do so at the same place among the entries of each. So the distance is the same for all rows of all entities, and
// the place that it leads to is looked at first.
type logOffset struct{ base, before int64 }

// noWay leads nowhere.
const noWay = int64(1) << 62

// way is that from the changes of a tick to what was so at t and before that.
func (h *history) way(from, t, before tick.Tick) logOffset {
	return logOffset{base: h.distance(from, t+1), before: h.distance(from, before+1)}
}

// distance returns the distance in the log between the entries of two ticks.
func (h *history) distance(from, to tick.Tick) int64 {
	a, b := h.begun(from), h.begun(to)
	if a.tick != from || b.tick != to {
		return noWay
	}
	return int64(b.number - a.number)
}

// tickEntries is the numbers of a tick's changes.
type tickEntries struct{ number, count uint64 }

// span is the changes of a tick that is not after now, the newest one: none where
// they are not known or not all held.
func (h *history) span(t, now tick.Tick) (c tickEntries) {
	first, next, end := h.begun(t), h.begun(t+1), h.next
	if t != now {
		end = next.number
	}
	if first.tick != t || first.number < h.oldest || t != now && next.tick != t+1 {
		return c
	}
	return tickEntries{first.number, end - first.number}
}

// twice fills in what the changes of two numbers say, and reports whether they are of one stripe of a row.
func (h *history) twice(base, before uint64, row uint16, stripe uint32, to *delta.RowSlice) bool {
	x, y := h.at(base), h.at(before)
	if !x.of(row, stripe) || !y.of(row, stripe) {
		return false
	}
	to.InBase, to.InBefore = x.there, y.there
	to.Base, to.Before = h.lanes[x.lane&uint64(len(h.lanes)-1):], h.lanes[y.lane&uint64(len(h.lanes)-1):]
	return true
}
