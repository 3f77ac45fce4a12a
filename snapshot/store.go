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

// Store is the server's Main snapshot: the newest row of everything, since
// which tick each row has had its value, and what it was before in the last W
// ticks. Capture fills it between [Store.Begin] and [Store.Commit]; one [View]
// per client reads it.
//
// A Store belongs to one goroutine.
type Store struct {
	schema *Schema
	cfg    Config
	tick   tick.Tick // of the newest Begin
	open   bool      // between Begin and Commit
	rows   columns
	packed [][]uint64        // per row: an absolute row as it travels, since it was first asked for
	packs  [][]tick.Tick     // per row: the since of what is packed
	shape  []tick.Tick       // per index: the tick whose capture gave the entity its mask
	shaped []tick.Tick       // per 64 indexes: the newest of shape
	was    []Mask            // per index: what it was before that capture
	born   []tick.Tick       // per index: the tick of the present generation's spawn
	moved  []lastChangedWord // per 64 indexes: the newest changes before this tick that are everybody's
	still  []tick.Tick       // per index: the newest change of who changed in neither
	gens   []uint32          // per index: the present or, when dead, the last generation
	owners []wire.ClientID

	named     []wire.ClientID // per index: who may write what is written by whoever is named
	handovers []Handover
	mirrors   bool // Entities have their ids from another store.

	past     history
	bands    bands
	groups   groups
	refs     backRefs
	cache    EncodeCache    // of whoever writes alone
	caches   []*EncodeCache // the others
	watch    func([]delta.DeltaSymbol)
	views    int      // that observed the last tick that any did
	numbered uint64   // views that were made
	weight   []uint16 // per index: priority, 256 = 1; 0 = never set
	alive    bitset
	early    early
	lives    lives
	free     []uint32 // indexes that may be used again, oldest first, from head on
	head     int
	freed    []uint32 // indexes freed since Begin: never used again in the same tick
	living   int

	changed  bitset           // indexes with such a change in this tick
	words    []uint32         // its words that are not zero
	reshaped []uint32         // indexes whose mask or life is another since this tick
	births   []wire.NetworkID // spawned in this tick and still alive
	deaths   []wire.NetworkID // alive before this tick, and no longer
	count    int              // rows changed in this tick
	grew     uint64           // times that there was no room for one more entity
	refused  uint64           // spawns refused because Config.MaxEntities were alive
	shapes   uint64           // see Shapes

	observers atomic.Int32 // views that observed this tick
}

// NewStore returns an empty Store.
func NewStore(schema *Schema, cfg Config) *Store {
	cfg = cfg.WithDefaults()
	n := schema.Rows()
	s := &Store{
		schema: schema, cfg: cfg,
		rows:   newColumns(schema, cfg.Entities),
		packed: make([][]uint64, n),
		packs:  make([][]tick.Tick, n),
		past:   newHistory(schema, cfg),
		bands:  newBands(schema),
	}
	s.cache.store, s.cache.packs, s.cache.plain = s, !plain.On, plain.On
	for _, d := range schema.Codes.Deltas {
		if d != nil {
			d.Prepare()
		}
	}
	return s
}

// Begin opens the capture of tick t, which must be later than the one before.
// An earlier or equal tick is refused, since versions that may have been sent
// are immutable: the capture then changes nothing.
func (s *Store) Begin(t tick.Tick) {
	if t <= s.tick {
		return
	}
	s.settleMoved(s.tick)
	if n := s.observers.Swap(0); n > 0 {
		s.views = int(n)
	}
	s.bands.before = s.tick
	s.tick, s.open, s.count = t, true, 0
	s.reshaped = s.reshaped[:0]
	s.refs.begin()
	s.births, s.deaths = s.births[:0], s.deaths[:0]
	s.groups.left = s.groups.left[:0]
	s.past.begin(t)
}

