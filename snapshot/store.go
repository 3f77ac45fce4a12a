package snapshot

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Store is the newest state of all replicated entities at the server, with its history of the last W ticks. A capture fills it between
// [Store.Begin] and [Store.Commit]. One [View] for each client reads it.
//
// A Store belongs to one goroutine.
type Store struct {
	schema        *Schema
	cfg           Config
	tick          tick.Tick // tick of the newest Begin
	open          bool      // between Begin and Commit
	rows          columns
	shapedAt      []tick.Tick       // by index: tick of the newest change of its mask, or of its spawn or despawn
	pageShapedAt  []tick.Tick       // by page: the newest tick in shapedAt
	maskBefore    []Mask            // by index: the mask before that change
	bornAt        []tick.Tick       // by index: tick of the newest spawn
	lastChanges   []lastChangedWord // by index / 64; see lastChanged
	earlierChange []tick.Tick       // by index; see lastChanged
	gens          []uint32          // by index: the generation of the entity, or of the last one if it is free
	owners        []wire.ClientID

	named     []wire.ClientID // by index; see SetNamed
	handovers []Handover
	reowned   []newOwner // see NewOwners
	mirrors   bool       // Mirror was called: ids are from another store

	past     history
	bands    bands
	groups   groups
	refs     backRefs
	cache    EncodeCache               // for Write
	watch    func([]delta.DeltaSymbol) // see Watch
	counts   bool                      // see Count
	traced   wire.ClientID             // see Trace
	views    int                       // number of views that observed the last tick that any view observed
	numbered uint64                    // number of views that were made
	weight   []uint16                  // by index: base priority in 1/NormalWeight; 0: never set
	rates    []uint16                  // by index: components.Rate in ticks; 0: every tick
	alive    bitset
	early    early
	lives    lives
	free     []uint32 // indexes for new entities, the longest free first; those before head were taken in this tick
	head     int
	freed    []uint32 // indexes freed since Begin; not used again in the same tick
	living   int      // number of entities that are alive

	changed  bitset           // indexes that touch noted in this tick
	words    []uint32         // words of changed that are not zero
	reshaped []uint32         // indexes with a new mask, spawned or despawned in this tick
	births   []wire.NetworkID // spawned in this tick and still alive
	deaths   []wire.NetworkID // alive before this tick and despawned in it
	count    int              // rows changed in this tick
	grew     uint64           // see Grown
	refused  uint64           // see Refused

	observers atomic.Int32 // number of views that observed this tick
}

// NewStore returns an empty Store.
func NewStore(schema *Schema, cfg Config) *Store {
	cfg = cfg.WithDefaults()
	s := &Store{
		schema: schema, cfg: cfg,
		rows:  newColumns(schema, cfg.Entities),
		past:  newHistory(schema, cfg),
		bands: newBands(schema),
	}
	s.cache.store, s.cache.plain = s, plain.On
	for _, d := range schema.Codes.Deltas {
		if d != nil {
			d.Prepare()
		}
	}
	return s
}

// Begin opens the capture of tick t. It does nothing if t is not later than the last tick: versions that may have been sent do not
// change.
func (s *Store) Begin(t tick.Tick) {
	if t <= s.tick {
		return
	}
	s.endChanges(s.tick)
	if n := s.observers.Swap(0); n > 0 {
		s.views = int(n)
	}
	s.bands.before = s.tick
	s.reowned = slices.DeleteFunc(s.reowned, func(o newOwner) bool { return o.at < s.tick })
	s.tick, s.open, s.count = t, true, 0
	s.reshaped = s.reshaped[:0]
	s.refs.begin()
	s.births, s.deaths = s.births[:0], s.deaths[:0]
	s.groups.left = s.groups.left[:0]
	s.past.begin(t)
}

// Commit ends the capture. Its changes are now the state as of the tick.
func (s *Store) Commit() {
	if !s.open {
		return
	}
	if len(s.bands.rows) > 0 {
		s.deriveBands()
	}
	s.open = false
	s.past.pack()
	s.births = slices.DeleteFunc(s.births, func(id wire.NetworkID) bool { return !s.Alive(id) })
	s.free = append(slices.Delete(s.free, 0, s.head), s.freed...)
	s.freed, s.head = s.freed[:0], 0
	if s.mirrors {
		s.free = s.free[:0] // the other store gives out the indexes
	}
}

