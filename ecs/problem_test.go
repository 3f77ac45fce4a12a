package netecs_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

func TestProblemsReadAsSentences(t *testing.T) {
	id := wire.NetworkID{Index: 12, Generation: 3}
	w := ecs.New()
	local := ecs.Spawn(w, nil)
	for want, p := range map[string]netecs.Problem{
		"Velocity.Linear.X of entity 12v3 is not a finite number: the last good value is kept": {
			Kind: netecs.NotFinite, Entity: id, Local: local, Component: "Velocity", Field: "Linear.X"},
		"Velocity of entity 12v3 was removed on this client: it stays away": {
			Kind: netecs.LocallyRemovedComponent, Entity: id, Component: "Velocity"},
		"Velocity of entity 12v3 was written on a client without authority: the server's value is put back; if steps of a simulation write it, " +
			"call predict.Register for it; if this client is to write it, register it with authority.WrittenBy; then only the entity's owner (OwnerWrites), or the client that the server names (NamedWrites), may write it": {
			Kind: netecs.LocalWriteRestored, Entity: id, Component: "Velocity"},
		"entity 12v3 had its Replicated overwritten: it is put back": {
			Kind: netecs.OverwrittenReplicated, Entity: id},
		fmt.Sprintf("local entity %d.0 has a Replicated of another server or client: it is left alone", local.ID()): {
			Kind: netecs.ForeignReplicated, Local: local},
		"the world was reset: replication starts again": {Kind: netecs.WorldReset},
	} {
		require.Equal(t, want, p.Error())
	}
	seen := map[string]bool{}
	for k := netecs.NotFinite; k <= netecs.LocalReplicated; k++ {
		text := netecs.Problem{Kind: k}.String()
		require.NotContains(t, text, "unknown")
		seen[text] = true
	}
	require.GreaterOrEqual(t, len(seen), int(netecs.LocalReplicated)-1) // two share their words
	require.Contains(t, netecs.Problem{}.String(), "unknown")
}

func TestFullStoreIsTriedAgain(t *testing.T) {
	const extra = 3
	s, schema := newSide(), newSchema(t)
	store := snapshot.NewStore(schema, snapshot.Config{})
	c := netecs.NewCapture(s.world, store, schema, serverTag, s.report)
	for range snapshot.MaxEntities + extra {
		ecs.Spawn(s.world, nil, s.rep)
	}
	c.Run(1)
	c.Run(2)
	require.Equal(t, snapshot.MaxEntities, store.Len())
	require.Equal(t, []netecs.ProblemKind{netecs.StoreFull}, s.kinds())

	query := ecs.Select(s.world, &having{s.rep})
	var remove []ecs.Entity
	for i := range 2 * extra {
		remove = append(remove, query.EntityAt(i*1000))
	}
	last := query.EntityAt(query.Count() - 1)
	query.Close()
	for _, e := range remove {
		s.world.RemoveEntity(e)
	}
	c.Run(3) // frees the ids
	c.Run(4)
	require.Equal(t, snapshot.MaxEntities-extra, store.Len())
	id, ok := c.ID(last)
	require.True(t, ok)
	require.Equal(t, components.Replicated{ID: id, World: serverTag}, *s.replicated(last))
}

// having is a filter for one component.
type having struct{ id ecs.ID }

func (f *having) Matches(mask *ecs.Mask) bool { return mask.Get(f.id) }

// A value out of its range is told with the value and the bounds, a full store with its limit.
func TestProblemsTellTheNumbers(t *testing.T) {
	p := newPair(t)
	e := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
	p.server.position(e).X = 1000.5
	p.step()
	require.Len(t, p.server.problems, 1)
	require.Contains(t, p.server.problems[0].Error(), " is out of range (1000.5, and its tag allows -512 to 512): the nearest value in range is sent")

	s := newSide()
	store := snapshot.NewStore(newSchema(t), snapshot.Config{MaxEntities: 10})
	c := netecs.NewCapture(s.world, store, store.Schema(), serverTag, s.report)
	for range 11 {
		ecs.Spawn(s.world, nil, s.rep)
	}
	c.Run(1)
	require.Len(t, s.problems, 1)
	require.Contains(t, s.problems[0].Error(),
		" is not replicated: as many entities are alive as Config.MaxEntities allows (10): raise it on the server and the clients, or remove entities")
}

