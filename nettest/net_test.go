package nettest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

type position struct {
	X, Y float32 `net:"min=-64,max=64,step=0.01"`
}
type health struct{ Points int32 }
type frozen struct{}

func protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Replicate[health](p)
	netcode.Replicate[frozen](p)
	return p
}

// churn is a small game: entities move, are born and die, and change shape,
// until a frame at which everything comes to rest.
type churn struct {
	rest  int
	alive []ecs.Entity
	state uint64
}

func (g *churn) next(n int) int {
	g.state = g.state*6364136223846793005 + 1442695040888963407
	return int(g.state>>33) % n
}

func (g *churn) play(w *ecs.World, frame int) {
	if frame > g.rest {
		return
	}
	bodies := generic.NewMap3[components.Replicated, position, health](w)
	positions, healths, ice := generic.NewMap[position](w), generic.NewMap[health](w), generic.NewMap1[frozen](w)
	for len(g.alive) < 40 {
		g.alive = append(g.alive, bodies.NewWith(&components.Replicated{},
			&position{X: float32(g.next(100)) / 10}, &health{Points: int32(g.next(100))}))
	}
	for i := 0; i < len(g.alive); i++ {
		e := g.alive[i]
		switch g.next(60) {
		case 0:
			w.RemoveEntity(e)
			g.alive = append(g.alive[:i], g.alive[i+1:]...)
			i--
		case 1:
			healths.Get(e).Points -= 3
		case 2:
			if ecs.Has(w, e, ecs.ComponentID[frozen](w)) {
				ice.Remove(e)
			} else {
				ice.Add(e)
			}
		default:
			p := positions.Get(e)
			p.X += float32(g.next(21)-10) / 50
			p.Y += float32(g.next(21)-10) / 50
		}
	}
}

func bad(loss float64) transport.Link {
	return transport.Link{Delay: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: loss, Duplicate: .05, Reorder: .05, Corrupt: .01}
}

func run(t testing.TB, seed uint64, loss float64, seconds int) *nettest.Net {
	g := &churn{rest: 60 * seconds, state: seed}
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: 3, Seed: seed, Link: bad(loss), Game: g.play,
		Server: netcode.Config{SendBudget: -1}, Client: netcode.Config{HandshakeTimeout: 20 * time.Second},
	})
	n.Run(time.Duration(seconds) * time.Second)
	return n
}

func TestSameSeedSameBytes(t *testing.T) {
	first, second, other := run(t, 7, .2, 3), run(t, 7, .2, 3), run(t, 8, .2, 3)
	require.Equal(t, first.TraceHash(), second.TraceHash())
	require.NotEqual(t, first.TraceHash(), other.TraceHash())
}

// recorder is a testing.TB that keeps failures to itself.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestEachInvariantIsNoticedWhenBroken(t *testing.T) {
	for _, invariant := range []nettest.Invariant{nettest.Converge, nettest.NoGhostRef, nettest.Order} {
		t.Run(invariant.String(), func(t *testing.T) {
			r := &recorder{TB: t}
			n := run(r, 3, .05, 2)
			require.Empty(t, r.errors)
			n.Break(invariant)
			n.AssertConverge()
			require.Len(t, r.errors, 1)
			require.Contains(t, r.errors[0], invariant.String()+" does not hold at client 0")
		})
	}
}

func TestHooksSeeWholeEntities(t *testing.T) {
	g := &churn{rest: 300, state: 9}
	spawned, despawned := 0, 0
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: 1, Seed: 9, Link: bad(.2), Game: g.play,
		SetupClient: func(_ int, c *systems.ClientSystems, w *ecs.World) {
			c.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
				require.False(t, w.IsLocked())
				require.True(t, ecs.Has(w, e, ecs.ComponentID[position](w)))
				spawned++
			})
			c.OnDespawn(func(e ecs.Entity, id netcode.NetworkID) {
				require.True(t, w.Alive(e))
				despawned++
			})
		},
	})
	n.Run(6 * time.Second)
	n.AssertConverge()
	require.Equal(t, n.Clients[0].Replica().Len(), spawned-despawned)
	require.NotZero(t, despawned)
}

// score is a replicated singleton.
type score struct{ Red, Blue int32 }

func TestAReplicatedResource(t *testing.T) {
	p := protocol()
	netcode.Replicate[score](p)
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 2, Link: bad(.3),
		Game: func(w *ecs.World, frame int) {
			scores := netecs.NewResource[score](w)
			if frame == 1 {
				scores.Create(score{Red: 1})
			}
			scores.Get().Blue = int32(min(frame, 200))
		},
	})
	require.Nil(t, netecs.NewResource[score](n.Clients[0].World).Get())
	_, there := netecs.NewResource[score](n.Clients[0].World).Entity()
	require.False(t, there)
	n.Run(4 * time.Second)
	n.AssertConverge()
	for _, c := range n.Clients {
		require.Equal(t, score{1, 200}, *netecs.NewResource[score](c.World).Get())
		e, there := netecs.NewResource[score](c.World).Entity()
		require.True(t, there)
		id, named := c.Systems.ID(e)
		require.True(t, named && n.Server.Server.Has(id))
	}
}

// The 16 bits of a tick that are sent go around every 36 minutes at 30 ticks a second.
func TestAWorldAtRestForAnHour(t *testing.T) {
	const hour = 60 * 60 * 15 // frames; a frame has two ticks
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: 1, Seed: 1, Rate: 15,
		Link: transport.Link{Delay: 40 * time.Millisecond, Loss: .1},
		Game: func(w *ecs.World, frame int) {
			walkers := generic.NewMap2[components.Replicated, position](w)
			if frame == 1 {
				walkers.New()
			}
			if frame == hour {
				query := generic.NewFilter1[position]().Query(w)
				for query.Next() {
					query.Get().X = 7
				}
			}
		},
	})
	n.Run(61 * time.Minute)
	require.True(t, n.Connected())
	n.AssertConverge()
	require.Zero(t, n.Clients[0].Stats().StaleSnapshots)
}

