package netecs_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

func TestEntityExistsOnTheClient(t *testing.T) {
	p := newPair(t)
	e := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos, p.server.frozen)
	*p.server.position(e) = position{1, 2, 3}
	p.follow()
	shown := p.atClient(e)
	require.True(t, ecs.Has(p.client.world, shown, p.client.frozen))
	require.InDelta(t, 2, p.client.position(shown).Y, 0.002)
	require.Equal(t, clientTag, p.client.replicated(shown).World)
	require.Equal(t, []wire.NetworkID{{Index: 0, Generation: 1}}, p.spawned)
	require.Empty(t, p.server.kinds())

	p.server.position(e).X += 5
	p.follow()
	require.InDelta(t, 6, p.client.position(shown).X, 0.002)
}

func TestSpawnedAndDespawnedBetweenTicksIsNothing(t *testing.T) {
	p := newPair(t)
	p.server.world.RemoveEntity(ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos))
	p.step()
	require.Zero(t, p.store.Len())
	require.Empty(t, p.spawned)
}

func TestIdleCaptureChangesNothing(t *testing.T) {
	p := newPair(t)
	for range 200 {
		ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos, p.server.rot)
	}
	p.step()
	p.step()
	require.Zero(t, p.store.Changed())
	require.False(t, p.view.Pending())
}

func TestFaultsAreReportedOnce(t *testing.T) {
	p := newPair(t)
	e := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos, p.server.vel)
	*get[velocity](p.server, e, p.server.vel) = velocity{1, 1, 1}
	p.step()
	for i := range 4 {
		p.server.position(e).X = 1000 + float32(i)
		*get[velocity](p.server, e, p.server.vel) = velocity{X: float32(math.NaN()), Y: float32(i), Z: 1}
		p.follow()
	}
	require.ElementsMatch(t, []netecs.ProblemKind{netecs.OutOfRange, netecs.NotFinite}, p.server.kinds())
	require.InDelta(t, 512, p.client.position(p.atClient(e)).X, 0.002)
	require.Equal(t, velocity{1, 3, 1}, *get[velocity](p.client, p.atClient(e), p.client.vel))

	p.server.world.RemoveEntity(e)
	p.step()
	again := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
	p.server.position(again).Y = float32(math.Inf(-1))
	p.step()
	id, _ := p.capture.ID(again)
	require.Equal(t, []netecs.Problem{{
		Kind: netecs.NotFinite, Entity: id, Local: again, Component: "position", Field: "Y",
	}}, p.server.problems)
	require.Equal(t, "position.Y of entity "+id.String()+" is not a finite number: the last good value is kept",
		p.server.problems[0].String())
	require.InDelta(t, 0, p.client.position(p.atClient(again)).Y, 0.002)
}

// A rotation that nobody has set is none: what is said of it names that and not a range, once, and beside a fault of another kind.
func TestAZeroQuaternionIsNoRotation(t *testing.T) {
	p := newPair(t)
	e := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.rot)
	p.step()
	id, _ := p.capture.ID(e)
	require.Equal(t, []netecs.Problem{{
		Kind: netecs.NoRotation, Entity: id, Local: e, Component: "rotation", Field: "Q",
	}}, p.server.problems)
	require.Equal(t, "rotation.Q of entity "+id.String()+" is a rotation of length 0: the last good value is kept", p.server.problems[0].String())
	turned := rotation{Q: [4]float32{1, 0, 0, 0}}
	for _, q := range [][4]float32{turned.Q, {}, {float32(math.NaN()), 0, 0, 1}, {}} {
		get[rotation](p.server, e, p.server.rot).Q = q
		p.step()
	}
	require.Equal(t, []netecs.ProblemKind{netecs.NoRotation, netecs.NotFinite}, p.server.kinds())
	got := get[rotation](p.client, p.atClient(e), p.client.rot).Q
	require.InDeltaSlice(t, turned.Q[:], got[:], 0.002)
}

func TestWorldReset(t *testing.T) {
	p := newPair(t)
	var old []ecs.Entity
	for range 100 {
		old = append(old, ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos))
	}
	tied := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.child)
	ecs.SetTarget(p.server.world, tied, p.server.child, old[0])
	p.step()
	id, _ := p.capture.ID(old[70])
	p.server.world.Reset()
	_, ok := p.capture.Entity(id)
	require.False(t, ok)
	_, ok = p.capture.ID(old[70])
	require.False(t, ok)
	fresh := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos, p.server.vel)
	*p.server.position(fresh) = position{7, 7, 7}
	p.follow()
	require.Equal(t, 1, p.store.Len())
	require.Len(t, p.departed, 101)
	require.Equal(t, []netecs.ProblemKind{netecs.WorldReset}, p.server.kinds())
	p.follow()
	require.Empty(t, p.server.kinds())
}

