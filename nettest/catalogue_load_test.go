package nettest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// turnover is a game in which so many entities live, and so many of them are replaced each second.
type turnover struct {
	count, perSecond, rate, rest int
	all                          []ecs.Entity
	oldest                       int
}

func (g *turnover) play(w *ecs.World, frame int) {
	bodies := generic.NewMap3[components.Replicated, position, health](w)
	spawn := func() ecs.Entity {
		return bodies.NewWith(&components.Replicated{}, &position{X: float32(frame%100) / 10}, &health{Points: int32(frame)})
	}
	for len(g.all) < g.count {
		g.all = append(g.all, spawn())
	}
	if frame > g.rest {
		return
	}
	for range g.perSecond*frame/g.rate - g.perSecond*(frame-1)/g.rate {
		w.RemoveEntity(g.all[g.oldest])
		g.all[g.oldest] = spawn()
		g.oldest = (g.oldest + 1) % len(g.all)
	}
}

// census knows since when each entity has lived.
type census struct {
	born map[netcode.NetworkID]time.Duration
}

func (c *census) take(n *nettest.Net) {
	for _, id := range n.Server.Store().Births() {
		if _, known := c.born[id]; !known {
			c.born[id] = n.Now()
		}
	}
}

// missing counts the entities older than an age that a client lacks.
func (c *census) missing(n *nettest.Net, client *nettest.Client, age time.Duration) (missing int) {
	for id := range n.Server.Store().All {
		if n.Now()-c.born[id] < age {
			continue
		}
		if r := client.Replica(); r == nil || r.Entity(id.Index).ID != id || !r.Entity(id.Index).Alive {
			missing++
		}
	}
	return missing
}

// A client joins, in every phase of a tick, a world of 5000 entities of which 500 are replaced each second, over a link that
// loses a fifth of everything, with 256 KiB a second: after three seconds it lacks none that is older than one. Those that
// are there already lack none all the while. Congestion control begins at 64 KiB a second: with -heavy it is after five seconds.
func TestCase27LateJoinAtEveryTickPhase(t *testing.T) {
	const rate, age = 120, time.Second // four frames in each tick of 30 Hz
	g := &turnover{count: sized(1000, 5000), perSecond: sized(100, 500), rate: rate, rest: 1 << 30}
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: 1, Seed: 27, Rate: rate, Game: g.play,
		Server: netcode.Config{SendBudget: 256 << 10, SilenceTimeout: 2 * time.Second},
		Link:   transport.Link{Delay: 40 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: .2},
	})
	born := census{born: map[netcode.NetworkID]time.Duration{}}
	step := func(frames int, each func()) {
		for range frames {
			n.Step()
			born.take(n)
			if each != nil && n.Frame()%4 == 0 {
				each()
			}
		}
	}
	step(4*rate, nil)
	first := n.Clients[0]
	require.Zero(t, born.missing(n, first, age), "the first client is in step")
	for phase := range sized(1, 4) {
		step((phase-n.Frame()%4+4)%4, nil)
		require.Equal(t, phase, n.Frame()%4)
		late := n.Join()
		step(sized(3, 5)*rate, func() { require.Zero(t, born.missing(n, first, age), "the others are not disturbed") })
		require.Equal(t, netcode.Connected, late.State())
		step(rate, func() { require.Zero(t, born.missing(n, late, age), "phase %d", phase) })
		require.LessOrEqual(t, lag(n, late), 15)
		casebook.Injected(t, 1, "late joins in another phase of the tick")
		if phase < 3 {
			n.Kill(late)
		}
	}
	g.rest = n.Frame()
	n.AssertConverge()
}

// boulder does not fit a packet of 256 bytes.
type boulder struct{ Weights [64]uint32 }

// An entity too large for a packet is reported, and nothing waits behind it. Once it is smaller it arrives.
func TestCase28EntityLargerThanAPacket(t *testing.T) {
	p := protocol()
	netcode.Replicate[boulder](p)
	var large ecs.Entity
	g := &walkers{count: 20, rest: 300}
	var n *nettest.Net
	var reported []*netcode.OversizeError
	n = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 28, Link: bad(.1), Server: netcode.Config{PacketSize: 256},
		Setup: func(s *systems.ServerSystems, _ *ecs.World) {
			s.Server.OnError(func(err error) {
				var oversize *netcode.OversizeError
				if errors.As(err, &oversize) {
					reported = append(reported, oversize)
				}
			})
		},
		Game: func(w *ecs.World, frame int) {
			switch frame {
			case 1: // before the others, so that they are behind it in every packet
				boulders := generic.NewMap3[components.Replicated, boulder, position](w)
				large = boulders.NewWith(&components.Replicated{}, &boulder{}, &position{X: 3})
			case 300:
				w.Remove(large, ecs.ComponentID[boulder](w))
			}
			g.play(w, frame)
		},
	})
	n.Run(4 * time.Second)
	id, known := n.Server.Systems.ID(large)
	require.True(t, known)
	for _, c := range n.Clients {
		require.Equal(t, 20, c.Replica().Len(), "all but the large one")
		_, there := c.Systems.Entity(id)
		require.False(t, there)
		stats, _ := n.Server.ClientStats(c.ID())
		require.False(t, stats.Synced, "the client lacks it, and the server knows")
	}
	require.NotEmpty(t, reported)
	for _, err := range reported {
		require.Equal(t, id, err.Entity)
	}
	require.NotZero(t, n.Server.Stats().Oversize)
	casebook.Injected(t, n.Server.Stats().Oversize, "times that an entity did not fit")
	n.Run(2 * time.Second)
	n.AssertConverge()
	for _, c := range n.Clients {
		require.Equal(t, 21, c.Replica().Len())
	}
}