// Commit ends the capture. What it recorded is now the state as of the tick.
func (s *Store) Commit() {
	if !s.open {
		return
	}
	if len(s.bands.rows) > 0 {
		s.deriveBands()
	}
	s.open = false
	s.births = slices.DeleteFunc(s.births, func(id wire.NetworkID) bool { return !s.Alive(id) })
	s.free = append(slices.Delete(s.free, 0, s.head), s.freed...)
	s.freed, s.head = s.freed[:0], 0
	if s.mirrors {
		s.free = s.free[:0] // The other store says which index is whose.
	}
}

// Spawn creates an entity and returns its network id: the zero id when
// Config.MaxEntities are alive, or outside Begin and Commit.
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
	if s.gens[index] == 0 { // wrapped after 2^32 lives: generation 0 means none
		s.gens[index] = 1
	}
	s.rows.masks[index] = Mask{}
	s.born[index] = s.tick
	s.alive.set(index)
	s.plain(index)
	s.touch(index)
	s.living++
	id := wire.NetworkID{Index: index, Generation: s.gens[index]}
	s.births = append(s.births, id)
	return id
}

// takeIndex reuses the index that has been free longest, or makes a new one.
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
	s.shape = append(s.shape, tick.None)
	s.was = append(s.was, Mask{})
	s.born = append(s.born, tick.None)
	s.still = append(s.still, tick.None)
	s.rows.grow(index)
	s.alive = s.alive.grownTo(len(s.gens))
	s.changed = s.changed.grownTo(len(s.gens))
	s.moved = append(s.moved, make([]lastChangedWord, len(s.changed)-len(s.moved))...)
	s.shaped = append(s.shaped, make([]tick.Tick, len(s.changed)-len(s.shaped))...)
	return index, true
}

// Despawn ends an entity's life. Unknown and dead ids are ignored.
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
	if s.born[id.Index] != s.tick {
		s.deaths = append(s.deaths, id)
	}
}

// packedRow is a present row as it travels whole. Few rows do, and those to
// many clients at once: each value is packed when it is first asked for.
func (s *Store) packedRow(index uint32, row int) []uint64 {
	n, since := s.schema.Words[row], s.sinceOf(index, row)
	if int(index) >= len(s.packs[row]) {
		s.packs[row] = grown(s.packs[row], len(s.gens), cap(s.gens))
		s.packed[row] = grown(s.packed[row], len(s.gens)*n, cap(s.gens)*n)
	}
	words := s.packed[row][int(index)*n : (int(index)+1)*n]
	if s.packs[row][index] != since {
		s.packs[row][index] = since
		s.schema.Plan(row).Pack(s.rows.row(index, row), words)
	}
	return words
}

// Tick is the tick of the newest capture, tick.None before the first.
func (s *Store) Tick() tick.Tick { return s.tick }

// Alive reports whether id is an entity of this store that lives now.
func (s *Store) Alive(id wire.NetworkID) bool {
	return s.alive.has(id.Index) && s.gens[id.Index] == id.Generation
}

// Mask says which rows id has, without those of distance bands. It is zero for an entity that does not live.
func (s *Store) Mask(id wire.NetworkID) Mask {
	if !s.Alive(id) {
		return Mask{}
	}
	return s.rows.masks[id.Index].Minus(s.schema.Coarse)
}

// Row is the newest lanes of a row, nil when the entity lacks it. The slice is
// the store's own: read it, do not keep it.
func (s *Store) Row(id wire.NetworkID, row int) []uint32 {
	if !s.Alive(id) {
		return nil
	}
	return s.rows.get(id.Index, row)
}

// All yields every living entity in ascending index order.
func (s *Store) All(yield func(wire.NetworkID) bool) {
	for index, gen := range s.gens {
		if s.alive.has(uint32(index)) && !yield(wire.NetworkID{Index: uint32(index), Generation: gen}) {
			return
		}
	}
}

// Len is the number of living entities.
func (s *Store) Len() int { return s.living }

// Births are the entities that the newest capture spawned, in the order of
// their spawns. The slice is the store's own: read it before the next Begin.
func (s *Store) Births() []wire.NetworkID { return s.births }

