package nettest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
)

// sceneSprite is local to a client: what its level file gave an entity.
type sceneSprite struct{ N int }

// scened is a client that has loaded the level.
type scened struct {
	n        *nettest.Net
	loaded   map[uint32]ecs.Entity // by SceneID, as the client made them
	problems []netecs.Problem      // of the client
	faults   []netecs.Problem      // of the server
	spawned  []netcode.NetworkID   // that OnSpawn was told
	of       map[uint32]ecs.Entity // by SceneID, at the server
}

func newScened(t *testing.T, server, client []uint32) *scened {
	s := &scened{loaded: map[uint32]ecs.Entity{}, of: map[uint32]ecs.Entity{}}
	p := protocol()
	netcode.Replicate[components.SceneID](p)
	note := func(list *[]netecs.Problem) func(error) {
		return func(err error) {
			var problem netecs.Problem
			if errors.As(err, &problem) {
				*list = append(*list, problem)
			}
		}
	}
	s.n = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 7,
		Setup: func(group *systems.ServerSystems, w *ecs.World) {
			group.Server.OnError(note(&s.faults))
			build := generic.NewMap3[components.Replicated, components.SceneID, position](w)
			for i, number := range server {
				s.of[number] = build.NewWith(&components.Replicated{}, &components.SceneID{ID: number}, &position{X: float32(10 + i)})
			}
		},
		SetupClient: func(_ int, group *systems.ClientSystems, w *ecs.World) {
			group.Client.OnError(note(&s.problems))
			group.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) { s.spawned = append(s.spawned, id) })
			build := generic.NewMap2[components.SceneID, sceneSprite](w)
			for i, number := range client {
				e := build.NewWith(&components.SceneID{ID: number}, &sceneSprite{i})
				if _, twice := s.loaded[number]; !twice {
					s.loaded[number] = e
				}
			}
		},
	})
	s.n.Run(time.Second)
	return s
}

// here returns the client's entity of one of the server's.
func (s *scened) here(number uint32) (ecs.Entity, bool) {
	id, _ := s.n.Server.Systems.ID(s.of[number])
	return s.n.Clients[0].Systems.Entity(id)
}

func (s *scened) sprite(e ecs.Entity) bool {
	w := s.n.Clients[0].World
	return ecs.Has(w, e, ecs.ComponentID[sceneSprite](w))
}

// TestSceneEntitiesBecomeTheServers matches a level that both ends have loaded.
func TestSceneEntitiesBecomeTheServers(t *testing.T) {
	s := newScened(t, []uint32{1, 2, 4, 0}, []uint32{3, 2, 1, 0})
	s.n.AssertConverge()
	w := s.n.Clients[0].World
	positions := generic.NewMap1[position](w)
	for i, number := range []uint32{1, 2} {
		e, ok := s.here(number)
		require.True(t, ok)
		require.Equal(t, s.loaded[number], e, "it is the entity that was there")
		require.True(t, s.sprite(e))
		require.Equal(t, float32(10+i), positions.Get(e).X)
	}
	for _, number := range []uint32{0, 3} {
		require.True(t, w.Alive(s.loaded[number]), "one that the server lacks stays local")
		require.False(t, ecs.Has(w, s.loaded[number], ecs.ComponentID[components.Replicated](w)))
	}
	fresh, ok := s.here(4)
	require.True(t, ok)
	require.False(t, s.sprite(fresh), "one that the client lacks is made")
	require.Len(t, s.spawned, 2, "OnSpawn is told of those that are new: 4 and 0")
	require.Empty(t, s.problems)
	require.Empty(t, s.faults)
}

// TestSceneDuplicates reports two entities with one number, on either side, once.
func TestSceneDuplicates(t *testing.T) {
	s := newScened(t, []uint32{1, 1, 2}, []uint32{1, 1, 2, 2})
	s.n.AssertConverge()
	require.Len(t, s.faults, 1)
	require.Equal(t, netecs.DuplicateSceneID, s.faults[0].Kind)
	require.ErrorContains(t, s.faults[0], "give each its own number")
	require.Len(t, s.problems, 2)
	for _, p := range s.problems {
		require.Equal(t, netecs.DuplicateSceneID, p.Kind)
	}
	e, ok := s.here(2)
	require.True(t, ok)
	require.Equal(t, s.loaded[2], e, "the older one")
	require.Len(t, s.spawned, 1, "the server's second one is new")
	s.n.Run(time.Second)
	require.Len(t, s.problems, 2)
	require.Len(t, s.faults, 1)
}

// TestSceneDespawnAndHide treats an entity that was matched like any other.
func TestSceneDespawnAndHide(t *testing.T) {
	s := newScened(t, []uint32{1, 2}, []uint32{1, 2})
	w := s.n.Clients[0].World
	s.n.Server.World.RemoveEntity(s.of[1])
	id, _ := s.n.Server.Systems.ID(s.of[2])
	require.True(t, s.n.Server.Hide(1, id))
	s.n.Run(time.Second)
	require.False(t, w.Alive(s.loaded[1]))
	require.False(t, w.Alive(s.loaded[2]))
	require.True(t, s.n.Server.Show(1, id))
	s.n.Run(time.Second)
	e, ok := s.here(2)
	require.True(t, ok)
	require.False(t, s.sprite(e), "it comes back as a new one")
	require.Equal(t, []netcode.NetworkID{id}, s.spawned)
	s.n.AssertConverge()
}

// TestSceneReconnect keeps the level when a connection ends, and matches it anew.
func TestSceneReconnect(t *testing.T) {
	s := newScened(t, []uint32{1, 2, 4}, []uint32{1, 2, 3})
	c, w := s.n.Clients[0], s.n.Clients[0].World
	for range 3 {
		spawned := len(s.spawned)
		c.Close()
		require.True(t, s.n.RunUntil(5*time.Second, func() bool { return c.State() == netcode.Disconnected }))
		require.NoError(t, c.Connect(s.n.Address()))
		require.True(t, s.n.RunUntil(5*time.Second, func() bool { _, ok := s.here(2); return ok }))
		s.n.AssertConverge()
		for _, number := range []uint32{1, 2} {
			e, ok := s.here(number)
			require.True(t, ok)
			require.Equal(t, s.loaded[number], e)
			require.True(t, s.sprite(e))
		}
		require.True(t, w.Alive(s.loaded[3]))
		require.Len(t, s.spawned, spawned+1, "only number 4 is new")
	}
	require.Empty(t, s.problems)
}
