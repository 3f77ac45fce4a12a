package netecs_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
)

// newTightPair is a pair whose server reserves one row for each target of a relation, so that archetypes grow at once.
func newTightPair(t testing.TB) *pair { return newPairIn(t, newSchema(t), newSide(16, 1)) }

// follower is a body that follows a target, by a relation that does not replicate.
func (s *side) follower(target ecs.Entity) ecs.Entity {
	e := ecs.Spawn(s.world, nil, s.rep, s.pos, s.vel, s.follows)
	ecs.SetTarget(s.world, e, s.follows, target)
	return e
}

// A copy of the Replicated that comes to lie where the original was is another entity, though not a byte differs.
func TestCopyInTheSamePlaceOfAScatteredTable(t *testing.T) {
	p := newTightPair(t)
	s := p.server
	target := ecs.Spawn(s.world, nil)
	e := s.follower(target)
	p.step()
	id, _ := p.capture.ID(e)
	r, memory := *s.replicated(e), s.replicated(e)
	s.world.RemoveEntity(e)
	e = s.follower(target)
	*s.replicated(e) = r
	require.Same(t, memory, s.replicated(e))
	p.follow()
	now, ok := p.capture.ID(e)
	require.True(t, ok)
	require.Equal(t, id, now, "the id goes on with the copy")
}

// Any sequence of what game code does to entities with relations ends with the client's world like the server's.
func TestScatteredTablesAtRandom(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			p, r := newTightPair(t), rand.New(rand.NewPCG(seed, 5))
			s := p.server
			var targets, bodies []ecs.Entity
			for range 60 {
				for range r.IntN(4) {
					scatterStep(s, r, &targets, &bodies)
				}
				for _, e := range bodies {
					if r.IntN(4) == 0 {
						s.position(e).X = float32(r.IntN(100))
					}
				}
				p.follow()
			}
		})
	}
}

func TestScatteredCaptureAllocatesNothing(t *testing.T) {
	p := newTightPair(t)
	s := p.server
	var bodies []ecs.Entity
	for range 50 {
		bodies = append(bodies, s.follower(ecs.Spawn(s.world, nil)))
	}
	var allocs *alloctest.Counter
	for turn := range 400 {
		s.position(bodies[turn%50]).X = float32(turn % 100)
		if e := bodies[turn*7%50]; ecs.Has(s.world, e, s.frozen) {
			ecs.Exchange(s.world, e, nil, []ecs.ID{s.frozen}, nil) // Arche itself allocates when an entity with a relation moves
		} else {
			ecs.Exchange(s.world, e, []ecs.ID{s.frozen}, nil, nil)
		}
		p.tick++
		if turn < 200 {
			p.capture.Run(p.tick)
			continue
		}
		if turn == 200 {
			allocs = alloctest.Start(t)
		}
		allocs.Count(func() { p.capture.Run(p.tick) })
		require.Positive(t, p.store.Changed())
	}
	allocs.Zero()
}

func scatterStep(s *side, r *rand.Rand, targets, bodies *[]ecs.Entity) {
	if len(*targets) == 0 || r.IntN(4) == 0 {
		*targets = append(*targets, ecs.Spawn(s.world, nil, s.rep, s.pos))
	}
	target := (*targets)[r.IntN(len(*targets))]
	if len(*bodies) == 0 {
		*bodies = append(*bodies, s.follower(target))
	}
	k := r.IntN(len(*bodies))
	e := (*bodies)[k]
	relation := s.follows
	if ecs.Has(s.world, e, s.child) {
		relation = s.child
	}
	switch r.IntN(6) {
	case 0:
		*bodies = append(*bodies, s.follower(target))
	case 1:
		child := ecs.Spawn(s.world, nil, s.rep, s.pos, s.child)
		ecs.SetTarget(s.world, child, s.child, target)
		*bodies = append(*bodies, child)
	case 2:
		s.world.RemoveEntity(e)
		*bodies = append((*bodies)[:k], (*bodies)[k+1:]...)
	case 3:
		ecs.SetTarget(s.world, e, relation, target)
	case 4: // the archetype grows and shrinks
		s.world.RemoveEntity(s.follower(target))
	case 5:
		if n := r.IntN(len(*targets)); n > 0 {
			s.world.RemoveEntity((*targets)[n])
			*targets = append((*targets)[:n], (*targets)[n+1:]...)
		}
	}
}
