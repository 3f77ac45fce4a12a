package netecs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/replica"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// populated is a pair with n entities that the client knows.
func populated(t testing.TB, n int) (*pair, []ecs.Entity) {
	p := newPair(t)
	var all []ecs.Entity
	for i := range n {
		e := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos, p.server.health)
		*p.server.position(e) = position{X: float32(i)}
		*get[health](p.server, e, p.server.health) = health{HP: int16(i), Note: 1, Big: 1 << 60}
		all = append(all, e)
	}
	p.follow()
	return p, all
}

func TestLocalWriteIsRestored(t *testing.T) {
	p, all := populated(t, 100)
	e := p.atClient(all[70])
	for range 3 {
		p.client.position(e).X = -1
		get[health](p.client, e, p.client.health).HP = -1
		p.apply.Run()
		p.same()
	}
	require.EqualValues(t, 6, p.apply.Stats().Restored)
	id, _ := p.apply.ID(e)
	require.ElementsMatch(t, []netecs.Problem{
		{Kind: netecs.LocalWriteRestored, Entity: id, Local: e, Component: "health", Field: "HP"},
		{Kind: netecs.LocalWriteRestored, Entity: id, Local: e, Component: "position", Field: "X"},
	}, p.client.problems, "once for each component")
}

func TestLocalWriteToAMovedRowIsRestored(t *testing.T) {
	p, all := populated(t, 200)
	e := p.atClient(all[199])
	p.client.position(e).X = -1
	ecs.Exchange(p.client.world, e, []ecs.ID{p.client.local}, nil, nil)
	f := p.atClient(all[198])
	p.client.position(f).X = -1
	p.client.world.RemoveEntity(p.atClient(all[0])) // all[198] moves there
	p.apply.Run()
	require.EqualValues(t, 2, p.apply.Stats().Restored)
	require.InDelta(t, 199, p.client.position(e).X, 0.002)
	require.InDelta(t, 198, p.client.position(f).X, 0.002)
	require.ElementsMatch(t, []netecs.ProblemKind{
		netecs.LocalWriteRestored, netecs.LocalWriteRestored, netecs.LocallyRemovedEntity,
	}, p.client.kinds())
}

func TestFieldsThatDoNotTravelAreTheClients(t *testing.T) {
	p, all := populated(t, 3)
	e := p.atClient(all[1])
	require.Zero(t, get[health](p.client, e, p.client.health).Note)
	get[health](p.client, e, p.client.health).Note = 77
	p.apply.Run()
	get[health](p.server, all[1], p.server.health).HP = 5
	p.follow()
	require.Equal(t, health{HP: 5, Note: 77, Big: 1 << 60}, *get[health](p.client, e, p.client.health))
	require.Empty(t, p.client.kinds())
	require.Zero(t, p.apply.Stats().Restored)
}

func TestReplicatedRemovedLocallyLeavesTheEntityToTheGame(t *testing.T) {
	p, all := populated(t, 5)
	e := p.atClient(all[2])
	id, _ := p.apply.ID(e)
	ecs.Exchange(p.client.world, e, nil, []ecs.ID{p.client.rep}, nil)
	p.server.position(all[2]).X = 40
	p.step()
	require.InDelta(t, 2, p.client.position(e).X, 0.002)
	require.Equal(t, []netecs.ProblemKind{netecs.LocallyRemovedComponent}, p.client.kinds())
	_, ok := p.apply.Entity(id)
	require.False(t, ok)

	ecs.Exchange(p.client.world, e, []ecs.ID{p.client.rep}, nil, nil) // changed its mind
	p.follow()
	ecs.Exchange(p.client.world, e, nil, []ecs.ID{p.client.rep}, nil)
	p.step()
	p.server.world.RemoveEntity(all[2])
	p.follow()
	require.True(t, p.client.world.Alive(e))
	require.Empty(t, p.departed)
}

