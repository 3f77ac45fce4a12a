package nettest_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// clocks watches the clocks of every client of a Net, frame by frame.
type clocks struct {
	*shown
	begun map[netcode.Tick]time.Duration // When the server's ticks began.
	last  []tick.Time                    // What was presented before, by client,
	id    []netcode.ClientID             // and in which session.
}

func newClocks(t *testing.T, config nettest.Config) *clocks {
	return &clocks{shown: newShown(t, config, circle), begun: map[netcode.Tick]time.Duration{}}
}

// step runs a frame. The presented moment never goes back, and no frame has more steps than the catch-up allows.
func (k *clocks) step() {
	k.t.Helper()
	before := k.Server.Tick()
	k.Step()
	for at := before + 1; at <= k.Server.Tick(); at++ {
		k.begun[at] = k.Now()
	}
	for len(k.last) < len(k.Clients) {
		k.last, k.id = append(k.last, tick.Time{}), append(k.id, 0)
	}
	for i, c := range k.Clients {
		if k.id[i] == c.ID() {
			require.False(k.t, c.Present().Before(k.last[i]), "client %d went back from %v to %v", i, k.last[i], c.Present())
		}
		k.last[i], k.id[i] = c.Present(), c.ID()
		require.LessOrEqual(k.t, c.Steps(), 4)
	}
}

func (k *clocks) run(d time.Duration) {
	k.t.Helper()
	for end := k.Now() + d; k.Now() < end; {
		k.step()
	}
}

// serverTime is the true time at the server.
func (k *clocks) serverTime() tick.Time {
	now := k.Server.Tick()
	return now.Begin().Add(tick.SpanOf(k.Now()-k.begun[now], 30))
}

// settled requires, for a while, that a client knows the server's time, that its input clock leads by what an input needs
// on its way and little more, and that what it presents is neither far behind nor ahead of what arrived.
func (k *clocks) settled(c *nettest.Client, way, jitter time.Duration) {
	k.t.Helper()
	slack := 2*time.Second/30 + jitter
	for range 300 {
		k.step()
		require.Equal(k.t, netcode.Connected, c.State())
		off := c.ServerTime().Sub(k.serverTime()).Duration(30)
		require.LessOrEqual(k.t, off.Abs(), slack, "the server's time is known")
		lead := c.Time().Sub(k.serverTime()).Duration(30)
		require.GreaterOrEqual(k.t, lead, way-time.Second/30, "inputs arrive in time")
		require.LessOrEqual(k.t, lead, way+2*jitter+7*time.Second/30, "and no earlier than the round trip asks for: no input tells better")
		behind := k.serverTime().Sub(c.Present()).Duration(30)
		require.GreaterOrEqual(k.t, behind, way-time.Second/30)
		require.LessOrEqual(k.t, behind, way+2*jitter+150*time.Millisecond)
	}
}

// Round trips of 0 and 500 ms, with jitter and loss.
func TestClocksAtAnyRoundTrip(t *testing.T) {
	for _, way := range []time.Duration{0, 30, 250} {
		for _, jitter := range []time.Duration{0, 30} {
			t.Run(fmt.Sprint(int(2*way), " ms and ", int(jitter)), func(t *testing.T) {
				link := transport.Link{Delay: way * time.Millisecond, Jitter: jitter * time.Millisecond}
				if jitter > 0 {
					link.Loss = 0.05
				}
				k := newClocks(t, nettest.Config{Seed: 4, Link: link})
				k.run(10 * time.Second)
				k.settled(k.Clients[0], link.Delay, link.Jitter)
				require.Zero(t, k.Clients[0].Stats().Malformed)
			})
		}
	}
}

// Clocks of clients that run up to 5 % slow or fast.
func TestCase54ClocksThatDrift(t *testing.T) {
	rates := []float64{0.95, 0.99, 1.001, 1.05}
	k := newClocks(t, nettest.Config{
		Seed: 9, Link: transport.Link{Delay: 40 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.02}, Clients: len(rates),
		ClientClock: func(i int, now time.Duration) time.Duration { return time.Duration(float64(now) * rates[i]) },
	})
	k.run(15 * time.Second)
	for _, c := range k.Clients {
		k.settled(c, 40*time.Millisecond, 20*time.Millisecond)
	}
	require.True(t, k.Connected())
}

// A clock that jumps by an hour, forwards and backwards, ends no connection, and its client is in step again soon.
func TestCase54ClocksThatJump(t *testing.T) {
	var jump time.Duration
	k := newClocks(t, nettest.Config{
		Seed: 9, Link: transport.Link{Delay: 40 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.02}, Clients: 2,
		ClientClock: func(i int, now time.Duration) time.Duration { return now + jump*time.Duration(i) },
	})
	k.run(5 * time.Second)
	for _, jump = range []time.Duration{time.Hour, 0, -time.Hour, 0} {
		k.run(15 * time.Second)
		require.True(t, k.Connected())
		for _, c := range k.Clients {
			k.settled(c, 40*time.Millisecond, 20*time.Millisecond)
		}
	}
	require.EqualValues(t, 2, k.Server.Stats().Connected, "nobody had to come again")
}

