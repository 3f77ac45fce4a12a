package guide_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// The code between the marks is that of prediction.md.

// begin guide
type Armour struct{ Points uint8 } // not predicted: the server alone decides about hits

type Wreck struct { // predicted: a tank that was destroyed, until it returns
	X, Y  float32 `net:"min=-512,max=512,step=0.001"`
	Ticks uint16
}

type Countdown struct { // predicted by all clients: its entity has components.Predicted{}
	Fight bool
	Ticks uint16 // left of the phase
}

func fought(p *netcode.Protocol) { // on both sides
	netcode.Replicate[Armour](p)
	netcode.Replicate[Wreck](p)
	netcode.Replicate[Countdown](p)
	netcode.Replicate[components.Predicted](p)
	netcode.Replicate[components.Teleport](p)
	predict.Register[Wreck](p)
	predict.Register[Countdown](p)
	predict.Register[components.Teleport](p)
}

func fight(s *predict.Step) { // the last system, after move and the gun
	match := generic.NewFilter2[components.Simulate, Countdown]()
	going := false
	for query := match.Query(s.World); query.Next(); {
		_, m := query.Get()
		if m.Ticks--; m.Ticks == 0 { // the same tick on all ends: no message, and no waiting for one
			m.Fight, m.Ticks = !m.Fight, 600
		}
		going = m.Fight
	}
	if s.OnServer() && going {
		hit(s)
	}
	revive(s)
}

func hit(s *predict.Step) { // at the server: it knows all tanks as of this tick
	shells := generic.NewFilter3[components.SpawnOf, components.Owner, Body]()
	tanks := generic.NewFilter3[Armour, components.Owner, Body]().Without(generic.T[Wreck]())
	var spent, lost []ecs.Entity // a query locks the world
	for shell := shells.Query(s.World); shell.Next(); {
		_, shooter, from := shell.Get()
		for tank := tanks.Query(s.World); tank.Next(); {
			armour, owner, at := tank.Get()
			if x, y := at.X-from.X, at.Y-from.Y; owner.Client == shooter.Client || x*x+y*y > 1 {
				continue
			}
			spent = append(spent, shell.Entity())
			if armour.Points -= min(armour.Points, 40); armour.Points == 0 {
				lost = append(lost, tank.Entity())
			}
		}
	}
	bodies, wrecks := generic.NewMap1[Body](s.World), generic.NewMap1[Wreck](s.World)
	for _, shell := range spent {
		s.Despawn(shell)
	}
	for _, tank := range lost { // its player learns it half a round trip later, by a misprediction, and replays
		if at := bodies.Get(tank); wrecks.Get(tank) == nil {
			wrecks.Assign(tank, &Wreck{X: at.X, Y: at.Y, Ticks: 180})
		}
	}
}

func revive(s *predict.Step) { // on both sides: a player predicts its own return
	query := generic.NewFilter5[components.Simulate, Wreck, Body, Pace, components.Teleport]().Query(s.World)
	var back []ecs.Entity
	for query.Next() {
		_, wreck, at, pace, jumps := query.Get()
		*at, *pace = Body{wreck.X, wreck.Y}, Pace{} // it stays, whatever move did
		if wreck.Ticks--; wreck.Ticks == 0 {
			*at = Body{} // the place where tanks begin
			jumps.Count++
			back = append(back, query.Entity())
		}
	}
	wrecks, armour := generic.NewMap1[Wreck](s.World), generic.NewMap1[Armour](s.World)
	for _, tank := range back {
		wrecks.Remove(tank)
		if s.OnServer() {
			armour.Get(tank).Points = 100
		}
	}
}

// end guide

// A tank shoots another one, which is destroyed, stays where it is and returns; the phases of the match are the same at all
// ends. The other tank predicts its return: only the hits are mispredicted.
func TestGuideFight(t *testing.T) {
	p := netcode.NewProtocol()
	predicted(p)
	fought(p)
	predict.Spawns(p)
	predict.Local[Reload](p)
	var tanks []ecs.Entity
	var world *ecs.World
	sims, worlds := map[int]*predict.Simulation{}, map[int]*ecs.World{}
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 2, Link: transport.Link{Delay: 150 * time.Millisecond, Loss: .1}, Server: netcode.Config{TickRate: 60},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			world = w
			predict.Simulate(s, predict.Config{}, predict.Func(move), &gun{}, predict.Func(fight))
			matches := generic.NewMap3[components.Replicated, components.Predicted, Countdown](w)
			matches.NewWith(&components.Replicated{}, &components.Predicted{}, &Countdown{Ticks: 300})
			tank := generic.NewMap6[components.Replicated, components.Owner, Body, Pace, Armour, components.Teleport](w)
			s.Server.OnConnect(func(id netcode.ClientID) {
				tanks = append(tanks, tank.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &Body{X: float32(20 * len(tanks))}, &Pace{}, &Armour{100}, &components.Teleport{}))
			})
		},
		SetupClient: func(i int, c *systems.ClientSystems, w *ecs.World) {
			worlds[i] = w
			sims[i] = join(c, func() Stick { return Stick{Y: .1, Fire: true} }, predict.Func(move), &gun{}, predict.Func(fight))
		},
	})
	var destroyed, returned bool
	wreck := ecs.ComponentID[Wreck](world)
	for range 20 * 60 {
		n.Step()
		if len(tanks) == 2 {
			now := ecs.Has(world, tanks[1], wreck)
			returned = returned || destroyed && !now
			destroyed = destroyed || now
		}
	}
	require.True(t, destroyed)
	require.True(t, returned)
	matches := func(w *ecs.World) (m Countdown) {
		for query := generic.NewFilter1[Countdown]().Query(w); query.Next(); {
			m = *query.Get()
		}
		return m
	}
	for i, sim := range sims {
		require.Equal(t, matches(world).Fight, matches(worlds[i]).Fight)
		require.LessOrEqual(t, sim.Stats().Mispredictions, uint64(3))
	}
}