func TestComponentAddedLocallyThenByTheServer(t *testing.T) {
	p, all := populated(t, 5)
	e := p.atClient(all[2])
	ecs.Exchange(p.client.world, e, []ecs.ID{p.client.vel}, nil, nil)
	*get[velocity](p.client, e, p.client.vel) = velocity{9, 9, 9}
	p.step()
	require.Equal(t, []netecs.ProblemKind{netecs.LocallyAddedComponent}, p.client.kinds(), "the guide says so")
	require.EqualValues(t, 9, get[velocity](p.client, e, p.client.vel).X)
	p.client.world.RemoveEntity(p.atClient(all[1])) // moves other entities to other rows
	p.step()
	require.Equal(t, []netecs.ProblemKind{netecs.LocallyRemovedEntity}, p.client.kinds(), "once")
	p.server.world.RemoveEntity(all[1])
	ecs.Exchange(p.server.world, all[2], []ecs.ID{p.server.vel}, nil, nil)
	p.follow()
	require.Empty(t, p.client.kinds(), "it was told when it was added")
	p.step()
	require.Empty(t, p.client.kinds())
}

func TestSecondRelationIsLeftOut(t *testing.T) {
	if ecs.SeveralRelations {
		t.Skip("an entity has several relations on " + ecs.Name)
	}
	p, all := populated(t, 5)
	e := p.atClient(all[2])
	ecs.Exchange(p.client.world, e, []ecs.ID{p.client.follows}, nil, nil)
	ecs.Exchange(p.server.world, all[2], []ecs.ID{p.server.child}, nil, nil)
	p.step()
	get[childOf](p.server, all[2], p.server.child).Joint = 4
	p.step()
	require.Equal(t, []netecs.ProblemKind{netecs.SecondRelation}, p.client.kinds())
	ecs.Exchange(p.server.world, all[2], nil, []ecs.ID{p.server.child}, nil)
	p.follow()
	ecs.Exchange(p.client.world, e, nil, []ecs.ID{p.client.follows}, nil)
	ecs.Exchange(p.server.world, all[2], []ecs.ID{p.server.child}, nil, nil)
	p.follow()
}

// A component that was left out comes when there is room, as it is by then, even if no further record of the entity arrives. What game
// code removed itself does not.
func TestLeftOutRelationComesWhenThereIsRoom(t *testing.T) {
	if ecs.SeveralRelations {
		t.Skip("an entity has several relations on " + ecs.Name)
	}
	p, all := populated(t, 5)
	e := p.atClient(all[2])
	ecs.Exchange(p.client.world, e, []ecs.ID{p.client.follows}, nil, nil)
	ecs.Exchange(p.server.world, all[2], []ecs.ID{p.server.child}, nil, nil)
	ecs.SetTarget(p.server.world, all[2], p.server.child, all[1])
	p.step()
	require.Equal(t, []netecs.ProblemKind{netecs.SecondRelation}, p.client.kinds())
	for n := range 3 {
		get[childOf](p.server, all[2], p.server.child).Joint = int32(n)
		ecs.SetTarget(p.server.world, all[2], p.server.child, all[n])
		p.server.position(all[2]).X++
		p.step()
		require.False(t, ecs.Has(p.client.world, e, p.client.child))
		require.True(t, ecs.Has(p.client.world, e, p.client.follows), "it is the client's")
	}
	require.Empty(t, p.client.kinds(), "reported once")
	ecs.SetTarget(p.server.world, all[2], p.server.child, all[4])
	p.step()

	ecs.Exchange(p.client.world, e, nil, []ecs.ID{p.client.follows}, nil)
	p.apply.Run()
	p.same()
	require.Equal(t, p.atClient(all[4]), ecs.Target(p.client.world, e, p.client.child))
	require.EqualValues(t, 2, get[childOf](p.client, e, p.client.child).Joint)
	require.Empty(t, p.client.kinds())
	id, _ := p.capture.ID(all[2])
	require.Equal(t, snapshot.Mask{}.With(rowChildOf), changes(p)[id].Added)

	ecs.Exchange(p.client.world, e, nil, []ecs.ID{p.client.child}, nil)
	p.step()
	require.Equal(t, []netecs.ProblemKind{netecs.LocallyRemovedComponent}, p.client.kinds())
	p.server.position(all[2]).X++
	p.step()
	require.False(t, ecs.Has(p.client.world, e, p.client.child), "what the client's game removed stays removed")
}