// A client that takes no frames for 30 s, and a server that is stopped for 10 s or less: nobody times out who is allowed
// to be silent for so long, and all are in step again soon. A client that sends little has few samples of the round trip:
// those of packets that had lain in the stopped server's socket stayed for long with the seeds that come first.
func TestCase54SuspendedEnds(t *testing.T) {
	patient := netcode.Config{SilenceTimeout: 40 * time.Second}
	stops := [4]time.Duration{10 * time.Second, 3400 * time.Millisecond, 2 * time.Second, time.Second}
	type suspension struct {
		seed uint64
		stop time.Duration
	}
	all := []suspension{{2, stops[0]}, {16, stops[0]}, {47, stops[0]}, {15, stops[1]}, {15, stops[2]}, {15, stops[3]}}
	for seed := range uint64(sized(0, 200)) {
		all = append(all, suspension{seed, stops[seed%4]})
	}
	for _, s := range all {
		t.Run(fmt.Sprint("seed ", s.seed, ", ", s.stop), func(t *testing.T) {
			t.Parallel()
			k := newClocks(t, nettest.Config{Seed: s.seed, Link: badLink(), Clients: 2, Server: patient, Client: patient})
			k.run(5 * time.Second)
			k.Suspend(k.Clients[1])
			k.run(30 * time.Second)
			k.Wake(k.Clients[1])
			k.run(10 * time.Second)
			for _, c := range k.Clients {
				k.settled(c, 40*time.Millisecond, 30*time.Millisecond)
			}
			k.SuspendServer()
			k.run(s.stop)
			k.WakeServer()
			k.run(15 * time.Second)
			for _, c := range k.Clients {
				k.settled(c, 40*time.Millisecond, 30*time.Millisecond)
			}
			require.EqualValues(t, 2, k.Server.Stats().Connected)
			require.Zero(t, k.Server.Stats().Disconnected)
		})
	}
}

// A server that is stopped for longer than its own patience with the silent closes nobody when it goes on: what they sent
// meanwhile is looked at first, and no more ticks are made up for than the catch-up allows.
func TestCase54ServerStopped(t *testing.T) {
	k := newClocks(t, nettest.Config{
		Seed: 3, Link: badLink(), Clients: 3, Server: netcode.Config{}, Client: netcode.Config{SilenceTimeout: 40 * time.Second},
	})
	k.run(5 * time.Second)
	k.SuspendServer()
	k.run(12 * time.Second)
	before := k.Server.Tick()
	k.WakeServer()
	k.step()
	require.LessOrEqual(t, k.Server.Tick(), before+4, "ticks made up for")
	k.run(15 * time.Second)
	for _, c := range k.Clients {
		k.settled(c, 40*time.Millisecond, 30*time.Millisecond)
	}
	require.EqualValues(t, 3, k.Server.Stats().Connected)
	require.Zero(t, k.Server.Stats().Disconnected)
	require.NotZero(t, k.Server.Stats().TicksSlipped)
}

// A server as old as 2^31, 2^32 or any other number of ticks is like a young one: state, clocks and what is shown.
func TestCase55OldServers(t *testing.T) {
	for _, first := range []netcode.Tick{1<<16 - 100, 1<<31 - 100, 1<<32 - 100, 1<<32 + 1<<31 - 100, 1 << 50} {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			k := newClocks(t, nettest.Config{
				Seed: 6, Link: badLink(), Server: netcode.Config{FirstTick: first, Window: 100, SentPackets: 100},
			})
			k.run(8 * time.Second)
			require.Greater(t, k.Server.Tick(), first+200)
			c := k.Clients[0]
			k.settled(c, 40*time.Millisecond, 30*time.Millisecond)
			worst := 0.0
			for range 300 {
				k.step()
				want, ok := k.truth(c.Present())
				require.True(t, ok)
				worst = max(worst, away(shownTwins(c)[0], want))
			}
			require.Less(t, worst, 0.4)
			k.path = func(float64) position { return position{X: 1} }
			k.AssertConverge()
		})
	}
	_, err := netcode.NewServer(protocol(), netcode.Config{FirstTick: math.MaxInt64})
	require.ErrorContains(t, err, "FirstTick")
}

// A world at rest is presented as closely as one that moves: what begins to move after a long time is shown at once.
func TestClocksGoOnInAWorldAtRest(t *testing.T) {
	k := newClocks(t, nettest.Config{Seed: 8, Link: transport.Link{Delay: 40 * time.Millisecond, Jitter: 20 * time.Millisecond}})
	k.path = func(seconds float64) position { return position{X: float32(math.Floor(seconds / 10))} }
	k.run(12 * time.Second)
	sent := k.Server.Stats().Packets.Sent
	k.settled(k.Clients[0], 40*time.Millisecond, 20*time.Millisecond)
	require.Less(t, k.Server.Stats().Packets.Sent-sent, uint64(60), "5 s at rest take 4 packets a second and what acknowledges")
}

type slide struct{ X float32 }

