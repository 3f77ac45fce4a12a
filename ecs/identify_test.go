package netecs_test

import (
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

func TestCopiedReplicatedGetsItsOwnID(t *testing.T) {
	p := newPair(t)
	a := p.server.world.NewEntity(p.server.rep, p.server.pos)
	p.step()
	b := p.server.world.NewEntity(p.server.rep, p.server.pos)
	*p.server.replicated(b) = *p.server.replicated(a)
	for range 3 {
		p.step()
		p.same()
	}
	ida, _ := p.capture.ID(a)
	idb, ok := p.capture.ID(b)
	require.True(t, ok)
	require.NotEqual(t, ida, idb)
	require.Equal(t, []netecs.ProblemKind{netecs.CopiedReplicated}, p.server.kinds())
	require.Equal(t, 2, p.store.Len())
}

func TestCopyOntoAReplicatedEntityIsPutBack(t *testing.T) {
	p := newPair(t)
	a := p.server.world.NewEntity(p.server.rep, p.server.pos)
	b := p.server.world.NewEntity(p.server.rep, p.server.pos)
	p.step()
	ida, _ := p.capture.ID(a)
	idb, _ := p.capture.ID(b)
	*p.server.replicated(b) = *p.server.replicated(a)
	p.step()
	p.same()
	require.Equal(t, []netecs.ProblemKind{netecs.CopiedReplicated}, p.server.kinds())
	*p.server.replicated(a) = components.Replicated{}
	*p.server.replicated(b) = components.Replicated{ID: wire.NetworkID{Index: 9, Generation: 9}, World: serverTag}
	p.step()
	p.same()
	require.Equal(t, []netecs.ProblemKind{netecs.StaleReplicated}, p.server.kinds())
	p.server.replicated(b).World++
	p.step()
	require.Equal(t, []netecs.ProblemKind{netecs.OverwrittenReplicated}, p.server.kinds())
	for e, id := range map[ecs.Entity]wire.NetworkID{a: ida, b: idb} {
		now, ok := p.capture.ID(e)
		require.True(t, ok)
		require.Equal(t, id, now)
	}
	require.Len(t, p.spawned, 2)
}

func TestIDGoesOnWithTheCopyWhenTheOriginalIsGone(t *testing.T) {
	for _, others := range []int{0, 1, 100} {
		p := newPair(t)
		a := p.server.world.NewEntity(p.server.rep, p.server.pos)
		for range others {
			p.server.world.NewEntity(p.server.rep, p.server.pos)
		}
		p.step()
		id, _ := p.capture.ID(a)
		b := p.server.world.NewEntity(p.server.rep, p.server.pos)
		*p.server.replicated(b) = *p.server.replicated(a)
		*p.server.position(b) = position{4, 5, 6}
		p.server.world.RemoveEntity(a) // b comes to lie where a was, with the same Replicated
		p.step()
		p.same()
		e, ok := p.capture.Entity(id)
		require.True(t, ok)
		require.Equal(t, b, e)
		now, ok := p.capture.ID(b)
		require.True(t, ok)
		require.Equal(t, id, now)
		p.server.world.Add(b, p.server.frozen)
		p.step()
		p.same()
		require.Equal(t, others+1, p.store.Len())
		require.Empty(t, p.departed)
		require.Empty(t, p.server.kinds())
	}
}

func TestCopyThatLiesWhereTheOriginalLay(t *testing.T) {
	p := newPair(t)
	a := p.server.world.NewEntity(p.server.rep, p.server.pos)
	b := p.server.world.NewEntity(p.server.rep, p.server.pos)
	p.step()
	p.server.world.RemoveEntity(a) // b moves to the first row
	c := p.server.world.NewEntity(p.server.rep, p.server.pos)
	*p.server.replicated(c) = *p.server.replicated(b) // on the second row, as b was
	p.step()
	p.same()
	require.Equal(t, 2, p.store.Len())
	require.Equal(t, []netecs.ProblemKind{netecs.CopiedReplicated}, p.server.kinds())

	p.client.world.RemoveEntity(p.twin(b))
	local := p.client.world.NewEntity(p.client.rep, p.client.pos)
	*p.client.replicated(local) = *p.client.replicated(p.twin(c))
	p.step()
	require.Zero(t, *p.client.replicated(local))
	require.ElementsMatch(t, []netecs.ProblemKind{
		netecs.CopiedReplicated, netecs.LocallyRemovedEntity,
	}, p.client.kinds())
}

func TestReplicatedMovedBetweenLivingEntities(t *testing.T) {
	p := newPair(t)
	a := p.server.world.NewEntity(p.server.rep, p.server.pos)
	b := p.server.world.NewEntity(p.server.vel)
	p.step()
	id, _ := p.capture.ID(a)
	moved := *p.server.replicated(a)
	p.server.world.Add(b, p.server.rep)
	*p.server.replicated(b) = moved
	p.server.world.Remove(a, p.server.rep)
	p.step()
	p.same()
	now, ok := p.capture.ID(b)
	require.True(t, ok)
	require.Equal(t, id, now)
	_, ok = p.capture.ID(a)
	require.False(t, ok)
}

func TestTwoServersOfOneWorld(t *testing.T) {
	p := newPair(t)
	store := snapshot.NewStore(p.schema, snapshot.Config{})
	var problems []netecs.Problem
	second := netecs.NewCapture(p.server.world, store, p.schema, serverTag+1, func(x netecs.Problem) { problems = append(problems, x) })
	var mine []ecs.Entity
	for range 5 {
		mine = append(mine, p.server.world.NewEntity(p.server.rep, p.server.pos))
	}
	target := p.server.world.NewEntity()
	tied := p.server.world.NewEntity(p.server.rep, p.server.child)
	p.server.world.Relations().Set(tied, p.server.child, target)
	p.step()
	for range 3 {
		second.Run(store.Tick() + 1)
	}
	require.Zero(t, store.Len())
	require.Empty(t, problems, "the other one manages them")
	p.server.world.RemoveEntity(mine[0])
	p.step()
	second.Run(store.Tick() + 1)
	require.Empty(t, problems)
	_, ok := second.ID(mine[1])
	require.False(t, ok)
	p.same()
}

// An entity that replaces another with equal components comes to lie in its place, and not a byte differs. References to the new one name it
// all the same, before long, and who goes on to name the old one names nobody.
func TestReferencesToTheEntityThatTookAPlace(t *testing.T) {
	p := newPair(t)
	s := p.server
	var all []ecs.Entity
	for range 300 {
		all = append(all, s.world.NewEntity(s.rep, s.pos))
	}
	old, fresh := s.world.NewEntity(s.rep, s.seeker), s.world.NewEntity(s.rep, s.seeker)
	was := all[200]
	get[seeker](s, old, s.seeker).Target = was
	p.step()
	id := p.id(was)
	is := s.world.NewEntity(s.rep, s.pos)
	*s.replicated(is), *get[position](s, is, s.pos) = *s.replicated(was), *get[position](s, was, s.pos)
	s.world.RemoveEntity(was) // and the last one, which is the copy, goes to where it was
	get[seeker](s, fresh, s.seeker).Target = is
	for range 5 {
		p.step()
	}
	require.Equal(t, id, p.ref(fresh, rowSeeker, 0))
	require.Zero(t, p.ref(old, rowSeeker, 0))
	require.Equal(t, 302, p.store.Len())
	p.same()
}
