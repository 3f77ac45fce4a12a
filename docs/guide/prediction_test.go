package guide_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// The page prediction.md shows the text between the marks.

// begin guide
type Body struct {
	X, Y float32 `net:"min=-512,max=512,step=0.001"`
}

type Pace struct {
	X, Y float32 `net:"min=-64,max=64,step=0.02"`
}

type Stick struct {
	X, Y float32 `net:"axis"`
	Fire bool    `net:"event"`
}

func predicted(p *netcode.Protocol) { // on both sides
	netcode.Replicate[Body](p)
	netcode.Replicate[Pace](p)
	netcode.Replicate[components.Owner](p)
	interpolate.Register[Body](p) // draw components.Smooth[Body]
	input.Register[Stick](p)
	predict.Register[Body](p, predict.Snap(5)) // a correction of 5 or more is a jump
	predict.Register[Pace](p)
}

func move(s *predict.Step) { // the game's rules, on both sides
	dt := float32(s.Seconds())
	tanks := generic.NewFilter4[components.Simulate, components.Owner, Body, Pace]().Without(generic.T1[components.SpawnOf]()...)
	for query := tanks.Query(s.World); query.Next(); {
		_, owner, at, pace := query.Get()
		stick, _ := predict.Input[Stick](s, owner.Client)       // none, and so at rest, while its player is away
		pace.X, pace.Y = float32(stick.X*8), float32(stick.Y*8) // m/s
		at.X, at.Y = at.X+float32(pace.X*dt), at.Y+float32(pace.Y*dt)
	}
}

func admit(group *systems.ServerSystems, world *ecs.World, rules ...predict.System) {
	predict.Simulate(group, predict.Config{}, rules...)
	build, tanks := generic.NewMap4[components.Replicated, components.Owner, Body, Pace](world), map[netcode.ClientID]ecs.Entity{}
	group.Server.OnConnect(func(id netcode.ClientID) {
		tanks[id] = build.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &Body{}, &Pace{})
	})
	group.Server.OnDisconnect(func(id netcode.ClientID, _ *netcode.CloseError) {
		world.RemoveEntity(tanks[id])
		delete(tanks, id)
	})
}

func join(group *systems.ClientSystems, stick func() Stick, rules ...predict.System) *predict.Simulation {
	sim := predict.Simulate(group, predict.Config{}, rules...) // the same systems, in the same order
	group.Add(tick.PreUpdate, systems.Func(func(*ecs.World) {
		now := stick()
		_ = input.Set(group.Client, &now) // before the step of this frame
	}))
	return sim
}

// end guide

// begin guide
type Reload struct{ Ticks int32 } // local: predict.Local[Reload](protocol)

type gun struct {
	tanks  *generic.Filter3[components.Simulate, components.Owner, Body]
	shells generic.Map2[Body, Pace]
	reload generic.Map1[Reload]
	born   generic.Map1[components.SpawnOf]
	list   []ecs.Entity // scratch: a query locks the world
}

func (g *gun) Step(s *predict.Step) {
	if g.tanks == nil { // one gun for each world: it keeps filters and mappers of that world, and nothing else
		g.tanks = generic.NewFilter3[components.Simulate, components.Owner, Body]()
		g.shells, g.reload, g.born = generic.NewMap2[Body, Pace](s.World), generic.NewMap1[Reload](s.World), generic.NewMap1[components.SpawnOf](s.World)
	}
	g.list = g.list[:0]
	for query := g.tanks.Query(s.World); query.Next(); {
		g.list = append(g.list, query.Entity())
	}
	for _, e := range g.list {
		switch {
		case g.born.Get(e) != nil: // a shell
			g.fly(s, e)
		case g.reload.Get(e) == nil:
			g.reload.Assign(e, &Reload{}) // it comes and goes in steps, as predicted components may
		default:
			g.fire(s, e, g.reload.Get(e))
		}
	}
}

func (g *gun) fire(s *predict.Step, tank ecs.Entity, reload *Reload) {
	stick, _ := predict.Input[Stick](s, s.Owner(tank))
	reload.Ticks = max(reload.Ticks-1, 0)
	if !stick.Fire || reload.Ticks > 0 {
		return
	}
	reload.Ticks = 15
	s.Effect(bang, tank, 0)
	from, _ := g.shells.Get(tank)
	spread := s.Rand(tank).Float32() - .5 // the same number on both sides, and in a replay
	if shell, ok := s.Spawn(s.Owner(tank)); ok {
		g.shells.Assign(shell, &Body{from.X, from.Y}, &Pace{30, spread})
	}
}

