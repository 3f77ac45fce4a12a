package systems_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

type hitPoints struct{ N uint32 }

type hitMessage struct{ N uint32 }

// hitGame is a server that changes the hit points of an entity in every frame and sends a message about that, and a client
// that compares the two when the message is handled.
type hitGame struct {
	ends
	server *systems.ServerSystems
	client *systems.ClientSystems
	how    func(id netcode.NetworkID) []netcode.How

	compare   func(m *hitMessage) // Called by the handler too, where it is given.
	moved     []float32           // By message: the X of all movers when it was sent.
	target    ecs.Entity
	id        netcode.NetworkID
	sending   bool
	sent      int
	handled   int
	overtaken int
	frames    int
}

// newHitGame runs both loops at so many frames a second with 30 network ticks.
func newHitGame(t *testing.T, frames, movers, budget int, how func(id netcode.NetworkID) []netcode.How) *hitGame {
	g := &hitGame{ends: newEnds(), how: how, frames: frames}
	p := netcode.NewProtocol()
	netcode.Replicate[hitPoints](p)
	netcode.Replicate[position](p)
	netcode.Handle(p, g.handle, netcode.FromServer())
	server, err := netcode.NewServer(p, netcode.Config{TickRate: 30, SendBudget: budget})
	require.NoError(t, err)
	g.server = systems.NewServer(server, g.listen(t, serverAddress), g.clock)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	g.client = systems.NewClient(client, g.listen(t, transport.Addr{}), g.clock)
	require.NoError(t, client.Connect(serverAddress))
	server.OnError(g.report)
	client.OnError(g.report)
	w := g.world()
	things := generic.NewMap2[components.Replicated, position](w)
	for range movers {
		things.NewWith(&components.Replicated{}, &position{})
	}
	targets := generic.NewMap2[components.Replicated, hitPoints](w)
	g.target = targets.NewWith(&components.Replicated{}, &hitPoints{})
	g.server.Add(netcode.StageUpdate, &move{}, systems.Func(g.hit))
	g.loops = append(g.loops, systems.NewRunner(w, g.server, frames), systems.NewRunner(g.world(), g.client, frames))
	g.until(t, func() bool {
		_, there := g.client.Entity(g.id)
		return there && client.State() == netcode.Connected && server.Stats().Connected == 1
	})
	return g
}

// hit is the server's system of stage Update.
func (g *hitGame) hit(w *ecs.World) {
	g.id, _ = g.server.ID(g.target)
	if !g.sending {
		return
	}
	g.sent++
	first := generic.NewFilter1[position]()
	if query := first.Query(w); query.Next() {
		g.moved = append(g.moved, query.Get().X)
		query.Close()
	}
	points := generic.NewMap1[hitPoints](w)
	points.Get(g.target).N = uint32(g.sent)
	if err := netcode.Send(g.server.Server, netcode.ToAll(), &hitMessage{uint32(g.sent)}, g.how(g.id)...); err != nil {
		g.report(err)
	}
}

// handle is the client's handler.
func (g *hitGame) handle(_ *netcode.Context, m *hitMessage) {
	g.handled++
	e, ok := g.client.Entity(g.id)
	points := generic.NewMap1[hitPoints](g.worlds[1])
	if !ok || points.Get(e).N < m.N {
		g.overtaken++
	}
	if g.compare != nil {
		g.compare(m)
	}
}

// play sends in so many frames, and waits as many for the last of them.
func (g *hitGame) play(frames int) {
	for i := range 2 * frames {
		g.sending = i < frames
		g.now += time.Second / time.Duration(g.frames)
		for _, loop := range g.loops {
			loop.Step()
		}
	}
}

// A message about an entity is not handled before the state which the entity had when it was sent, although messages leave in each
// frame and state in each tick.
func TestMessageWaitsForStateOfItsFrame(t *testing.T) {
	var g *hitGame
	ways := map[string]func(id netcode.NetworkID) []netcode.How{
		"about": func(id netcode.NetworkID) []netcode.How { return []netcode.How{netcode.About(id)} },
		"NotBefore": func(id netcode.NetworkID) []netcode.How {
			return []netcode.How{netcode.About(id), netcode.NotBefore(g.server.Server.Tick() + 1)}
		},
		"reliable": func(id netcode.NetworkID) []netcode.How {
			return []netcode.How{netcode.About(id), netcode.Via(netcode.Reliable)}
		},
		"ordered": func(id netcode.NetworkID) []netcode.How {
			return []netcode.How{netcode.About(id), netcode.Via(netcode.ReliableOrdered)}
		},
		"sequenced": func(id netcode.NetworkID) []netcode.How {
			return []netcode.How{netcode.About(id), netcode.Via(netcode.UnreliableSequenced)}
		},
	}
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			g = newHitGame(t, 60, 0, 0, how)
			g.play(162)
			require.Empty(t, g.errors)
			require.Equal(t, 162, g.sent)
			require.Equal(t, g.sent, g.handled)
			require.Zero(t, g.overtaken, "messages handled before the state of their frame, of %d", g.handled)
		})
	}
}

// Under a budget that does not suffice for what moves, the state of an entity is sent many ticks after it changed, and messages
// about it wait.
func TestMessageWaitsForStateUnderShortBudget(t *testing.T) {
	g := newHitGame(t, 30, 1500, 6000, func(id netcode.NetworkID) []netcode.How { return []netcode.How{netcode.About(id)} })
	g.play(170)
	require.Empty(t, g.errors)
	require.Equal(t, 170, g.sent)
	require.Equal(t, g.sent, g.handled)
	require.Zero(t, g.overtaken, "messages handled before the state of their frame, of %d", g.handled)
}

// AtOnce turns the wait off: messages of frames between two ticks are handled with the state of the tick before.
func TestMessageAtOnceOvertakesState(t *testing.T) {
	g := newHitGame(t, 60, 0, 0, func(id netcode.NetworkID) []netcode.How { return []netcode.How{netcode.About(id), netcode.AtOnce()} })
	g.play(162)
	require.Equal(t, g.sent, g.handled)
	require.Equal(t, 81, g.overtaken)
}

// A message after all state is handled when every entity has the state of its frame, also one that it is not about, under a budget
// that takes many ticks for that.
func TestMessageAfterAllState(t *testing.T) {
	for name, how := range map[string][]netcode.How{"unreliable": nil, "ordered": {netcode.Via(netcode.ReliableOrdered)}} {
		t.Run(name, func(t *testing.T) {
			g := newHitGame(t, 30, 300, 12000, func(netcode.NetworkID) []netcode.How { return append(how, netcode.AfterAllState()) })
			behind := 0
			movers := generic.NewFilter1[position]()
			g.compare = func(m *hitMessage) {
				query := movers.Query(g.worlds[1])
				for query.Next() {
					if query.Get().X < g.moved[m.N-1] {
						behind++
					}
				}
			}
			g.play(120)
			require.Empty(t, g.errors)
			require.Equal(t, g.sent, g.handled)
			require.Zero(t, g.overtaken+behind, "entities behind the frame of a message, of %d messages", g.handled)
		})
	}
}
