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

// shell is a shell that hits after a number of steps.
type shell struct {
	Left uint8
	From uint32 // The tick of its shot.
}

// hit is the effect of a shell: at the shell, at its gun or at no place.
type hit struct {
	kind uint16
	tick netcode.Tick
	from uint64
}

const (
	atShell = iota
	atGun
	nowhere // And the number of the player: at no place effects of a kind are equal, whoever plays them.
	kindsOfHits
)

// hitOf returns the key of an effect. Several shells may hit in a tick: those at the gun or at no place are counted.
func hitOf(kind uint16, t netcode.Tick, from uint64) hit {
	if kind != atShell {
		from = 0
	}
	return hit{kind, t, from}
}

// battery is a simulation of guns whose shells fly, hit, play effects and despawn in one step. The server refuses some
// shots, and removes some shells earlier: no client knows it.
type battery struct {
	seed    uint64
	refuses bool
	life    int // Shells fly up to so many ticks.
	guns    *generic.Filter2[components.Simulate, ammo]
	flying  *generic.Filter2[components.Simulate, shell]
	stock   generic.Map1[ammo]
	shells  generic.Map1[shell]
	list    []ecs.Entity
	made    map[netcode.ClientID]map[hit]int // Of the server.
}

func (g *battery) Step(s *predict.Step) {
	if g.guns == nil {
		g.guns, g.flying = generic.NewFilter2[components.Simulate, ammo](), generic.NewFilter2[components.Simulate, shell]()
		g.stock, g.shells = generic.NewMap1[ammo](s.World), generic.NewMap1[shell](s.World)
	}
	g.fly(s)
	g.list = g.list[:0]
	for query := g.guns.Query(s.World); query.Next(); {
		g.list = append(g.list, query.Entity())
	}
	for _, gun := range g.list {
		dice := rand.New(rand.NewPCG(g.seed, uint64(s.Tick)))
		in, _ := predict.Input[pull](s, s.Owner(gun))
		if in.Pulled = in.Pulled && dice.IntN(3) == 0; !in.Pulled {
			continue
		}
		life := 1 + dice.IntN(g.life)
		if g.refuses && s.OnServer() && dice.IntN(5) == 0 {
			continue
		}
		g.stock.Get(gun).Shots++
		if e, ok := s.Spawn(s.Owner(gun)); ok {
			g.shells.Assign(e, &shell{uint8(life), uint32(s.Tick)})
		}
	}
}

func (g *battery) fly(s *predict.Step) {
	g.list = g.list[:0]
	for query := g.flying.Query(s.World); query.Next(); {
		g.list = append(g.list, query.Entity())
	}
	for _, e := range g.list {
		of := g.shells.Get(e)
		dice := rand.New(rand.NewPCG(g.seed^uint64(of.From), uint64(s.Tick)))
		if g.refuses && s.OnServer() && dice.IntN(60) == 0 {
			s.Despawn(e)
			continue
		}
		if of.Left--; of.Left > 0 {
			continue
		}
		from, owner, gun := uint64(of.From)<<8|uint64(s.Rand(e).IntN(256)), s.Owner(e), ecs.Entity{}
		for query := g.guns.Query(s.World); query.Next(); {
			if s.Owner(query.Entity()) == owner {
				gun = query.Entity()
			}
		}
		for kind, at := range [kindsOfHits]ecs.Entity{e, gun, {}} {
			if kind == nowhere {
				kind += int(owner)
			}
			s.Effect(uint16(kind), at, from)
			if s.OnServer() {
				if g.made[owner] == nil {
					g.made[owner] = map[hit]int{}
				}
				g.made[owner][hitOf(uint16(kind), s.Tick, from)]++
			}
		}
		s.Despawn(e)
	}
}

// shellGame is a game with a battery.
type shellGame struct {
	seed    uint64
	delay   time.Duration // Of each way.
	jitter  time.Duration
	loss    float64
	wait    int // InputDelay.
	refuses bool
	life    int
	hold    bool // The trigger is held for long.
	mines   bool // In place of shots, shells come from the server, outside of steps.
}

func (c shellGame) String() string {
	return fmt.Sprintf("%v ± %v, loss %.0f %%, input delay %d, life %d, refuses %v, seed %d", 2*c.delay, c.jitter, 100*c.loss, c.wait, c.life, c.refuses, c.seed)
}

// heardHits counts the calls for an effect.
type heardHits struct{ played, cancelled int }

