package netecs_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// hang makes an entity of the store a child of another.
func (p *pair) hang(id, parent wire.NetworkID) {
	p.store.Set(id, rowChildOf, []uint32{1 << 31, parent.Index, parent.Generation})
}

// parent is the target of a client's entity.
func (p *pair) parent(id wire.NetworkID) ecs.Entity {
	return ecs.Target(p.client.world, p.local(id), p.client.child)
}

// spawnIDs are n entities of the store with a velocity.
func (p *pair) spawnIDs(n int) (ids []wire.NetworkID) {
	p.feed(func() {
		for range n {
			id := p.store.Spawn()
			p.store.Set(id, rowVelocity, []uint32{0, 0, 0})
			ids = append(ids, id)
		}
	})
	return ids
}

func TestLocalRetargetIsPutBack(t *testing.T) {
	p := newPair(t)
	ids := p.spawnIDs(3)
	p.feed(func() { p.hang(ids[0], ids[1]) })
	for range 2 {
		ecs.SetTarget(p.client.world, p.local(ids[0]), p.client.child, p.local(ids[2]))
		p.apply.Run()
		require.Equal(t, p.local(ids[1]), p.parent(ids[0]))
		require.Empty(t, changes(p), "nothing is new")
	}
	ecs.SetTarget(p.client.world, p.local(ids[0]), p.client.child, ecs.Entity{})
	p.feed(func() { p.hang(ids[0], ids[2]) })
	require.Equal(t, p.local(ids[2]), p.parent(ids[0]))
	require.Equal(t, map[wire.NetworkID]netecs.Change{ids[0]: {Rows: format.FromWords(1 << rowChildOf)}}, changes(p))
	require.Equal(t, []netecs.ProblemKind{netecs.LocalWriteRestored}, p.client.kinds())
	p.client.world.RemoveEntity(p.local(ids[2]))
	p.apply.Run()
	require.Zero(t, p.parent(ids[0]))
}

// wait lets ticks go by in which nothing happens but that an entity moves.
func (p *pair) wait(id wire.NetworkID, ticks tick.Tick) {
	for n := range ticks {
		p.feed(func() { p.store.Set(id, rowVelocity, []uint32{uint32(n), 0, 1}) })
	}
}

// A client that has one record of two that changed places knows of a circle that never was.
func TestACircleIsReportedWhenItIsOne(t *testing.T) {
	p := newPair(t)
	ids := p.spawnIDs(3)
	one, two, other := ids[0], ids[1], ids[2]
	p.feed(func() { p.hang(two, one) })
	for range 2 { // again and again is not for long
		p.feed(func() { p.hang(one, two) })
		p.wait(other, p.replica.Window()-2)
		require.Zero(t, p.parent(one))
		require.Zero(t, p.parent(two))
		p.feed(func() { p.hang(two, wire.NetworkID{}) })
		require.Equal(t, p.local(two), p.parent(one))
		p.feed(func() { p.hang(two, one) })
		p.wait(other, p.replica.Window()-2)
		p.feed(func() { p.hang(one, wire.NetworkID{}) })
		require.Equal(t, p.local(one), p.parent(two))
	}
	require.Empty(t, p.client.kinds())

	p.feed(func() { p.hang(one, two) })
	p.wait(other, p.replica.Window())
	require.Empty(t, p.client.kinds())
	p.wait(other, 2)
	require.Equal(t, []netecs.ProblemKind{netecs.RelationCycle, netecs.RelationCycle}, p.client.kinds(), "nothing else came")

	p.feed(func() { p.hang(one, wire.NetworkID{}) })
	p.feed(func() { p.hang(one, two) })
	require.Empty(t, p.client.kinds())
	p.feed(func() {
		p.store.Set(one, rowVelocity, []uint32{1, 0, 0})
		p.store.Set(two, rowVelocity, []uint32{1, 0, 0})
	})
	require.Equal(t, []netecs.ProblemKind{netecs.RelationCycle, netecs.RelationCycle}, p.client.kinds(), "both are as of one tick")

	p.feed(func() { p.hang(one, wire.NetworkID{}) })
	p.feed(func() { p.hang(one, two) })
	p.replica.MarkComplete(p.tick, p.tick+p.replica.Window()+2) // the server has nothing to say
	p.apply.Run()
	require.Len(t, p.client.kinds(), 2, "though nothing comes at all")
}

// TestForestsAgainstAModel draws any relations, circles too, and holds the
// client's against what each entity's way up says.
func TestForestsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPair(t)
		draw := func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(rt, label) }
		up := map[wire.NetworkID]wire.NetworkID{}
		var ids []wire.NetworkID
		for range 40 {
			p.feed(func() {
				for range 1 + draw(3, "changes") {
					switch k := draw(8, "action"); {
					case k == 0 || len(ids) < 2:
						id := p.store.Spawn()
						p.hang(id, wire.NetworkID{})
						ids, up[id] = append(ids, id), wire.NetworkID{}
					case k == 1:
						n := draw(len(ids), "despawn")
						p.store.Despawn(ids[n])
						delete(up, ids[n])
						ids = append(ids[:n], ids[n+1:]...)
					default:
						id, parent := ids[draw(len(ids), "child")], ids[draw(len(ids), "parent")]
						p.hang(id, parent)
						up[id] = parent
					}
				}
			})
			for _, id := range ids {
				want := up[id]
				seen := map[wire.NetworkID]bool{}
				for at := up[id]; !at.IsZero() && !seen[at]; at = up[at] {
					seen[at] = true
				}
				if _, there := up[want]; !there || seen[id] {
					want = wire.NetworkID{}
				}
				if got := p.parent(id); got != p.local(want) {
					rt.Fatalf("tick %d: %s hangs on %v, want %s", p.tick, id, got, want)
				}
			}
		}
	})
}

// An entity that game code took from the replication and gave back has no shadow. A target that came meanwhile
// is reported all the same.
func TestTargetThatCameBackIsAChange(t *testing.T) {
	p := newPair(t)
	ids := p.spawnIDs(3)
	p.feed(func() { p.hang(ids[0], ids[1]) })
	e := p.local(ids[0])
	ecs.Exchange(p.client.world, e, nil, []ecs.ID{p.client.rep}, nil)
	p.feed(func() { p.hang(ids[0], ids[2]) })
	ecs.Exchange(p.client.world, e, []ecs.ID{p.client.rep}, nil, nil)
	p.feed(func() { p.hang(ids[1], ids[2]) })
	require.Equal(t, p.local(ids[2]), p.parent(ids[0]))
	require.Equal(t, netecs.Change{Rows: format.FromWords(1 << rowChildOf)}, changes(p)[ids[0]])
}
