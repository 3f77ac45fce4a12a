package netecs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/wire"
)

// ref is the n-th entity field of a component as the server's store has it.
func (p *pair) ref(e ecs.Entity, row, n int) wire.NetworkID {
	id, ok := p.capture.ID(e)
	require.True(p.t, ok)
	lanes, lane := p.store.Row(id, row), p.schema.Plan(row).Refs()[n]
	return wire.NetworkID{Index: lanes[lane], Generation: lanes[lane+1]}
}

// id is the network id of a replicated entity of the server.
func (p *pair) id(e ecs.Entity) wire.NetworkID {
	id, ok := p.capture.ID(e)
	require.True(p.t, ok)
	return id
}

// tie makes an entity a child of another.
func (p *pair) tie(child, parent ecs.Entity) {
	ecs.SetTarget(p.server.world, child, p.server.child, parent)
}

// Whatever stands in an entity field, nobody is asked who could panic.
func TestReferencesThatAreNone(t *testing.T) {
	p := newPair(t)
	s := p.server
	e := ecs.Spawn(s.world, nil, s.rep, s.seeker)
	for _, number := range []uint32{0, 1, 2, 70, 1 << 20, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		for _, generation := range []uint32{1, 2, 1<<32 - 1} {
			*get[[6]uint32](s, e, s.seeker) = [6]uint32{number, generation, number, generation - 1, number, generation}
			p.step()
			require.Zero(t, p.ref(e, rowSeeker, 0))
			want := wire.NetworkID{}
			if number == e.ID() && generation == 1 {
				want = p.id(e)
			}
			require.Equal(t, want, p.ref(e, rowSeeker, 1))
			p.same()
		}
	}
	require.Empty(t, s.kinds())
}

// Where one of two that change places is captured later, what is captured is a circle for a while, and what game code wrote is
// none: it is told of nothing, and of a circle of its own as ever.
func TestReferenceCircleThatIsCapturedLaterIsNotReported(t *testing.T) {
	p := newPair(t)
	s := p.server
	rate := ecs.ComponentID[components.Rate](s.world)
	a, b, c := ecs.Spawn(s.world, nil, s.rep, s.child, rate), ecs.Spawn(s.world, nil, s.rep, s.child), ecs.Spawn(s.world, nil, s.rep, s.child)
	get[components.Rate](s, a, rate).Every = 8
	p.tie(a, b)
	for range 8 {
		p.step()
	}
	require.Equal(t, p.id(b), p.ref(a, rowChildOf, 0))
	late := 0
	for range 9 {
		p.tie(a, c)
		p.tie(b, a)
		p.step()
		if p.ref(b, rowChildOf, 0).IsZero() {
			late++
		}
	}
	require.Positive(t, late, "the turn of one is later")
	require.Equal(t, p.id(c), p.ref(a, rowChildOf, 0))
	require.Equal(t, p.id(a), p.ref(b, rowChildOf, 0))
	require.Empty(t, s.problems)
	p.same()
	p.tie(c, b)
	p.step()
	require.Len(t, s.problems, 3)
}

// The next entity at an index has nothing of the one before: neither its relation nor its owner by component.
func TestNothingIsInherited(t *testing.T) {
	p := newPair(t)
	s, c := p.server, controlsOf(p.server)
	a, old := ecs.Spawn(s.world, nil, s.rep, s.child), ecs.Spawn(s.world, nil, s.rep, s.child, c.owner)
	get[components.Owner](s, old, c.owner).Client = 4
	p.tie(old, a)
	p.step()
	id := p.id(old)
	s.world.RemoveEntity(old)
	p.step()
	next := ecs.Spawn(s.world, nil, s.rep)
	p.tie(a, next)
	p.step()
	require.Equal(t, id.Index, p.id(next).Index)
	require.Equal(t, p.id(next), p.ref(a, rowChildOf, 0), "no circle")
	p.same()
	p.store.SetOwner(p.id(next), 8)
	ecs.Exchange(s.world, next, []ecs.ID{s.pos}, nil, nil)
	p.step()
	require.EqualValues(t, 8, p.store.Owner(p.id(next)))
	require.Empty(t, s.kinds())
}

