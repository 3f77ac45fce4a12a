package netecs_test

import (
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// Arche itself allocates when a relation gets another target, so the parents
// stay the same.

// family is n bodies of which every second one names its neighbours, and every
// fourth is the child of another.
func family(t testing.TB, n int) (*pair, []ecs.Entity) {
	p, all := scene(t, n)
	s := p.server
	for i, e := range all {
		if i%2 == 0 {
			s.world.Add(e, s.seeker)
			*get[seeker](s, e, s.seeker) = seeker{Target: all[(i+1)%n], Seen: [2]ecs.Entity{all[(i+n-1)%n]}}
		}
		if i%4 == 1 {
			s.world.Add(e, s.child)
			s.world.Relations().Set(e, s.child, all[i-1])
		}
	}
	p.step()
	p.same()
	return p, all
}

func TestApplyOfReferencesAllocatesNothing(t *testing.T) {
	p, all := family(t, 1000)
	s := p.server
	turn := func(i int) {
		move(p, all, 1)
		for k := 0; k < len(all); k += 2 { // each names another one each tick
			get[seeker](s, all[k], s.seeker).Target = all[(k+i*3)%len(all)]
		}
		p.send()
	}
	for i := range 64 {
		turn(i)
		p.apply.Run()
	}
	allocs := alloctest.Start(t)
	for i := range 20 {
		turn(i)
		allocs.Count(p.apply.Run)
	}
	allocs.Zero()
	p.same()
	require.Empty(t, p.client.kinds())
}
