package replica

import (
	"slices"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Entity describes one network index as a client knows it.
type Entity struct {
	ID    wire.NetworkID // the newest generation received
	Alive bool           // false after its despawn
	Tick  tick.Tick      // of the state that was applied last; it only rises within a life
	Mask  format.Mask    // rows present, zero when not alive
}

// life is one generation of one network index, as the client knows it. It stays, dead or alive, until nothing that may still arrive
// is about it. Generation 0 marks a free place.
type life struct {
	index, generation uint32
	applied           tick.Tick   // of the newest record or despawn that took effect
	mask              format.Mask // rows present, zero when gone
	newestTick        tick.Tick   // of its newest version
	newestPlace       int32
	lower             int32 // the life before it at the same index, -1 = none
	depth             int32 // lives at or below it when it came, at least
	gone              bool
	goneAt            tick.Tick // with gone: the newest tick decoded by then
	ended             tick.Tick // as of which it was last gone, for entities that are shown late
}

// newest names the newest version of a life.
func (l *life) newest() versionRef { return versionRef{tick: l.newestTick, place: l.newestPlace} }

// tombstone is a life that waits to be forgotten.
type tombstone struct {
	life int32
	at   tick.Tick
}

// Replica is the client's side of a [View]. It decodes snapshots, stores the versions that later ones are coded against, and has the
// newest row of every entity for the bridge to apply. It belongs to one goroutine.
type Replica struct {
	schema  *format.Schema
	window  tick.Tick
	most    uint32      // Config.MaxEntities
	unknown format.Mask // Config.Unknown

	heads  []int32 // by index: the life of the highest generation, -1 = none
	lives  []life
	free   []int32     // places in lives
	graves []tombstone // by tick, nearly
	living int

	history  versionHistory
	evicted  []evictedVersion // by life
	left     rowPages         // by life: the rows of its evicted version
	kept     rowPages         // by index: the newest rows whose history was lost
	layouts  *rowLayouts
	bands    *bandReader // nil without distance bands
	newest   tick.Tick   // the newest tick decoded
	lastRead tick.Tick   // the tick decoded last
	changed  changedIndexes

	lostAt   tick.Tick   // the newest tick when Lose was last called
	known    tick.Tick   // the newest tick that Whole was told of
	complete []tick.Tick // by tick modulo its length: the ticks of which nothing is missing

	epoch  uint16 // the newest resync that the server served
	wanted uint16 // the newest resync that this end asked for

	guard   func(id wire.NetworkID, rows format.Mask) bool
	pending pendingPayload
	batch   readBatch
	stats   Stats
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

// New returns an empty Replica. start is the server's tick at the time of the connection: ticks in packets are read as near to
// it.
func New(schema *format.Schema, cfg format.Config, start tick.Tick) *Replica {
	cfg = cfg.WithDefaults()
	layouts := newRowLayouts(schema)
	r := &Replica{
		schema: schema, window: cfg.Window, most: uint32(cfg.MaxEntities), newest: start, layouts: layouts,
		left:    newRowPages(schema, sinceWords),
		kept:    newRowPages(schema, 0),
		history: newVersionHistory(layouts, 2*cfg.Window+graceTicks, start),
		unknown: cfg.Lacks(schema),
	}
	r.complete = make([]tick.Tick, len(r.history.blocks))
	if !schema.Coarse.IsZero() {
		r.bands = newBandReader(schema)
	}
	return r
}

// Guard sets a function that is called for every record before its payload takes effect. If it refuses one, the whole payload is
// refused with [ErrGuarded]. A server uses it to check whether a client may write the rows.
func (r *Replica) Guard(may func(id wire.NetworkID, rows format.Mask) bool) {
	r.guard = may
}

// Tick returns the newest tick that was decoded.
func (r *Replica) Tick() tick.Tick { return r.newest }

// Len returns the number of entities alive here.
func (r *Replica) Len() int { return r.living }

// Stats returns the counters.
func (r *Replica) Stats() Stats { return r.stats }

// MaxEntities returns the bound below which the network indexes of the Replica are.
func (r *Replica) MaxEntities() int { return int(r.most) }

// HistoryBytes returns the memory of the decoded versions that later snapshots may be coded against, spare memory included.
func (r *Replica) HistoryBytes() int { return r.history.memory.bytes() }

// Schema returns the schema of the Replica.
func (r *Replica) Schema() *format.Schema { return r.schema }

// Entity describes the entity of a network index. The zero Entity is none.
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

// WantResync reports whether this end has asked for a resync and has not been served yet. The epoch is sent in each packet until then.
func (r *Replica) WantResync() (epoch uint16, want bool) {
	return r.wanted, int16(r.wanted-r.epoch) > 0
}

// Lose drops every baseline, as a fault would, and asks for a resync. The applied world stays.
func (r *Replica) Lose() {
	r.keepNewest()
	for i := range r.lives {
		r.lives[i].newestTick, r.lives[i].newestPlace, r.evicted[i] = tick.None, 0, evictedVersion{}
	}
	r.history = newVersionHistory(r.layouts, r.history.keep, r.newest)
	r.lostAt = r.newest
	r.ask()
}

// ask requests one more resync. Epoch 0 is before any.
func (r *Replica) ask() {
	if r.wanted++; r.wanted == 0 {
		r.wanted = 1
	}
}

// head returns the life of the highest generation at an index, -1 when there is none.
func (r *Replica) head(index uint32) int32 {
	if uint(index) >= uint(len(r.heads)) { // an int has 32 bits on some machines, and the index may be of the other end
		return -1
	}
	return r.heads[index]
}

// find returns the life of one generation, -1 when there is none.
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

// ensure returns the life of one generation, a new one when there is none.
func (r *Replica) ensure(index, generation uint32) int32 {
	if n := r.find(index, generation); n >= 0 {
		return n
	}
	r.reach(index)
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

// reach makes the tables by index long enough for one, in one step: place by place they would be copied five times over.
func (r *Replica) reach(index uint32) {
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

// link puts a new life in its place among those of its index, highest generation first. A new head ends the life that it displaces: the
// higher generation wins. A life that is not the head is never alive.
func (r *Replica) link(n int32) {
	l := &r.lives[n]
	h := r.heads[l.index]
	if h < 0 || r.lives[h].generation < l.generation {
		l.depth = 1
		if h >= 0 {
			r.bury(h)
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
	r.bury(n)
	head := r.heads[l.index]
	if r.lives[head].depth++; r.lives[head].depth > r.mostLives() {
		r.shorten(head)
	}
}

// mostLives returns how many lives of one index can matter: a server can begin one a tick, and they leave by tick.
func (r *Replica) mostLives() int32 { return int32(r.history.keep-graceTicks) + 2 }

// shorten counts the lives below a head and drops those that no honest server can have begun. A hostile server thus cannot make the list
// long.
func (r *Replica) shorten(head int32) {
	count, n := int32(1), head
	for ; r.lives[n].lower >= 0 && count < r.mostLives(); count++ {
		n = r.lives[n].lower
	}
	r.lives[n].lower = -1
	r.lives[head].depth = count
}

// bury marks a life as gone. It is forgotten when no packet under way can be about it any more: tombstones leave by tick only.
func (r *Replica) bury(n int32) {
	l := &r.lives[n]
	if !l.gone {
		l.gone = true
		r.living--
		l.ended = r.newest
		l.mask = format.Mask{}
		r.changed.add(l.index)
	}
	l.goneAt = r.newest
	r.graves = append(r.graves, tombstone{life: n, at: r.newest})
}

// forget frees the lives whose tombstones have left the history, with their evicted rows.
func (r *Replica) forget() {
	if len(r.graves) == 0 {
		return
	}
	k := 0
	for ; k < len(r.graves) && r.graves[k].at <= r.history.horizon; k++ {
		n := r.graves[k].life
		if l := &r.lives[n]; l.gone && l.goneAt == r.graves[k].at {
			r.unlink(n)
			r.lives[n] = life{lower: -1}
			r.free = append(r.free, n)
		}
	}
	r.graves = slices.Delete(r.graves, 0, k)
}

// unlink removes a life from those of its index.
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

// mostLivesEach is for how many lives there is room for each entity that a Replica takes: those that are alive, and those that ended
// so lately that something on its way may be about them. So all entities may be replaced at once.
const mostLivesEach = 2

// admit asks the guard about every record of the pending payload, and counts the lives that it begins.
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
	r.record(p.block, p.from, s)
}

// despawn ends the life of id and of every generation below it.
func (r *Replica) despawn(id wire.NetworkID, s tick.Tick) {
	r.stats.Despawns++
	n := r.ensure(id.Index, id.Generation)
	l := &r.lives[n]
	if s <= l.applied {
		r.stats.Late++
		return
	}
	l.applied = s
	r.bury(n)
	l.ended = s
}

// record links the versions of a block of tick s, from a place on, into the versions of their lives, and applies those that are newer
// than what is there (rule 6). An entity has one record a tick: more of them are dropped.
func (r *Replica) record(b *tickBlock, from int, s tick.Tick) {
	versions, place, next := b.versions, from, uint32(0)
	before := b // of the tick that the versions before the last ones are of
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
			if s-l.newestTick <= graceTicks && l.mask == v.mask && l.newestTick == l.applied && !l.gone {
				if before.tick != l.newestTick {
					before = r.history.block(l.newestTick)
				}
				before.superseded[l.newestPlace>>6] |= 1 << (l.newestPlace & 63)
			}
			v.setOlder(s, l.newest())
			l.newestTick, l.newestPlace = s, int32(place)
		} else if !r.insert(l, v, versionRef{tick: s, place: int32(place)}) {
			r.stats.Late++
			continue
		}
		if s <= l.applied || r.heads[v.index] != n {
			r.stats.Late++
		} else {
			r.show(l, v, s, newer)
		}
		b.unsorted = b.unsorted || v.index < next
		next = v.index + 1
		if place != i { // an entity before this one had a record already
			versions[place] = *v
		}
		place++
	}
	b.versions = versions[:place]
}

// show makes a version of tick s what is shown of its life; one that is not the newest is shown with the rows of the newest.
func (r *Replica) show(l *life, v *version, s tick.Tick, newest bool) {
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

// insert links the version of a ref into its life's versions, newest first, behind a newer one. It is false when there is one of that
// tick.
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