// referring is a scene with entity fields, relations and groups.
func referring(t testing.TB, n int) (*pair, []ecs.Entity) {
	p := newPair(t)
	s := p.server
	var all []ecs.Entity
	for i := range n {
		e := ecs.Spawn(s.world, nil, s.rep, s.seeker, s.pos)
		if i%4 == 3 {
			ecs.Exchange(s.world, e, []ecs.ID{s.child}, nil, nil)
			p.tie(e, all[i-1])
		}
		all = append(all, e)
	}
	for i, e := range all {
		get[seeker](s, e, s.seeker).Target = all[i*7%n]
	}
	p.tick++
	p.capture.Run(p.tick)
	return p, all
}

func TestCaptureOfReferencesAllocatesNothing(t *testing.T) {
	p, all := referring(t, 1000)
	s, i := p.server, 0
	w := s.world
	change := func() {
		i++
		get[seeker](s, all[i*3%1000], s.seeker).Target = all[i*11%1000]
		get[seeker](s, all[i*5%1000], s.seeker).Doubt++
		child := all[i%250*4+3]
		p.tie(child, all[(i*13+i/250)%1000])
		if e := all[i*17%1000/2*4%1000]; ecs.Has(w, e, s.rep) { // leaves, and everyone that names it changes
			ecs.Exchange(w, e, nil, []ecs.ID{s.rep}, nil)
		} else {
			ecs.Exchange(w, e, []ecs.ID{s.rep}, nil, nil)
		}
		p.tick++
	}
	run := func() { p.capture.Run(p.tick) }
	for range 3000 {
		change()
		run()
	}
	allocs := alloctest.Start(t)
	for range 200 {
		change()
		allocs.Count(run)
		require.Positive(t, p.store.Changed())
	}
	allocs.Zero()
	allocs.Stop()
	alloctest.Zero(t, 100, func() { p.tick++; run() })
	require.Zero(t, p.store.Changed())
}

// feed plays a tick in which the test writes the store itself, as any server
// may.
func (p *pair) feed(change func()) {
	p.tick++
	p.store.Begin(p.tick)
	change()
	p.store.Commit()
	p.deliver()
	p.apply.Run()
}

// lanesOf are the lanes of a seeker of these entities.
func lanesOf(target, first, second wire.NetworkID) []uint32 {
	return []uint32{
		target.Index, target.Generation, first.Index, first.Generation, second.Index, second.Generation, 7,
	}
}

// local is the client's entity of an id, zero when there is none.
func (p *pair) local(id wire.NetworkID) ecs.Entity {
	e, _ := p.apply.Entity(id)
	return e
}

// sought is a client's seeker.
func (p *pair) sought(id wire.NetworkID) *seeker {
	return get[seeker](p.client, p.local(id), p.client.seeker)
}

func TestOverwrittenEntityFieldIsRestored(t *testing.T) {
	p := newPair(t)
	var a, b wire.NetworkID
	p.feed(func() {
		a, b = p.store.Spawn(), p.store.Spawn()
		p.store.Set(b, rowVelocity, []uint32{0, 0, 0})
		p.store.Set(a, rowSeeker, lanesOf(b, wire.NetworkID{}, b))
	})
	p.sought(a).Target = ecs.Spawn(p.client.world, nil)
	p.sought(a).Seen[0] = p.local(a)
	p.apply.Run()
	require.Equal(t, seeker{Target: p.local(b), Seen: [2]ecs.Entity{{}, p.local(b)}, Doubt: 7}, *p.sought(a))
	require.Equal(t, []netecs.ProblemKind{netecs.LocalWriteRestored}, p.client.kinds())
	p.same()
}
