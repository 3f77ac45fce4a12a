package netecs_test

import (
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/alloctest"
)

// steps runs n ticks.
func (p *pair) steps(n int) {
	for range n {
		p.step()
	}
}

// A component set without a Replicated is told once, however many entities have it and however long.
func TestUnreplicatedEntityIsToldOnce(t *testing.T) {
	p := newPair(t)
	s := p.server
	e := s.world.NewEntity(s.pos, s.health)
	s.world.NewEntity(s.pos, s.health)
	s.world.NewEntity(s.local)             // nothing of it is replicated
	s.world.NewEntity(s.rep, s.pos, s.vel) // it is replicated
	p.steps(31)
	require.Empty(t, s.problems)
	p.steps(33)
	require.Equal(t, []netecs.Problem{{Kind: netecs.Unreplicated, Local: e, Detail: "health, position"}}, s.problems)
	require.Contains(t, s.problems[0].Error(),
		"has replicated components (health, position) and no components.Replicated, so no client gets it: add components.Replicated{} to it")
	p.steps(200)
	require.Len(t, s.problems, 1)
	other := s.world.NewEntity(s.pos, s.local)
	p.steps(64)
	require.Len(t, s.problems, 2)
	require.Equal(t, other, s.problems[1].Local)
}

// Entities that are replicated a moment later, and such as live for a moment only, are not told of.
func TestUnreplicatedForAMomentIsNotTold(t *testing.T) {
	p := newPair(t)
	s := p.server
	for range 10 {
		late, brief := s.world.NewEntity(s.pos), s.world.NewEntity(s.vel)
		p.steps(20)
		s.world.Add(late, s.rep)
		s.world.RemoveEntity(brief)
		p.steps(3)
	}
	require.Empty(t, s.problems)
}

func TestLocalOnlyIsNotTold(t *testing.T) {
	p := newPair(t)
	s := p.server
	s.world.NewEntity(s.pos, ecs.ComponentID[components.LocalOnly](s.world))
	p.steps(200)
	require.Empty(t, s.problems)
	e := s.world.NewEntity(s.pos)
	p.steps(64)
	require.Len(t, s.problems, 1)
	require.Equal(t, e, s.problems[0].Local)
}

// A world with ever more component sets is told of 16 times.
func TestUnreplicatedSetsAreBounded(t *testing.T) {
	p := newPair(t)
	s := p.server
	all := []ecs.ID{s.frozen, s.health, s.pos, s.rot, s.vel}
	for set := 1; set < 1<<len(all); set++ {
		var of []ecs.ID
		for i, id := range all {
			if set>>i&1 != 0 {
				of = append(of, id)
			}
		}
		s.world.NewEntity(of...)
	}
	p.steps(200)
	require.Len(t, s.problems, 16)
}

// A reset of the world forgets the entities of the look before: their handles name none of the new world.
func TestUnreplicatedAcrossAReset(t *testing.T) {
	p := newPair(t)
	s := p.server
	for range 100 {
		s.world.NewEntity(s.pos)
	}
	p.steps(32)
	s.world.Reset()
	p.steps(1)
	s.kinds()
	e := s.world.NewEntity(s.pos)
	p.steps(32)
	require.Empty(t, s.problems)
	p.steps(32)
	require.Len(t, s.problems, 1)
	require.Equal(t, e, s.problems[0].Local)
}

// Looks at a world with local entities allocate nothing once their component sets are known.
func TestLooksForUnreplicatedAllocateNothing(t *testing.T) {
	p := newPair(t)
	s := p.server
	for range 100 {
		s.world.NewEntity(s.pos)
		s.world.NewEntity(s.rep, s.pos)
	}
	p.steps(100)
	next := p.tick
	alloctest.Zero(t, 200, func() {
		next++
		p.capture.Run(next)
	})
}