// A client that has lost its past is whole again within a second; one that claims so all the time is sent the whole world
// not more often than every two seconds.
func TestCase29BaselineLost(t *testing.T) {
	g := &walkers{count: 60}
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: 2, Seed: 29, Link: bad(.05), Game: g.play, Server: netcode.Config{SendBudget: -1},
	})
	n.Run(3 * time.Second)
	c := n.Clients[0]
	c.Replica().Lose()
	served := n.RunUntil(time.Second, func() bool {
		_, want := c.Replica().WantResync()
		return !want && lag(n, c) < 8
	})
	require.True(t, served, "resync within a second")
	n.Run(5 * time.Second)
	before, _ := n.Server.ClientStats(c.ID())
	seconds := sized(6, 60)
	for end := n.Now() + time.Duration(seconds)*time.Second; n.Now() < end; {
		n.Step()
		c.Replica().Lose()
		require.LessOrEqual(t, lag(n, n.Clients[1]), 12, "the other client")
	}
	after, _ := n.Server.ClientStats(c.ID())
	resyncs := after.Snapshot.Resyncs - before.Snapshot.Resyncs
	require.LessOrEqual(t, resyncs, uint64(seconds/2+1))
	require.GreaterOrEqual(t, resyncs, uint64(seconds/2-1), "and not much less often")
	require.NotZero(t, n.Server.Stats().ResyncsDeferred)
	casebook.Injected(t, n.Server.Stats().ResyncsDeferred, "baselines lost before the next resync was due")
	g.rest = n.Frame()
	n.Run(2 * time.Second)
	n.AssertConverge()
}

// So many entities move in every frame that 8 KB/s cannot tell of all of them at once. None waits longer than the others'
// records take to go around, with a half of slack, and a second for the round trip and for packets that hold many. Beside
// reliable messages that would fill every packet on their own the same holds for the half that is left to state; and of the
// messages each arrives once, in order.
func TestCase31Starvation(t *testing.T) {
	alone := starvation(t, 0)
	beside := starvation(t, 700)
	require.LessOrEqual(t, beside, 2*alone, "state keeps its half")
	casebook.Injected(t, beside/time.Millisecond, "ms that an entity waits at most beside a burst of messages")
}

// starvation returns what the oldest entity may have waited: a bound that was kept.
func starvation(t *testing.T, burst int) time.Duration {
	const budget = 8 << 10
	g := &walkers{count: sized(500, 5000)}
	p := protocol()
	heard := uint32(0)
	netcode.Handle(p, func(_ *netcode.Context, m *lump) {
		require.Equal(t, heard, m.Number, "in order, each once")
		heard++
	}, netcode.Over(netcode.ReliableOrdered))
	sent, refused, bursts := uint32(0), 0, false
	var n *nettest.Net
	n = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 31, Rate: 30,
		Server: netcode.Config{SendBudget: budget, ReliableBytes: 32 << 10}, Link: transport.Link{Delay: 30 * time.Millisecond},
		Game: func(w *ecs.World, frame int) {
			g.play(w, frame)
			for i := 0; bursts && i < burst; i += 350 {
				if netcode.Send(n.Server.Server, netcode.To(n.Clients[0].ID()), &lump{Number: sent}) != nil {
					refused++
					return
				}
				sent++
			}
		},
	})
	c := n.Clients[0]
	n.Run(time.Second)
	require.True(t, n.RunUntil(time.Minute, func() bool { return c.Replica().Len() == g.count }), "only %d came", c.Replica().Len())
	bursts = true
	n.Run(sized(5*time.Second, 20*time.Second))
	before, _ := n.Server.ClientStats(c.ID())
	worst, span, first := tick.Tick(0), sized(20*time.Second, 30*time.Second), heard
	for end := n.Now() + span; n.Now() < end; {
		n.Step()
		for e := range c.Replica().All {
			worst = max(worst, n.Server.Tick()-e.Tick)
		}
		stats, _ := n.Server.ClientStats(c.ID())
		require.True(t, burst == 0 || stats.Waiting > 0, "messages wait all the while")
	}
	after, _ := n.Server.ClientStats(c.ID())
	records := after.Snapshot.Spawns + after.Snapshot.Updates - before.Snapshot.Spawns - before.Snapshot.Updates
	each := float64(after.Packets.BytesSent-before.Packets.BytesSent) / float64(records)
	bound := time.Duration(1.5*each*float64(g.count)/budget*float64(time.Second)) + time.Second
	waited := time.Duration(worst) * n.Server.Interval()
	t.Logf("%d entities of %.1f bytes a record: the oldest was %v old, the bound is %v; %d messages", g.count, each, waited, bound, heard-first)
	require.LessOrEqual(t, waited, bound)
	require.LessOrEqual(t, after.Packets.BytesSent-before.Packets.BytesSent, uint64(budget*(span+time.Second).Seconds()))
	g.rest, bursts = n.Frame(), false
	if burst > 0 {
		share := float64(heard-first) * 350 / (budget * span.Seconds())
		require.Greater(t, share, .25, "the messages' share")
		require.Less(t, share, .6)
		require.NotZero(t, refused)
	}
	n.Run(2*bound + 10*time.Second)
	require.Equal(t, sent, heard)
	n.AssertConverge()
	return bound
}

// lump is a message of a third of a packet.
type lump struct {
	Number uint32
	Filler [86]uint32
}
