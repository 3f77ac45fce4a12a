package netecs

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
)

type rowsPlace struct {
	X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
}

type rowsTurn struct {
	Q [4]float32 `net:"quat,bits=9"`
}

type rowsSpeed struct{ X, Y, Z float32 }

type rowsWide struct {
	A, B float64
	C    [6]int32
}

type rowsSmall struct {
	N    int8
	Note int16 `net:"-"`
}

// rowsSide is a world that is captured, rows together or each apart.
type rowsSide struct {
	world    *ecs.World
	rep      ecs.ID
	ids      []ecs.ID
	store    *snapshot.Store
	capture  *Capture
	entities []ecs.Entity
	problems []Problem
	random   *rand.Rand
}

func newRowsSide(schema *snapshot.Schema, seed uint64, apart bool) *rowsSide {
	s := &rowsSide{world: ecs.New(16), random: rand.New(rand.NewPCG(seed, 1))}
	s.rep = ecs.ComponentID[components.Replicated](s.world)
	for row := range schema.Rows() {
		s.ids = append(s.ids, ecs.TypeID(s.world, schema.Plan(row).Type()))
	}
	s.store = snapshot.NewStore(schema, snapshot.Config{Window: 8})
	s.capture = NewCapture(s.world, s.store, schema, 7, func(p Problem) { s.problems = append(s.problems, p) })
	s.capture.noBatches = s.capture.noBatches || apart
	return s
}

// number is one that a game writes: mostly within bounds, now and then too large or none.
func (s *rowsSide) number() float32 {
	switch s.random.IntN(200) {
	case 0:
		return float32(math.NaN())
	case 1:
		return 1e9
	}
	return s.random.Float32()*20 - 10
}

// write writes all components of an entity that are about to change.
func (s *rowsSide) write(e ecs.Entity) {
	if p := componentOf[rowsPlace](s.world, e, s.ids[0]); p != nil && s.random.IntN(4) > 0 {
		p.X, p.Y = s.number(), s.number()
	}
	if r := componentOf[rowsTurn](s.world, e, s.ids[1]); r != nil && s.random.IntN(4) > 0 {
		sin, cos := math.Sincos(float64(s.number()))
		r.Q = [4]float32{0, float32(sin), 0, float32(cos)}
	}
	if v := componentOf[rowsSpeed](s.world, e, s.ids[2]); v != nil && s.random.IntN(4) > 0 {
		v.X, v.Z = s.number(), s.number()
	}
	if w := componentOf[rowsWide](s.world, e, s.ids[3]); w != nil && s.random.IntN(4) > 0 {
		w.B, w.C[5] = float64(s.number()), int32(s.random.IntN(3))
	}
	if n := componentOf[rowsSmall](s.world, e, s.ids[4]); n != nil && s.random.IntN(4) > 0 {
		n.N, n.Note = int8(s.random.IntN(3)), int16(s.random.IntN(3))
	}
}

// play is one tick of a game.
func (s *rowsSide) play() {
	part := []int{1, 1, 3, 10, 100, 1000}[s.random.IntN(6)]
	for _, e := range s.entities {
		if s.random.IntN(part) == 0 {
			s.write(e)
		}
	}
	switch s.random.IntN(8) {
	case 0:
		for range s.random.IntN(700) {
			with := []ecs.ID{s.rep, s.ids[0], s.ids[1], s.ids[2]}
			if s.random.IntN(3) == 0 {
				with = append(with, s.ids[3], s.ids[4])
			}
			e := ecs.Spawn(s.world, nil, with...)
			componentOf[rowsTurn](s.world, e, s.ids[1]).Q[3] = 1
			s.entities = append(s.entities, e)
		}
	case 1:
		for n := s.random.IntN(20); n > 0 && len(s.entities) > 0; n-- {
			at := s.random.IntN(len(s.entities))
			s.world.RemoveEntity(s.entities[at])
			s.entities = slices.Delete(s.entities, at, at+1)
		}
	case 2:
		if len(s.entities) > 0 {
			e := s.entities[s.random.IntN(len(s.entities))]
			if ecs.Has(s.world, e, s.ids[2]) {
				ecs.Exchange(s.world, e, nil, []ecs.ID{s.ids[2]}, nil)
			} else {
				ecs.Exchange(s.world, e, []ecs.ID{s.ids[2]}, nil, nil)
			}
		}
	case 3:
		if len(s.entities) > 0 { // game code overwrites it; the capture puts it back
			*replicatedOf(s.world, s.entities[s.random.IntN(len(s.entities))], s.rep) = components.Replicated{}
		}
	}
	s.capture.Run(s.store.Tick() + 1)
}

