package netecs

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/internal/replica"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// Rows of exact floats, as ranges are made of: of three words, four, another number, and of memory that is more than the row.
type (
	rangePlace struct{ X, Y, Z float32 }
	rangeTurn  struct{ Q [4]float32 }
	rangeHeat  struct{ C, D float32 }
	rangeCold  struct {
		C, D float32 `net:"min=0,max=90,step=0.01"`
	}
	rangeLook struct {
		V     float32
		Local uint32 `net:"-"`
	}
	rangeMark  struct{}
	rangeOne   struct{ V float32 }
	rangeWide  struct{ V [6]float32 }
	rangeOwn   struct{ N uint64 }
	rangeOther struct{ N uint8 }
)

const rangeEntities = 70

// rangeServer is a store of entities that mostly move together, and a view with few acknowledgements.
type rangeServer struct {
	random *rand.Rand
	schema *snapshot.Schema
	store  *snapshot.Store
	view   *snapshot.View
	ids    []wire.NetworkID
	seq    uint64
	most   int  // entities
	deltas bool // rangeCold is in the place of rangeHeat: rows are sent as what differs
}

func newRangeServer(t *testing.T, seed uint64) *rangeServer {
	return newRangeServerOf(t, seed, rangeEntities)
}

func newRangeServerOf(t *testing.T, seed uint64, most int) *rangeServer {
	return rangeServerWith(t, seed, most, rangeHeat{})
}

// newDeltaServer is newRangeServer with rows that are sent as what differs, where that is acknowledged.
func newDeltaServer(t *testing.T, seed uint64) *rangeServer {
	s := rangeServerWith(t, seed, rangeEntities, rangeCold{})
	s.deltas = true
	return s
}

func rangeServerWith(t *testing.T, seed uint64, most int, third any) *rangeServer {
	var plans []*quantize.Plan
	for _, v := range []any{rangePlace{}, rangeTurn{}, third, rangeLook{}, rangeMark{}, rangeOne{}, rangeWide{}} {
		plan, err := quantize.Compile(reflect.TypeOf(v), reflect.TypeOf(v).Name())
		require.NoError(t, err)
		plans = append(plans, plan)
	}
	s := &rangeServer{random: rand.New(rand.NewPCG(seed, 5)), schema: format.NewSchema(plans), most: most}
	cfg := s.config()
	s.store = snapshot.NewStore(s.schema, cfg)
	s.view = snapshot.NewView(s.store, cfg)
	return s
}

func (s *rangeServer) config() snapshot.Config {
	return snapshot.Config{Window: 8, SentPackets: 64, Entities: s.most}
}

func (s *rangeServer) set(id wire.NetworkID, row int, often int) {
	lanes := make([]uint32, s.schema.Plan(row).Lanes())
	for i := range lanes {
		if lanes[i] = 0x3F80_0000 + uint32(s.random.IntN(often)); s.deltas && row == 2 {
			lanes[i] &= 1<<12 - 1
		}
	}
	s.store.Set(id, row, lanes)
}

// turn is a tick: what is to be read of it.
func (s *rangeServer) turn() (payloads [][]byte) {
	s.store.Begin(s.store.Tick() + 1)
	calm := s.random.IntN(3) > 0 // nothing but values
	for !calm && len(s.ids) < rangeEntities && s.random.IntN(8) > 0 {
		id := s.store.Spawn()
		s.ids = append(s.ids, id)
		for row := range 4 {
			if row < 3 || s.random.IntN(6) == 0 {
				s.set(id, row, 3)
			}
		}
	}
	often := []int{2, 1000}[s.random.IntN(2)] // half of the time values stay what they were, here and there
	for i := 0; i < len(s.ids); i++ {
		id := s.ids[i]
		switch n := s.random.IntN(250); {
		case n == 0 && !calm:
			s.store.Despawn(id)
			s.ids[i] = s.ids[len(s.ids)-1]
			s.ids = s.ids[:len(s.ids)-1]
			continue
		case n < 3 && !calm:
			s.store.Remove(id, s.random.IntN(5))
		case n < 5 && !calm:
			s.set(id, 3, 3)
		case n < 7 && !calm:
			s.store.Set(id, 4, nil)
		}
		for m := s.store.Mask(id).Without(4); !m.IsZero(); m = m.Rest() {
			s.set(id, m.Lowest(), often)
		}
	}
	s.store.Commit()
	s.view.Observe()
	for range 6 {
		buf := make([]byte, 900)
		n := s.view.Write(buf, s.seq+1)
		if n == 0 {
			break
		}
		s.seq++
		payloads = append(payloads, buf[:n])
	}
	return payloads
}

// rangeClient is a client's world, and what Apply said of its last run.
type rangeClient struct {
	world    *ecs.World
	replica  *replica.Replica
	apply    *Apply
	problems []Problem
	changes  []Change
	ranges   int // that were listed
}

