package netecs

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/replica"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

type naming struct {
	A, B ecs.Entity `net:"entity"`
}

type hanging generic.OnTie

type words struct{ A, B uint32 }

func namingSchema(t require.TestingT) *snapshot.Schema {
	var plans []*quantize.Plan
	for _, v := range []any{naming{}, hanging{}, words{}} {
		plan, err := quantize.Compile(reflect.TypeOf(v), reflect.TypeOf(v).Name())
		require.NoError(t, err)
		plans = append(plans, plan)
	}
	return format.NewSchema(plans)
}

// field is an entity field of a row of an entity.
type field struct {
	index     uint32
	row, lane int
}

// namers lists what the links say, of ids and both ways round.
func (r *backRefs) namers(id wire.NetworkID) map[field]bool {
	found := map[field]bool{}
	if int(id.Index) < len(r.to) {
		for n := r.to[id.Index]; n != 0; n = r.links[n-1].next {
			if l := &r.links[n-1]; l.target == id {
				found[field{l.index, int(l.row), int(l.lane)}] = true
			}
		}
	}
	return found
}

func TestRefsAgainstAMap(t *testing.T) {
	schema := namingSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		r := newBackRefs(schema)
		model := map[field]wire.NetworkID{}
		most := 0
		for range 150 {
			f := field{index: rapid.Uint32Range(0, 5).Draw(t, "index"), row: rapid.IntRange(0, 1).Draw(t, "row")}
			switch rapid.IntRange(0, 9).Draw(t, "action") {
			case 0:
				rows := format.FromWords(rapid.Uint64Range(0, 7).Draw(t, "rows"))
				r.cut(f.index, rows)
				for g := range model {
					if g.index == f.index && rows.Has(g.row) {
						delete(model, g)
					}
				}
			default:
				refs := schema.Plan(f.row).Refs()
				f.lane = refs[rapid.IntRange(0, len(refs)-1).Draw(t, "field")]
				id := wire.NetworkID{
					Index: rapid.Uint32Range(0, 6).Draw(t, "target"), Generation: rapid.Uint32Range(0, 2).Draw(t, "generation"),
				}
				if rapid.IntRange(0, 9).Draw(t, "far") == 0 {
					id.Index += snapshot.MaxEntities
				}
				r.set(f.index, f.row, f.lane, id)
				delete(model, f)
				if id.Generation != 0 && id.Index < snapshot.MaxEntities {
					model[f] = id
				}
			}
			most = max(most, len(r.links))
			for index := range uint32(7) {
				for generation := uint32(1); generation <= 2; generation++ {
					id := wire.NetworkID{Index: index, Generation: generation}
					want := map[field]bool{}
					for f, target := range model {
						if target == id {
							want[f] = true
						}
					}
					require.Equal(t, want, r.namers(id))
				}
			}
		}
		require.LessOrEqual(t, most, 6*4, "as many links as entities have fields")
		require.LessOrEqual(t, len(r.to), 7)
		for index := range uint32(6) {
			r.cut(index, snapshot.AllRows())
		}
		for _, n := range append(r.to, r.from...) {
			require.Zero(t, n)
		}
	})
}

func TestNoRemoteIDReachesArche(t *testing.T) {
	w := ecs.New()
	schema := namingSchema(t)
	a := NewApply(w, replica.New(schema, snapshot.Config{}, 0), schema, 1, Hooks{}, nil)
	a.entities = make([]entityState, 3)
	a.tracker.assign(wire.NetworkID{Index: 2, Generation: 4}, ecs.Spawn(w, nil))
	for _, id := range []wire.NetworkID{
		{Index: 1<<32 - 1, Generation: 1<<32 - 1}, {Index: 1 << 31, Generation: 1}, {Index: snapshot.MaxEntities, Generation: 1},
		{Index: snapshot.MaxEntities - 1, Generation: 9}, {Index: 2, Generation: 5}, {Index: 2}, {Generation: 1}, {},
	} {
		require.Zero(t, a.refs.local(id), "%v", id)
		lanes := []uint32{id.Index, id.Generation, 2, 4}
		here := a.refs.local(wire.NetworkID{Index: 2, Generation: 4})
		require.Equal(t, []uint32{0, 0, here.ID(), ecs.Generation(here)}, a.refs.resolve(1, 0, lanes))
	}
	require.LessOrEqual(t, len(a.refs.to), snapshot.MaxEntities)
	require.LessOrEqual(t, len(a.refs.links), 2)
}

// Fields and their handles are what a map of them says, after any changes.
func TestLinksAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l handleIndex
		model := map[int]handle{}
		numbers := []uint32{0, 1, 2, 3, 64, 65, 128, 1 << 31, 1<<32 - 1}
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			field := rapid.IntRange(0, 200).Draw(t, "field")
			number := rapid.SampledFrom(numbers).Draw(t, "number")
			h := handle{number, rapid.Uint32Range(0, 3).Draw(t, "generation")}
			l.set(field, h)
			if model[field] = h; number == 0 {
				delete(model, field)
			}
			if rapid.IntRange(0, 99).Draw(t, "clear") == 0 {
				l.clear()
				clear(model)
			}
		}
		require.Equal(t, len(model), l.count)
		for _, number := range numbers {
			want, got := []int{}, []int{}
			for field, h := range model {
				if h.number == number {
					want = append(want, field)
				}
			}
			for field := l.first(number); field >= 0; field = l.after(field) {
				got = append(got, field)
			}
			slices.Sort(want)
			slices.Sort(got)
			require.Equal(t, want, got, "%d", number)
		}
		for field := range 210 {
			require.Equal(t, model[field], l.get(field))
		}
	})
}

// An index lies on a circle if the way along the targets comes back to it, after any number of turns. The indexes
// that updateCycles returns include at least all that joined or left a circle.
func TestCirclesAgainstWalking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 12
		var c cycleFinder
		model := [n]int{}
		comesBack := func(start int) bool {
			at := start
			for range n {
				if at = model[at] - 1; at < 0 || at == start {
					break
				}
			}
			return at == start
		}
		before := [n]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "captures") {
			for range rapid.IntRange(0, 6).Draw(t, "turns") {
				index, target := rapid.IntRange(0, n-1).Draw(t, "index"), rapid.IntRange(0, n).Draw(t, "target")
				model[index] = target
				c.setTarget(uint32(index), uint32(target)-1, target > 0)
			}
			told := map[uint32]bool{}
			for _, index := range c.updateCycles() {
				told[index] = true
			}
			for i := range n {
				now := comesBack(i)
				require.Equal(t, now, c.on(uint32(i)), "%d in %v", i, model)
				require.True(t, now == before[i] || told[uint32(i)])
				before[i] = now
			}
		}
		c.clear()
		require.Empty(t, c.updateCycles())
		require.False(t, c.on(3))
	})
}
