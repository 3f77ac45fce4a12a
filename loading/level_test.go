package loading_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/loading"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// brick is of one level.
type brick struct{ Level, N uint32 }

// levelGame is a server that builds levels, and clients that take a time to load each.
type levelGame struct {
	*nettest.Net
	takes  []time.Duration // By client; below 0: for ever.
	begun  []time.Duration // By client: when it began to load,
	finish []func()        // and what ends it; nil: nothing is being loaded.
	loads  []uint32        // By client: the levels that it was told, in sum.
	loaded []netcode.ClientID
	all    int                // Calls of all,
	late   []netcode.ClientID // and the newest argument.
	build  func(w *ecs.World)
	level  uint32
}

const bricks = 900

func newLevelGame(t *testing.T, clients int, link transport.Link) *levelGame {
	p := netcode.NewProtocol()
	netcode.Replicate[brick](p)
	loading.Register(p)
	g := &levelGame{takes: make([]time.Duration, 9), begun: make([]time.Duration, 9), finish: make([]func(), 9), loads: make([]uint32, 9)}
	g.Net = nettest.New(t, nettest.Config{
		Protocol: p, Clients: clients, Seed: 5, Link: link, Rate: 30, Server: netcode.Config{SendBudget: 24 << 10},
		Game: func(w *ecs.World, _ int) {
			if g.build != nil {
				g.build(w)
				g.build = nil
			}
		},
		Setup: func(s *systems.ServerSystems, _ *ecs.World) {
			loading.OnLoaded(s.Server, func(id netcode.ClientID) {
				g.loaded = append(g.loaded, id)
				for _, c := range g.Clients {
					if c.ID() == id {
						require.Equal(t, bricks, g.count(c, g.level), "its state is there")
					}
				}
			})
		},
		SetupClient: func(i int, c *systems.ClientSystems, _ *ecs.World) {
			loading.Of(c.Client).OnLevel(func(level uint32, done func()) { g.begun[i], g.finish[i], g.loads[i] = g.Now(), done, g.loads[i]+level })
		},
	})
	g.Each(func() {
		for i, done := range g.finish {
			if done != nil && g.takes[i] >= 0 && g.Now()-g.begun[i] >= g.takes[i] {
				g.finish[i] = nil
				done()
			}
		}
	})
	return g
}

// begin builds a level in the next frame.
func (g *levelGame) begin(level uint32, patience time.Duration) {
	g.level = level
	g.build = func(w *ecs.World) {
		var old []ecs.Entity
		for q := generic.NewFilter1[brick]().Query(w); q.Next(); {
			old = append(old, q.Entity())
		}
		for _, e := range old {
			w.RemoveEntity(e)
		}
		build := generic.NewMap2[brick, components.Replicated](w)
		for n := range uint32(bricks) {
			build.NewWith(&brick{level, n * 7919}, &components.Replicated{})
		}
		loading.Begin(g.Server.Server, level, patience, func(late []netcode.ClientID) {
			g.all, g.late = g.all+1, late
		})
	}
	g.Step()
}

func (g *levelGame) count(c *nettest.Client, level uint32) (n int) {
	for q := generic.NewFilter1[brick]().Query(c.World); q.Next(); {
		if q.Get().Level == level {
			n++
		}
	}
	return n
}

// ids returns the ids of clients, by number.
func (g *levelGame) ids(clients ...int) (ids []netcode.ClientID) {
	for _, i := range clients {
		ids = append(ids, g.Clients[i].ID())
	}
	return ids
}

// All clients have loaded a level when the slowest has, and each has the level's state by then.
func TestAllHaveLoaded(t *testing.T) {
	t.Parallel()
	for _, loss := range []float64{0, .2} {
		g := newLevelGame(t, 3, transport.Link{Delay: 60 * time.Millisecond, Loss: loss})
		require.True(t, g.RunUntil(10*time.Second, g.Connected))
		g.takes[2] = 3 * time.Second
		for level := uint32(1); level <= 3; level++ { // Level 3 is played twice.
			g.begin(level, time.Minute)
			require.Len(t, loading.Waiting(g.Server.Server), 3)
			begun := g.Now()
			require.True(t, g.RunUntil(20*time.Second, func() bool { return g.all == int(level) }))
			require.Empty(t, g.late)
			require.GreaterOrEqual(t, g.Now()-begun, 3*time.Second)
			require.ElementsMatch(t, g.ids(0, 1, 2), g.loaded[3*level-3:])
		}
		g.begin(3, time.Minute)
		require.True(t, g.RunUntil(20*time.Second, func() bool { return g.all == 4 }))
		g.Run(time.Second)
		require.Equal(t, 4, g.all, "once each")
		require.Equal(t, uint32(1+2+3+3), g.loads[0])
		require.Empty(t, loading.Waiting(g.Server.Server))
	}
}