// Changed is the number of rows that the newest capture changed.
func (s *Store) Changed() int { return s.count }

// Shapes rises whenever an entity is spawned or despawned, or gains or loses a row.
func (s *Store) Shapes() uint64 { return s.shapes }

// Grown returns the number of times that memory grew because more entities lived than [Config.Entities] had made room for.
func (s *Store) Grown() uint64 { return s.grew }

// MaxEntities returns the most entities that may be alive: Config.MaxEntities.
func (s *Store) MaxEntities() int { return s.cfg.MaxEntities }

// Refused returns the number of spawns that were refused because Config.MaxEntities were alive.
func (s *Store) Refused() uint64 { return s.refused }

// Schema is the schema the store was made with.
func (s *Store) Schema() *Schema { return s.schema }

// SetPriority sets the base priority of an entity, [NormalWeight] being 1.0 and
// the default, and reports whether there is such an entity. Where not all fits
// into a client's budget, an entity of twice the weight is sent twice as often.
// Zero counts as 1, the least.
func (s *Store) SetPriority(id wire.NetworkID, weight uint16) bool {
	if !s.Alive(id) {
		return false
	}
	s.weight = grown(s.weight, int(id.Index)+1, cap(s.rows.masks))
	s.weight[id.Index] = max(weight, 1)
	return true
}

// priority is the base priority of an index.
func (s *Store) priority(index uint32) int64 {
	if int(index) >= len(s.weight) || s.weight[index] == 0 {
		return NormalWeight
	}
	return int64(s.weight[index])
}

// plain gives a new entity what entities have until game code says otherwise:
// the server as its owner, and priority 1.
func (s *Store) plain(index uint32) {
	if int(index) < len(s.owners) {
		s.owners[index] = 0
	}
	if int(index) < len(s.named) {
		s.named[index] = 0
	}
	if int(index) < len(s.weight) {
		s.weight[index] = 0
	}
}

// SetOwner says which client an entity belongs to, 0 being the server, and reports whether there is such an entity, spawned or reserved. An
// entity belongs to the server when it is spawned. Ownership may change at any time, also between two captures.
func (s *Store) SetOwner(id wire.NetworkID, owner wire.ClientID) bool {
	if !s.Alive(id) {
		return s.wish(id, earlyOwner, owner)
	}
	s.owners = grown(s.owners, int(id.Index)+1, cap(s.rows.masks))
	if s.owners[id.Index] != owner {
		s.handed(id, owner)
		s.owners[id.Index] = owner
	}
	return true
}

// Owner returns the client that an entity belongs to: 0, the server, for what nobody was made the owner of, and for
// entities that neither live nor are reserved.
func (s *Store) Owner(id wire.NetworkID) wire.ClientID {
	if !s.Alive(id) {
		return s.wished(id, earlyOwner)
	}
	if uint(id.Index) >= uint(len(s.owners)) {
		return 0
	}
	return s.owners[id.Index]
}

// Changes yields the living entities of which the newest capture changed
// anything, those that it spawned included, in ascending index order. It costs
// one look for 64 entities and what there is to yield.
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

// Deaths are the entities that were alive before the newest capture and ended
// in it. The slice is the store's own: read it before the next Begin.
func (s *Store) Deaths() []wire.NetworkID { return s.deaths }

// Recent yields, in ascending order of index, every living entity that the
// newest capture changed in any way.
func (s *Store) Recent(yield func(id wire.NetworkID) bool) {
	for w := range s.changed {
		for word := s.changedOf(w); word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			if s.alive.has(index) && !yield(wire.NetworkID{Index: index, Generation: s.gens[index]}) {
				return
			}
		}
	}
}

// Since is the tick whose capture gave a present row its value, tick.None for
// a row that the entity lacks.
func (s *Store) Since(id wire.NetworkID, row int) tick.Tick {
	if !s.Mask(id).Has(row) {
		return tick.None
	}
	return s.sinceOf(id.Index, row)
}