// Spawn creates an entity and returns its network id. It returns the zero id if Config.MaxEntities are alive, or outside Begin and
// Commit.
func (s *Store) Spawn() wire.NetworkID {
	if !s.open {
		return wire.NetworkID{}
	}
	index, ok := s.takeIndex()
	if !ok {
		s.refused++
		return wire.NetworkID{}
	}
	s.reshape(index)
	s.gens[index]++
	if s.gens[index] == 0 { // wrapped after 2^32 entities: generation 0 means none
		s.gens[index] = 1
	}
	s.rows.masks[index] = Mask{}
	s.bornAt[index] = s.tick
	s.alive.set(index)
	s.setDefaults(index)
	s.touch(index)
	s.living++
	id := wire.NetworkID{Index: index, Generation: s.gens[index]}
	s.births = append(s.births, id)
	return id
}

// takeIndex returns the index that has been free longest, or a new one. It returns false if Config.MaxEntities indexes are in use.
func (s *Store) takeIndex() (uint32, bool) {
	if s.head < len(s.free) {
		s.head++
		return s.free[s.head-1], true
	}
	if len(s.gens) >= s.cfg.MaxEntities {
		return 0, false
	}
	index := uint32(len(s.gens))
	if len(s.rows.masks) == cap(s.rows.masks) {
		s.grew++
	}
	s.gens = append(s.gens, 0)
	s.shapedAt = append(s.shapedAt, tick.None)
	s.maskBefore = append(s.maskBefore, Mask{})
	s.bornAt = append(s.bornAt, tick.None)
	s.earlierChange = append(s.earlierChange, tick.None)
	s.rows.grow(index)
	s.alive = s.alive.grownTo(len(s.gens))
	s.changed = s.changed.grownTo(len(s.gens))
	s.lastChanges = append(s.lastChanges, make([]lastChangedWord, len(s.changed)-len(s.lastChanges))...)
	s.pageShapedAt = append(s.pageShapedAt, make([]tick.Tick, len(s.changed)-len(s.pageShapedAt))...)
	return index, true
}

// Despawn ends the life of an entity. Ids of entities that are not alive are ignored.
func (s *Store) Despawn(id wire.NetworkID) {
	if !s.open || !s.Alive(id) {
		return
	}
	for m := s.rows.masks[id.Index]; !m.IsZero(); m = m.Rest() {
		s.loseRow(id.Index, m.Lowest())
	}
	s.reshape(id.Index)
	s.SetGroup(id, 0)
	s.alive.unset(id.Index)
	s.unattend(id)
	s.rows.masks[id.Index] = Mask{}
	s.living--
	s.freed = append(s.freed, id.Index)
	if s.bornAt[id.Index] != s.tick {
		s.deaths = append(s.deaths, id)
	}
}

// Tick returns the tick of the newest capture, tick.None before the first.
func (s *Store) Tick() tick.Tick { return s.tick }

// Before returns the tick of the capture before the newest, tick.None if there was none. A frame of several ticks is one capture.
func (s *Store) Before() tick.Tick { return s.bands.before }

// Alive reports whether id is an entity of this store that is alive.
func (s *Store) Alive(id wire.NetworkID) bool {
	return s.alive.has(id.Index) && s.gens[id.Index] == id.Generation
}

// At returns the living entity at an index. ok is false if there is none.
func (s *Store) At(index uint32) (id wire.NetworkID, ok bool) {
	if int(index) >= len(s.gens) || !s.alive.has(index) {
		return id, false
	}
	return wire.NetworkID{Index: index, Generation: s.gens[index]}, true
}

// Mask returns the rows of an entity, without those of distance bands. It is zero if the entity is not alive.
func (s *Store) Mask(id wire.NetworkID) Mask {
	if !s.Alive(id) {
		return Mask{}
	}
	return s.rows.masks[id.Index].Minus(s.schema.Coarse)
}

// Row returns the newest lanes of a row, nil if the entity lacks it. The slice is the store's own: read it, do not store it.
func (s *Store) Row(id wire.NetworkID, row int) []uint32 {
	if !s.Alive(id) {
		return nil
	}
	return s.rows.get(id.Index, row)
}