func TestReplicatedOnAClientIsTheServersToGive(t *testing.T) {
	p, all := populated(t, 3)
	own := ecs.Spawn(p.client.world, nil, p.client.rep)
	copied := ecs.Spawn(p.client.world, nil, p.client.rep, p.client.local)
	*p.client.replicated(copied) = *p.client.replicated(p.atClient(all[1]))
	stale := ecs.Spawn(p.client.world, nil, p.client.rep, p.client.local)
	*p.client.replicated(stale) = components.Replicated{ID: wire.NetworkID{Index: 99, Generation: 3}, World: clientTag}
	kept := *p.client.replicated(p.atClient(all[2]))
	*p.client.replicated(p.atClient(all[2])) = components.Replicated{}
	p.follow()
	require.ElementsMatch(t, []netecs.ProblemKind{
		netecs.CopiedReplicated, netecs.StaleReplicated, netecs.OverwrittenReplicated, netecs.LocalReplicated,
	}, p.client.kinds())
	require.Zero(t, *p.client.replicated(own))
	require.Zero(t, *p.client.replicated(copied))
	require.Equal(t, kept, *p.client.replicated(p.atClient(all[2])))
	foreign := ecs.Spawn(p.client.world, nil, p.client.rep, p.client.vel)
	p.client.replicated(foreign).World = 5
	p.client.replicated(foreign).ID.Generation = 1
	p.step()
	p.step()
	require.Equal(t, []netecs.ProblemKind{netecs.ForeignReplicated}, p.client.kinds())
}

func TestClientWorldReset(t *testing.T) {
	p, all := populated(t, 100)
	e := p.atClient(all[4])
	id, _ := p.apply.ID(e)
	p.client.world.Reset()
	_, ok := p.apply.Entity(id)
	require.False(t, ok)
	_, ok = p.apply.ID(e)
	require.False(t, ok)
	p.apply.Run()
	p.same()
	require.Equal(t, []netecs.ProblemKind{netecs.WorldReset}, p.client.kinds())
	require.Len(t, p.spawned, 200)
	p.server.position(all[5]).X++
	p.server.world.RemoveEntity(all[6])
	p.follow()
	require.Empty(t, p.client.kinds())
}

// A query that game code left open at the server is reported as at a client, once, and the capture continues.
func TestLockedServerWorldIsReported(t *testing.T) {
	p, all := populated(t, 3)
	filter := ecs.All()
	for range 2 {
		query := ecs.Select(p.server.world, &filter)
		for x := range 3 {
			p.server.position(all[0]).X = float32(30 + x)
			p.follow()
		}
		require.Equal(t, []netecs.ProblemKind{netecs.WorldLocked}, p.server.kinds())
		query.Close()
		ecs.Exchange(p.server.world, all[0], nil, []ecs.ID{p.server.pos}, nil)
		p.step()
		ecs.Exchange(p.server.world, all[0], []ecs.ID{p.server.pos}, nil, nil)
		p.follow()
		require.Empty(t, p.server.kinds())
	}
}

func TestLockedClientWorldWaits(t *testing.T) {
	p, all := populated(t, 3)
	filter := ecs.All()
	query := ecs.Select(p.client.world, &filter)
	p.server.position(all[0]).X = 30
	p.server.world.RemoveEntity(all[1])
	p.step()
	p.step()
	require.Equal(t, []netecs.ProblemKind{netecs.WorldLocked}, p.client.kinds())
	p.apply.Clear()
	query.Close()
	p.apply.Follow(p.replica)
	p.follow()
}

func TestHigherGenerationReplacesTheEntity(t *testing.T) {
	p, all := populated(t, 1)
	old := p.atClient(all[0])
	id, _ := p.capture.ID(all[0])
	p.server.world.RemoveEntity(all[0])
	p.send() // not applied
	e := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.vel)
	p.send()
	p.apply.Run()
	p.same()
	now, _ := p.capture.ID(e)
	require.Equal(t, id.Index, now.Index)
	require.Greater(t, now.Generation, id.Generation)
	require.False(t, p.client.world.Alive(old))
	require.Equal(t, []wire.NetworkID{id}, p.departed)
	require.Equal(t, []wire.NetworkID{id, now}, p.spawned)
}

