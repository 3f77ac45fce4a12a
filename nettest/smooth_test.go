package nettest_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// shown is a world with one body whose true path is known, seen by clients that interpolate.
type shown struct {
	*nettest.Net
	t    *testing.T
	body ecs.Entity
	id   netcode.NetworkID
	path func(seconds float64) position
	on   bool                      // The body is there.
	true map[netcode.Tick]position // As of each tick, only where it is there.
	hops uint8
}

func smoothProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Replicate[components.Teleport](p)
	interpolate.Register[position](p)
	return p
}

func newShown(t *testing.T, config nettest.Config, path func(seconds float64) position) *shown {
	s := &shown{t: t, path: path, on: true, true: map[netcode.Tick]position{}}
	config.Protocol, config.Game = smoothProtocol(), s.play
	if config.Clients == 0 {
		config.Clients = 1
	}
	s.Net = nettest.New(t, config)
	return s
}

func (s *shown) play(w *ecs.World, frame int) {
	bodies := generic.NewMap3[components.Replicated, position, components.Teleport](w)
	switch {
	case s.on && s.body.IsZero():
		s.body = bodies.NewWith(&components.Replicated{}, &position{}, &components.Teleport{})
	case !s.on && !s.body.IsZero():
		w.RemoveEntity(s.body)
		s.body = ecs.Entity{}
	}
	if s.on {
		_, p, hop := bodies.Get(s.body)
		*p, hop.Count = s.path(float64(frame)/60), s.hops
	}
	if s.Server.TickDue() && s.on {
		s.true[s.Server.Tick()] = s.path(float64(frame) / 60)
	}
}

// truth returns the place of the body at a moment; false if it was not there, or not at one of the ticks around.
func (s *shown) truth(at tick.Time) (position, bool) {
	from, ok := s.true[at.Tick]
	to, more := s.true[at.Tick+1]
	part := float32(tick.Span(at.Fraction).Float())
	return position{from.X + part*(to.X-from.X), from.Y + part*(to.Y-from.Y)}, ok && more
}

// shownTwins returns all that a client shows.
func shownTwins(c *nettest.Client) (list []position) {
	for query := generic.NewFilter1[components.Smooth[position]]().Query(c.World); query.Next(); {
		list = append(list, query.Get().Value)
	}
	return list
}

func away(a, b position) float64 { return math.Hypot(float64(a.X-b.X), float64(a.Y-b.Y)) }

// percentile is the value that so many of a list do not exceed.
func percentile(list []float64, part float64) float64 {
	slices.Sort(list)
	return list[int(part*float64(len(list)-1))]
}

func circle(seconds float64) position {
	sin, cos := math.Sincos(2 * seconds)
	return position{X: 5 * float32(cos), Y: 5 * float32(sin)} // 10 m/s
}

func badLink() transport.Link {
	return transport.Link{Delay: 40 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: 0.1}
}

// A client shows the truth of the moment that it presents, but for ticks that were lost. The truth as received is there
// beside it.
func TestSmoothFollowsTheTruth(t *testing.T) {
	for name, link := range map[string]transport.Link{"good": {Delay: 40 * time.Millisecond}, "bad": badLink()} {
		t.Run(name, func(t *testing.T) {
			s := newShown(t, nettest.Config{Seed: 7, Link: link}, circle)
			c := s.Clients[0]
			require.True(t, s.RunUntil(2*time.Second, func() bool { return len(shownTwins(c)) == 1 }))
			s.Run(2 * time.Second)
			var errors []float64
			for range 1200 {
				s.Step()
				want, ok := s.truth(c.Present())
				require.True(t, ok)
				list := shownTwins(c)
				require.Len(t, list, 1)
				errors = append(errors, away(list[0], want))
				e := netcode.NetworkID{Index: 0, Generation: 1}
				asked, ok := interpolate.Of[position](c.Client, e)
				require.True(t, ok)
				require.Equal(t, list[0], asked)
				entity, ok := c.Systems.Entity(e)
				require.True(t, ok)
				positions := generic.NewMap1[position](c.World)
				newest := positions.Get(entity)
				require.InDelta(t, 0, away(s.true[c.Replica().Entity(0).Tick], *newest), 0.0101, "the truth as it arrived")
			}
			require.Less(t, percentile(errors, 0.99), map[string]float64{"good": 0.01, "bad": 0.15}[name])
		})
	}
}