// presentGame has entities that come while a client plays.
func presentGame(t *testing.T, setup func(c *systems.ClientSystems, w *ecs.World)) *nettest.Net {
	p := netcode.NewProtocol()
	netcode.Replicate[slide](p)
	interpolate.Register[slide](p)
	return nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 3, Link: transport.Link{Delay: 50 * time.Millisecond, Loss: .05}, Server: netcode.Config{TickRate: 20},
		Game: func(w *ecs.World, frame int) {
			for q := generic.NewFilter1[slide]().Query(w); q.Next(); {
				q.Get().X = float32(frame)
			}
			if frame%30 == 0 {
				build := generic.NewMap2[slide, components.Replicated](w)
				build.New()
			}
		},
		SetupClient: func(_ int, c *systems.ClientSystems, w *ecs.World) { setup(c, w) },
	})
}

// OnPresented comes once for each entity, after OnSpawn, and with its Smooth.
func TestOnPresented(t *testing.T) {
	t.Parallel()
	spawned, presented, later := map[netcode.NetworkID]int{}, map[netcode.NetworkID]bool{}, 0
	var n *nettest.Net
	n = presentGame(t, func(c *systems.ClientSystems, w *ecs.World) {
		c.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
			spawned[id] = n.Frame()
			require.False(t, ecs.Has(w, e, ecs.ComponentID[components.Smooth[slide]](w)))
		})
		c.OnPresented(func(e ecs.Entity, id netcode.NetworkID) {
			require.False(t, presented[id], "once")
			presented[id] = true
			require.Contains(t, spawned, id)
			require.True(t, ecs.Has(w, e, ecs.ComponentID[components.Smooth[slide]](w)))
			if n.Frame() > spawned[id] {
				later++
			}
		})
	})
	n.Run(10 * time.Second)
	require.Greater(t, len(presented), 10)
	require.GreaterOrEqual(t, len(spawned)-len(presented), 0)
	require.Less(t, len(spawned)-len(presented), 3)
	require.Positive(t, later)
}

// SetPresentDelay bounds what is measured, and holds for the next connection.
func TestSetPresentDelay(t *testing.T) {
	t.Parallel()
	n := presentGame(t, func(*systems.ClientSystems, *ecs.World) {})
	c := n.Clients[0]
	delay := func() time.Duration { return c.PresentDelay().Duration(c.TickRate()) }
	n.Run(5 * time.Second)
	measured := delay()
	require.Less(t, measured, 250*time.Millisecond)
	c.SetPresentDelay(400*time.Millisecond, 400*time.Millisecond)
	n.Run(10 * time.Second)
	require.InDelta(t, 400*time.Millisecond, delay(), float64(30*time.Millisecond))
	require.NoError(t, c.Connect(n.Address()))
	n.Run(5 * time.Second)
	require.InDelta(t, 400*time.Millisecond, delay(), float64(30*time.Millisecond))
	c.SetPresentDelay(0, 20*time.Millisecond)
	n.Run(20 * time.Second)
	require.Less(t, delay(), measured)
	for _, bad := range [][2]time.Duration{{-1, 1}, {0, 0}, {2, 1}} {
		require.Panics(t, func() { c.SetPresentDelay(bad[0], bad[1]) })
	}
}

// A ring of sent packets that holds less than a round trip slows down what is sent, at both ends, and stops nothing for good.
func TestARingSmallerThanARoundTrip(t *testing.T) {
	for _, c := range []struct {
		rate, ring int
		delay      time.Duration
	}{{100, 64, 400 * time.Millisecond}, {60, 64, 600 * time.Millisecond}, {1000, 1024, 600 * time.Millisecond}} {
		p := netcode.NewProtocol()
		netcode.Replicate[position](p)
		var e ecs.Entity
		moving := true
		config := netcode.Config{TickRate: c.rate, SentPackets: c.ring, SendBudget: -1}
		n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Seed: 1, Rate: c.rate, Link: transport.Link{Delay: c.delay}, Server: config, Client: config,
			Game: func(w *ecs.World, frame int) {
				b := generic.NewMap2[components.Replicated, position](w)
				if frame == 1 {
					e = b.New()
				}
				if _, at := b.Get(e); moving {
					at.X = float32(frame)
				}
			}})
		require.True(t, n.RunUntil(5*time.Second, n.Connected))
		n.Run(10 * time.Second)
		stats, ok := n.Server.ClientStats(1)
		require.True(t, ok)
		require.Equal(t, 1, stats.Known)
		require.InDelta(t, float64(2*c.delay), float64(stats.RTT), float64(100*time.Millisecond), "%d Hz", c.rate)
		require.Zero(t, stats.Loss)
		require.NotZero(t, stats.Packets.RingFull)
		require.NotZero(t, n.Server.Stats().SentRingFull)
		spawns := stats.Snapshot.Spawns
		n.Run(5 * time.Second)
		stats, _ = n.Server.ClientStats(1)
		require.Equal(t, spawns, stats.Snapshot.Spawns, "what is acknowledged is leaned on")
		moving = false
		n.Run(10 * c.delay)
		n.AssertConverge()
	}
}
