package nettest_test

import (
	"errors"
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

// steering and rolling are two systems whose order counts.
type steering struct{}

func (steering) Step(s *predict.Step) {
	for query := generic.NewFilter2[components.Simulate, pace]().Query(s.World); query.Next(); {
		_, speed := query.Get()
		in, _ := predict.Input[shove](s, s.Owner(query.Entity()))
		speed.X = slowed(speed.X, in.X, float32(s.Seconds()))
	}
}

type rolling struct{ drift float32 }

func (r *rolling) Step(s *predict.Step) {
	for query := generic.NewFilter3[components.Simulate, position, pace]().Query(s.World); query.Next(); {
		_, at, speed := query.Get()
		at.X = inside(at.X + r.drift + float32(speed.X*float32(s.Seconds())))
	}
}

// pushed is rolling that the server alone disturbs.
type pushed struct{ pushes *int }

func (p pushed) Step(s *predict.Step) {
	if *p.pushes > 0 && s.OnServer() {
		(&rolling{drift: .05}).Step(s)
	} else {
		(&rolling{}).Step(s)
	}
}

// sparks is a system that a client has for its screen, referee one that a server has for its rules.
type (
	sparks  struct{}
	referee struct{}
)

func (sparks) Step(*predict.Step)  {}
func (referee) Step(*predict.Step) {}

// A client that has systems of its own, for the screen, and the server's in the same order, is told nothing where it
// mispredicts by chance: the server alone pushes its player about, in up to 20 ticks in a row.
func TestSystemsForTheScreenAreNotReported(t *testing.T) {
	for seed := range uint64(sized(2, 10)) {
		random, pushes := rand.New(rand.NewPCG(seed, 3)), 0
		p := netcode.NewProtocol()
		netcode.Replicate[position](p)
		netcode.Replicate[pace](p)
		netcode.Replicate[components.Owner](p)
		predict.Register[position](p)
		predict.Register[pace](p)
		input.Register[shove](p)
		var sim *predict.Simulation
		n := nettest.New(t, nettest.Config{
			Protocol: p, Clients: 1, Seed: seed, Link: transport.Link{Delay: 100 * time.Millisecond, Loss: .2},
			Server: netcode.Config{TickRate: 60},
			Setup: func(s *systems.ServerSystems, w *ecs.World) {
				predict.Simulate(s, predict.Config{}, steering{}, referee{}, pushed{&pushes})
				build := generic.NewMap4[components.Replicated, components.Owner, position, pace](w)
				s.Server.OnConnect(func(id netcode.ClientID) {
					build.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &position{}, &pace{})
				})
				s.Add(tick.PreUpdate, systems.Func(func(*ecs.World) {
					if pushes--; pushes < -90 && random.IntN(60) == 0 {
						pushes = 3 + random.IntN(18)
					}
				}))
			},
			SetupClient: func(_ int, c *systems.ClientSystems, _ *ecs.World) {
				sim = predict.Simulate(c, predict.Config{}, sparks{}, steering{}, pushed{&pushes})
				c.Client.OnError(func(err error) { require.NotErrorIs(t, err, predict.ErrMispredicts) })
				frame := 0
				c.Add(tick.PreUpdate, systems.Func(func(*ecs.World) {
					if frame++; c.Client.State() == netcode.Connected {
						_ = input.Set(c.Client, &shove{X: float32(frame/40%3 - 1)})
					}
				}))
			},
		})
		n.Run(time.Minute)
		stats := sim.Stats()
		t.Logf("%d mispredictions in %d steps", stats.Mispredictions, stats.Steps)
		require.Greater(t, stats.Mispredictions, uint64(100))
	}
}

// A client whose systems are not the server's is told, with the lists of both ends or with the ways to find the reason; one
// whose systems are the same is told nothing, however bad the line.
func TestOtherSystemsAreReported(t *testing.T) {
	list := func(systems ...predict.System) []predict.System { return systems }
	for name, scene := range map[string]struct {
		server, client []predict.System
		told           string
	}{
		"same":    {list(steering{}, &rolling{}), list(steering{}, &rolling{}), ""},
		"order":   {list(steering{}, &rolling{}), list(&rolling{}, steering{}), "[nettest_test.steering, *nettest_test.rolling], this client's [*nettest_test.rolling, nettest_test.steering]"},
		"missing": {list(steering{}, &rolling{}), list(&rolling{}), "this client's [*nettest_test.rolling]"},
		"state":   {list(steering{}, &rolling{drift: .05}), list(steering{}, &rolling{}), "predict.Explain(protocol)"},
		"literals": {
			list(predict.Func(func(s *predict.Step) { steering{}.Step(s) }), predict.Func(func(s *predict.Step) { (&rolling{}).Step(s) })),
			list(predict.Func(func(s *predict.Step) { (&rolling{}).Step(s) })),
			"[func literal, func literal], this client's [func literal]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := netcode.NewProtocol()
			netcode.Replicate[position](p)
			netcode.Replicate[pace](p)
			netcode.Replicate[components.Owner](p)
			predict.Register[position](p)
			predict.Register[pace](p)
			input.Register[shove](p)
			var told []error
			var sim *predict.Simulation
			n := nettest.New(t, nettest.Config{
				Protocol: p, Clients: 1, Seed: 3, Link: transport.Link{Delay: 150 * time.Millisecond, Loss: .2},
				Server: netcode.Config{TickRate: 60},
				Setup: func(s *systems.ServerSystems, w *ecs.World) {
					predict.Simulate(s, predict.Config{}, scene.server...)
					build := generic.NewMap4[components.Replicated, components.Owner, position, pace](w)
					s.Server.OnConnect(func(id netcode.ClientID) {
						build.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &position{}, &pace{})
					})
				},
				SetupClient: func(_ int, c *systems.ClientSystems, w *ecs.World) {
					sim = predict.Simulate(c, predict.Config{}, scene.client...)
					c.Client.OnError(func(err error) { told = append(told, err) })
					frame := 0
					c.Add(tick.PreUpdate, systems.Func(func(*ecs.World) {
						if frame++; c.Client.State() == netcode.Connected {
							_ = input.Set(c.Client, &shove{X: float32(frame/40%3 - 1)}) // To and fro, and at rest.
						}
					}))
				},
			})
			n.Run(14 * time.Second)
			stats := sim.Stats()
			t.Logf("%d mispredictions in %d steps", stats.Mispredictions, stats.Steps)
			if scene.told == "" {
				require.Empty(t, told)
				require.Zero(t, stats.Mispredictions)
				return
			}
			require.Len(t, told, 1, "once in a connection")
			require.True(t, errors.Is(told[0], predict.ErrMispredicts))
			require.Contains(t, told[0].Error(), scene.told)
		})
	}
}