// All yields every entity that is alive, in ascending order of index.
func (s *Store) All(yield func(wire.NetworkID) bool) {
	for index, gen := range s.gens {
		if s.alive.has(uint32(index)) && !yield(wire.NetworkID{Index: uint32(index), Generation: gen}) {
			return
		}
	}
}

// Len returns the number of entities that are alive.
func (s *Store) Len() int { return s.living }

// Births returns the entities that the newest capture spawned, in the order of their spawns. The slice is the store's own: read it
// before the next Begin.
func (s *Store) Births() []wire.NetworkID { return s.births }

// Changed returns the number of rows that the newest capture changed.
func (s *Store) Changed() int { return s.count }

// Grown returns how often memory grew because more entities were alive than [Config.Entities] had made room for.
func (s *Store) Grown() uint64 { return s.grew }

// MaxEntities returns Config.MaxEntities, the most entities that may be alive.
func (s *Store) MaxEntities() int { return s.cfg.MaxEntities }

// Window returns Config.Window, the history window W.
func (s *Store) Window() tick.Tick { return s.cfg.Window }

// Refused returns the number of spawns that were refused because Config.MaxEntities were alive.
func (s *Store) Refused() uint64 { return s.refused }

// Schema returns the schema that the store was made with.
func (s *Store) Schema() *Schema { return s.schema }

// SetPriority sets the base priority of an entity, and reports whether the entity is alive. The default is [NormalWeight], which is
// 1.0; 0 counts as 1, the least. If a client's budget is short, an entity of twice the weight is sent twice as often.
func (s *Store) SetPriority(id wire.NetworkID, weight uint16) bool {
	if !s.Alive(id) {
		return false
	}
	s.weight = grown(s.weight, int(id.Index)+1, cap(s.rows.masks))
	s.weight[id.Index] = max(weight, 1)
	return true
}

// priority returns the base priority of an index.
func (s *Store) priority(index uint32) int64 {
	if int(index) >= len(s.weight) || s.weight[index] == 0 {
		return NormalWeight
	}
	return int64(s.weight[index])
}

// setDefaults gives a new entity the defaults: the server as its owner, nobody named to write it, priority 1 and no rate.
func (s *Store) setDefaults(index uint32) {
	if int(index) < len(s.owners) {
		s.owners[index] = 0
	}
	if int(index) < len(s.named) {
		s.named[index] = 0
	}
	if int(index) < len(s.weight) {
		s.weight[index] = 0
	}
	if int(index) < len(s.rates) {
		s.rates[index] = 0
	}
}

// Changes yields the entities that are alive and that the newest capture changed or spawned, in ascending order of index. The cost is
// one look for each 64 entities.
func (s *Store) Changes(yield func(wire.NetworkID) bool) {
	for w := range s.changed {
		for word := s.changedOf(w) & s.alive[w]; word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			if !yield(wire.NetworkID{Index: index, Generation: s.gens[index]}) {
				return
			}
		}
	}
}

// Deaths returns the entities that were alive before the newest capture and were despawned in it. The slice is the store's own: read
// it before the next Begin.
func (s *Store) Deaths() []wire.NetworkID { return s.deaths }

// Since returns the tick of the capture that gave a present row its value, tick.None for a row that the entity lacks.
func (s *Store) Since(id wire.NetworkID, row int) tick.Tick {
	if !s.Mask(id).Has(row) {
		return tick.None
	}
	return s.sinceOf(id.Index, row)
}

// Open reports whether a capture is open, from Begin to Commit.
func (s *Store) Open() bool { return s.open }

// EachAt yields every entity that was alive at tick t, in ascending order of index, until yield returns false. It returns false if t
// is outside the history of W ticks. It allocates nothing.
func (s *Store) EachAt(t tick.Tick, yield func(wire.NetworkID) bool) bool {
	if t > s.tick || t < s.past.horizon || t <= tick.None {
		return false
	}
	for i, generation := range s.gens {
		index := uint32(i)
		lives := s.alive.has(index)
		if s.shapedAt[i] > t {
			_, generation, lives = s.past.entityAt(index, t)
		}
		if lives && !yield(wire.NetworkID{Index: index, Generation: generation}) {
			break
		}
	}
	return true
}