// A client that leaves is not waited for. One that joins meanwhile is.
func TestLeaversAndJoinersOfALevel(t *testing.T) {
	t.Parallel()
	g := newLevelGame(t, 3, transport.Link{Delay: 40 * time.Millisecond})
	require.True(t, g.RunUntil(10*time.Second, g.Connected))
	g.takes[2], g.takes[3] = -1, 2*time.Second
	g.begin(1, time.Minute)
	g.Run(3 * time.Second)
	require.Equal(t, g.ids(2), loading.Waiting(g.Server.Server))
	g.Join()
	require.True(t, g.RunUntil(10*time.Second, func() bool { return g.Connected() && g.loads[3] == 1 }), "it is told the level")
	require.Equal(t, g.ids(2, 3), loading.Waiting(g.Server.Server))
	g.Clients[2].Close()
	g.Run(time.Second)
	require.Zero(t, g.all, "client 3 still loads")
	require.True(t, g.RunUntil(5*time.Second, func() bool { return g.all == 1 }))
	require.Empty(t, g.late)

	g.Join() // After all: it loads the level as well.
	require.True(t, g.RunUntil(10*time.Second, func() bool { return len(g.loaded) == 4 }))
	require.Equal(t, g.ids(4), g.loaded[3:])
	require.Equal(t, bricks, g.count(g.Clients[4], 1))
	require.Equal(t, 1, g.all)
}

// A client that comes back loads anew: what it said in its last connection does not count.
func TestReturnToALevel(t *testing.T) {
	t.Parallel()
	g := newLevelGame(t, 2, transport.Link{Delay: 40 * time.Millisecond, Loss: .1})
	require.True(t, g.RunUntil(10*time.Second, g.Connected))
	g.takes[0], g.takes[1] = 0, -1
	g.begin(1, time.Minute)
	require.True(t, g.RunUntil(10*time.Second, func() bool { return len(g.loaded) == 1 }))
	stale := g.finish[1]
	for _, c := range g.Clients {
		c.Close()
	}
	g.takes[0] = time.Second
	require.True(t, g.RunUntil(10*time.Second, func() bool {
		return g.Clients[0].State() == netcode.Disconnected && g.Clients[1].State() == netcode.Disconnected
	}))
	g.all = 0 // While nobody was there the level was loaded by all.
	g.begin(2, time.Minute)
	for _, c := range g.Clients {
		require.NoError(t, c.Connect(g.Address()))
	}
	require.True(t, g.RunUntil(10*time.Second, func() bool { return g.Connected() && g.loads[1] >= 2 }))
	g.all = 0
	g.begin(3, time.Minute)
	g.Run(time.Second)
	stale()
	g.Run(4 * time.Second)
	require.Equal(t, g.ids(1), loading.Waiting(g.Server.Server), "a done of the last connection has no effect")
	require.Zero(t, g.all)
	g.finish[1]()
	require.True(t, g.RunUntil(5*time.Second, func() bool { return g.all == 1 }))
}

// A client that never loads holds nobody up for longer than the patience. It is late, and may still come.
func TestPatienceForALevel(t *testing.T) {
	t.Parallel()
	g := newLevelGame(t, 3, transport.Link{Delay: 40 * time.Millisecond})
	require.True(t, g.RunUntil(10*time.Second, g.Connected))
	g.takes[1] = -1
	g.begin(7, 2*time.Second)
	begun := g.Now()
	require.True(t, g.RunUntil(3*time.Second, func() bool { return g.all == 1 }))
	require.InDelta(t, 2, (g.Now() - begun).Seconds(), 0.1)
	require.Equal(t, g.ids(1), g.late)
	first := g.finish[1]

	g.begin(8, time.Hour) // It replaces level 7, for which client 1 answers too late.
	g.Run(time.Second)
	first()
	g.Run(time.Second)
	require.Equal(t, g.ids(1), loading.Waiting(g.Server.Server))
	g.begin(9, time.Hour)
	g.takes[1] = 0
	require.True(t, g.RunUntil(5*time.Second, func() bool { return g.all == 2 }))
	g.Run(time.Second)
	require.Equal(t, 2, g.all, "all of level 8 is never called")
}

// The player of a host loads like any other, and a client without OnLevel has loaded when its state is here. With no client at
// all everybody has loaded at once.
func TestLevelOfAHost(t *testing.T) {
	p := rig.Protocol()
	loading.Register(p)
	r := rig.New(t, p, netcode.Config{})
	all := 0
	begin := func() {
		loading.Begin(r.Server.Server, 1, time.Minute, func(late []netcode.ClientID) { all++; require.Empty(t, late) })
	}
	begin()
	r.Run(time.Second / 5)
	require.Equal(t, 1, all)

	host, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	steps.OfClient(host).BeginFrame(r.Now)
	require.NoError(t, netcode.Host(r.Server.Server, host))
	r.Joined(p, netcode.Config{})
	var done func()
	loading.Of(host).OnLevel(func(_ uint32, d func()) { done = d })
	begin()
	frames := func(n int) {
		for range n {
			r.Step()
			steps.OfClient(host).BeginFrame(r.Now)
			for stage := range tick.Stage(7) {
				steps.OfClient(host).Dispatch(stage)
			}
			steps.OfClient(host).Send()
		}
	}
	frames(30)
	require.NotNil(t, done)
	require.Equal(t, []netcode.ClientID{host.ID()}, loading.Waiting(r.Server.Server))
	require.Equal(t, 1, all)
	done()
	frames(5)
	require.Equal(t, 2, all)
}

// Without Register the calls tell what is missing.
func TestLevelsWithoutRegister(t *testing.T) {
	r := rig.New(t, rig.Protocol(), netcode.Config{})
	require.PanicsWithValue(t, "loading: the protocol has no loading: call Register before it is used", func() { loading.Begin(r.Server.Server, 1, 0, nil) })
}
