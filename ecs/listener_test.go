package netecs_test

import (
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/ecs/event"
	"github.com/mlange-42/arche/listener"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// A game's own listener works beside the capture, whichever was there first: it hears of what the game does and of
// nothing else, and the capture sees what the listener does to the world.
func TestCaptureBesideAListener(t *testing.T) {
	for _, before := range []bool{true, false} {
		s := newSide()
		events, busy := 0, false
		hear := func(w *ecs.World, e ecs.EntityEvent) {
			events++
			if busy || w.IsLocked() {
				return
			}
			busy = true
			defer func() { busy = false }()
			switch {
			case e.Contains(event.EntityCreated):
				if !w.Has(e.Entity, s.rep) {
					w.Add(e.Entity, s.rep)
				}
				w.NewEntity(s.rep, s.vel)
			case e.Contains(event.ComponentAdded) && !w.Has(e.Entity, s.seeker):
				w.Add(e.Entity, s.seeker)
				get[seeker](s, e.Entity, s.seeker).Target = w.NewEntity(s.rep, s.child)
			case e.Contains(event.ComponentRemoved):
				w.RemoveEntity(e.Entity)
			case e.Contains(event.TargetChanged):
				w.NewEntity(s.pos)
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
		e := s.world.NewEntity(s.pos) // replicates by the listener, which makes another
		check(2)
		s.world.Add(e, s.health)
		check(3)
		require.False(t, p.ref(e, rowSeeker, 0).IsZero())
		child := s.world.NewEntity(s.rep, s.child)
		check(5)
		p.tie(child, e)
		check(5)
		require.Equal(t, p.id(e), p.ref(child, rowChildOf, 0))
		s.world.Remove(e, s.pos) // the listener removes it
		check(4)
		require.Equal(t, wire.NetworkID{}, p.ref(child, rowChildOf, 0))
		s.world.RemoveEntity(child)
		check(3)
		require.Empty(t, s.kinds())
	}
}
