package snapshot

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/rowtest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// moment is all of a store at one tick, kept by copying everything.
type moment map[wire.NetworkID]map[int][]uint32

func momentOf(s *Store) moment {
	m := moment{}
	for id := range s.All {
		rows := map[int][]uint32{}
		for row := range s.schema.Rows() {
			if s.Mask(id).Has(row) {
				rows[row] = slices.Clone(s.Row(id, row))
			}
		}
		m[id] = rows
	}
	return m
}

// requireMoment holds that a store knows a tick exactly as it was, or says that
// it is evicted, which it may only say where allowed.
func requireMoment(t require.TestingT, s *Store, at tick.Tick, was moment, ids []wire.NetworkID, mayEvict bool) {
	for _, id := range ids {
		mask, err := s.MaskAt(id, at)
		if errors.Is(err, ErrEvicted) {
			require.True(t, mayEvict, "tick %d of %d is evicted", at, s.Tick())
			continue
		}
		rows, lived := was[id]
		if !lived {
			require.ErrorIs(t, err, ErrNotAlive)
			continue
		}
		require.NoError(t, err)
		for row := range s.schema.Rows() {
			lanes, err := s.RowAt(id, row, at)
			require.NoError(t, err)
			want, has := rows[row]
			if has != mask.Has(row) || has != (lanes != nil) || !slices.Equal(want, lanes) {
				require.Equal(t, want, lanes, "row %d of %v at %d, whose rows are %v", row, id, at, mask)
				require.Equal(t, has, mask.Has(row))
			}
		}
	}
}

func TestHistoryAgainstCopiesOfEverything(t *testing.T) { rapid.Check(t, histories(t)) }

// FuzzHistory is TestHistoryAgainstCopiesOfEverything for a fuzzer.
func FuzzHistory(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(histories(f))) }

func histories(t testing.TB) func(*rapid.T) {
	schema := simSchema(t)
	return func(t *rapid.T) {
		window := tick.Tick(rapid.IntRange(1, 12).Draw(t, "window"))
		tight := rapid.Bool().Draw(t, "tight")
		cfg := Config{Window: window}
		if tight {
			cfg.HistoryBytes = 1
		}
		s := NewStore(schema, cfg)
		if tight { // so little memory that it runs out within the window
			s.past.size, s.past.limit = 16, s.past.memory+4*16*laneSize
		}
		var ids, living []wire.NetworkID
		past := map[tick.Tick]moment{}
		for range rapid.IntRange(1, 60).Draw(t, "ticks") {
			s.Begin(s.Tick() + tick.Tick(rapid.SampledFrom([]int{1, 1, 1, 2, 5}).Draw(t, "step")))
			for range rapid.IntRange(0, 6).Draw(t, "changes") {
				switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
				case what == 0 || len(living) == 0:
					living = append(living, s.Spawn())
					ids = append(ids, living[len(living)-1])
				case what == 1:
					i := rapid.IntRange(0, len(living)-1).Draw(t, "who")
					s.Despawn(living[i])
					living = slices.Delete(living, i, i+1)
				case what == 2:
					s.Remove(rapid.SampledFrom(living).Draw(t, "who"), rapid.IntRange(0, schema.Rows()-1).Draw(t, "row"))
				default:
					row := rapid.IntRange(0, schema.Rows()-1).Draw(t, "row")
					lanes := make([]uint32, schema.Plan(row).Lanes())
					for i := range lanes {
						lanes[i] = uint32(rapid.IntRange(0, 3).Draw(t, "lane"))
					}
					s.Set(rapid.SampledFrom(living).Draw(t, "who"), row, lanes)
				}
			}
			s.Commit()
			past[s.Tick()] = momentOf(s)
			for at := s.Tick(); at > s.Tick()-window-2; at-- {
				if was, captured := past[at]; captured {
					requireMoment(t, s, at, was, ids, tight || at < s.Tick()-window)
				}
			}
			if tight {
				require.LessOrEqual(t, len(s.past.chunks), 4, "the limit holds")
			}
		}
	}
}

