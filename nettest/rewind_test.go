package nettest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/rewind"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// gaze is an input that tells what its player saw when it was made.
type gaze struct {
	Tick     uint64
	Fraction uint32
}

// The server rewinds to the moment that the client showed when it made the input. The world is as it was then: it has entities
// that have died since, and lacks those that the client may not see.
func TestRewindEqualsTheClientsView(t *testing.T) {
	p := protocol()
	input.Register[gaze](p)
	var moving, hidden, between ecs.Entity // the last is out of sight from tick 150 to 179
	var died netcode.NetworkID
	was := map[tick.Tick]position{}
	looks, dead, differ := 0, 0, 0
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 3, Link: transport.Link{Delay: 60 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .02},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			bodies := generic.NewMap2[components.Replicated, position](w)
			moving = bodies.NewWith(&components.Replicated{}, &position{})
			hidden = bodies.NewWith(&components.Replicated{}, &position{})
			between = bodies.NewWith(&components.Replicated{}, &position{X: 7})
			mortal := bodies.NewWith(&components.Replicated{}, &position{X: 9})
			s.Server.OnConnect(func(id netcode.ClientID) {
				if e, ok := s.ID(hidden); ok {
					s.Server.Hide(id, e)
				}
			})
			s.Add(tick.Update, call(func() {
				if !s.Server.TickDue() {
					return
				}
				now := s.Server.Tick()
				at := position{X: float32(now%600) / 10, Y: float32(now%64) / 2}
				_, body := bodies.Get(moving)
				*body = at
				was[now] = at
				if e, _ := s.ID(between); now == 150 || now == 180 {
					for id := range s.Server.Clients {
						if s.Server.Hide(id, e); now == 180 {
							s.Server.Show(id, e)
						}
					}
				}
				if now == 300 {
					died, _ = s.ID(mortal)
					w.RemoveEntity(mortal)
				}
				for id := range s.Server.Clients {
					in, ok := input.Of[gaze](s.Server, id)
					if !ok || !input.Has(s.Server, id) || in.Tick == 0 {
						continue
					}
					target, _ := s.ID(moving)
					unseen, _ := s.ID(hidden)
					require.True(t, rewind.At(s.Server, id, func(view *rewind.View) {
						saw := tick.Time{Tick: tick.Tick(in.Tick), Fraction: in.Fraction}
						if view.Clamped() {
							return
						}
						off := view.At().Sub(saw)
						require.Less(t, max(off, -off), tick.OneTick/30, "the unit is 1/32 tick, and the clock's speed is in it")
						got, ok := rewind.Of[position](view, target)
						require.True(t, ok)
						require.InDelta(t, was[view.At().Tick].X, got.X, .006)
						require.InDelta(t, was[view.At().Tick].Y, got.Y, .006)
						_, ok = rewind.Of[position](view, unseen)
						require.False(t, ok, "what is hidden was not seen")
						require.False(t, view.Has(unseen))
						_, ok = rewind.Of[health](view, target)
						require.False(t, ok)
						other, _ := s.ID(between)
						if at := view.At().Tick; at > 100 { // since when both have been there
							require.Equal(t, at < 150 || at >= 180, view.Has(other), "%v, whatever it sees at %d", at, now)
							if view.Has(other) != s.Server.Visible(id, other) {
								differ++
							}
						}
						seen := 0
						for e := range view.All {
							require.True(t, view.Has(e))
							require.NotEqual(t, unseen, e)
							seen++
							if e == died {
								dead++
							}
						}
						if !died.IsZero() {
							require.Equal(t, view.At().Tick < 300, view.Has(died))
						}
						require.GreaterOrEqual(t, seen, 1)
						looks++
					}))
				}
			}))
		},
		SetupClient: func(_ int, c *systems.ClientSystems, _ *ecs.World) {
			c.Add(tick.Update, call(func() {
				saw := c.Client.Present()
				require.NoError(t, input.Set(c.Client, &gaze{uint64(saw.Tick), saw.Fraction}))
			}))
		},
	})
	n.Run(20 * time.Second)
	require.Greater(t, looks, 1000)
	require.Positive(t, dead, "somebody still saw what had died")
	require.Greater(t, differ, 4, "what was seen then was not what is seen now")
	require.False(t, rewind.At(n.Server.Server, 9, nil))
}

// A client that says it shows what is long gone, or still to come, is not believed: case 53 for the second thing that an
// input says.
func TestCase53ClaimedPastIsClamped(t *testing.T) {
	p := protocol()
	input.Register[gaze](p)
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 4, Link: transport.Link{Delay: 300 * time.Millisecond},
		SetupClient: func(_ int, c *systems.ClientSystems, _ *ecs.World) {
			c.Add(tick.Update, call(func() { require.NoError(t, input.Set(c.Client, &gaze{})) }))
		},
	})
	rewind.Limit(n.Server.Server, 100*time.Millisecond)
	n.Run(5 * time.Second)
	require.True(t, rewind.At(n.Server.Server, n.Clients[0].ID(), func(view *rewind.View) {
		require.True(t, view.Clamped())
		require.Equal(t, n.Server.Tick()-3, view.At().Tick)
	}))
	require.Positive(t, rewind.StatsOf(n.Server.Server).Clamped)
}

// Looking back allocates nothing, and neither do inputs.
func TestInputsAndRewindAllocateNothing(t *testing.T) {
	var count inputCount
	n := stampNet(t, nettest.Config{Clients: 1, Seed: 5}, &count)
	n.Run(5 * time.Second)
	id := n.Clients[0].ID()
	seen := 0
	look := func(view *rewind.View) {
		for range view.All {
			seen++
		}
		_, _ = rewind.Of[position](view, netcode.NetworkID{Index: 0, Generation: 1})
	}
	alloctest.Zero(t, 100, func() {
		rewind.At(n.Server.Server, id, look)
		_, _ = input.Of[stamp](n.Server.Server, id)
	})
	v := stamp{1}
	alloctest.Zero(t, 100, func() { _ = input.Set(n.Clients[0].Client, &v) })
}