func (g *gun) fly(s *predict.Step, shell ecs.Entity) {
	at, pace := g.shells.Get(shell)
	if at.X += float32(pace.X * float32(s.Seconds())); at.X > 100 {
		s.Despawn(shell)
	}
}

// end guide

// begin guide
func relayed(p *netcode.Protocol) { // on both sides
	netcode.Replicate[components.Predicted](p)
	input.Relay[Stick](p)
	input.Decay(p, func(last Stick, age int) Stick { // an input that is not known yet
		return Stick{X: last.X / float32(1+age), Y: last.Y / float32(1+age)}
	})
}

// end guide

// begin guide
func place(schema *snapshot.Schema) interest.Position { // of entities with a Body, and of those with a Position
	bodies := interest.PositionOf(schema, func(p *Body) (x, y, z float32) { return p.X, p.Y, 0 })
	others := interest.PositionOf(schema, func(p *Position) (x, y, z float32) { return p.X, p.Y, 0 })
	return func(s *snapshot.Store, id netcode.NetworkID) (x, y, z float32, ok bool) {
		if x, y, z, ok = bodies(s, id); !ok {
			x, y, z, ok = others(s, id)
		}
		return x, y, z, ok
	}
}

// end guide

// begin guide
func dressShells(group *systems.ClientSystems) {
	bare := generic.NewFilter1[components.SpawnOf]().Without(generic.T[Sprite]())
	group.Add(tick.PostLateUpdate, systems.Func(func(w *ecs.World) { // before the one that draws
		sprites, shells := generic.NewMap1[Sprite](w), []ecs.Entity{}
		for query := bare.Query(w); query.Next(); {
			shells = append(shells, query.Entity())
		}
		for _, e := range shells {
			sprites.Assign(e, &Sprite{Name: "shell"})
		}
	}))
}

// end guide

const bang = 1

func explain(sim *predict.Simulation, play, stop func(predict.Effect), drop func(ecs.Entity), log func(string)) {
	// begin guide
	sim.OnEffect(play)  // a sound: once, however often the tick is replayed
	sim.OnCancel(stop)  // it was played, and the server did not make it
	sim.OnUnspawn(drop) // the server did not spawn it: it is about to be removed
	sim.OnMisprediction(func(m predict.Misprediction) {
		stick, _ := predict.InputOf[Stick](sim, m) // that of its tick, of the entity's owner
		log(fmt.Sprint(m, stick))                  // tick 812, entity 4v1: Body.X is 17.02, predicted 17.4
	})
	// end guide
	// begin guide
	sim.OnExplanation(func(e predict.Explanation) {
		log(e.String()) // tick 812, entity 4v1: Body.X is 17.02, predicted 17.4; first in tick 809: system 1, *main.gust
	})
	// end guide
}

// A tank of the page moves in the tick of its input, at a round trip of 200 ms. Nothing is mispredicted, each shot is heard once, and
// the worlds are equal in the end.
func TestGuidePrediction(t *testing.T) {
	p := netcode.NewProtocol()
	predicted(p)
	predict.Local[Reload](p)
	predict.Spawns(p)
	var sim *predict.Simulation
	var stick Stick
	heard, wrong, unspawned := 0, []string(nil), 0
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 4, Link: transport.Link{Delay: 100 * time.Millisecond, Loss: .05},
		Setup: func(s *systems.ServerSystems, w *ecs.World) { admit(s, w, predict.Func(move), &gun{}) },
		SetupClient: func(_ int, c *systems.ClientSystems, _ *ecs.World) {
			sim = join(c, func() Stick { return stick }, predict.Func(move), &gun{})
			explain(sim, func(predict.Effect) { heard++ }, func(predict.Effect) { heard-- }, func(ecs.Entity) { unspawned++ }, func(s string) { wrong = append(wrong, s) })
			dressShells(c)
		},
	})
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	n.Run(2 * time.Second)
	tank := generic.NewFilter3[components.Simulate, Body, Reload]()
	at := func() (b Body) {
		for query := tank.Query(n.Clients[0].World); query.Next(); {
			_, body, _ := query.Get()
			b = *body
		}
		return b
	}
	require.Zero(t, at())
	stick.X, stick.Y = 1, .5
	for was := sim.Tick(); sim.Tick() == was; {
		n.Step()
	}
	require.NotZero(t, at(), "in the tick of the input")
	dressed, bare := generic.NewFilter2[components.SpawnOf, Sprite](), generic.NewFilter1[components.SpawnOf]().Without(generic.T[Sprite]())
	sprites := 0
	for frame := range 360 {
		stick.Fire = frame%60 == 30
		stick.X = float32(math.Sin(float64(frame) / 40))
		n.Step()
		shells := dressed.Query(n.Clients[0].World)
		sprites = max(sprites, shells.Count())
		shells.Close()
		naked := bare.Query(n.Clients[0].World)
		require.Zero(t, naked.Count())
		naked.Close()
	}
	require.Positive(t, sprites)
	stick = Stick{}
	n.Run(6 * time.Second)
	require.Empty(t, wrong)
	require.Equal(t, 6, heard)
	require.Zero(t, unspawned)
	require.EqualValues(t, 0, sim.Stats().Mispredictions)
	n.Heal()
	n.AssertConverge()
	n.Clients[0].Close()
	n.Run(time.Second)
	require.Zero(t, n.Server.Store().Len())

	page, err := os.ReadFile("prediction.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(shown("prediction.md", string(page))[0].code, "\n"), 60, "lines to a predicted player")
}

