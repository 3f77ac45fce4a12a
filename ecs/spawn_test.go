package netecs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	ecs "github.com/arche-netcode/netcode/internal/world"
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
			e = ecs.Spawn(s.world, nil, s.rep, s.pos, s.seeker)
			if i > 0 {
				get[seeker](s, e, s.seeker).Target = all[i-3]
			}
		case 1, 2:
			e = ecs.Spawn(s.world, nil, s.rep, s.pos, s.child)
			ecs.SetTarget(s.world, e, s.child, all[i/2])
		default:
			e = ecs.Spawn(s.world, nil, s.rep, s.pos, s.frozen)
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
			hear(p.client.world, &heard)
		}
		s := p.server
		first := ecs.Spawn(s.world, nil, s.rep, s.pos)
		for i := range n {
			e := ecs.Spawn(s.world, nil, s.rep, s.pos, s.vel)
			s.position(e).X = float32(i % 500)
		}
		p.follow()
		require.Len(t, p.spawned, n+1)
		require.EqualValues(t, n+1, p.apply.Stats().Spawned)
		p.step()
		require.Empty(t, p.client.kinds())
		bodies := ecs.All(s.vel)
		filter := ecs.Register(s.world, bodies.Without())
		require.Equal(t, n, ecs.RemoveAll(s.world, &filter))
		p.follow()
		require.Len(t, p.departed, n)
		require.EqualValues(t, n, p.apply.Stats().Despawned)
		require.Equal(t, 1, p.client.world.Stats().Entities.Used)
		p.atClient(first)
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
	own := ecs.Spawn(c.world, nil, c.rep, c.pos, c.health) // in the same table, and not the server's
	kept := p.atClient(all[7])
	ecs.Exchange(c.world, kept, nil, []ecs.ID{c.rep}, nil)
	ecs.Exchange(c.world, kept, []ecs.ID{c.rep}, nil, nil) // back in the table, under the same id
	p.apply.Run()
	for _, e := range all {
		p.server.world.RemoveEntity(e)
	}
	p.follow()
	require.True(t, c.world.Alive(own))
	require.False(t, c.world.Alive(kept))
	require.Len(t, p.departed, 100)
}

// An id that was reserved names its entity before the Run that captures it, and after it, among thousands.
func TestReservedIDsNameTheirEntities(t *testing.T) {
	p := newPair(t)
	for range 3 {
		ids := map[wire.NetworkID]ecs.Entity{}
		for range 10_000 {
			e := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
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