func TestHooksMayDoAnything(t *testing.T) {
	p, all := populated(t, 40)
	p.spawned = nil
	p.onSpawn = func(e ecs.Entity, id wire.NetworkID) {
		require.False(t, p.client.world.IsLocked())
		require.InDelta(t, 8, p.client.position(e).X, 0.002)
		ecs.Exchange(p.client.world, e, []ecs.ID{p.client.local}, nil, nil)
		ecs.Spawn(p.client.world, nil, p.client.local)
		if len(p.spawned) == 2 { // the one after this is gone when its turn comes
			next, ok := p.apply.Entity(wire.NetworkID{Index: id.Index + 1, Generation: 1})
			require.True(t, ok)
			p.client.world.RemoveEntity(next)
		}
		p.apply.Run()
	}
	p.onLeave = func(e ecs.Entity, id wire.NetworkID) {
		now, ok := p.apply.Entity(id)
		require.False(t, ok, now)
		require.True(t, p.client.world.Alive(e))
		if len(p.departed) == 1 {
			p.client.world.RemoveEntity(e)
		}
	}
	for range 3 {
		e := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
		p.server.position(e).X = 8
	}
	p.server.world.RemoveEntity(all[0])
	p.server.world.RemoveEntity(all[1])
	p.step()
	require.Len(t, p.spawned, 2)
	require.Len(t, p.departed, 2)
	p.step()
	require.Equal(t, []netecs.ProblemKind{netecs.LocallyRemovedEntity}, p.client.kinds())
}

func TestClearAndFollow(t *testing.T) {
	p, all := populated(t, 80)
	local := ecs.Spawn(p.client.world, nil, p.client.pos)
	p.apply.Clear()
	require.Len(t, p.departed, 80)
	require.True(t, p.client.world.Alive(local))
	p.apply.Run()
	require.Equal(t, 1, p.client.world.Stats().Entities.Used)

	view := snapshot.NewView(p.store, snapshot.Config{})
	p.view, p.replica = view, replica.New(p.schema, snapshot.Config{}, p.tick)
	p.apply.Follow(p.replica)
	p.follow()
	p.server.position(all[3]).X++
	p.follow()
	require.Empty(t, p.client.kinds())
	p.apply.Follow(nil)
	p.apply.Run()
	p.apply.Clear()
	require.Equal(t, 1, p.client.world.Stats().Entities.Used)
	p.apply.Release()
	require.Zero(t, p.client.world.Stats().CachedFilters)
}

// An entity that is shown again and comes to lie in its former row is placed there: the bytes of its former life are not taken for it.
func TestEntityShownAgainInItsFormerRow(t *testing.T) {
	p, all := populated(t, 3)
	for _, e := range all {
		ecs.Exchange(p.server.world, e, []ecs.ID{p.server.seeker}, nil, nil) // names nobody
	}
	p.step()
	id, _ := p.capture.ID(all[1])
	p.view.Hide(id)
	p.step() // the third lies in the row of the second now
	ecs.Exchange(p.server.world, all[2], []ecs.ID{p.server.vel}, nil, nil)
	p.view.Show(id)
	p.step() // the third leaves that row, and the second comes there
	p.same()
	p.server.position(all[1]).X = 9
	p.follow()
	require.Empty(t, p.client.kinds())
	p.view.Hide(id)
	p.step()
	left := 0
	for range netecs.Entities(p.client.world) {
		left++
	}
	require.Equal(t, 2, left)
}

// Arche itself allocates when a relation gets another target, so the parents
// stay the same.

// family makes n bodies. Every second one names its neighbours, and every fourth
// is the child of another.
func family(t testing.TB, n int) (*pair, []ecs.Entity) {
	p, all := scene(t, n)
	s := p.server
	for i, e := range all {
		if i%2 == 0 {
			ecs.Exchange(s.world, e, []ecs.ID{s.seeker}, nil, nil)
			*get[seeker](s, e, s.seeker) = seeker{Target: all[(i+1)%n], Seen: [2]ecs.Entity{all[(i+n-1)%n]}}
		}
		if i%4 == 1 {
			ecs.Exchange(s.world, e, []ecs.ID{s.child}, nil, nil)
			ecs.SetTarget(s.world, e, s.child, all[i-1])
		}
	}
	p.follow()
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