func newRangeClient(s *rangeServer, apart, writes bool) *rangeClient {
	c := &rangeClient{world: ecs.New(64), replica: replica.New(s.schema, s.config(), 1)}
	c.apply = NewApply(c.world, c.replica, s.schema, 7, Hooks{}, func(p Problem) { c.problems = append(c.problems, p) })
	c.apply.noRanges = c.apply.noRanges || apart
	if !writes {
		return c
	}
	c.apply.Own(func(id wire.NetworkID) snapshot.Mask {
		if id.Index%16 == 3 {
			return snapshot.Mask{}.With(1)
		}
		return snapshot.Mask{}
	})
	return c
}

// mischief is a change that game code makes to an entity.
func (c *rangeClient) mischief(id wire.NetworkID, what int) {
	e, ok := c.apply.Entity(id)
	if !ok {
		return
	}
	w := c.world
	place, own, other := ecs.ComponentID[rangePlace](w), ecs.ComponentID[rangeOwn](w), ecs.ComponentID[rangeOther](w)
	look, turn := ecs.ComponentID[rangeLook](w), ecs.ComponentID[rangeTurn](w)
	switch what {
	case 0, 1, 2:
		if ecs.Has(w, e, place) {
			(*rangePlace)(ecs.Get(w, e, place)).Y = 1234
		}
	case 3:
		if ecs.Has(w, e, look) {
			(*rangeLook)(ecs.Get(w, e, look)).Local++
		}
	case 4, 5:
		if ecs.Has(w, e, turn) && id.Index%16 == 3 {
			(*rangeTurn)(ecs.Get(w, e, turn)).Q[0] = 77
			c.apply.Read(id, 1, make([]uint32, 4))
		}
	case 6, 7:
		if ecs.Has(w, e, own) {
			ecs.Exchange(w, e, nil, []ecs.ID{own}, nil)
		} else {
			ecs.Exchange(w, e, []ecs.ID{own}, nil, nil)
		}
	case 8:
		if !ecs.Has(w, e, other) {
			ecs.Exchange(w, e, []ecs.ID{other}, nil, nil)
		}
	case 9:
		w.RemoveEntity(e)
	case 10:
		if ecs.Has(w, e, place) {
			ecs.Exchange(w, e, nil, []ecs.ID{place}, nil)
		}
	case 11:
		c.apply.Revert(id, snapshot.Mask{}.Not())
	}
}

// run applies what was read and keeps the changes.
func (c *rangeClient) run() {
	c.apply.Run()
	c.ranges += len(c.apply.writer.ranges.list)
	c.changes = c.changes[:0]
	for change := range c.apply.Changes {
		c.changes = append(c.changes, change)
	}
}

// sameShadow compares the shadows of two clients.
func (c *rangeClient) sameShadow(t *testing.T, other *rangeClient) {
	require.Equal(t, len(other.apply.tracker.tables), len(c.apply.tracker.tables))
	for i, table := range c.apply.tracker.tables {
		require.Equal(t, other.apply.tracker.tables[i].length, table.length)
		for k := range table.columns {
			at := &table.columns[k]
			require.Equal(t, other.apply.tracker.tables[i].columns[k].shadow[:table.length*at.size], at.shadow[:table.length*at.size])
		}
	}
}

// shuffle adds a component to all entities in random order, so that their rows are all over a table.
func (c *rangeClient) shuffle(ids []wire.NetworkID, random *rand.Rand) {
	own := ecs.ComponentID[rangeOwn](c.world)
	for _, k := range random.Perm(len(ids)) {
		if e, ok := c.apply.Entity(ids[k]); ok && !ecs.Has(c.world, e, own) {
			ecs.Exchange(c.world, e, []ecs.ID{own}, nil, nil)
		}
	}
}

// TestRangesEqualSingleEntities compares a world that is written in ranges with one that is written entity by entity, over
// lives, structures, loss, and games that write, move and remove replicated entities.
func TestRangesEqualSingleEntities(t *testing.T) { playRangeGames(t, newRangeServer) }

// TestRangesOfDeltasEqualSingleEntities is the same for rows that are sent as deltas and are dequantised.
func TestRangesOfDeltasEqualSingleEntities(t *testing.T) { playRangeGames(t, newDeltaServer) }

// FuzzRanges is one of both for any seed, for a short time.
func FuzzRanges(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed%4 | seed>>2<<8)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		server := newRangeServer
		if seed>>8&1 > 0 {
			server = newDeltaServer
		}
		playRangeGame(t, server(t, seed), seed, 12)
	})
}