// Packing off changes what is sent and nothing else: the same game over the same bad network converges.
func TestConvergeWithPackingOff(t *testing.T) {
	t.Parallel()
	trace := map[bool]uint64{}
	for _, off := range []bool{false, true} {
		p := protocol()
		if off {
			p.Debug()
		}
		g := &churn{rest: 60 * 3, state: 11}
		n := nettest.New(t, nettest.Config{
			Protocol: p, Clients: 2, Seed: 11, Link: bad(.2), Game: g.play, Server: netcode.Config{SendBudget: -1},
		})
		n.Run(3 * time.Second)
		n.AssertConverge()
		require.True(t, n.Connected())
		require.NotZero(t, n.Clients[0].Replica().Stats().Records)
		require.Zero(t, n.Clients[0].Replica().Stats().Malformed)
		trace[off] = n.TraceHash()
	}
	require.NotEqual(t, trace[false], trace[true], "packing was really off")
}

// glance is a message that names an entity.
type glance struct {
	At netcode.NetworkID `net:"entity"`
}

// A client finds the entity that a message names in its own world, with the values that the entity has there. A client that does not
// see the entity hears of nobody.
func TestMessagesNameEntities(t *testing.T) {
	t.Parallel()
	p := protocol()
	type hit struct {
		id     netcode.NetworkID
		entity ecs.Entity
		found  bool
	}
	hits := map[netcode.ClientID][]hit{}
	var n *nettest.Net
	netcode.Handle(p, func(ctx *netcode.Context, m *glance) {
		for _, c := range n.Clients {
			if c.ID() == ctx.Local {
				e, found := c.Systems.Entity(m.At)
				hits[ctx.Local] = append(hits[ctx.Local], hit{m.At, e, found})
			}
		}
	}, netcode.Over(netcode.Reliable), netcode.AtStage(tick.Update))
	n = nettest.New(t, nettest.Config{Protocol: p, Clients: 2, Seed: 9, Link: bad(.2)})
	var id netcode.NetworkID
	n.Server.Systems.OnSpawn(func(_ ecs.Entity, at netcode.NetworkID) { id = at })
	require.True(t, n.RunUntil(5*time.Second, n.Connected))
	w := n.Server.World
	ecs.Spawn(w, nil, ecs.ComponentID[position](w), ecs.ComponentID[components.Replicated](w))
	require.True(t, n.RunUntil(time.Second, func() bool { return !id.IsZero() }))
	seeing, blind := n.Clients[0], n.Clients[1]
	require.True(t, n.RunUntil(5*time.Second, func() bool { return n.Server.Hide(blind.ID(), id) }))
	require.True(t, n.RunUntil(5*time.Second, func() bool { _, ok := seeing.Systems.Entity(id); return ok }))
	require.NoError(t, netcode.Send(n.Server.Server, netcode.ToAll(), &glance{id}))
	require.True(t, n.RunUntil(5*time.Second, func() bool { return len(hits[1]) == 1 && len(hits[2]) == 1 }))
	got := hits[seeing.ID()][0]
	require.Equal(t, id, got.id)
	require.True(t, got.found)
	require.True(t, seeing.World.Alive(got.entity))
	require.True(t, ecs.Has(seeing.World, got.entity, ecs.ComponentID[position](seeing.World)))
	require.Equal(t, hit{}, hits[blind.ID()][0])
}

// logbook is a test whose log is kept.
type logbook struct {
	testing.TB
	lines []string
}

func (h *logbook) Logf(format string, args ...any) {
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

// The errors that OnError is given are in the log of the test: of every end, with its number, and not without end.
func TestErrorsAreLogged(t *testing.T) {
	h := &logbook{TB: t}
	p := netcode.NewProtocol()
	netcode.Replicate[walk](p)
	n := nettest.New(h, nettest.Config{Protocol: p, Clients: 2, Server: netcode.Config{MaxEntities: 10}})
	n.Run(time.Second)
	build := generic.NewMap2[components.Replicated, walk](n.Server.World)
	for range 12 {
		build.NewWith(&components.Replicated{}, &walk{})
	}
	local := generic.NewMap2[components.Replicated, walk](n.Clients[1].World)
	local.NewWith(&components.Replicated{}, &walk{})
	n.Run(time.Second)
	text := strings.Join(h.lines, "\n")
	require.Contains(t, text, "nettest: server: ")
	require.Contains(t, text, "Config.MaxEntities allows (10)")
	require.Contains(t, text, "nettest: client 1: local entity ")
	for range 1000 {
		n.Server.Report(fmt.Errorf("one more"))
	}
	require.Less(t, len(h.lines), 120)
	require.Contains(t, h.lines[len(h.lines)-1], "no more errors of the server are logged")
}

// walk is a component.
type walk struct{ X, Y float32 }

// The ends of a Net are ends for every call of netcode.
func TestTheEndsOfANetAreEndpoints(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[walk](p)
	netcode.Replicate[components.Kind](p)
	handled := 0
	netcode.Handle(p, func(*netcode.Context, *walk) { handled++ }, netcode.Named("step"))
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Game: func(*ecs.World, int) {}})
	n.Run(time.Second)
	require.NoError(t, netcode.Send(n.Server, netcode.ToAll(), &walk{}))
	require.NoError(t, netcode.Send(n.Clients[0], netcode.ToServer(), &walk{}))
	n.Run(time.Second)
	require.Equal(t, 2, handled)
}