func TestCaptureOfAnEarlierTickIsNothing(t *testing.T) {
	p := newPair(t)
	e := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
	p.step()
	p.server.position(e).X = 3
	p.capture.Run(p.tick)
	p.follow()
	require.InDelta(t, 3, p.client.position(p.atClient(e)).X, 0.002)
}

func TestCaptureInALockedWorld(t *testing.T) {
	p := newPair(t)
	ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
	all := ecs.All()
	query := ecs.Select(p.server.world, &all)
	p.step()
	query.Close()
	p.same()
	require.False(t, p.server.world.IsLocked())
}

func TestReportMayChangeTheWorld(t *testing.T) {
	schema := newSchema(t)
	s := newSide()
	store := snapshot.NewStore(schema, snapshot.Config{})
	c := netecs.NewCapture(s.world, store, schema, serverTag, func(x netecs.Problem) { s.world.RemoveEntity(x.Local) })
	e := ecs.Spawn(s.world, nil, s.rep, s.pos)
	s.position(e).X = float32(math.NaN())
	c.Run(1)
	c.Run(2)
	require.Zero(t, store.Len())
}

func TestReleaseGivesBackTheFilters(t *testing.T) {
	p := newPair(t)
	e := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
	before := p.server.world.Stats().CachedFilters
	p.step()
	require.Equal(t, before+1, p.server.world.Stats().CachedFilters)
	p.capture.Release()
	require.Equal(t, before-1, p.server.world.Stats().CachedFilters)
	_, ok := p.capture.ID(e)
	require.False(t, ok)
}

func TestCopyOntoAReplicatedEntityIsPutBack(t *testing.T) {
	p := newPair(t)
	a := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
	b := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
	p.step()
	ida, _ := p.capture.ID(a)
	idb, _ := p.capture.ID(b)
	*p.server.replicated(b) = *p.server.replicated(a)
	p.follow()
	require.Equal(t, []netecs.ProblemKind{netecs.CopiedReplicated}, p.server.kinds())
	*p.server.replicated(a) = components.Replicated{}
	*p.server.replicated(b) = components.Replicated{ID: wire.NetworkID{Index: 9, Generation: 9}, World: serverTag}
	p.follow()
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

func TestCopyThatLiesWhereTheOriginalLay(t *testing.T) {
	p := newPair(t)
	a := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
	b := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
	p.step()
	p.server.world.RemoveEntity(a) // b moves to the first row
	c := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
	*p.server.replicated(c) = *p.server.replicated(b) // on the second row, as b was
	p.follow()
	require.Equal(t, 2, p.store.Len())
	require.Equal(t, []netecs.ProblemKind{netecs.CopiedReplicated}, p.server.kinds())

	p.client.world.RemoveEntity(p.atClient(b))
	local := ecs.Spawn(p.client.world, nil, p.client.rep, p.client.pos)
	*p.client.replicated(local) = *p.client.replicated(p.atClient(c))
	p.step()
	require.Zero(t, *p.client.replicated(local))
	require.ElementsMatch(t, []netecs.ProblemKind{
		netecs.CopiedReplicated, netecs.LocallyRemovedEntity,
	}, p.client.kinds())
}

func TestReplicatedMovedBetweenLivingEntities(t *testing.T) {
	p := newPair(t)
	a := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
	b := ecs.Spawn(p.server.world, nil, p.server.vel)
	p.step()
	id, _ := p.capture.ID(a)
	moved := *p.server.replicated(a)
	ecs.Exchange(p.server.world, b, []ecs.ID{p.server.rep}, nil, nil)
	*p.server.replicated(b) = moved
	ecs.Exchange(p.server.world, a, nil, []ecs.ID{p.server.rep}, nil)
	p.follow()
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
		mine = append(mine, ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos))
	}
	target := ecs.Spawn(p.server.world, nil)
	tied := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.child)
	ecs.SetTarget(p.server.world, tied, p.server.child, target)
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
		all = append(all, ecs.Spawn(s.world, nil, s.rep, s.pos))
	}
	old, fresh := ecs.Spawn(s.world, nil, s.rep, s.seeker), ecs.Spawn(s.world, nil, s.rep, s.seeker)
	was := all[200]
	get[seeker](s, old, s.seeker).Target = was
	p.step()
	id := p.id(was)
	is := ecs.Spawn(s.world, nil, s.rep, s.pos)
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
