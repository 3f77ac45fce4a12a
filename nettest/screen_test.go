package nettest_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// spot is the position of a car, in metres.
type spot struct {
	X, Y float32 `net:"min=-2000,max=2000,step=0.001"`
}

const carSpeed = 8 // m/s

// drive is a simulation in which each car goes in X, evenly.
func drive(s *predict.Step) {
	cars := generic.NewFilter2[components.Simulate, spot]()
	for query := cars.Query(s.World); query.Next(); {
		_, at := query.Get()
		at.X += float32(carSpeed * s.Seconds())
	}
}

// street is a scene with one car. The test changes the car at the server, and sees the screen of the first client.
type street struct {
	*nettest.Net
	car    ecs.Entity
	world  *ecs.World // The server's.
	sim    *predict.Simulation
	screen *ecs.World
	spots  generic.Map1[spot]
	owners generic.Map1[components.Owner]
}

// newStreet makes a scene with a number of frames and of network ticks a second.
func newStreet(t *testing.T, frames, rate int, rtt time.Duration, hosted bool, settings predict.Config) *street {
	p := netcode.NewProtocol()
	netcode.Replicate[spot](p)
	netcode.Replicate[components.Owner](p)
	netcode.Replicate[components.Predicted](p)
	interpolate.Register[spot](p, interpolate.Ahead(time.Second)) // Losses in a row stop nothing.
	predict.Register[spot](p)
	input.Register[shove](p)
	g := &street{}
	config := nettest.Config{
		Protocol: p, Clients: 1, Seed: uint64(rate), Rate: frames, Link: transport.Link{Delay: rtt / 2, Loss: .2},
		Server: netcode.Config{TickRate: rate},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			predict.Simulate(s, settings, predict.Func(drive))
			g.world, g.spots, g.owners = w, generic.NewMap1[spot](w), generic.NewMap1[components.Owner](w)
			build := generic.NewMap3[components.Replicated, components.Owner, spot](w)
			g.car = build.NewWith(&components.Replicated{}, &components.Owner{}, &spot{X: -1000})
		},
		SetupClient: func(_ int, c *systems.ClientSystems, w *ecs.World) {
			g.sim, g.screen = predict.Simulate(c, settings, predict.Func(drive)), w
		},
	}
	g.Net = nettest.New(t, config)
	if hosted {
		addHostedPlayer(t, g.Net, p)
	}
	require.True(t, g.RunUntil(8*time.Second, g.Connected))
	return g
}

// client returns the id of the client.
func (g *street) client() netcode.ClientID { return g.Clients[0].Client.ID() }

// id returns the network id of the car.
func (g *street) id() netcode.NetworkID {
	replicated := generic.NewMap1[components.Replicated](g.world)
	return replicated.Get(g.car).ID
}

// shown returns the car on the screen.
func (g *street) shown() (at spot, ok bool) {
	for query := generic.NewFilter1[components.Smooth[spot]]().Query(g.screen); query.Next(); {
		at, ok = query.Get().Value, true
	}
	return at, ok
}

// watch runs frames and returns the least and the greatest movement of a frame in X and Y, in metres.
func (g *street) watch(t *testing.T, frames int, each func(frame int)) (low, high spot) {
	last, ok := g.shown()
	require.True(t, ok)
	low, high = spot{math.MaxFloat32, math.MaxFloat32}, spot{-math.MaxFloat32, -math.MaxFloat32}
	for frame := range frames {
		each(frame)
		g.Step()
		now, ok := g.shown()
		require.True(t, ok, "frame %d", frame)
		x, y := now.X-last.X, now.Y-last.Y
		low, high = spot{min(low.X, x), min(low.Y, y)}, spot{max(high.X, x), max(high.Y, y)}
		last = now
	}
	return low, high
}

// A correction moves the screen by its error alone: the body goes on, in each frame and each direction. At 128 ticks a
// second most replays are longer than predict.Config.MaxReplay and end in a later frame.
func TestACorrectionStopsNothing(t *testing.T) {
	for _, rate := range []int{30, 60, 128} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			g := newStreet(t, rate, rate, 300*time.Millisecond, false, predict.Config{MaxReplay: 32})
			g.owners.Get(g.car).Client = g.client()
			g.Run(6 * time.Second)
			require.True(t, g.sim.Predicts(g.id()))
			before, way := g.sim.Stats(), float32(carSpeed)/float32(rate)
			low, high := g.watch(t, 10*rate, func(frame int) {
				if frame%14 == 0 {
					g.spots.Get(g.car).Y += .005
				}
			})
			stats := g.sim.Stats()
			t.Logf("%.4f m a frame: %v to %v, %d mispredictions, %d postponed", way, low, high, stats.Mispredictions-before.Mispredictions, stats.Postponed-before.Postponed)
			require.Greater(t, stats.Mispredictions-before.Mispredictions, uint64(4*rate/10))
			require.Greater(t, low.X, .85*way)
			require.Less(t, high.X, 1.15*way)
			require.GreaterOrEqual(t, low.Y, float32(-.0005))
			require.LessOrEqual(t, high.Y, float32(.005))
			if rate == 128 {
				require.Greater(t, stats.Postponed, before.Postponed)
			}
		})
	}
}