// The page's grid shows a client what has a Position beside what has a Body. A slow stick moves the tank.
func TestGuideGridOfTwoComponents(t *testing.T) {
	p := netcode.NewProtocol()
	predicted(p)
	predict.Spawns(p)
	predict.Local[Reload](p)
	netcode.Replicate[Position](p)
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 6,
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			admit(s, w, predict.Func(move), &gun{})
			near := interest.NewGrid(interest.GridConfig{Position: place(p.Schema()), Enter: 100})
			s.Server.SetInterest(interest.New(near, interest.Despawn))
			s.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) {
				if owner := s.Server.Owner(id); owner != 0 {
					near.Follow(owner, id)
				}
			})
			build := generic.NewMap2[components.Replicated, Position](w)
			build.NewWith(&components.Replicated{}, &Position{X: 50})
			build.NewWith(&components.Replicated{}, &Position{X: 500})
		},
		SetupClient: func(_ int, c *systems.ClientSystems, _ *ecs.World) {
			join(c, func() Stick { return Stick{X: 1. / 127} }, predict.Func(move), &gun{})
		},
	})
	n.Run(3 * time.Second)
	bodies, others := generic.NewFilter1[Body]().Query(n.Clients[0].World), generic.NewFilter1[Position]().Query(n.Clients[0].World)
	require.Equal(t, 1, bodies.Count())
	require.Equal(t, 1, others.Count())
	require.True(t, bodies.Next())
	require.Greater(t, bodies.Get().X, float32(.1), "it is not rounded away")
	bodies.Close()
	others.Close()
}

// Two players of the page predict each other with relayed inputs.
func TestGuideRelayedInputs(t *testing.T) {
	p := netcode.NewProtocol()
	predicted(p)
	relayed(p)
	predict.Local[Reload](p)
	predict.Spawns(p)
	var sims []*predict.Simulation
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 5, Link: transport.Link{Delay: 50 * time.Millisecond, Loss: .1},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			admit(s, w, predict.Func(move), &gun{})
			tanks := generic.NewFilter1[Body]().Without(generic.T[components.Predicted]())
			s.Add(tick.PreUpdate, systems.Func(func(w *ecs.World) {
				born, predicted := []ecs.Entity{}, generic.NewMap1[components.Predicted](w)
				for query := tanks.Query(w); query.Next(); {
					born = append(born, query.Entity())
				}
				for _, e := range born {
					predicted.Assign(e, &components.Predicted{})
				}
			}))
		},
		SetupClient: func(i int, c *systems.ClientSystems, _ *ecs.World) {
			frame := 0
			sims = append(sims, join(c, func() Stick { // Never near zero, since a guess is only a part of the newest input.
				frame++
				return Stick{X: .6 + .4*float32(math.Sin(float64(frame+99*i)/40))}
			}, predict.Func(move), &gun{}))
		},
	})
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	n.Run(4 * time.Second)
	for i, c := range n.Clients {
		other, ok := input.Relayed[Stick](c.Client, n.Clients[1-i].ID(), sims[i].Tick())
		require.True(t, ok)
		require.NotZero(t, other.X)
		require.Positive(t, input.RelayStatsOf(c.Client).Taken)
		require.Positive(t, sims[i].Stats().Guessed)
	}
}
