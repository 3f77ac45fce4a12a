package nettest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// pull is the input of a shooter.
type pull struct{ Pulled bool }

// ammo counts the shots of a body.
type ammo struct{ Shots uint32 }

// shooting is a simulation in which a pulled trigger shoots: with an effect on the shooter, one at no place, and often a
// shell that has one too. The server refuses some shots, which no client knows.
type shooting struct {
	seed   uint64
	stock  generic.Map1[ammo]
	shells generic.Map1[spot]
	filter *generic.Filter2[components.Simulate, ammo]
	list   []ecs.Entity
	made   map[shot]int // Effects of this end.
}

// shot is an effect without its entity.
type shot struct {
	by   netcode.ClientID
	tick netcode.Tick
	kind uint16
}

func (g *shooting) Step(s *predict.Step) {
	if g.filter == nil {
		g.filter = generic.NewFilter2[components.Simulate, ammo]()
		g.stock, g.shells = generic.NewMap1[ammo](s.World), generic.NewMap1[spot](s.World)
	}
	g.list = g.list[:0]
	for query := g.filter.Query(s.World); query.Next(); {
		g.list = append(g.list, query.Entity())
	}
	for _, e := range g.list {
		in, _ := predict.Input[pull](s, s.Owner(e))
		dice := rand.New(rand.NewPCG(g.seed, uint64(s.Tick)))
		kind := dice.IntN(4) // 0: the shot takes ammunition, 1: a shell, 2: both, 3: it is heard alone.
		if !in.Pulled || dice.IntN(3) == 0 || s.OnServer() && dice.IntN(3) == 0 {
			continue
		}
		g.play(s, e, 1, e)
		if kind == 0 || kind == 2 {
			g.stock.Get(e).Shots++
			g.play(s, e, 1, e)
		}
		if kind == 3 {
			g.play(s, e, 2, ecs.Entity{})
		}
		if shell, ok := s.Spawn(s.Owner(e)); ok && (kind == 1 || kind == 2) {
			g.shells.Assign(shell, &spot{X: float32(dice.IntN(100))})
			g.play(s, e, 3, shell)
		}
	}
}

func (g *shooting) play(s *predict.Step, shooter ecs.Entity, kind uint16, at ecs.Entity) {
	value := uint64(0)
	if at.IsZero() {
		value = uint64(s.Owner(shooter)) // Otherwise it is any player's.
	}
	s.Effect(kind, at, value)
	if s.OnServer() {
		g.made[shot{s.Owner(shooter), s.Tick, kind}]++
	}
}

// Each effect that the server did not make is cancelled, once, whatever the server refused and in whatever tick; and each
// that it made stays. Random games, in which both players often play an effect at no place in the same tick.
func TestEffectsThatTheServerRefusesAreCancelled(t *testing.T) {
	for seed := range uint64(sized(3, 100)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := netcode.NewProtocol()
			netcode.Replicate[ammo](p)
			netcode.Replicate[spot](p)
			netcode.Replicate[components.Owner](p)
			predict.Register[ammo](p)
			predict.Register[spot](p)
			predict.Spawns(p)
			input.Register[pull](p)
			random := rand.New(rand.NewPCG(seed, 7))
			truth, rules := &shooting{seed: seed, made: map[shot]int{}}, [2]*shooting{{seed: seed}, {seed: seed}}
			var stays [2]map[shot]int
			var sims [2]*predict.Simulation
			pulling, late := true, 0
			n := nettest.New(t, nettest.Config{
				Protocol: p, Clients: 2, Seed: seed, Link: transport.Link{Delay: 150 * time.Millisecond, Loss: .2},
				Server: netcode.Config{TickRate: 60},
				Setup: func(s *systems.ServerSystems, w *ecs.World) {
					predict.Simulate(s, predict.Config{}, truth)
					build := generic.NewMap3[components.Replicated, components.Owner, ammo](w)
					s.Server.OnConnect(func(id netcode.ClientID) {
						build.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &ammo{})
					})
				},
				SetupClient: func(i int, c *systems.ClientSystems, w *ecs.World) {
					sims[i], stays[i] = predict.Simulate(c, predict.Config{InputDelay: int(seed % 3)}, rules[i]), map[shot]int{}
					sims[i].OnEffect(func(e predict.Effect) { stays[i][shot{c.Client.ID(), e.Tick, e.Kind}]++ })
					sims[i].OnCancel(func(e predict.Effect) {
						stays[i][shot{c.Client.ID(), e.Tick, e.Kind}]--
						late = max(late, int(sims[i].Tick()-e.Tick))
					})
					c.Add(tick.PreUpdate, systems.Func(func(*ecs.World) {
						if c.Client.State() == netcode.Connected {
							_ = input.Set(c.Client, &pull{pulling && random.IntN(3) > 0})
						}
					}))
				},
			})
			n.Run(12 * time.Second)
			pulling = false
			n.Run(3 * time.Second)
			for i := range sims {
				stats, played, ghosts := sims[i].Stats(), 0, 0
				for e, count := range stays[i] {
					require.GreaterOrEqual(t, count, 0, "%v is cancelled twice", e)
					if played += count; count > truth.made[e] {
						ghosts++
					}
				}
				t.Logf("%d effects stay, %d cancelled, at most %d ticks after; %+v", played, stats.Cancelled, late, stats)
				require.Greater(t, stats.Cancelled, uint64(50))
				require.Greater(t, played, 100)
				require.Zero(t, ghosts, "effects that the server did not make")
			}
		})
	}
}