// play runs the game. It compares the effects that the server made with those of each client.
func (c shellGame) play(t *testing.T, length time.Duration) (made int) {
	p := netcode.NewProtocol()
	netcode.Replicate[ammo](p)
	netcode.Replicate[shell](p)
	netcode.Replicate[components.Owner](p)
	predict.Register[ammo](p)
	predict.Register[shell](p)
	predict.Spawns(p)
	input.Register[pull](p)
	const players = 2
	truth := &battery{seed: c.seed, refuses: c.refuses, life: c.life, made: map[netcode.ClientID]map[hit]int{}}
	var heard [players]map[hit]heardHits
	var sims [players]*predict.Simulation
	pulling, random := false, rand.New(rand.NewPCG(c.seed, 3))
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: players, Seed: c.seed, Link: transport.Link{Delay: c.delay, Jitter: c.jitter},
		Server: netcode.Config{TickRate: 60},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			predict.Simulate(s, predict.Config{}, truth)
			build := generic.NewMap3[components.Replicated, components.Owner, ammo](w)
			s.Server.OnConnect(func(id netcode.ClientID) {
				build.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &ammo{})
			})
			mines := generic.NewMap3[components.Replicated, components.Owner, shell](w)
			s.Add(tick.PreUpdate, systems.Func(func(*ecs.World) {
				for id := range s.Server.Clients {
					if pulling && c.mines && random.IntN(6) == 0 {
						mines.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &shell{uint8(20 + random.IntN(c.life)), uint32(s.Server.Tick())})
					}
				}
			}))
		},
		SetupClient: func(i int, s *systems.ClientSystems, w *ecs.World) {
			rules := &battery{seed: c.seed, refuses: c.refuses, life: c.life}
			sims[i], heard[i] = predict.Simulate(s, predict.Config{InputDelay: c.wait}, rules), map[hit]heardHits{}
			note := func(e predict.Effect, played, cancelled int) {
				h := hitOf(e.Kind, e.Tick, e.Value)
				heard[i][h] = heardHits{heard[i][h].played + played, heard[i][h].cancelled + cancelled}
			}
			sims[i].OnEffect(func(e predict.Effect) { note(e, 1, 0) })
			sims[i].OnCancel(func(e predict.Effect) { note(e, 0, 1) })
			s.Add(tick.PreUpdate, systems.Func(func(*ecs.World) {
				if s.Client.State() == netcode.Connected {
					_ = input.Set(s.Client, &pull{pulling && !c.mines && (c.hold || random.IntN(3) > 0)})
				}
			}))
		},
	})
	require.True(t, n.RunUntil(10*time.Second, n.Connected))
	n.SetLink(transport.Link{Delay: c.delay, Jitter: c.jitter, Loss: c.loss})
	n.Run(2 * time.Second)
	pulling = true
	n.Run(length)
	pulling = false
	n.Run(4 * time.Second)
	for i, sim := range sims {
		missed, cancelled, twice, ghosts := 0, 0, 0, 0
		of := truth.made[n.Clients[i].ID()]
		for e, h := range heard[i] {
			ghosts += max(h.played-h.cancelled-of[e], 0)
		}
		for e, count := range of {
			h := heard[i][e]
			made += count
			missed += max(count-h.played, 0)
			cancelled += max(min(count, h.played)-(h.played-h.cancelled), 0)
			if e.kind == atShell {
				twice += max(h.played-1, 0)
			}
		}
		if missed+cancelled+twice+ghosts > 0 {
			t.Errorf("%v: of %d effects of the server %d are never played, %d cancelled, %d played twice; %d that it did not make stay; %+v",
				c, len(of), missed, cancelled, twice, ghosts, sim.Stats())
		}
	}
	return made
}

// Each effect that the server made is played once and not cancelled, and each that it did not make is cancelled or never
// played: of shells that hit, play and despawn in one step, at any distance, loss and input delay.
func TestEffectsOfShellsThatDieAreThoseOfTheServer(t *testing.T) {
	for seed := range uint64(sized(1, 10)) {
		random := rand.New(rand.NewPCG(seed, 78))
		for _, delay := range []time.Duration{0, 25 * time.Millisecond, 150 * time.Millisecond} {
			for _, loss := range []float64{0, .2, .4} {
				for _, wait := range []int{0, 3, 8} {
					c := shellGame{seed: random.Uint64(), delay: delay, loss: loss, wait: wait, refuses: random.IntN(2) == 0, life: 1 + random.IntN(50), hold: random.IntN(3) == 0}
					if random.IntN(3) == 0 {
						c.jitter = time.Duration(random.IntN(20)) * time.Millisecond
					}
					require.Greater(t, c.play(t, time.Duration(sized(2, 6))*time.Second), 30)
				}
			}
		}
	}
}

// The same holds for entities that the server made outside of steps: both ends know them by their network ids, and Step.Rand
// gives the same numbers until they end.
func TestEffectsOfMinesThatDieAreThoseOfTheServer(t *testing.T) {
	for _, delay := range []time.Duration{0, 25 * time.Millisecond} {
		for _, wait := range []int{0, 3, 8} {
			c := shellGame{seed: 78 + uint64(wait), delay: delay, wait: wait, life: 30, mines: true}
			require.Greater(t, c.play(t, 4*time.Second), 60)
		}
	}
}

// An entity that is there before the server's tick reaches the input delay is predicted.
func TestAPlayerOfTheFirstTicksIsPredicted(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[ammo](p)
	netcode.Replicate[components.Owner](p)
	predict.Register[ammo](p)
	var sim *predict.Simulation
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Server: netcode.Config{TickRate: 60},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			predict.Simulate(s, predict.Config{})
			build := generic.NewMap3[components.Replicated, components.Owner, ammo](w)
			s.Server.OnConnect(func(id netcode.ClientID) {
				build.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &ammo{})
			})
		},
		SetupClient: func(_ int, s *systems.ClientSystems, _ *ecs.World) {
			sim = predict.Simulate(s, predict.Config{InputDelay: 8})
		},
	})
	require.True(t, n.RunUntil(time.Second, n.Connected))
	require.Less(t, n.Server.Tick(), netcode.Tick(8), "the test shows nothing")
	n.Run(time.Second)
	require.Equal(t, uint64(1), sim.Stats().Started)
}
