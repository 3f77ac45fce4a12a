package replica

import (
	"slices"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Entity describes one network index as the client knows it.
type Entity struct {
	ID    wire.NetworkID // the newest generation received
	Alive bool           // false after its despawn
	Tick  tick.Tick      // tick of the last applied state; it never falls within a life
	Mask  format.Mask    // rows present; zero if not alive
}

// life is one generation of one network index, as the client knows it. It stays, alive or gone, until no packet that
// may still arrive can refer to it. Generation 0 marks a free entry.
type life struct {
	index, generation uint32
	applied           tick.Tick   // tick of the newest record or despawn that took effect
	mask              format.Mask // rows present; zero if gone
	newestTick        tick.Tick   // tick and place of its newest version
	newestPlace       int32
	lower             int32 // next lower generation at the same index; -1: none
	depth             int32 // upper bound of the number of lives from this one down
	gone              bool
	goneAt            tick.Tick // if gone: the newest decoded tick at that time
	ended             tick.Tick // tick of its last end, for entities that are shown late
}

// newest refers to the newest version of a life.
func (l *life) newest() versionRef { return versionRef{tick: l.newestTick, place: l.newestPlace} }

// tombstone is a life that ended and is to be dropped later.
type tombstone struct {
	life int32
	at   tick.Tick
}

// Replica is the client's counterpart of a snapshot.View. It decodes payloads, stores the versions that later records
// are coded against, and has the newest rows of every entity. It must be used by one goroutine at a time.
type Replica struct {
	schema  *format.Schema
	window  tick.Tick
	most    uint32      // Config.MaxEntities
	unknown format.Mask // Config.Unknown

	heads      []int32 // by index: life of the highest generation; -1: none
	lives      []life
	free       []int32     // free entries of lives
	tombstones []tombstone // nearly in order of tick
	living     int

	history        versionHistory
	evicted        []evictedVersion // by life
	evictedRows    rowPages         // by life: rows of its evicted version
	rowsBeforeLose rowPages         // by index: newest rows at the time of Lose
	layouts        *rowLayouts
	bands          *bandReader // nil without distance bands
	newest         tick.Tick   // the newest decoded tick
	lastRead       tick.Tick   // tick of the payload decoded last
	changed        changedIndexes

	lostAt   tick.Tick   // newest at the last call of Lose
	known    tick.Tick   // the newest tick passed to MarkComplete
	complete []tick.Tick // by tick modulo its length: complete ticks; see MarkComplete

	epoch  uint16 // the newest resync that the server served
	wanted uint16 // the newest resync that this end requested

	guard    func(id wire.NetworkID, rows format.Mask) bool
	pending  pendingPayload
	batch    readBatch
	observer *observer // nil but in AppendDump and AddBits
	stats    Stats
}

// Stats counts payloads and records that a Replica read.
type Stats struct {
	Snapshots  uint64 // payloads decoded whole
	Records    uint64 // entity records in them
	Despawns   uint64 // despawn records in them
	Late       uint64 // records older than the applied state: stored, not applied
	Stale      uint64 // payloads refused with ErrStale
	NoBaseline uint64 // payloads refused with ErrBaseline
	TooMany    uint64 // payloads refused with ErrTooMany
	Malformed  uint64 // payloads refused with ErrMalformed
	Guarded    uint64 // payloads refused with ErrGuarded
}

// New returns an empty Replica. start is the server's tick at the time of the connection. The 16-bit ticks in packets
// are read as near to it.
func New(schema *format.Schema, cfg format.Config, start tick.Tick) *Replica {
	cfg = cfg.WithDefaults()
	layouts := newRowLayouts(schema)
	r := &Replica{
		schema: schema, window: cfg.Window, most: uint32(cfg.MaxEntities), newest: start, layouts: layouts,
		evictedRows: newRowPages(schema, sinceWords), rowsBeforeLose: newRowPages(schema, 0),
		history: newVersionHistory(layouts, 2*cfg.Window+graceTicks, start),
		unknown: cfg.Lacks(schema),
	}
	r.complete = make([]tick.Tick, len(r.history.blocks))
	if !schema.Coarse.IsZero() {
		r.bands = newBandReader(schema)
	}
	return r
}

// Guard sets a function that is called for every record before its payload takes effect. If it returns false, the whole
// payload is refused with [ErrGuarded]. A server uses it to check whether a client may write the rows. The number of lives is
// then bounded by those that the function admits: a despawn begins none.
func (r *Replica) Guard(may func(id wire.NetworkID, rows format.Mask) bool) {
	r.guard = may
}

// Tick returns the newest decoded tick.
func (r *Replica) Tick() tick.Tick { return r.newest }

// Window returns the history window W.
func (r *Replica) Window() tick.Tick { return r.window }

// Len returns the number of living entities.
func (r *Replica) Len() int { return r.living }

// Stats returns the counters.
func (r *Replica) Stats() Stats { return r.stats }

// MaxEntities returns the limit of network indexes: all are below it.
func (r *Replica) MaxEntities() int { return int(r.most) }

// HistoryBytes returns the memory of the decoded versions, including spare memory.
func (r *Replica) HistoryBytes() int { return r.history.memory.bytes() }

// Schema returns the schema of the Replica.
func (r *Replica) Schema() *format.Schema { return r.schema }

// Entity describes the entity at a network index. It returns the zero Entity if there is none.
func (r *Replica) Entity(index uint32) Entity {
	h := r.head(index)
	if h < 0 {
		return Entity{}
	}
	l := &r.lives[h]
	e := Entity{
		ID:    wire.NetworkID{Index: index, Generation: l.generation},
		Alive: !l.gone, Tick: l.applied,
	}
	if e.Alive {
		e.Mask = r.schema.Fold(l.mask)
	}
	return e
}

// All yields every living entity in ascending index order.
func (r *Replica) All(yield func(Entity) bool) {
	for index := range r.heads {
		if e := r.Entity(uint32(index)); e.Alive && !yield(e) {
			return
		}
	}
}

// WantResync reports whether this end has requested a resync that the server has not served yet. The epoch is sent in
// each packet until then.
func (r *Replica) WantResync() (epoch uint16, want bool) {
	return r.wanted, int16(r.wanted-r.epoch) > 0
}

// Lose drops every baseline, as after a fault, and requests a resync. The newest rows stay.
func (r *Replica) Lose() {
	r.keepNewest()
	for i := range r.lives {
		r.lives[i].newestTick, r.lives[i].newestPlace, r.evicted[i] = tick.None, 0, evictedVersion{}
	}
	r.history = newVersionHistory(r.layouts, r.history.keep, r.newest)
	r.lostAt = r.newest
	r.ask()
}

// ask requests one more resync. Epoch 0 means that none was requested.
func (r *Replica) ask() {
	if r.wanted++; r.wanted == 0 {
		r.wanted = 1
	}
}

// head returns the life of the highest generation at an index, or -1. The index may come from the other end.
func (r *Replica) head(index uint32) int32 {
	if uint(index) >= uint(len(r.heads)) { // on some machines an int has 32 bits
		return -1
	}
	return r.heads[index]
}

// find returns the life of one generation, or -1.
func (r *Replica) find(index, generation uint32) int32 {
	n := r.head(index)
	for n >= 0 && r.lives[n].generation > generation {
		n = r.lives[n].lower
	}
	if n >= 0 && r.lives[n].generation == generation {
		return n
	}
	return -1
}

// ensure returns the life of one generation. It begins one if there is none.
func (r *Replica) ensure(index, generation uint32) int32 {
	if n := r.find(index, generation); n >= 0 {
		return n
	}
	r.growTables(index)
	var n int32
	if last := len(r.free) - 1; last >= 0 {
		n, r.free = r.free[last], r.free[:last]
	} else {
		n, r.lives, r.evicted = int32(len(r.lives)), append(r.lives, life{}), append(r.evicted, evictedVersion{})
	}
	r.lives[n] = life{index: index, generation: generation, gone: true, lower: -1}
	r.evicted[n] = evictedVersion{}
	r.link(n)
	return n
}

// growTables makes the tables by index long enough for an index in one step, since repeated growth would copy them several
// times.
func (r *Replica) growTables(index uint32) {
	had, need := len(r.heads), int(index)+1
	if need <= had {
		return
	}
	r.heads = slices.Grow(r.heads, need-had)[:need]
	for i := range r.heads[had:] {
		r.heads[had+i] = -1
	}
	if words := (need + 63) / 64; words > len(r.changed.set) {
		r.changed.set = append(r.changed.set, make([]uint64, words-len(r.changed.set))...)
	}
}

// link adds a new life to the lives of its index, which are sorted by generation, highest first. A new head ends the
// life that was the head: the higher generation wins. Only the head can be alive.
func (r *Replica) link(n int32) {
	l := &r.lives[n]
	h := r.heads[l.index]
	if h < 0 || r.lives[h].generation < l.generation {
		l.depth = 1
		if h >= 0 {
			r.endLife(h)
			l.depth += r.lives[h].depth
		}
		l.lower = h
		r.heads[l.index] = n
		if l.depth > r.mostLives() {
			r.shorten(n)
		}
		return
	}
	for r.lives[h].lower >= 0 && r.lives[r.lives[h].lower].generation > l.generation {
		h = r.lives[h].lower
	}
	l.lower, r.lives[h].lower = r.lives[h].lower, n
	r.endLife(n)
	head := r.heads[l.index]
	if r.lives[head].depth++; r.lives[head].depth > r.mostLives() {
		r.shorten(head)
	}
}

// mostLives returns the largest number of lives of one index that can matter. A server can begin one life per tick, and
// lives are dropped by tick.
func (r *Replica) mostLives() int32 { return int32(r.history.keep-graceTicks) + 2 }

// shorten counts the lives of an index from the head down, and drops those after mostLives. Thus a hostile server
// cannot make the list long.
func (r *Replica) shorten(head int32) {
	count, n := int32(1), head
	for ; r.lives[n].lower >= 0 && count < r.mostLives(); count++ {
		n = r.lives[n].lower
	}
	r.lives[n].lower = -1
	r.lives[head].depth = count
}

// endLife marks a life as gone. The life is dropped by forget when no packet in flight can refer to it: tombstones are
// dropped by tick only.
func (r *Replica) endLife(n int32) {
	l := &r.lives[n]
	if !l.gone {
		l.gone = true
		r.living--
		l.ended = r.newest
		l.mask = format.Mask{}
		r.changed.add(l.index)
	}
	l.goneAt = r.newest
	r.tombstones = append(r.tombstones, tombstone{life: n, at: r.newest})
}

// forget frees the lives whose tombstones have left the history.
func (r *Replica) forget() {
	if len(r.tombstones) == 0 {
		return
	}
	k := 0
	for ; k < len(r.tombstones) && r.tombstones[k].at <= r.history.horizon; k++ {
		n := r.tombstones[k].life
		if l := &r.lives[n]; l.gone && l.goneAt == r.tombstones[k].at {
			r.unlink(n)
			r.lives[n] = life{lower: -1}
			r.free = append(r.free, n)
		}
	}
	r.tombstones = slices.Delete(r.tombstones, 0, k)
}

// unlink removes a life from the lives of its index.
func (r *Replica) unlink(n int32) {
	l := &r.lives[n]
	if r.heads[l.index] == n {
		r.heads[l.index] = l.lower
		return
	}
	for h := r.heads[l.index]; h >= 0; h = r.lives[h].lower {
		if r.lives[h].lower == n {
			r.lives[h].lower = l.lower
			return
		}
	}
}

// mostLivesEach times MaxEntities is the largest number of lives: alive, or gone while packets in flight may refer to
// them. So all entities can be replaced at once.
const mostLivesEach = 2

// admit calls the guard for every record of the pending payload, and checks the number of lives that the payload
// begins.
func (r *Replica) admit() error {
	p := &r.pending
	records := p.block.versions[p.from:]
	if r.guard != nil {
		for i := range records {
			v := &records[i]
			if !r.guard(wire.NetworkID{Index: v.index, Generation: v.generation}, r.schema.Fold(v.mask)) {
				r.stats.Guarded++
				return ErrGuarded
			}
		}
		return nil // each life is one that the guard knows
	}
	used, most := len(r.lives)-len(r.free), mostLivesEach*int(r.most)
	if used+len(records)+len(p.despawns) <= most {
		return nil
	}
	for _, id := range p.despawns {
		if r.find(id.Index, id.Generation) < 0 {
			used++
		}
	}
	for i := range records {
		if r.find(records[i].index, records[i].generation) < 0 {
			used++
		}
	}
	if used > most {
		r.stats.TooMany++
		return ErrTooMany
	}
	return nil
}

// commit makes the pending payload take effect.
func (r *Replica) commit(s tick.Tick) {
	p := &r.pending
	r.stats.Snapshots++
	r.lastRead = s
	if int16(p.epoch-r.epoch) > 0 {
		r.epoch = p.epoch
	}
	if s > r.newest {
		r.newest = s
		r.advance(s)
		r.forget()
	}
	for _, id := range p.despawns {
		r.despawn(id, s)
	}
	r.history.enter(p.block)
	r.linkAndApply(p.block, p.from, s)
}

// despawn ends the life of id and of every generation below it.
func (r *Replica) despawn(id wire.NetworkID, s tick.Tick) {
	r.stats.Despawns++
	if r.guard != nil && r.find(id.Index, id.Generation) < 0 {
		return // it would take memory without a question to the guard
	}
	n := r.ensure(id.Index, id.Generation)
	l := &r.lives[n]
	if s <= l.applied {
		r.stats.Late++
		return
	}
	l.applied = s
	r.endLife(n)
	l.ended = s
}

// linkAndApply adds the versions of a block, from a place on, to their lives. s is the tick of the block. A version that is
// newer than the applied state becomes the entity's newest state (rule 6). An entity has one record per tick: further
// ones are dropped.
func (r *Replica) linkAndApply(b *tickBlock, from int, s tick.Tick) {
	versions, place, next := b.versions, from, uint32(0)
	superseded := b // block of the versions that the new ones supersede
	if from > 0 {
		next = versions[from-1].index + 1
	}
	r.stats.Records += uint64(len(versions) - from)
	for i := from; i < len(versions); i++ {
		v := &versions[i]
		n := r.head(v.index)
		if n < 0 || r.lives[n].generation != v.generation {
			n = r.ensure(v.index, v.generation)
		}
		l := &r.lives[n]
		newer := s > l.newestTick
		if newer {
			superseded = r.markSuperseded(l, v.mask, s, superseded)
			v.setOlder(s, l.newest())
			l.newestTick, l.newestPlace = s, int32(place)
		} else if !r.insert(l, v, versionRef{tick: s, place: int32(place)}) {
			r.stats.Late++
			continue
		}
		if s <= l.applied || r.heads[v.index] != n {
			r.stats.Late++
		} else {
			r.applyVersion(l, v, s, newer)
		}
		b.unsorted = b.unsorted || v.index < next
		next = v.index + 1
		if place != i { // a record before this one was dropped
			versions[place] = *v
		}
		place++
	}
	b.versions = versions[:place]
}

// markSuperseded marks the newest version of a life as superseded by one of tick s with these rows, if it is still the state of
// a living entity, has the same rows and is at most graceTicks older. b is a block that may be its own. It returns the
// block of the marked version, otherwise b.
func (r *Replica) markSuperseded(l *life, rows format.Mask, s tick.Tick, b *tickBlock) *tickBlock {
	if s-l.newestTick > graceTicks || l.mask != rows || l.newestTick != l.applied || l.gone {
		return b
	}
	if b.tick != l.newestTick {
		b = r.history.block(l.newestTick)
	}
	b.superseded[l.newestPlace>>6] |= 1 << (l.newestPlace & 63)
	return b
}

// applyVersion makes a version of tick s the applied state of its life. If the version is not the newest one, the rows are
// those of the newest.
func (r *Replica) applyVersion(l *life, v *version, s tick.Tick, newest bool) {
	l.applied = s
	if l.gone {
		l.gone = false
		r.living++
	}
	l.mask = v.mask
	if !newest {
		l.mask = r.history.at(l.newest()).mask
	}
	r.changed.add(l.index)
}

// insert adds a version to the versions of its life, which are sorted newest first, after a newer version. It returns
// false if the life has a version of that tick.
func (r *Replica) insert(l *life, v *version, ref versionRef) bool {
	newer := l.newest()
	for newer.tick > ref.tick {
		after := r.history.at(newer)
		older := after.older(newer.tick)
		if older.tick < ref.tick || older.tick <= r.history.horizon {
			v.setOlder(ref.tick, older)
			after.setOlder(newer.tick, ref)
			return true
		}
		newer = older
	}
	return false
}
