package netecs_test

import (
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/ecs/event"
	"github.com/mlange-42/arche/listener"
	"github.com/stretchr/testify/require"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/wire"
)

// crowd lets the server make n entities of three kinds, one of them with a
// relation, and the client hear of them in one run.
func crowd(p *pair, n int) (all []ecs.Entity) {
	s := p.server
	for i := range n {
		var e ecs.Entity
		switch i % 5 {
		case 0:
			e = s.world.NewEntity(s.rep, s.pos, s.seeker)
			if i > 0 {
				get[seeker](s, e, s.seeker).Target = all[i-3]
			}
		case 1, 2:
			e = s.world.NewEntity(s.rep, s.pos, s.child)
			s.world.Relations().Set(e, s.child, all[i/2])
		default:
			e = s.world.NewEntity(s.rep, s.pos, s.frozen)
		}
		s.position(e).X = float32(i % 500)
		all = append(all, e)
	}
	return all
}

func TestTenThousandSpawnsAndRemovalsInOneRun(t *testing.T) {
	const n = 10_000
	for _, listens := range []bool{false, true} {
		p := newPair(t)
		heard := 0
		if listens {
			l := listener.NewCallback(func(*ecs.World, ecs.EntityEvent) { heard++ }, event.EntityCreated|event.EntityRemoved)
			p.client.world.SetListener(&l)
		}
		s := p.server
		first := s.world.NewEntity(s.rep, s.pos)
		for i := range n {
			e := s.world.NewEntity(s.rep, s.pos, s.vel)
			s.position(e).X = float32(i % 500)
		}
		p.step()
		p.same()
		require.Len(t, p.spawned, n+1)
		require.EqualValues(t, n+1, p.apply.Stats().Spawned)
		p.step()
		require.Empty(t, p.client.kinds())
		bodies := ecs.All(s.vel)
		require.Equal(t, n, s.world.Batch().RemoveEntities(bodies))
		p.step()
		p.same()
		require.Len(t, p.departed, n)
		require.EqualValues(t, n, p.apply.Stats().Despawned)
		require.Equal(t, 1, p.client.world.Stats().Entities.Used)
		p.twin(first)
		p.step()
		require.Empty(t, p.client.kinds())
		if listens {
			require.Equal(t, 2*n+1, heard)
		}
	}
}

func TestRemovingAWholeTableSparesTheGames(t *testing.T) {
	p, all := populated(t, 100)
	c := p.client
	own := c.world.NewEntity(c.rep, c.pos, c.health) // in the same table, and not the server's
	kept := p.twin(all[7])
	c.world.Remove(kept, c.rep)
	c.world.Add(kept, c.rep) // back in the table, under the same id
	p.apply.Run()
	for _, e := range all {
		p.server.world.RemoveEntity(e)
	}
	p.step()
	p.same()
	require.True(t, c.world.Alive(own))
	require.False(t, c.world.Alive(kept))
	require.Len(t, p.departed, 100)
}

// TestListenerOfTheGameMayChangeTheWorld lets a listener add components to
// every new entity, remove one in three of them, and write what is not its own.
func TestListenerOfTheGameMayChangeTheWorld(t *testing.T) {
	p := newPair(t)
	c := p.client
	created, removed, added := 0, 0, 0
	l := listener.NewCallback(func(w *ecs.World, ev ecs.EntityEvent) {
		switch {
		case ev.Contains(event.EntityRemoved):
			removed++
		case ev.Contains(event.EntityCreated):
			created++
			require.NotZero(t, c.replicated(ev.Entity).ID.Generation)
			w.Add(ev.Entity, c.local)
			if w.Has(ev.Entity, c.pos) {
				c.position(ev.Entity).Y = 99
			}
			if created%3 == 0 {
				w.RemoveEntity(ev.Entity)
			}
		case ev.Contains(event.ComponentAdded):
			added++
		}
	}, event.All)
	c.world.SetListener(&l)
	all := crowd(p, 120)
	p.step()
	require.Equal(t, 120, created)
	require.Equal(t, 40, removed)
	require.Equal(t, 120, added)
	require.Len(t, p.spawned, 80)
	for round := range 3 {
		for i, e := range all {
			p.server.position(e).X = float32(i + round)
		}
		p.step()
	}
	for i, e := range all {
		id, _ := p.capture.ID(e)
		twin, ok := p.apply.Entity(id)
		if !ok {
			continue
		}
		require.InDelta(t, i+2, c.position(twin).X, 0.002)
		require.Zero(t, c.position(twin).Y)
		require.True(t, c.world.Has(twin, c.local))
	}
	for _, k := range c.kinds() {
		require.Contains(t, []netecs.ProblemKind{netecs.LocallyRemovedEntity, netecs.LocalWriteRestored}, k)
	}
	for _, e := range all {
		p.server.world.RemoveEntity(e)
	}
	p.step()
	p.same()
	require.Equal(t, 120, removed)
}

// TestListenerMayMeddleWithOthers removes other entities than the one it is
// told of, while apply is in the middle of its changes.
func TestListenerMayMeddleWithOthers(t *testing.T) {
	p, all := populated(t, 60)
	c := p.client
	victims := []ecs.Entity{p.twin(all[0]), p.twin(all[59]), p.twin(all[31])}
	l := listener.NewCallback(func(w *ecs.World, ev ecs.EntityEvent) {
		if len(victims) > 0 {
			victim := victims[0]
			victims = victims[1:]
			w.RemoveEntity(victim)
		}
	}, event.ComponentAdded)
	c.world.SetListener(&l)
	gone := map[wire.NetworkID]bool{}
	for _, i := range []int{0, 59, 31} {
		id, _ := p.capture.ID(all[i])
		gone[id] = true
	}
	for i, e := range all {
		p.server.position(e).X = float32(100 + i)
		if i%7 == 3 {
			p.server.world.Add(e, p.server.vel)
		}
	}
	p.step()
	p.step()
	for i, e := range all {
		id, _ := p.capture.ID(e)
		twin, ok := p.apply.Entity(id)
		require.Equal(t, !gone[id], ok, "%d", i)
		if ok {
			require.InDelta(t, 100+i, c.position(twin).X, 0.002)
			require.EqualValues(t, i, get[health](c, twin, c.health).HP)
		}
	}
	require.Equal(t, []netecs.ProblemKind{
		netecs.LocallyRemovedEntity, netecs.LocallyRemovedEntity, netecs.LocallyRemovedEntity,
	}, c.kinds())
}

// An id that was reserved names its entity before the Run that captures it, and after it, among thousands.
func TestReservedIDsNameTheirEntities(t *testing.T) {
	p := newPair(t)
	for range 3 {
		ids := map[wire.NetworkID]ecs.Entity{}
		for range 10_000 {
			e := p.server.world.NewEntity(p.server.rep, p.server.pos)
			id, ok := p.capture.Reserve(e)
			require.True(t, ok)
			found, ok := p.capture.Entity(id)
			require.True(t, ok)
			require.Equal(t, e, found)
			ids[id] = e
		}
		dead := 0
		for id, e := range ids {
			if dead++; dead <= 10 {
				p.server.world.RemoveEntity(e)
				_, ok := p.capture.Entity(id)
				require.False(t, ok)
				delete(ids, id)
			}
		}
		p.step()
		for id, e := range ids {
			found, ok := p.capture.Entity(id)
			require.True(t, ok)
			require.Equal(t, e, found)
			p.server.world.RemoveEntity(e)
		}
		p.step()
		for id := range ids {
			_, ok := p.capture.Entity(id)
			require.False(t, ok, "the id of an entity that is gone")
		}
	}
}
