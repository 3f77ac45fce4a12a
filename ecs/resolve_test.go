package netecs_test

import (
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/wire"
)

// feed is a tick of which the test writes the store itself: a server that may
// be any.
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

func TestEntityFieldsAreResolvedNowAndLater(t *testing.T) {
	p := newPair(t)
	var a, b, c, d wire.NetworkID
	p.feed(func() {
		a, b = p.store.Spawn(), p.store.Spawn()
		p.store.Set(a, rowSeeker, lanesOf(b, a, wire.NetworkID{}))
		p.store.Set(b, rowSeeker, lanesOf(a, b, wire.NetworkID{}))
	})
	require.Equal(t, seeker{Target: p.local(b), Seen: [2]ecs.Entity{p.local(a)}, Doubt: 7}, *p.sought(a), "one that comes later in the same run")
	require.Equal(t, p.local(a), p.sought(b).Target)
	p.same()

	p.tick++ // c and d are spawned, d is hidden
	p.store.Begin(p.tick)
	c, d = p.store.Spawn(), p.store.Spawn()
	p.store.Set(c, rowVelocity, []uint32{0, 0, 0})
	p.store.Set(d, rowVelocity, []uint32{0, 0, 0})
	p.store.Set(a, rowSeeker, lanesOf(d, c, b))
	p.store.Commit()
	p.view.Observe()
	p.view.Hide(d)
	p.deliver()
	p.apply.Run()
	require.Equal(t, seeker{Seen: [2]ecs.Entity{p.local(c), p.local(b)}, Doubt: 7}, *p.sought(a))
	p.view.Show(d)
	p.feed(func() {})
	require.Equal(t, p.local(d), p.sought(a).Target)
	require.False(t, p.sought(a).Target.IsZero())
	p.view.Hide(d)
	p.feed(func() {})
	require.Zero(t, p.sought(a).Target)
	p.feed(func() { p.store.Despawn(c) })
	require.Zero(t, p.sought(a).Seen[0])
	require.Equal(t, p.local(b), p.sought(a).Seen[1])
	require.Empty(t, p.client.kinds())
}

func TestEntityFieldFollowsTheLivesOfItsTarget(t *testing.T) {
	p := newPair(t)
	var a, b wire.NetworkID
	p.feed(func() {
		a, b = p.store.Spawn(), p.store.Spawn()
		p.store.Set(b, rowVelocity, []uint32{0, 0, 0})
		p.store.Set(a, rowSeeker, lanesOf(b, b, b))
	})
	p.client.world.RemoveEntity(p.local(b)) // game code on the client
	p.apply.Run()
	require.Equal(t, seeker{Doubt: 7}, *p.sought(a))
	require.Equal(t, []netecs.ProblemKind{netecs.LocallyRemovedEntity}, p.client.kinds())
	p.feed(func() { p.store.Despawn(b) })
	require.Equal(t, seeker{Doubt: 7}, *p.sought(a))
	var c wire.NetworkID
	p.feed(func() {
		c = p.store.Spawn()
		p.store.Set(c, rowVelocity, []uint32{0, 0, 0})
		p.store.Set(a, rowSeeker, lanesOf(c, wire.NetworkID{}, c))
	})
	require.Equal(t, seeker{Target: p.local(c), Seen: [2]ecs.Entity{{}, p.local(c)}, Doubt: 7}, *p.sought(a))
	p.same()
}

func TestOverwrittenEntityFieldIsRestored(t *testing.T) {
	p := newPair(t)
	var a, b wire.NetworkID
	p.feed(func() {
		a, b = p.store.Spawn(), p.store.Spawn()
		p.store.Set(b, rowVelocity, []uint32{0, 0, 0})
		p.store.Set(a, rowSeeker, lanesOf(b, wire.NetworkID{}, b))
	})
	p.sought(a).Target = p.client.world.NewEntity()
	p.sought(a).Seen[0] = p.local(a)
	p.apply.Run()
	require.Equal(t, seeker{Target: p.local(b), Seen: [2]ecs.Entity{{}, p.local(b)}, Doubt: 7}, *p.sought(a))
	require.Equal(t, []netecs.ProblemKind{netecs.LocalWriteRestored}, p.client.kinds())
	p.same()
}

func TestReferringRowsMayComeAndGo(t *testing.T) {
	p := newPair(t)
	var a, b, c wire.NetworkID
	p.feed(func() {
		a, b, c = p.store.Spawn(), p.store.Spawn(), p.store.Spawn()
		p.store.Set(a, rowSeeker, lanesOf(b, c, a))
		p.store.Set(c, rowSeeker, lanesOf(b, b, b))
	})
	p.feed(func() { p.store.Remove(a, rowSeeker) })
	p.feed(func() { p.store.Despawn(c) })
	p.feed(func() { p.store.Despawn(b) })
	p.same()
	resolved := p.apply.Stats().Resolved
	p.feed(func() { b = p.store.Spawn() })
	require.Equal(t, resolved, p.apply.Stats().Resolved, "nothing waited for the new entity")
	p.feed(func() { p.store.Set(a, rowSeeker, lanesOf(b, b, a)) })
	p.same()
	require.Equal(t, p.local(b), p.sought(a).Seen[0])
}

func TestResetResolvesAgain(t *testing.T) {
	p := newPair(t)
	var a, b wire.NetworkID
	p.feed(func() {
		a, b = p.store.Spawn(), p.store.Spawn()
		p.store.Set(a, rowSeeker, lanesOf(b, a, wire.NetworkID{}))
		p.store.Set(b, rowChildOf, []uint32{1 << 31, a.Index, a.Generation})
	})
	p.client.world.Reset()
	p.client.world.NewEntity() // other handles than before
	p.apply.Run()
	require.Equal(t, p.local(b), p.sought(a).Target)
	require.Equal(t, p.local(a), p.client.world.Relations().Get(p.local(b), p.client.child))
	require.Equal(t, []netecs.ProblemKind{netecs.WorldReset}, p.client.kinds())
	p.same()
}