// A body that rests and then moves does not slide there from long ago, one that stops does not go on, and one that goes on
// does not wait.
func TestSmoothStartsAndStopsWhenTheTruthDoes(t *testing.T) {
	path := func(seconds float64) position { // A second of rest, a second at 6 m/s, and so on.
		whole, part := math.Modf(seconds / 2)
		return position{X: float32(math.Mod(whole*6+6*max(2*part-1, 0), 48)) - 30}
	}
	for name, link := range map[string]transport.Link{"good": {Delay: 40 * time.Millisecond}, "jitter": {Delay: 40 * time.Millisecond, Jitter: 30 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			s := newShown(t, nettest.Config{Seed: 2, Link: link}, path)
			c := s.Clients[0]
			s.Run(3 * time.Second)
			worst := 0.0
			for range 720 {
				s.Step()
				want, ok := s.truth(c.Present())
				require.True(t, ok)
				worst = max(worst, away(shownTwins(c)[0], want))
			}
			require.Less(t, worst, 0.02)
		})
	}
}

// Entities appear when their first tick is presented and vanish when their last is, not when that arrives; the truth comes
// and goes on arrival.
func TestSmoothAppearsAndVanishesInTime(t *testing.T) {
	s := newShown(t, nettest.Config{Seed: 5, Link: badLink()}, circle)
	c := s.Clients[0]
	var gone []netcode.Tick
	c.Systems.OnDespawn(func(ecs.Entity, netcode.NetworkID) { gone = append(gone, c.Present().Tick) })
	s.on = false
	require.True(t, s.RunUntil(time.Second, s.Connected))
	s.Run(2 * time.Second)
	for round := range 20 {
		s.on = true
		arrived := false
		for len(shownTwins(c)) == 0 {
			s.Step()
			arrived = arrived || c.Replica().Len() == 1
			if born := c.Replica().Entity(0); len(shownTwins(c)) == 1 {
				require.True(t, arrived)
				first := netcode.Tick(math.MaxInt64)
				for at := range s.true {
					if _, before := s.true[at-1]; !before && at > born.Tick-60 {
						first = min(first, at)
					}
				}
				require.GreaterOrEqual(t, c.Present().Tick, first, "round %d", round)
			}
		}
		s.Run(time.Duration(round%4) * 300 * time.Millisecond)
		s.on = false
		s.Step()
		for range 60 {
			s.Step()
			if _, there := s.true[c.Present().Tick+1]; there && c.Replica().Len() == 0 {
				require.Len(t, shownTwins(c), 1, "it is still shown")
			}
		}
		require.Empty(t, shownTwins(c))
		require.Len(t, gone, round+1)
		require.NotContains(t, s.true, gone[round], "it had gone by then")
		require.NoError(t, s.CheckConverge())
	}
}

// A body that teleports is never shown between the two places.
func TestSmoothDoesNotSlideOverATeleport(t *testing.T) {
	s := newShown(t, nettest.Config{Seed: 5, Link: badLink()}, nil)
	place := float32(-20)
	s.path = func(seconds float64) position { return position{X: place, Y: float32(math.Mod(seconds, 10))} }
	c := s.Clients[0]
	require.True(t, s.RunUntil(2*time.Second, func() bool { return len(shownTwins(c)) == 1 }))
	seen := map[float32]int{}
	for step := range 1200 {
		if step%90 == 0 {
			place, s.hops = -place, s.hops+1
		}
		s.Step()
		seen[shownTwins(c)[0].X]++
	}
	require.Len(t, seen, 2, "%v", seen)
}

// A client that goes and comes again begins anew, and a world that was reset is shown again.
func TestSmoothBeginsAnew(t *testing.T) {
	s := newShown(t, nettest.Config{Seed: 5, Link: badLink()}, circle)
	c := s.Clients[0]
	see := func() bool { return len(shownTwins(c)) == 1 }
	require.True(t, s.RunUntil(2*time.Second, see))
	c.World.Reset()
	require.True(t, s.RunUntil(time.Second, see))
	require.NoError(t, c.Connect(s.Address()))
	require.True(t, s.RunUntil(time.Second, func() bool { return len(shownTwins(c)) == 0 }))
	require.True(t, s.RunUntil(2*time.Second, see))
	entity, ok := c.Systems.Entity(netcode.NetworkID{Index: 0, Generation: 1})
	require.True(t, ok)
	ecs.Exchange(c.World, entity, nil, []ecs.ID{ecs.ComponentID[components.Smooth[position]](c.World)}, nil)
	s.Run(time.Second)
	require.Empty(t, shownTwins(c), "what the game took away stays away")
}