// Reserve gives out the network id of an entity that is to be spawned later, by
// [Store.Adopt]: the zero id when Config.MaxEntities are alive or reserved. It may be
// called at any time.
func (s *Store) Reserve() wire.NetworkID {
	index, ok := s.takeIndex()
	if !ok {
		s.refused++
		return wire.NetworkID{}
	}
	id := wire.NetworkID{Index: index, Generation: max(s.gens[index]+1, 1)}
	for i := range s.early.clients {
		s.early.clients[i] = grown(s.early.clients[i], len(s.gens), cap(s.gens))
		s.early.clients[i][index] = 0
	}
	s.early.ids = grown(s.early.ids, len(s.gens), cap(s.gens))
	s.early.ids[index] = id.Generation
	s.early.count++
	return id
}

// Adopt spawns the entity that an id was reserved for. It must be called once
// for each reserved id, between Begin and Commit, and with no other id. What [Store.SetOwner] and [Store.SetNamed] said of it
// meanwhile counts from now on.
func (s *Store) Adopt(id wire.NetworkID) {
	s.Forsake(id)
	if s.head > 0 { // Spawn takes what is at head
		s.head--
		s.free[s.head] = id.Index
	} else {
		s.free = slices.Insert(s.free, 0, id.Index)
	}
	s.Spawn()
	if owner := s.early.clients[earlyOwner][id.Index]; owner != 0 {
		s.SetOwner(id, owner)
	}
	if named := s.early.clients[earlyNamed][id.Index]; named != 0 {
		s.SetNamed(id, named)
	}
}

// early is the ids that are reserved and not adopted.
type early struct {
	ids     []uint32 // by index: the generation; 0: none
	count   int
	clients [2][]wire.ClientID // by index: the owner, and the client that is named to write it, from Adopt on
}

// Places in early.clients.
const (
	earlyOwner = 0
	earlyNamed = 1
)

// Reserved reports whether an id was given out by [Store.Reserve] and is still to be adopted.
func (s *Store) Reserved(id wire.NetworkID) bool {
	return uint(id.Index) < uint(len(s.early.ids)) && id.Generation != 0 && s.early.ids[id.Index] == id.Generation
}

// Reserves reports whether any id is reserved.
func (s *Store) Reserves() bool { return s.early.count > 0 }

// Forsake makes an id count as reserved no more: its entity ended before it was spawned. The id must be adopted all the same.
func (s *Store) Forsake(id wire.NetworkID) {
	if s.Reserved(id) {
		s.early.ids[id.Index] = 0
		s.early.count--
	}
}

// wish notes a client of a reserved entity, and reports whether it is one.
func (s *Store) wish(id wire.NetworkID, what int, client wire.ClientID) bool {
	reserved := s.Reserved(id)
	if reserved {
		s.early.clients[what][id.Index] = client
	}
	return reserved
}

// wished returns a client of a reserved entity, 0 for other ids.
func (s *Store) wished(id wire.NetworkID, what int) wire.ClientID {
	if !s.Reserved(id) {
		return 0
	}
	return s.early.clients[what][id.Index]
}

// Open reports whether a capture is under way, from Begin to Commit.
func (s *Store) Open() bool { return s.open }

// EachAt yields every entity that lived as of tick t, in ascending index order, until yield returns false. It returns false
// when t is outside the history, which reaches W ticks back, so that nobody can say. It allocates nothing.
func (s *Store) EachAt(t tick.Tick, yield func(wire.NetworkID) bool) bool {
	if t > s.tick || t < s.past.horizon || t <= tick.None {
		return false
	}
	for i, generation := range s.gens {
		index := uint32(i)
		lives := s.alive.has(index)
		if s.shape[i] > t {
			_, generation, lives = s.past.entityAt(index, t)
		}
		if lives && !yield(wire.NetworkID{Index: index, Generation: generation}) {
			break
		}
	}
	return true
}