// Rows that are captured together are what they are one by one, whatever they hold: in the store, in its history and in what
// is reported, and in the same order.
func TestRowsTogetherAreRowsApart(t *testing.T) {
	for seed := range uint64(4) {
		require.NotEmpty(t, requireRowsAlike(t, seed, 60).problems)
	}
}

// FuzzRows is TestRowsTogetherAreRowsApart for any seed, and some ticks.
func FuzzRows(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed, uint8(7-seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, ticks uint8) { requireRowsAlike(t, seed, int(ticks%8)) })
}

func requireRowsAlike(t *testing.T, seed uint64, ticks int) (together *rowsSide) {
	var plans []*quantize.Plan
	for _, v := range []any{rowsPlace{}, rowsTurn{}, rowsSpeed{}, rowsWide{}, rowsSmall{}} {
		plan, err := quantize.Compile(reflect.TypeOf(v), reflect.TypeOf(v).Name())
		require.NoError(t, err)
		plans = append(plans, plan)
	}
	schema := format.NewSchema(plans)
	if seed%4 == 3 {
		schema.SetOptions(2, snapshot.RowOptions{Every: 3})
	}
	together, apart := newRowsSide(schema, seed, false), newRowsSide(schema, seed, true)
	for range ticks {
		together.play()
		apart.play()
		require.Equal(t, apart.store.Changed(), together.store.Changed(), "seed %d", seed)
		require.Equal(t, apart.problems, together.problems, "seed %d", seed)
		requireSameRows(t, seed, apart, together)
	}
	return together
}

func requireSameRows(t *testing.T, seed uint64, a, b *rowsSide) {
	t.Helper()
	n := 0
	for id := range a.store.All {
		require.Equal(t, a.store.Mask(id), b.store.Mask(id), "seed %d", seed)
		for row := range a.ids {
			if !slices.Equal(a.store.Row(id, row), b.store.Row(id, row)) {
				t.Fatalf("seed %d, tick %d: row %d of %v is %v, apart %v", seed, a.store.Tick(), row, id, b.store.Row(id, row), a.store.Row(id, row))
			}
			for at := a.store.Tick() - 1; at > 0 && at+5 > a.store.Tick(); at-- {
				want, err := a.store.RowAt(id, row, at)
				got, failed := b.store.RowAt(id, row, at)
				if err != failed || !slices.Equal(want, got) {
					t.Fatalf("seed %d: row %d of %v as of %d is %v, %v; apart %v, %v", seed, row, id, at, got, failed, want, err)
				}
			}
		}
		n++
	}
	require.Equal(t, n, b.store.Len(), "seed %d", seed)
}

// TestRowsThatDifferAreCollected holds what lists the rows of a block that are not as in the shadow against a look at each: blocks that are full
// and others, of components of all sizes.
func TestRowsThatDifferAreCollected(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 8))
	for turn := range 2000 {
		size, from := 4+random.IntN(21), random.IntN(5)
		rows := blockRows
		if turn%3 == 0 {
			rows = 1 + random.IntN(blockRows)
		}
		world, c := &column{size: size}, &column{size: size, compare: quantize.NewRows(size)}
		world.reserve(from + rows)
		c.reserve(from + rows)
		c.base = world.kept(0)
		want := []int32{-1}
		for often, row := 1+random.IntN(20), from; row < from+rows; row++ {
			if random.IntN(often) == 0 {
				c.shadow[row*size+random.IntN(size)] ^= 1 << random.IntN(8)
				want = append(want, int32(row))
			}
		}
		require.Equal(t, want, c.collect(from, from+rows, []int32{-1}), "%d rows of %d bytes from %d on", rows, size, from)
	}
}
