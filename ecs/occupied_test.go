package netecs

import (
	"math/rand/v2"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/snapshot"
)

// TestSkippedEntitiesAreFoundAgain holds captures that look at a table no more as soon as it is empty against one that looks at all,
// while components come and go: the same entities get the same ids and the same rows.
func TestSkippedEntitiesAreFoundAgain(t *testing.T) {
	woken, retired := 0, 0
	for seed := range uint64(24) {
		schema := newStretchServer(t, seed).schema
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
	require.Greater(t, woken, 500)
	require.Greater(t, retired, 500)
}

// crowd is a world of entities that gain and lose components, and its capture.
type crowd struct {
	world    ecs.World
	store    *snapshot.Store
	capture  *Capture
	ids      []ecs.ID
	all      []ecs.Entity
	problems []Problem
}

type crowdTie struct{ ecs.Relation }

func newCrowd(schema *snapshot.Schema, patience uint64) *crowd {
	c := &crowd{world: ecs.NewWorld(), store: snapshot.NewStore(schema, snapshot.Config{})}
	c.capture = NewCapture(&c.world, c.store, schema, 1, func(p Problem) { c.problems = append(c.problems, p) })
	c.capture.tracker.patience = patience
	c.ids = append(c.ids, c.capture.tracker.ids...)
	c.ids = append(c.ids, ecs.ComponentID[stretchOwn](&c.world), ecs.ComponentID[crowdTie](&c.world))
	return c
}

func (c *crowd) turn(r *rand.Rand, most int) {
	w, rep := &c.world, c.capture.tracker.replicated
	for range r.IntN(4) {
		if len(c.all) < most {
			c.all = append(c.all, w.NewEntity(rep))
		}
		k := r.IntN(len(c.all))
		e, id := c.all[k], c.ids[r.IntN(len(c.ids))]
		switch what := r.IntN(12); {
		case what == 0:
			w.RemoveEntity(e)
			c.all = append(c.all[:k], c.all[k+1:]...)
		case what == 1: // a copy, in another table maybe
			*(*components.Replicated)(w.Get(c.all[r.IntN(len(c.all))], rep)) = *(*components.Replicated)(w.Get(e, rep))
		case w.Has(e, id):
			w.Remove(e, id)
		default:
			w.Add(e, id)
		}
		if len(c.all) == 0 {
			break
		}
	}
	for _, e := range c.all {
		if at := componentOf[stretchPlace](w, e, c.ids[0]); at != nil && r.IntN(2) == 0 {
			at.X = float32(r.IntN(50))
		}
	}
	c.capture.Run(c.store.Tick() + 1)
}

// TestMasksThatHoldNobodyAreNotLookedAt is of a world that has had very many masks.
func TestMasksThatHoldNobodyAreNotLookedAt(t *testing.T) {
	s := newStretchServer(t, 1)
	c := newCrowd(s.schema, patience)
	client := newStretchClient(s, false, false)
	r := rand.New(rand.NewPCG(1, 2))
	own := []ecs.ID{
		ecs.ComponentID[stretchOwn](&client.world), ecs.ComponentID[stretchOther](&client.world), ecs.ComponentID[crowdTie](&client.world),
	}
	for range 2000 {
		c.turn(r, 4)
		for _, p := range s.turn() {
			require.NoError(t, client.replica.Read(p))
		}
		for _, id := range s.ids {
			if e, ok := client.apply.Entity(id); ok && r.IntN(10) == 0 {
				if k := own[r.IntN(len(own))]; client.world.Has(e, k) {
					client.world.Remove(e, k)
				} else {
					client.world.Add(e, k)
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