// A Replicated that game code gives to an entity of a client is told: no server learns of it. Where a server captures the same world it
// is that server's.
func TestAReplicatedMadeOnAClientIsTold(t *testing.T) {
	p := newPair(t)
	ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
	p.step()
	var made []ecs.Entity
	for range 2 {
		made = append(made, ecs.Spawn(p.client.world, nil, p.client.rep, p.client.pos))
	}
	for range 3 {
		p.step()
	}
	require.Len(t, p.client.problems, 2)
	for i, e := range made {
		require.Equal(t, netecs.Problem{Kind: netecs.LocalReplicated, Local: e}, p.client.problems[i])
		require.Equal(t, components.Replicated{}, *p.client.replicated(e))
	}
	require.Contains(t, p.client.kinds(), netecs.LocalReplicated)

	const ownTag uint32 = 0xF00D
	store := snapshot.NewStore(p.schema, snapshot.Config{})
	own := netecs.NewCapture(p.client.world, store, p.schema, ownTag, p.client.report)
	ecs.Spawn(p.client.world, nil, p.client.rep, p.client.pos)
	p.step()
	require.Empty(t, p.client.kinds(), "the server of this world will take it")
	own.Release()
	ecs.Spawn(p.client.world, nil, p.client.rep, p.client.pos)
	p.step()
	require.Equal(t, []netecs.ProblemKind{netecs.LocalReplicated, netecs.LocalReplicated}, p.client.kinds())
}

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
	e := ecs.Spawn(s.world, nil, s.pos, s.health)
	ecs.Spawn(s.world, nil, s.pos, s.health)
	ecs.Spawn(s.world, nil, s.local)             // nothing of it is replicated
	ecs.Spawn(s.world, nil, s.rep, s.pos, s.vel) // it is replicated
	p.steps(31)
	require.Empty(t, s.problems)
	p.steps(33)
	require.Equal(t, []netecs.Problem{{Kind: netecs.Unreplicated, Local: e, Detail: "health, position"}}, s.problems)
	require.Contains(t, s.problems[0].Error(),
		"has replicated components (health, position) and no components.Replicated, so no client gets it: add components.Replicated{} to it")
	p.steps(200)
	require.Len(t, s.problems, 1)
	other := ecs.Spawn(s.world, nil, s.pos, s.local)
	p.steps(64)
	require.Len(t, s.problems, 2)
	require.Equal(t, other, s.problems[1].Local)
}

// Entities that are replicated a moment later, and such as live for a moment only, are not told of.
func TestUnreplicatedForAMomentIsNotTold(t *testing.T) {
	p := newPair(t)
	s := p.server
	for range 10 {
		late, brief := ecs.Spawn(s.world, nil, s.pos), ecs.Spawn(s.world, nil, s.vel)
		p.steps(20)
		ecs.Exchange(s.world, late, []ecs.ID{s.rep}, nil, nil)
		s.world.RemoveEntity(brief)
		p.steps(3)
	}
	require.Empty(t, s.problems)
}

func TestLocalOnlyIsNotTold(t *testing.T) {
	p := newPair(t)
	s := p.server
	ecs.Spawn(s.world, nil, s.pos, ecs.ComponentID[components.LocalOnly](s.world))
	p.steps(200)
	require.Empty(t, s.problems)
	e := ecs.Spawn(s.world, nil, s.pos)
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
		ecs.Spawn(s.world, nil, of...)
	}
	p.steps(200)
	require.Len(t, s.problems, 16)
}

// A reset of the world forgets the entities of the look before: their handles name none of the new world.
func TestUnreplicatedAcrossAReset(t *testing.T) {
	p := newPair(t)
	s := p.server
	for range 100 {
		ecs.Spawn(s.world, nil, s.pos)
	}
	p.steps(32)
	s.world.Reset()
	p.steps(1)
	s.kinds()
	e := ecs.Spawn(s.world, nil, s.pos)
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
		ecs.Spawn(s.world, nil, s.pos)
		ecs.Spawn(s.world, nil, s.rep, s.pos)
	}
	p.steps(100)
	next := p.tick
	alloctest.Zero(t, 200, func() {
		next++
		p.capture.Run(next)
	})
}
