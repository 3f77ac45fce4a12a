package snapshot

import (
	"math"

	"github.com/arche-netcode/netcode/tick"
)

// A history says what rows and entities were before each change of the last
// ticks. It is a log: a change writes down the value that it replaces, and
// since when that one had been so. The value as of a tick is found from the
// newest one backwards, so a row that slept for an hour needs no memory for it:
// what is in place now, or what the first change replaced, was so at any tick
// since then (rule 4).
//
// The log is a ring in constant memory. What leaves it, by age or for want of
// room, leaves in the order of ticks: everything about the ticks after the
// horizon is there.
type history struct {
	schema    *Schema
	changes   []change  // by number modulo its length, a power of two
	lanes     []uint32  // likewise
	next      uint64    // number of the next change, from 1
	oldest    uint64    // number of the oldest change that is held
	lane      uint64    // place of the next lanes
	firstLane uint64    // where the lanes of the oldest change were when place looked last: never behind where they are
	horizon   tick.Tick // changes at or before it are not held
	keep      tick.Tick // W
	limit     int       // bytes that both rings may take
	rows      [][]head  // per row, by index
	lives     []uint64  // by index: number of the newest change of the entity itself
	evicted   uint64    // changes that left for want of room
	firsts    [64]first // by tick modulo its length
}

// head is the tick whose capture gave a row its value, and the number of its newest change, 0 for none that was made. Whoever
// asks for one asks for the other: they are in one line.
type head struct {
	since  tick.Tick
	newest uint64
}

// first is the number of the first change of a tick, if there is any.
type first struct {
	tick   tick.Tick
	number uint64
}

// change is what something was until a tick. It is half a cache line.
type change struct {
	tick  tick.Tick // when it was changed
	lane  uint64    // of a row that was present: where its lanes are; of an entity: its rows and generation
	age   uint32    // for how many ticks it had been so, or more
	back  uint32    // how many changes before it is the one before of the same thing, 0: none that is held
	thing thing
}

// thing is what changed, in one word: an entity's row or the entity itself, and
// whether it was there before, the row present or the entity alive.
type thing uint64

const thingThere = 1 << 63

// thingOf is a row that was there; row may be wholeEntity.
func thingOf(index uint32, row int) thing {
	return thing(index) | thing(uint16(row))<<32 | thingThere
}

func (t thing) there() bool { return t&thingThere != 0 }

// same reports whether two are the same row, there or not.
func (t thing) same(of thing) bool { return (t^of)<<1 == 0 }

// row is -1 for an entity itself.
func (t thing) row() int { return int(int16(t >> 32)) }

// since reports whether it had been so at tick t, which is not after the
// change: a row that did not change for longer than an age can tell had.
func (c *change) since(t tick.Tick) bool { return t >= c.tick-tick.Tick(c.age) }

const (
	wholeEntity = -1
	entityLanes = 3 // of an entity's change

	// changeSize and laneSize are what a change and a lane take in memory.
	changeSize = 32
	laneSize   = 4

	firstChanges        = 1 << 10
	defaultHistoryBytes = 128 << 20
)

func newHistory(schema *Schema, cfg Config) history {
	return history{
		schema: schema, keep: cfg.Window, limit: cfg.HistoryBytes,
		changes: make([]change, firstChanges), lanes: make([]uint32, 8*firstChanges),
		next: 1, oldest: 1,
		rows: make([][]head, schema.Rows()),
	}
}

// begin forgets what is too old when tick t begins.
func (h *history) begin(t tick.Tick) {
	to := t - h.keep
	if f := h.first(to + 1); f.tick == to+1 {
		h.oldest = max(h.oldest, f.number) // without a look at each of those that leave
	}
	for h.oldest < h.next && h.at(h.oldest).tick <= to {
		h.oldest++
	}
	h.horizon = max(h.horizon, to)
	*h.first(t) = first{t, h.next}
}

func (h *history) first(t tick.Tick) *first { return &h.firsts[uint64(t)%uint64(len(h.firsts))] }

func (h *history) at(number uint64) *change { return &h.changes[number&uint64(len(h.changes)-1)] }

// get is a change that is held, else nil.
func (h *history) get(number uint64) *change {
	if number < h.oldest || number == 0 {
		return nil
	}
	return h.at(number)
}

// row notes what a row was before its change at tick t, and whether it was there
// at all.
func (h *history) row(t tick.Tick, newest *head, index uint32, row int, there bool, lanes []uint32) {
	of := thingOf(index, row)
	if !there {
		lanes, of = nil, of&^thingThere
	}
	if h.next-h.oldest >= uint64(len(h.changes)) {
		h.makeRoom()
	}
	at, n := h.lane, uint64(len(lanes))
	first, last := at&uint64(len(h.lanes)-1), uint64(len(h.lanes))
	if first+n > last || at+n-h.firstLane > last {
		at = h.place(len(lanes))
		first = at & uint64(len(h.lanes)-1)
	}
	to := h.lanes[first : first+n]
	for i, v := range lanes {
		to[i] = v
	}
	h.lane = at + n
	number, was := h.next, *newest
	*newest = head{t, number}
	h.next++
	h.at(number).write(number, was.newest, t, was.since, at, of)
}

// write fills a change in where it stays: a copy of one that was just written
// elsewhere would wait for it.
func (c *change) write(number, before uint64, t, since tick.Tick, lane uint64, of thing) {
	c.tick, c.lane, c.thing = t, lane, of
	c.age, c.back = uint32(min(t-since, math.MaxUint32)), 0
	if back := number - before; before != 0 && back <= math.MaxUint32 {
		c.back = uint32(back)
	}
}