// A tick whose changes do not fit the history is known in part. No version before it is taken from what is left of it.
func TestHistoryOfATickThatDoesNotFit(t *testing.T) {
	schema, known := simSchema(t), 0
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 5))
		s := NewStore(schema, Config{Window: 12, HistoryBytes: 1})
		s.past.size, s.past.limit = 16, s.past.memory+4*16*laneSize
		var ids []wire.NetworkID
		var past []moment
		for at := range tick.Tick(8) {
			s.Begin(at + 1)
			for len(ids) < 12 {
				ids = append(ids, s.Spawn())
			}
			for range random.IntN(40) {
				row := random.IntN(2)
				lanes := make([]uint32, schema.Plan(row).Lanes())
				for i := range lanes {
					lanes[i] = random.Uint32N(4)
				}
				s.Set(ids[random.IntN(len(ids))], row, lanes)
			}
			s.Commit()
			past = append(past, momentOf(s))
			for before, was := range past {
				for _, id := range ids {
					for row, lanes := range was[id] {
						if s.past.sinceOf(row, id.Index) <= tick.Tick(before+1) {
							continue
						}
						if got := s.past.rowAt(row, id.Index, tick.Tick(before+1), nil); got != nil {
							if known++; !slices.Equal(lanes, got) {
								require.Equal(t, lanes, got)
							}
						}
					}
				}
			}
		}
	}
	require.Greater(t, known, 1000)
}

// A row that slept for an hour is known for W ticks after it moved, since its
// old value is what the change wrote down (rule 4).
func TestHistoryReachesAsFarBackAsNothingChanged(t *testing.T) {
	s := NewStore(simSchema(t), Config{Window: 16})
	s.Begin(1)
	id := s.Spawn()
	s.Set(id, rowHealth, []uint32{9})
	s.Commit()
	s.Begin(100_000)
	s.Set(id, rowHealth, []uint32{10})
	s.Commit()
	require.Equal(t, []uint32{9}, s.past.rowAt(rowHealth, id.Index, 1, nil))
	s.Begin(100_015)
	s.Commit()
	require.NotNil(t, s.past.rowAt(rowHealth, id.Index, 1, nil))
	s.Begin(100_016)
	s.Commit()
	require.Nil(t, s.past.rowAt(rowHealth, id.Index, 1, nil), "W ticks after the change")
	_, err := s.RowAt(id, rowHealth, 1)
	require.ErrorIs(t, err, ErrEvicted)
	_, err = s.RowAt(id, rowHealth, 100_017)
	require.ErrorIs(t, err, ErrNotYet)
	_, err = s.MaskAt(id, 100_017)
	require.ErrorIs(t, err, ErrNotYet)
	for _, row := range []int{-1, s.schema.Rows(), 64, 1000} {
		_, err = s.RowAt(id, row, 100_016)
		require.ErrorIs(t, err, ErrNoRow)
	}
}

// bytesOf is the memory behind a history's slices.
func bytesOf(h *history) int {
	n := int(reflect.TypeFor[tickRows]().Size()) * cap(h.ticks)
	for i := range h.rows {
		n += int(reflect.TypeFor[pageLog]().Size()) * cap(h.rows[i].pages)
		for k := range h.rows[i].pages {
			n += int(reflect.TypeFor[image]().Size()) * cap(h.rows[i].pages[k].images)
		}
	}
	for i := range h.chunks {
		n += laneSize * cap(h.chunks[i].lanes)
	}
	return n
}