func playRangeGames(t *testing.T, server func(*testing.T, uint64) *rangeServer) {
	ranges, details := 0, 0
	for seed := range uint64(20) {
		r, d := playRangeGame(t, server(t, seed), seed, 80)
		ranges, details = ranges+r, details+d
	}
	if !plain.On {
		require.NotZero(t, ranges, "the test shows nothing")
		require.NotZero(t, details, "in no range some changed and others did not")
	}
}

// playRangeGame plays one game. It returns the ranges that were written, and the rows in them that did not change.
func playRangeGame(t *testing.T, s *rangeServer, seed uint64, turns int) (ranges, details int) {
	fast, slow := newRangeClient(s, false, seed%2 == 0), newRangeClient(s, true, seed%2 == 0)
	both := []*rangeClient{fast, slow}
	for turn := range turns {
		first := s.seq + 1
		for i, p := range s.turn() {
			lost, again := s.random.IntN(15) == 0, s.random.IntN(15) == 0
			for _, c := range both {
				if !lost {
					require.NoError(t, c.replica.Read(p))
				}
				if again {
					_ = c.replica.Read(p)
				}
			}
			if !lost && (s.deltas && s.random.IntN(8) > 0 || seed%4 == 3 && s.random.IntN(8) == 0) {
				s.view.Acked(first + uint64(i))
			}
		}
		for range min(len(s.ids), s.random.IntN(3)*s.random.IntN(2)) {
			id, what := s.ids[s.random.IntN(len(s.ids))], s.random.IntN(12)
			if what >= 8 && s.random.IntN(8) > 0 {
				continue
			}
			for _, c := range both {
				c.mischief(id, what)
			}
		}
		if turn == turns/4 && seed%4 > 1 {
			order := s.random.Uint64()
			for _, c := range both {
				c.shuffle(s.ids, rand.New(rand.NewPCG(order, 0)))
			}
		}
		if s.random.IntN(6) == 0 {
			continue
		}
		for _, c := range both {
			c.run()
		}
		require.Equal(t, slow.apply.Stats(), fast.apply.Stats(), "seed %d, turn %d", seed, turn)
		require.Equal(t, slow.problems, fast.problems)
		require.ElementsMatch(t, slow.changes, fast.changes, "seed %d, turn %d", seed, turn)
		require.Equal(t, Digest(slow.world, s.schema), Digest(fast.world, s.schema), "seed %d, turn %d", seed, turn)
		fast.sameShadow(t, slow)
		details += len(fast.apply.writer.ranges.details)
	}
	require.Zero(t, slow.ranges)
	return fast.ranges, details
}

// TestRangesAllocateNothing counts the allocations of runs in which only values come, in order and shuffled.
func TestRangesAllocateNothing(t *testing.T) {
	for _, shuffled := range []bool{false, true} {
		s := newRangeServerOf(t, 2, 600)
		c, rest := newRangeClient(s, false, false), s.most+1 // One of so many rests in a turn.
		turn := func() {
			s.store.Begin(s.store.Tick() + 1)
			for len(s.ids) < s.most {
				s.ids = append(s.ids, s.store.Spawn())
			}
			for i, id := range s.ids {
				if (i+1)%rest == 0 {
					continue
				}
				for _, row := range []int{0, 1, 2, 3, 5, 6} {
					s.set(id, row, 1000)
				}
			}
			s.store.Commit()
			s.view.Observe()
			for s.view.Pending() {
				buf := make([]byte, 900)
				s.seq++
				require.NoError(t, c.replica.Read(buf[:s.view.Write(buf, s.seq)]))
			}
		}
		for i := range 60 {
			if i == 10 {
				rest = s.most - 1
			}
			turn()
			if shuffled && i == 3 {
				c.shuffle(s.ids, s.random)
			}
			c.run()
		}
		allocs := alloctest.Start(t)
		for i := range 10 {
			if i == 5 {
				rest = 20 // More ranges than ever before.
			}
			turn()
			allocs.Count(c.apply.Run)
		}
		allocs.Zero("shuffled %v", shuffled)
		allocs.Stop()
	}
}

