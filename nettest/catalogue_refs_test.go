package nettest_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
)

// aim is a component that names an entity.
type aim struct {
	At ecs.Entity `net:"entity"`
}

// aimed returns the target of a client's only aim: an entity of its world, or the zero entity.
func aimed(t *testing.T, c *nettest.Client) (at ecs.Entity, there bool) {
	t.Helper()
	query := generic.NewFilter1[aim]().Query(&c.World)
	for query.Next() {
		require.False(t, there, "one aim only")
		at, there = query.Get().At, true
	}
	if !at.IsZero() {
		require.True(t, c.World.Alive(at), "an aim is at a living entity or at nobody")
	}
	return at, there
}

// A component names an entity that the client may not see yet: it names nobody, then the entity when it is shown, nobody
// when it is hidden again, and nobody for ever when the target was never shown and died. The client that sees everything
// gets the reference before its target at times, and resolves it when that comes.
func TestCase30ReferenceBeforeSpawn(t *testing.T) {
	const shown, hidden, died, rest = 120, 240, 360, 420
	for seed := range uint64(sized(4, 40)) {
		p := protocol()
		netcode.Replicate[aim](p)
		var archer, target ecs.Entity
		var n *nettest.Net
		began := 1 << 30 // the frame in which both are connected
		targetID := func() netcode.NetworkID {
			id, _ := n.Server.Systems.ID(target)
			return id
		}
		n = nettest.New(t, nettest.Config{
			Protocol: p, Clients: 2, Seed: seed, Link: bad(.2), Server: netcode.Config{SendBudget: -1},
			Game: func(w *ecs.World, frame int) {
				archers, targets := generic.NewMap2[components.Replicated, aim](w), generic.NewMap2[components.Replicated, health](w)
				switch frame - began {
				case 1: // the archer first, so that its record comes before that of its target
					archer, target = archers.New(), targets.New()
					_, a := archers.Get(archer)
					a.At = target
				case shown:
					n.Server.Show(n.Clients[1].ID(), targetID())
				case hidden:
					n.Server.Hide(n.Clients[1].ID(), targetID())
				case died:
					w.RemoveEntity(target)
				}
			},
			Setup: func(s *systems.ServerSystems, _ *ecs.World) {
				s.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
					if e == target {
						require.True(t, s.Server.Hide(n.Clients[1].ID(), id))
					}
				})
			},
		})
		sees, half := n.Clients[0], n.Clients[1]
		require.True(t, n.RunUntil(5*time.Second, n.Connected))
		n.Run(time.Second)
		began = n.Frame()
		for frame := 1; frame <= rest; frame++ {
			n.Step()
			aimed(t, sees)
			if at, there := aimed(t, half); frame < shown {
				require.True(t, at.IsZero(), "seed %d, frame %d: it may not see whom it is at, there %v", seed, frame, there)
			}
			if frame == shown-1 || frame == hidden-1 || frame == died-1 {
				at, there := aimed(t, sees)
				require.True(t, there && !at.IsZero(), "seed %d, frame %d", seed, frame)
			}
		}
		n.AssertConverge()
		for _, c := range n.Clients {
			at, there := aimed(t, c)
			require.True(t, there && at.IsZero(), "seed %d: whom it was at is dead", seed)
			require.Equal(t, 1, c.Replica().Len())
		}
	}
}

// While it is shown, the client that may see the target at times resolves the reference to the very entity that the server
// means, at whatever loss.
func TestCase30ReferenceResolves(t *testing.T) {
	p := protocol()
	netcode.Replicate[aim](p)
	var archers, targets []ecs.Entity
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 30, Link: bad(.3), Server: netcode.Config{SendBudget: -1},
		Game: func(w *ecs.World, frame int) {
			walkers, aims := generic.NewMap2[components.Replicated, health](w), generic.NewMap2[components.Replicated, aim](w)
			if frame%5 == 0 && frame <= 200 { // each aims at one that is born two frames later
				archers = append(archers, aims.New())
			}
			if frame%5 == 2 && len(targets) < len(archers) {
				targets = append(targets, walkers.NewWith(&components.Replicated{}, &health{Points: int32(len(targets))}))
				_, a := aims.Get(archers[len(targets)-1])
				a.At = targets[len(targets)-1]
			}
		},
	})
	n.Run(4 * time.Second)
	n.AssertConverge()
	for _, c := range n.Clients {
		aims, healths := generic.NewMap[aim](&c.World), generic.NewMap[health](&c.World)
		for i, archer := range archers {
			id, known := n.Server.Systems.ID(archer)
			require.True(t, known)
			there, known := c.Systems.Entity(id)
			require.True(t, known)
			require.EqualValues(t, i, healths.Get(aims.Get(there).At).Points)
		}
	}
}