// The data that the store has of each row beside the rings is memory of the history too.
func TestHistoryIsBounded(t *testing.T) {
	s := NewStore(simSchema(t), Config{Window: 1000, HistoryBytes: 300_000})
	s.Begin(1)
	var ids []wire.NetworkID
	for range 2000 {
		ids = append(ids, s.Spawn())
		s.Set(ids[len(ids)-1], rowHealth, []uint32{1})
	}
	s.Commit()
	for range 200 {
		s.Begin(s.Tick() + 1)
		for _, id := range ids {
			s.Set(id, rowHealth, []uint32{uint32(s.Tick())})
		}
		s.Commit()
		require.LessOrEqual(t, s.past.bytes(), 300_000)
		if bits.UintSize == 64 { // slices are smaller elsewhere
			require.Equal(t, bytesOf(&s.past), s.past.bytes())
		}
	}
	require.NotZero(t, s.HistoryEvicted())
	lanes, err := s.RowAt(ids[7], rowHealth, s.Tick()-2)
	require.NoError(t, err)
	require.Equal(t, []uint32{uint32(s.Tick() - 2)}, lanes)
	_, err = s.RowAt(ids[7], rowHealth, s.Tick()-100)
	require.ErrorIs(t, err, ErrEvicted)
}

// throng is a store of several pages. In each tick many entities change in many ways, in any order.
type throng struct {
	*Store
	random      *rand.Rand
	ids, living []wire.NetworkID
}

func (c *throng) lanes(row int) []uint32 {
	lanes := make([]uint32, c.schema.Plan(row).Lanes())
	for i := range lanes {
		lanes[i] = c.random.Uint32N(4)
	}
	return lanes
}

// replace gives many entities another value of a row, those of each page in ascending order or in none.
func (c *throng) replace(row int) {
	n := c.schema.Plan(row).Lanes()
	var some []wire.NetworkID
	for _, id := range c.living {
		if c.Mask(id).Has(row) && c.random.IntN(3) > 0 {
			some = append(some, id)
		}
	}
	if c.random.IntN(2) == 0 {
		c.random.Shuffle(len(some), func(i, k int) { some[i], some[k] = some[k], some[i] })
	}
	now := make([]uint32, 0, n*len(some))
	for range some {
		now = append(now, c.lanes(row)...)
	}
	c.ReplaceRows(some, row, now)
}

func (c *throng) play() {
	c.Begin(c.Tick() + 1 + tick.Tick(c.random.IntN(8)/7*3))
	for range c.random.IntN(12) {
		if c.random.IntN(3) > 0 || len(c.living) < 100 {
			c.living = append(c.living, c.Spawn())
			c.ids = append(c.ids, c.living[len(c.living)-1])
			continue
		}
		i := c.random.IntN(len(c.living))
		c.Despawn(c.living[i])
		c.living = slices.Delete(c.living, i, i+1)
	}
	for row := range c.schema.Rows() {
		if c.random.IntN(4) == 0 {
			c.replace(row)
		}
	}
	for range c.random.IntN(200) {
		id, row := c.living[c.random.IntN(len(c.living))], c.random.IntN(c.schema.Rows())
		if c.random.IntN(9) == 0 {
			c.Remove(id, row)
		} else {
			c.Set(id, row, c.lanes(row))
		}
	}
	for row := range c.schema.Rows() {
		if c.random.IntN(4) == 0 {
			c.replace(row)
		}
	}
	c.Commit()
}

// Whatever of 64 entities changes in a tick, and in which order, each row of each is known as it was, where there is room and where
// there is none.
func TestHistoryOfPages(t *testing.T) {
	type (
		wide struct{ A, B, C, D, E uint16 }
		tag  struct{}
	)
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](t), compile[benchRotation](t), compile[wide](t), compile[tag](t)})
	for seed := range uint64(6) {
		cfg := Config{Window: 8}
		if seed%2 > 0 {
			cfg.HistoryBytes = 1 << 16
		}
		c := throng{Store: NewStore(schema, cfg), random: rand.New(rand.NewPCG(seed, 5))}
		c.Begin(1)
		for range 200 {
			c.living = append(c.living, c.Spawn())
		}
		c.ids = slices.Clone(c.living)
		c.Commit()
		past := map[tick.Tick]moment{}
		for range 40 {
			c.play()
			past[c.Tick()] = momentOf(c.Store)
			for at := c.Tick(); at > c.Tick()-cfg.Window-2; at-- {
				if was, captured := past[at]; captured {
					requireMoment(t, c.Store, at, was, c.ids, seed%2 > 0 || at < c.Tick()-cfg.Window)
				}
			}
		}
		require.Equal(t, seed%2 > 0, c.HistoryEvicted() > 0, "seed %d", seed)
	}
}