// barrage is a simulation in which each tick with a pulled trigger plays many effects. The server makes every third one.
type barrage struct{ effects int }

func (g barrage) Step(s *predict.Step) {
	for query := generic.NewFilter2[components.Simulate, ammo]().Query(s.World); query.Next(); {
		in, _ := predict.Input[pull](s, s.Owner(query.Entity()))
		for i := 0; in.Pulled && i < g.effects; i++ {
			if !s.OnServer() || i%3 == 0 {
				s.Effect(uint16(i), ecs.Entity{}, 0)
			}
		}
	}
}

// However many effects a client plays, in one tick or in all, none stays that the server did not make, and each that it made
// stays. The client's memory of them is bounded: one whose claim could not be sent in time is cancelled.
func TestNoEffectIsTooMany(t *testing.T) {
	for name, scene := range map[string]struct {
		effects, every int // Each so many ticks.
		tooMany        bool
		loss           float64
		rate, frames   int // Of ticks, and of the client's frames.
	}{
		"bursts": {1000, 60, false, .05, 60, 60}, "always": {12, 1, false, .05, 60, 60}, "too many": {600, 2, true, .05, 60, 60},
		"many, and most is lost": {12, 1, true, .4, 128, 30},
	} {
		t.Run(name, func(t *testing.T) {
			p := netcode.NewProtocol()
			netcode.Replicate[ammo](p)
			netcode.Replicate[components.Owner](p)
			predict.Register[ammo](p)
			input.Register[pull](p)
			const ticks = 240 // With a trigger that may be pulled.
			frame, played, stays := 0, 0, map[shot]int{}
			n := nettest.New(t, nettest.Config{
				Protocol: p, Clients: 1, Seed: 5, Link: transport.Link{Delay: 100 * time.Millisecond, Loss: scene.loss},
				Rate: scene.frames, Server: netcode.Config{TickRate: scene.rate, SendBudget: -1}, ServerRate: scene.rate,
				Setup: func(s *systems.ServerSystems, w *ecs.World) {
					predict.Simulate(s, predict.Config{}, barrage{scene.effects}).OnCancel(func(predict.Effect) { t.Fatal("at the server") })
					build := generic.NewMap3[components.Replicated, components.Owner, ammo](w)
					s.Server.OnConnect(func(id netcode.ClientID) {
						build.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &ammo{})
					})
				},
				SetupClient: func(_ int, c *systems.ClientSystems, w *ecs.World) {
					sim := predict.Simulate(c, predict.Config{}, barrage{scene.effects})
					sim.OnEffect(func(e predict.Effect) { played++; stays[shot{0, e.Tick, e.Kind}]++ })
					sim.OnCancel(func(e predict.Effect) { stays[shot{0, e.Tick, e.Kind}]-- })
					c.Add(tick.PreUpdate, systems.Func(func(*ecs.World) {
						if c.Client.State() == netcode.Connected {
							frame++
							_ = input.Set(c.Client, &pull{frame > 120 && frame <= 120+ticks && frame%scene.every == 0})
						}
					}))
				},
			})
			n.Run(11*time.Second + ticks*time.Second/time.Duration(scene.frames) + 8*time.Second)
			wrong, right, lost := 0, 0, 0
			for e, count := range stays {
				require.GreaterOrEqual(t, count, 0, "%v is cancelled twice", e)
				switch made := e.kind%3 == 0; {
				case !made:
					wrong += count
				case count == 0:
					lost++
				default:
					right++
				}
			}
			t.Logf("%d played, %d right ones stay, %d are lost, %d wrong ones stay", played, right, lost, wrong)
			require.Greater(t, played, ticks/scene.every*scene.effects*9/10)
			require.Zero(t, wrong, "effects that the server did not make")
			if !scene.tooMany {
				require.Less(t, lost, played/20, "those of ticks whose input came too late")
			}
			require.Greater(t, right, played/50)
		})
	}
}