// TestSkippedEntitiesAreFoundAgain holds captures that look at a table no more as soon as it is empty against one that looks at all,
// while components come and go: the same entities get the same ids and the same rows.
func TestSkippedEntitiesAreFoundAgain(t *testing.T) {
	woken, retired := 0, 0
	for seed := range uint64(12) {
		schema := newRangeServer(t, seed).schema
		var twins []*crowd
		for _, patience := range []uint64{1 << 60, 0, 3} {
			twins = append(twins, newCrowd(schema, patience))
		}
		most := 1 + 2*int(seed)
		for turn := range uint64(150) {
			for _, c := range twins {
				idle := len(c.capture.tracker.idle)
				c.turn(rand.New(rand.NewPCG(seed, turn)), most)
				woken, retired = woken+max(0, idle-len(c.capture.tracker.idle)), retired+max(0, len(c.capture.tracker.idle)-idle)
				require.Equal(t, DigestStore(twins[0].store, schema, nil), DigestStore(c.store, schema, nil), "seed %d, turn %d", seed, turn)
				require.Equal(t, twins[0].store.Changed(), c.store.Changed(), "seed %d, turn %d", seed, turn)
				require.Equal(t, twins[0].problems, c.problems, "seed %d, turn %d", seed, turn)
				for i, e := range c.all {
					id, ok := c.capture.ID(e)
					other, known := twins[0].capture.ID(twins[0].all[i])
					require.Equal(t, known, ok)
					require.Equal(t, other, id, "seed %d, turn %d", seed, turn)
				}
			}
		}
		require.Empty(t, twins[0].capture.tracker.idle)
	}
	require.Greater(t, woken, 200)
	require.Greater(t, retired, 200)
}

// crowd is a world of entities that gain and lose components, and its capture.
type crowd struct {
	world    *ecs.World
	store    *snapshot.Store
	capture  *Capture
	ids      []ecs.ID
	all      []ecs.Entity
	problems []Problem
}

type crowdTie generic.Tie

func newCrowd(schema *snapshot.Schema, patience uint64) *crowd {
	c := &crowd{world: ecs.New(), store: snapshot.NewStore(schema, snapshot.Config{})}
	c.capture = NewCapture(c.world, c.store, schema, 1, func(p Problem) { c.problems = append(c.problems, p) })
	c.capture.tracker.patience = patience
	c.ids = append(c.ids, c.capture.tracker.ids...)
	c.ids = append(c.ids, ecs.ComponentID[rangeOwn](c.world), ecs.ComponentID[crowdTie](c.world))
	return c
}

func (c *crowd) turn(r *rand.Rand, most int) {
	w, rep := c.world, c.capture.tracker.replicated
	for range r.IntN(4) {
		if len(c.all) < most {
			c.all = append(c.all, ecs.Spawn(w, nil, rep))
		}
		k := r.IntN(len(c.all))
		e, id := c.all[k], c.ids[r.IntN(len(c.ids))]
		switch what := r.IntN(12); {
		case what == 0:
			w.RemoveEntity(e)
			c.all = append(c.all[:k], c.all[k+1:]...)
		case what == 1: // a copy, in another table maybe
			*(*components.Replicated)(ecs.Get(w, c.all[r.IntN(len(c.all))], rep)) = *(*components.Replicated)(ecs.Get(w, e, rep))
		case ecs.Has(w, e, id):
			ecs.Exchange(w, e, nil, []ecs.ID{id}, nil)
		default:
			ecs.Exchange(w, e, []ecs.ID{id}, nil, nil)
		}
		if len(c.all) == 0 {
			break
		}
	}
	for _, e := range c.all {
		if at := componentOf[rangePlace](w, e, c.ids[0]); at != nil && r.IntN(2) == 0 {
			at.X = float32(r.IntN(50))
		}
	}
	c.capture.Run(c.store.Tick() + 1)
}

// TestMasksThatHoldNobodyAreNotLookedAt is of a world that has had very many masks.
func TestMasksThatHoldNobodyAreNotLookedAt(t *testing.T) {
	s := newRangeServer(t, 1)
	c := newCrowd(s.schema, patience)
	client := newRangeClient(s, false, false)
	r := rand.New(rand.NewPCG(1, 2))
	own := []ecs.ID{
		ecs.ComponentID[rangeOwn](client.world), ecs.ComponentID[rangeOther](client.world), ecs.ComponentID[crowdTie](client.world),
	}
	for range 1000 {
		c.turn(r, 4)
		for _, p := range s.turn() {
			require.NoError(t, client.replica.Read(p))
		}
		for _, id := range s.ids {
			if e, ok := client.apply.Entity(id); ok && r.IntN(10) == 0 {
				if k := own[r.IntN(len(own))]; ecs.Has(client.world, e, k) {
					ecs.Exchange(client.world, e, nil, []ecs.ID{k}, nil)
				} else {
					ecs.Exchange(client.world, e, []ecs.ID{k}, nil, nil)
				}
			}
		}
		client.run()
	}
	for range 200 {
		c.capture.Run(c.store.Tick() + 1)
	}
	seen := c.capture.tracker
	require.Greater(t, len(seen.tables), 100)
	require.LessOrEqual(t, len(seen.active), 4, "as many as there are entities")
	require.Len(t, seen.tables, len(seen.active)+len(seen.idle))
	seen = client.apply.tracker
	require.NotEmpty(t, seen.idle)
	require.Len(t, seen.tables, len(seen.active)+len(seen.idle))
	alloctest.Zero(t, 50, func() { c.capture.Run(c.store.Tick() + 1) })
}
