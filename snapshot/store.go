package snapshot

import (
	"slices"
	"sync/atomic"

	"github.com/arche-netcode/netcode/delta"
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
	packed [][]uint64    // per row: an absolute row as it travels, since it was first asked for
	packs  [][]tick.Tick // per row: the since of what is packed
	shape  []tick.Tick   // per index: the tick whose capture gave the entity its mask
	shaped []tick.Tick   // per 64 indexes: the newest of shape
	was    []Mask        // per index: what it was before that capture
	born   []tick.Tick   // per index: the tick of the present generation's spawn
	moved  []movedIn     // per 64 indexes: the newest changes before this tick that are everybody's
	still  []tick.Tick   // per index: the newest change of who changed in neither
	gens   []uint32      // per index: the present or, when dead, the last generation
	owners []wire.ClientID

	named     []wire.ClientID // per index: who may write what is written by whoever is named
	handovers []Handover
	mirrors   bool // Entities have their ids from another store.

	past    history
	groups  groups
	refs    referrers
	desk    Desk    // of whoever writes alone
	desks   []*Desk // the others
	prepare preparing
	watch   func([]delta.DeltaSymbol)
	views   int      // that observed the last tick that any did
	weight  []uint16 // per index: priority, 256 = 1; 0 = never set
	alive   bitset
	lives   lives
	free    []uint32 // indexes that may be used again, oldest first, from head on
	head    int
	freed   []uint32 // indexes freed since Begin: never used again in the same tick
	living  int

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
	cfg = cfg.withDefaults()
	n := schema.Rows()
	s := &Store{
		schema: schema, cfg: cfg,
		rows:   newColumns(schema, cfg.Entities),
		packed: make([][]uint64, n),
		packs:  make([][]tick.Tick, n),
		past:   newHistory(schema, cfg),
	}
	s.desk.store = s
	for _, d := range schema.codes.deltas {
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
	s.settle(s.tick)
	if n := s.observers.Swap(0); n > 0 {
		s.views = int(n)
	}
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
	s.rows.masks[index] = 0
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
	s.was = append(s.was, 0)
	s.born = append(s.born, tick.None)
	s.still = append(s.still, tick.None)
	s.rows.grow(index)
	s.alive = s.alive.grownTo(len(s.gens))
	s.changed = s.changed.grownTo(len(s.gens))
	s.moved = append(s.moved, make([]movedIn, len(s.changed)-len(s.moved))...)
	s.shaped = append(s.shaped, make([]tick.Tick, len(s.changed)-len(s.shaped))...)
	return index, true
}

// Despawn ends an entity's life. Unknown and dead ids are ignored.
func (s *Store) Despawn(id wire.NetworkID) {
	if !s.open || !s.Alive(id) {
		return
	}
	for m := s.rows.masks[id.Index]; m != 0; m &= m - 1 {
		s.loseRow(id.Index, m.next())
	}
	s.reshape(id.Index)
	s.SetGroup(id, 0)
	s.alive.unset(id.Index)
	s.unattend(id)
	s.rows.masks[id.Index] = 0
	s.living--
	s.freed = append(s.freed, id.Index)
	if s.born[id.Index] != s.tick {
		s.deaths = append(s.deaths, id)
	}
}

// packedRow is a present row as it travels whole. Few rows do, and those to
// many clients at once: each value is packed when it is first asked for.
func (s *Store) packedRow(index uint32, row int) []uint64 {
	n, since := s.schema.words[row], s.sinceOf(index, row)
	if int(index) >= len(s.packs[row]) {
		s.packs[row] = grown(s.packs[row], len(s.gens), cap(s.gens))
		s.packed[row] = grown(s.packed[row], len(s.gens)*n, cap(s.gens)*n)
	}
	words := s.packed[row][int(index)*n : (int(index)+1)*n]
	if s.packs[row][index] != since {
		s.packs[row][index] = since
		s.schema.plans[row].Pack(s.rows.row(index, row), words)
	}
	return words
}

// Tick is the tick of the newest capture, tick.None before the first.
func (s *Store) Tick() tick.Tick { return s.tick }

// Alive reports whether id is an entity of this store that lives now.
func (s *Store) Alive(id wire.NetworkID) bool {
	return s.alive.has(id.Index) && s.gens[id.Index] == id.Generation
}

// Mask says which rows id has. It is zero for an entity that does not live.
func (s *Store) Mask(id wire.NetworkID) Mask {
	if !s.Alive(id) {
		return 0
	}
	return s.rows.masks[id.Index]
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

// Grown is how often memory grew because more entities lived than [Config.Entities]
// had made room for.
func (s *Store) Grown() uint64 { return s.grew }

// MaxEntities is how many entities may be alive: Config.MaxEntities.
func (s *Store) MaxEntities() int { return s.cfg.MaxEntities }

// Refused is how many spawns were refused because Config.MaxEntities were alive.
func (s *Store) Refused() uint64 { return s.refused }

// Schema is the schema the store was made with.
func (s *Store) Schema() *Schema { return s.schema }
