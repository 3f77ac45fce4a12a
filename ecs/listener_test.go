//go:build !netcode_ark

package netecs_test

import (
	"testing"

	arche "github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/ecs/event"
	"github.com/mlange-42/arche/listener"
	ark "github.com/mlange-42/ark/ecs"
	"github.com/stretchr/testify/require"

	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/wire"
)

// otherTie is a relation of Ark.
type otherTie struct{ ark.RelationMarker }

// hear counts the entities that a world gains and loses.
func hear(w *ecs.World, heard *int) {
	l := listener.NewCallback(func(*ecs.World, arche.EntityEvent) { *heard++ }, event.EntityCreated|event.EntityRemoved)
	w.SetListener(&l)
}

// TestListenerOfTheGameMayChangeTheWorld lets a listener add components to
// every new entity, remove one in three of them, and write what is not its own.
func TestListenerOfTheGameMayChangeTheWorld(t *testing.T) {
	p := newPair(t)
	c := p.client
	created, removed, added := 0, 0, 0
	l := listener.NewCallback(func(w *ecs.World, ev arche.EntityEvent) {
		switch {
		case ev.Contains(event.EntityRemoved):
			removed++
		case ev.Contains(event.EntityCreated):
			created++
			require.NotZero(t, c.replicated(ev.Entity).ID.Generation)
			ecs.Exchange(w, ev.Entity, []ecs.ID{c.local}, nil, nil)
			if ecs.Has(w, ev.Entity, c.pos) {
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
		shown, ok := p.apply.Entity(id)
		if !ok {
			continue
		}
		require.InDelta(t, i+2, c.position(shown).X, 0.002)
		require.Zero(t, c.position(shown).Y)
		require.True(t, ecs.Has(c.world, shown, c.local))
	}
	for _, k := range c.kinds() {
		require.Contains(t, []netecs.ProblemKind{netecs.LocallyRemovedEntity, netecs.LocalWriteRestored}, k)
	}
	for _, e := range all {
		p.server.world.RemoveEntity(e)
	}
	p.follow()
	require.Equal(t, 120, removed)
}

// TestListenerMayMeddleWithOthers removes other entities than the one it is
// told of, while apply is in the middle of its changes.
func TestListenerMayMeddleWithOthers(t *testing.T) {
	p, all := populated(t, 60)
	c := p.client
	victims := []ecs.Entity{p.atClient(all[0]), p.atClient(all[59]), p.atClient(all[31])}
	l := listener.NewCallback(func(w *ecs.World, ev arche.EntityEvent) {
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
			ecs.Exchange(p.server.world, e, []ecs.ID{p.server.vel}, nil, nil)
		}
	}
	p.step()
	p.step()
	for i, e := range all {
		id, _ := p.capture.ID(e)
		shown, ok := p.apply.Entity(id)
		require.Equal(t, !gone[id], ok, "%d", i)
		if ok {
			require.InDelta(t, 100+i, c.position(shown).X, 0.002)
			require.EqualValues(t, i, get[health](c, shown, c.health).HP)
		}
	}
	require.Equal(t, []netecs.ProblemKind{
		netecs.LocallyRemovedEntity, netecs.LocallyRemovedEntity, netecs.LocallyRemovedEntity,
	}, c.kinds())
}

func TestListenerSeesWrittenValues(t *testing.T) {
	p := newPair(t)
	var seen []float32
	l := listener.NewCallback(func(w *ecs.World, ev arche.EntityEvent) {
		seen = append(seen, p.client.position(ev.Entity).X)
	}, event.ComponentAdded)
	p.client.world.SetListener(&l)
	e := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos)
	p.server.position(e).X = 12
	p.step()
	p.server.position(e).X = 24
	ecs.Exchange(p.server.world, e, []ecs.ID{p.server.vel}, nil, nil)
	p.follow()
	require.InDeltaSlice(t, []float32{12, 24}, seen, 0.002)
}

// A game's own listener works beside the capture, whichever was there first: it hears of what the game does and of
// nothing else, and the capture sees what the listener does to the world.
func TestCaptureBesideAListener(t *testing.T) {
	for _, before := range []bool{true, false} {
		s := newSide()
		events, busy := 0, false
		hear := func(w *ecs.World, e arche.EntityEvent) {
			events++
			if busy || w.IsLocked() {
				return
			}
			busy = true
			defer func() { busy = false }()
			switch {
			case e.Contains(event.EntityCreated):
				if !ecs.Has(w, e.Entity, s.rep) {
					ecs.Exchange(w, e.Entity, []ecs.ID{s.rep}, nil, nil)
				}
				ecs.Spawn(w, nil, s.rep, s.vel)
			case e.Contains(event.ComponentAdded) && !ecs.Has(w, e.Entity, s.seeker):
				ecs.Exchange(w, e.Entity, []ecs.ID{s.seeker}, nil, nil)
				get[seeker](s, e.Entity, s.seeker).Target = ecs.Spawn(w, nil, s.rep, s.child)
			case e.Contains(event.ComponentRemoved):
				w.RemoveEntity(e.Entity)
			case e.Contains(event.TargetChanged):
				ecs.Spawn(w, nil, s.pos)
			}
		}
		l := listener.NewCallback(hear, event.All)
		if before {
			s.world.SetListener(&l)
		}
		p := newPairIn(t, newSchema(t), s)
		if !before {
			s.world.SetListener(&l)
		}
		check := func(living int) {
			heard := events
			p.step()
			require.Equal(t, heard, events, "the capture makes no noise")
			require.Equal(t, living, p.store.Len())
			p.same()
		}
		e := ecs.Spawn(s.world, nil, s.pos) // replicates by the listener, which makes another
		check(2)
		ecs.Exchange(s.world, e, []ecs.ID{s.health}, nil, nil)
		check(3)
		require.False(t, p.ref(e, rowSeeker, 0).IsZero())
		child := ecs.Spawn(s.world, nil, s.rep, s.child)
		check(5)
		p.tie(child, e)
		check(5)
		require.Equal(t, p.id(e), p.ref(child, rowChildOf, 0))
		ecs.Exchange(s.world, e, nil, []ecs.ID{s.pos}, nil) // the listener removes it
		check(4)
		require.Equal(t, wire.NetworkID{}, p.ref(child, rowChildOf, 0))
		s.world.RemoveEntity(child)
		check(3)
		require.Empty(t, s.kinds())
	}
}