// A history that has been full for long gets memory for what begins to change then: pages that were at rest, and images that are larger
// than a chunk.
func TestAFullHistoryMakesRoom(t *testing.T) {
	type (
		narrow struct{ X, Y uint32 }
		broad  struct{ V [256]uint32 }
	)
	schema := format.NewSchema([]*quantize.Plan{compile[narrow](t), compile[benchRotation](t), compile[broad](t)})
	for name, late := range map[string]struct{ row, entities, every int }{"pages at rest": {1, 1024, 64}, "large images": {2, 64, 1}} {
		s := NewStore(schema, Config{Window: 64, HistoryBytes: 1 << 19})
		var ids []wire.NetworkID
		step := func(change func()) {
			s.Begin(s.Tick() + 1)
			change()
			for i, id := range ids {
				s.Set(id, 0, []uint32{uint32(s.Tick()), uint32(i)})
			}
			s.Commit()
		}
		step(func() {
			for i := range 1024 {
				ids = append(ids, s.Spawn())
				s.Set(ids[i], 1, make([]uint32, schema.Widths[1]))
				if i < 64 {
					s.Set(ids[i], 2, make([]uint32, schema.Widths[2]))
				}
			}
		})
		for range 300 {
			step(func() {})
		}
		require.Greater(t, s.Tick()-s.past.horizon, tick.Tick(10), name)
		for range 200 {
			step(func() {
				lanes := make([]uint32, schema.Widths[late.row])
				lanes[0] = uint32(s.Tick() % 2)
				for i := 0; i < late.entities; i += late.every {
					s.Set(ids[i], late.row, lanes)
				}
			})
		}
		require.Greater(t, s.Tick()-s.past.horizon, tick.Tick(2), name)
		require.LessOrEqual(t, s.HistoryBytes(), 1<<19, name)
	}
}

// An image takes memory for the entities that changed, and for no others of their page.
func TestHistoryOfSparseChanges(t *testing.T) {
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](t), compile[benchRotation](t)})
	s := NewStore(schema, Config{Window: 64})
	var ids []wire.NetworkID
	for now := tick.Tick(1); now < 200; now++ {
		s.Begin(now)
		for i := range 64 * 64 {
			if now == 1 {
				ids = append(ids, s.Spawn())
			}
			for row := range schema.Rows() {
				if now == 1 || i%64 == 7 {
					s.Set(ids[i], row, []uint32{uint32(now), 1, 2, 3}[:schema.Plan(row).Lanes()])
				}
			}
		}
		s.Commit()
	}
	lanes := 64 * 64 * (3 + 4) // W ticks of one entity of each page
	require.Less(t, len(s.past.chunks)*chunkLanes, 2*lanes)
	require.Zero(t, s.HistoryEvicted())
	before, err := s.RowAt(ids[7], 0, 150)
	require.NoError(t, err)
	require.Equal(t, []uint32{150, 1, 2}, before)
}

// A tick that does not fit at all is forgotten once.
func TestEvictedRowsAreCountedOnce(t *testing.T) {
	schema := simSchema(t)
	s := NewStore(schema, Config{Window: 12, HistoryBytes: 1})
	s.past.size, s.past.limit = 16, s.past.memory+2*16*laneSize
	changes := uint64(0)
	for at := 1; at < 40; at++ {
		s.Begin(s.Tick() + 1)
		for len(s.gens) < 64 {
			id := s.Spawn()
			changes++ // the entity
			s.Set(id, rowPosition, []uint32{1, 1})
			changes++
			s.Set(id, rowHealth, []uint32{1})
			changes++
		}
		if at > 1 {
			for id := range s.All {
				if s.Set(id, rowPosition, []uint32{uint32(at & 7), 1}) {
					changes++
				}
				if s.Set(id, rowHealth, []uint32{uint32(at)}) {
					changes++
				}
			}
		}
		s.Commit()
	}
	require.NotZero(t, s.HistoryEvicted())
	require.LessOrEqual(t, s.HistoryEvicted(), changes)
}