// A body that gets a driver, or loses him, or that a client chooses to predict, moves on the screen between past and
// prediction in the time that the game sets. It never stands and never leaps, by a server or a host.
func TestAChangeOfPredictionIsNoLeap(t *testing.T) {
	for name, by := range map[string]func(g *street, on bool){
		"owner": func(g *street, on bool) {
			if g.owners.Get(g.car).Client = 0; on {
				g.owners.Get(g.car).Client = g.client()
			}
		},
		"chosen": func(g *street, on bool) { g.sim.Predict(g.id(), on) },
		"given": func(g *street, on bool) {
			mark := generic.NewMap1[components.Predicted](g.world)
			if on {
				mark.Assign(g.car, &components.Predicted{Client: g.client()})
			} else {
				mark.Remove(g.car)
			}
		},
	} {
		for _, hosted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, host %v", name, hosted), func(t *testing.T) {
				const rate, length = 60, time.Second
				g := newStreet(t, rate, rate, 300*time.Millisecond, hosted, predict.Config{SwitchTime: length})
				g.Run(4 * time.Second)
				way := float32(carSpeed) / rate
				for _, on := range []bool{true, false, true, false} {
					before, _ := g.shown()
					low, high := g.watch(t, 3*rate, func(frame int) {
						if frame == 0 {
							by(g, on)
						}
					})
					after, _ := g.shown()
					ahead := after.X - before.X - 3*carSpeed // Between past and prediction.
					t.Logf("on %v: %.2f m ahead; %.4f m a frame: %.4f to %.4f", on, ahead, way, low.X, high.X)
					require.Equal(t, on, g.sim.Predicts(g.id()))
					require.Greater(t, math.Abs(float64(ahead)), 2.)
					require.Greater(t, low.X, .8*way+min(ahead, 0)/rate)
					require.Less(t, high.X, 1.2*way+max(ahead, 0)/rate)
				}
			})
		}
	}
}

var randomScreens = flag.Int("screens", 10, "random games of TestRandomScreensMoveEvenly; ten times as many with -heavy")

// In random games a body that moves evenly stands in no frame and leaps in none, whatever is corrected and whoever predicts
// it meanwhile.
func TestRandomScreensMoveEvenly(t *testing.T) {
	for seed := range uint64(*randomScreens * sized(1, 10)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 37))
			rate := []int{20, 30, 60, 128}[random.IntN(4)]
			settings := predict.Config{MaxReplay: 4 + random.IntN(40), InputDelay: random.IntN(4), SwitchTime: 2 * time.Second}
			frames := rate * (1 + random.IntN(3))
			g := newStreet(t, frames, rate, time.Duration(random.IntN(350))*time.Millisecond, false, settings)
			g.Run(4 * time.Second)
			way, nudge := float32(carSpeed)/float32(frames), float32(.02)
			low, high := g.watch(t, 20*frames, func(frame int) {
				if random.IntN(10) == 0 {
					g.spots.Get(g.car).Y += nudge * random.Float32()
				}
				if random.IntN(3*frames) == 0 {
					g.owners.Get(g.car).Client = g.client() * netcode.ClientID(random.IntN(2))
				}
				if random.IntN(6*frames) == 0 {
					g.sim.Predict(g.id(), random.IntN(2) == 0)
				}
			})
			stats := g.sim.Stats()
			t.Logf("%d frames/s, %d ticks/s: %.4f m a frame: %.4f to %.4f; %+v", frames, rate, way, low.X, high.X, stats)
			require.Greater(t, low.X, .4*way)
			require.Less(t, high.X, 1.75*way)
			require.Less(t, high.Y, 5*nudge)
			require.Greater(t, low.Y, -5*nudge)
		})
	}
}

// After a hitch of the server the own car goes on at once: it moves in each tenth of a second, and is as far ahead of the
// server as before.
func TestTheOwnScreenGoesOnAfterAHitch(t *testing.T) {
	for _, rate := range []int{30, 60} {
		for _, hitch := range []time.Duration{time.Second, 5 * time.Second} {
			t.Run(fmt.Sprintf("%d Hz, %v", rate, hitch), func(t *testing.T) {
				const roundTrip = 100 * time.Millisecond
				g := newStreet(t, 60, rate, roundTrip, false, predict.Config{})
				g.owners.Get(g.car).Client = g.client()
				g.Run(4 * time.Second)
				require.True(t, g.sim.Predicts(g.id()))
				lead := func() int { return int(g.sim.Tick() - g.Server.Tick()) }
				before := lead()
				g.SuspendServer()
				g.Run(hitch)
				g.WakeServer()
				g.Run(roundTrip + 400*time.Millisecond) // It learns of the hitch, with losses, and its car is where the server has it.
				require.InDelta(t, before, lead(), float64(rate)/10, "ticks ahead")
				at, still := g.sim.Tick(), 0
				for range 20 {
					before, _ := g.shown()
					g.Run(100 * time.Millisecond)
					after, _ := g.shown()
					if after.X-before.X < .2*carSpeed/10 {
						still++
					}
				}
				require.Zero(t, still, "tenths of a second in which it stood")
				require.InDelta(t, 2*rate, int(g.sim.Tick()-at), float64(rate)/5)
			})
		}
	}
}