// entity notes what an entity was before its change at tick t.
func (h *history) entity(t, since tick.Tick, index, generation uint32, alive bool, rows Mask) {
	h.lives = grown(h.lives, int(index)+1, 0)
	at := h.place(entityLanes)
	v := h.value(at, entityLanes)
	v[0], v[1], v[2] = uint32(rows), uint32(rows>>32), generation
	h.lane = at + entityLanes
	if h.next-h.oldest >= uint64(len(h.changes)) {
		h.makeRoom()
	}
	number, before := h.next, h.lives[index]
	h.lives[index] = number
	h.next++
	of := thingOf(index, wholeEntity)
	if !alive {
		of &^= thingThere
	}
	h.at(number).write(number, before, t, since, at, of)
}

// makeRoom makes room for another change.
func (h *history) makeRoom() {
	if !h.grow() {
		h.evict()
	}
}

// value is n lanes at a place.
func (h *history) value(place uint64, n int) []uint32 {
	i := int(place & uint64(len(h.lanes)-1))
	return h.lanes[i : i+n]
}

// place makes room for n lanes in one piece and returns where.
func (h *history) place(n int) uint64 {
	for {
		size := uint64(len(h.lanes))
		at := h.lane
		if left := size - at&(size-1); uint64(n) > left {
			at += left
		}
		h.firstLane = at
		if h.oldest < h.next {
			h.firstLane = h.at(h.oldest).lane
		}
		if at+uint64(n)-h.firstLane <= size {
			return at
		}
		if h.growLanes() {
			continue
		}
		h.evict()
	}
}

// evict forgets the oldest change, and with it its tick: a tick is known whole
// or not at all.
func (h *history) evict() {
	t := h.at(h.oldest).tick
	h.horizon = max(h.horizon, t)
	for h.oldest < h.next && h.at(h.oldest).tick <= t {
		h.oldest++
		h.evicted++
	}
}

// bytes is the memory of both rings.
func (h *history) bytes() int { return len(h.changes)*changeSize + len(h.lanes)*laneSize }

// grow doubles the ring of changes if the limit allows it.
func (h *history) grow() bool {
	if h.bytes()+len(h.changes)*changeSize > h.limit {
		return false
	}
	larger := make([]change, 2*len(h.changes))
	for n := h.oldest; n < h.next; n++ {
		larger[n&uint64(len(larger)-1)] = *h.at(n)
	}
	h.changes = larger
	return true
}

// growLanes doubles the ring of lanes if the limit allows it, or when even an
// empty one is too small. Places change.
func (h *history) growLanes() bool {
	if h.bytes()+len(h.lanes)*laneSize > h.limit && h.oldest < h.next {
		return false
	}
	larger := make([]uint32, 2*len(h.lanes))
	var lane uint64
	for n := h.oldest; n < h.next; n++ {
		c := h.at(n)
		size := h.size(c)
		lane += uint64(copy(larger[lane:], h.value(c.lane, size)))
		c.lane = lane - uint64(size)
	}
	h.lanes, h.lane, h.firstLane = larger, lane, 0
	return true
}

// size is the number of lanes of a change.
func (h *history) size(c *change) int {
	switch {
	case c.thing.row() == wholeEntity:
		return entityLanes
	case c.thing.there():
		return h.schema.plans[c.thing.row()].Lanes()
	}
	return 0
}

// rowAt is what a row was at tick t, given that it has changed since: nil when
// that is not held.
func (h *history) rowAt(index uint32, row int, t tick.Tick) *change {
	if int(index) >= len(h.rows[row]) {
		return nil
	}
	return h.find(h.rows[row][index].newest, t)
}

// entityAt likewise for the entity itself.
func (h *history) entityAt(index uint32, t tick.Tick) *change {
	if int(index) >= len(h.lives) {
		return nil
	}
	return h.find(h.lives[index], t)
}

// find goes back from a thing's newest change to the one that was made first
// after t.
func (h *history) find(number uint64, t tick.Tick) *change {
	c := h.get(number)
	if c == nil || c.since(t) {
		return c
	}
	if guess := h.guess(number, c, t); guess != nil {
		return guess
	}
	for c != nil && !c.since(t) {
		if c.back == 0 {
			return nil
		}
		number -= uint64(c.back)
		c = h.get(number)
	}
	return c
}

// guess is what find finds, or nil. What changes in every tick mostly does so
// at the same place among the tick's changes as newest, the thing's newest
// change: to look there spares the way through all that lie between.
func (h *history) guess(number uint64, newest *change, t tick.Tick) *change {
	from, to := h.first(newest.tick), h.first(t+1)
	if from.tick != newest.tick || to.tick != t+1 {
		return nil
	}
	at := to.number + number - from.number
	if at < h.oldest || at >= h.next {
		return nil
	}
	if c := h.at(at); c.tick == t+1 && c.thing.same(newest.thing) {
		return c
	}
	return nil
}

// lanesOf are the lanes of a row's change that was present.
func (h *history) lanesOf(c *change) []uint32 { return h.value(c.lane, h.size(c)) }

// rowsOf are the rows that an entity had.
func (h *history) rowsOf(c *change) Mask {
	v := h.value(c.lane, 2)
	return Mask(v[0]) | Mask(v[1])<<32
}

// generationOf is the generation that an entity had.
func (h *history) generationOf(c *change) uint32 { return h.value(c.lane, entityLanes)[2] }
