package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Entity is what a client knows of one network index.
type Entity struct {
	ID    wire.NetworkID // the newest generation heard of
	Alive bool           // false after its despawn
	Tick  tick.Tick      // as of which it is known; it only rises within a life
	Mask  Mask           // rows present, zero when not alive
}

// life is one generation of one network index, as the client knows it. It stays, dead or alive, until nothing that may still arrive
// is about it. Generation 0 marks a free place.
type life struct {
	index, generation uint32
	lower             int32     // the life before it at the same index, -1 = none
	depth             int32     // lives at or below it when it came, at least
	applied           tick.Tick // of the newest record or despawn that took effect
	newest            versionRef
	mask              Mask // rows present, zero when gone
	gone              bool
	goneAt            tick.Tick // with gone: the newest tick decoded by then
	ended             tick.Tick // as of which it was last gone, for entities that are shown late
	evicted           evictedVersion
}

// tombstone is a life that waits to be forgotten.
type tombstone struct {
	life int32
	at   tick.Tick
}

// Replica is the client's side of a [View]. It decodes snapshots, stores the versions that later ones are coded against, and has the
// newest row of every entity for the bridge to apply. It belongs to one goroutine.
type Replica struct {
	schema *Schema
	window tick.Tick
	most   uint32 // Config.MaxEntities

	heads  []int32 // by index: the life of the highest generation, -1 = none
	lives  []life
	free   []int32     // places in lives
	graves []tombstone // by tick, nearly
	living int

	history versionHistory
	evicted rowPages // by life: the rows of its evicted version
	kept    rowPages // by index: the newest rows whose history was lost
	layouts *rowLayouts
	newest  tick.Tick // the newest tick decoded
	changed changedIndexes

	lostAt   tick.Tick   // the newest tick when Lose was last called
	known    tick.Tick   // the newest tick that Whole was told of
	complete []tick.Tick // by tick modulo its length: the ticks of which nothing is missing

	epoch  uint16 // the newest resync that the server served
	wanted uint16 // the newest resync that this end asked for

	guard   func(id wire.NetworkID, rows Mask) bool
	pending pendingPayload
	batch   readBatch
	stats   ReplicaStats
}

// ReplicaStats counts what a Replica saw.
type ReplicaStats struct {
	Snapshots  uint64 // payloads decoded whole
	Records    uint64 // entity records in them
	Despawns   uint64 // despawn records in them
	Late       uint64 // records older than what was applied: kept, not applied
	Stale      uint64 // payloads refused with ErrStale
	NoBaseline uint64 // payloads refused with ErrBaseline
	TooMany    uint64 // payloads refused with ErrTooMany
	Malformed  uint64 // payloads refused with ErrMalformed
	Guarded    uint64 // payloads refused with ErrGuarded
}

// NewReplica returns an empty Replica. start is the server's tick at the time of the connection: ticks in packets are read as near to
// it.
func NewReplica(schema *Schema, cfg Config, start tick.Tick) *Replica {
	cfg = cfg.withDefaults()
	layouts := newRowLayouts(schema)
	r := &Replica{
		schema: schema, window: cfg.Window, most: uint32(cfg.MaxEntities), newest: start, layouts: layouts,
		evicted: newRowPages(schema, sinceWords),
		kept:    newRowPages(schema, 0),
		history: newVersionHistory(layouts, 2*cfg.Window+graceTicks, start),
	}
	r.complete = make([]tick.Tick, len(r.history.blocks))
	return r
}

// Guard sets a function that is asked about every record, before anything of its payload takes effect: when it refuses one,
// the whole payload is refused with [ErrGuarded]. A server asks it whether a client may write that.
func (r *Replica) Guard(may func(id wire.NetworkID, rows Mask) bool) {
	r.guard = may
}

// Tick is the newest tick that was decoded.
func (r *Replica) Tick() tick.Tick { return r.newest }

// Len is the number of entities alive here.
func (r *Replica) Len() int { return r.living }

// Stats is what the Replica has seen so far.
func (r *Replica) Stats() ReplicaStats { return r.stats }

// MaxEntities is above the network indexes that the Replica takes.
func (r *Replica) MaxEntities() int { return int(r.most) }

// HistoryBytes is how much memory the decoded versions take that later snapshots may be coded against, what is spare included.
func (r *Replica) HistoryBytes() int { return r.history.memory.bytes() }

// Schema is the schema the Replica was made with.
func (r *Replica) Schema() *Schema { return r.schema }

// Entity is what is known of a network index. The zero Entity is nobody.
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
		e.Mask = l.mask
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

// WantResync reports whether this end has asked for everything anew and has
// not been served yet. The epoch goes to the server in each packet until then.
func (r *Replica) WantResync() (epoch uint16, want bool) {
	return r.wanted, int16(r.wanted-r.epoch) > 0
}

// Lose forgets every baseline, as a fault would, and asks for a resync. The
// world as applied stays.
func (r *Replica) Lose() {
	r.keepNewest()
	for i := range r.lives {
		r.lives[i].newest, r.lives[i].evicted = versionRef{}, evictedVersion{}
	}
	r.history = newVersionHistory(r.layouts, r.history.keep, r.newest)
	r.lostAt = r.newest
	r.ask()
}

// ask wants one more resync. Epoch 0 is the one before any.
func (r *Replica) ask() {
	if r.wanted++; r.wanted == 0 {
		r.wanted = 1
	}
}

// head is the life of the highest generation at index, -1 when there is none.
func (r *Replica) head(index uint32) int32 {
	if int(index) >= len(r.heads) {
		return -1
	}
	return r.heads[index]
}

// find is the life of one generation, -1 when there is none.
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

// ensure is the life of one generation, made when there is none.
func (r *Replica) ensure(index, generation uint32) int32 {
	if n := r.find(index, generation); n >= 0 {
		return n
	}
	for int(index) >= len(r.heads) {
		r.heads = append(r.heads, -1)
	}
	r.changed.set = r.changed.set.grownTo(len(r.heads))
	var n int32
	if last := len(r.free) - 1; last >= 0 {
		n, r.free = r.free[last], r.free[:last]
	} else {
		n, r.lives = int32(len(r.lives)), append(r.lives, life{})
	}
	r.lives[n] = life{index: index, generation: generation, gone: true, lower: -1}
	r.link(n)
	return n
}

// link puts a new life in its place among those of its index, highest
// generation first. A new head ends the one it displaces: the higher
// generation wins. A life that is not the head can never be alive.
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

// mostLives is how many lives of one index can matter: a server can begin one a
// tick, and they leave by tick.
func (r *Replica) mostLives() int32 { return int32(r.history.keep-graceTicks) + 2 }

// shorten counts the lives below a head anew and drops those that no honest
// server can have begun, so that a hostile one cannot make the list long.
func (r *Replica) shorten(head int32) {
	count, n := int32(1), head
	for ; r.lives[n].lower >= 0 && count < r.mostLives(); count++ {
		n = r.lives[n].lower
	}
	r.lives[n].lower = -1
	r.lives[head].depth = count
}

// bury marks a life as gone, to be forgotten when nothing on its way can
// speak of it any more: tombstones leave by tick only.
func (r *Replica) bury(n int32) {
	l := &r.lives[n]
	if !l.gone {
		l.gone = true
		r.living--
		l.ended = r.newest
		l.mask = 0
		r.changed.add(l.index)
	}
	l.goneAt = r.newest
	r.graves = append(r.graves, tombstone{life: n, at: r.newest})
}

// forget frees the lives whose tombstones have left the window, and with them
// the last of their history.
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

// unlink takes a life out of those of its index.
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
