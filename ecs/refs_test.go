package netecs

import (
	"reflect"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

type naming struct {
	A, B ecs.Entity `net:"entity"`
}

type hanging struct {
	ecs.Relation
	On ecs.Entity `net:"entity"`
}

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
	w := ecs.NewWorld()
	schema := namingSchema(t)
	a := NewApply(&w, replica.New(schema, snapshot.Config{}, 0), schema, 1, Hooks{}, nil)
	a.applied = make([]appliedEntity, 3)
	a.tracker.assign(wire.NetworkID{Index: 2, Generation: 4}, w.NewEntity())
	for _, id := range []wire.NetworkID{
		{Index: 1<<32 - 1, Generation: 1<<32 - 1}, {Index: 1 << 31, Generation: 1}, {Index: snapshot.MaxEntities, Generation: 1},
		{Index: snapshot.MaxEntities - 1, Generation: 9}, {Index: 2, Generation: 5}, {Index: 2}, {Generation: 1}, {},
	} {
		require.Zero(t, a.refs.local(id), "%v", id)
		lanes := []uint32{id.Index, id.Generation, 2, 4}
		here := a.refs.local(wire.NetworkID{Index: 2, Generation: 4})
		require.Equal(t, []uint32{0, 0, here.ID(), here.Generation()}, a.refs.resolve(1, 0, lanes))
	}
	require.LessOrEqual(t, len(a.refs.to), snapshot.MaxEntities)
	require.LessOrEqual(t, len(a.refs.links), 2)
}
