package archemodel_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/mlange-42/arche-model/model"
	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

type position struct{ X, Y float32 }

type health struct{ Points int32 }

// mover is the game: a plain arche-model system that knows nothing of networks.
type mover struct {
	filter generic.Filter1[position]
}

func (m *mover) Initialize(*ecs.World) { m.filter = *generic.NewFilter1[position]() }

func (m *mover) Update(w *ecs.World) {
	for query := m.filter.Query(w); query.Next(); {
		p := query.Get()
		p.X += 0.25
		p.Y -= p.X / 8
	}
}

func (m *mover) Finalize(*ecs.World) {}

var _ model.System = (*mover)(nil)

const hz = 30

// game is a server and a client, each a model of arche-model's, with a network in memory and a clock of their own.
type game struct {
	t        *testing.T
	now      time.Duration
	protocol *netcode.Protocol
	network  *memory.Network

	server       *netcode.Server
	serverFrame  *systems.ServerSystems
	serverModel  *model.Model
	client       *netcode.Client
	clientFrame  *systems.ClientSystems
	clientModel  *model.Model
	clientErrors []error
	serverErrors []error
}

func newGame(t *testing.T, link transport.Link) *game {
	g := &game{t: t, protocol: netcode.NewProtocol(), network: memory.NewNetwork()}
	netcode.Replicate[position](g.protocol)
	netcode.Replicate[health](g.protocol)
	clock := func() time.Duration { return g.now }
	listen := func(port uint16) transport.Conn {
		conn, err := g.network.Listen(transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)))
		require.NoError(t, err)
		return transport.Condition(conn, link, uint64(port), clock)
	}
	at, to := listen(7001), listen(7000)
	var err error
	config := netcode.Config{TickRate: hz}
	g.server, err = netcode.NewServer(g.protocol, config)
	require.NoError(t, err)
	g.client, err = netcode.NewClient(g.protocol, config)
	require.NoError(t, err)
	g.server.OnError(func(err error) { g.serverErrors = append(g.serverErrors, err) })
	g.client.OnError(func(err error) { g.clientErrors = append(g.clientErrors, err) })
	g.serverFrame = systems.NewServer(g.server, to, clock)
	g.clientFrame = systems.NewClient(g.client, at, clock)

	// One shape serves both: an arche-model system goes into a stage of netcode's, and all of those into arche-model.
	g.serverFrame.Add(tick.Update, &mover{})
	g.serverModel = model.New()
	for _, s := range g.serverFrame.Systems() {
		g.serverModel.AddSystem(s)
	}
	g.clientModel = model.New()
	for _, s := range g.clientFrame.Systems() {
		g.clientModel.AddSystem(s)
	}
	g.serverModel.Initialize()
	g.clientModel.Initialize()
	require.NoError(t, g.client.Connect(to.LocalAddr()))
	return g
}

// step runs frames of both models by hand, 1/30 s each.
func (g *game) step(frames int) {
	for range frames {
		g.now += time.Second / hz
		require.True(g.t, g.serverModel.Update())
		require.True(g.t, g.clientModel.Update())
	}
}

// inStep reports whether the client's world is the server's as of the server's newest captured tick.
func (g *game) inStep() bool {
	all := func(wire.NetworkID) bool { return true }
	return g.client.State() == netcode.Connected &&
		netecs.Digest(&g.clientModel.World, g.protocol.Schema()) == netecs.DigestStore(g.server.Store(), g.protocol.Schema(), all)
}

// there is the client's entity for one of the server's.
func (g *game) there(e ecs.Entity) (ecs.Entity, bool) {
	id, known := g.serverFrame.ID(e)
	require.True(g.t, known)
	return g.clientFrame.Entity(id)
}

// Everything netcode's systems do works under arche-model's scheduler, which netcode does not import: spawn, motion,
// components that come and go, despawn.
func TestReplicationUnderArcheModel(t *testing.T) {
	g := newGame(t, transport.Link{})
	builder := generic.NewMap2[components.Replicated, position](&g.serverModel.World)
	var bodies []ecs.Entity
	for i := range 20 {
		bodies = append(bodies, builder.NewWith(&components.Replicated{}, &position{X: float32(i)}))
	}
	// With a perfect link a frame's packets reach the client in the same frame.
	g.step(10)
	require.Equal(t, netcode.Connected, g.client.State())
	for range 30 {
		g.step(1)
		require.True(t, g.inStep())
	}
	positions := generic.NewMap1[position](&g.serverModel.World)
	positionsThere := generic.NewMap1[position](&g.clientModel.World)
	for _, e := range bodies {
		at, known := g.there(e)
		require.True(t, known)
		require.Equal(t, *positions.Get(e), *positionsThere.Get(at))
	}
	require.Greater(t, positions.Get(bodies[0]).X, float32(5), "the game's system ran")

	healths := generic.NewMap1[health](&g.serverModel.World)
	healthsThere := generic.NewMap1[health](&g.clientModel.World)
	healths.Assign(bodies[3], &health{Points: 7})
	g.step(2)
	at, known := g.there(bodies[3])
	require.True(t, known)
	require.Equal(t, int32(7), healthsThere.Get(at).Points)

	healths.Remove(bodies[3])
	gone, known := g.there(bodies[5])
	require.True(t, known)
	g.serverModel.World.RemoveEntity(bodies[5])
	g.step(2)
	require.True(t, g.inStep())
	require.False(t, g.clientModel.World.Has(at, ecs.ComponentID[health](&g.clientModel.World)))
	require.False(t, g.clientModel.World.Alive(gone))
	require.Empty(t, g.serverErrors)
	require.Empty(t, g.clientErrors)
}

// The same over a bad link: once the motion stops, the client's world becomes the server's.
func TestConvergesOverABadLinkUnderArcheModel(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: 0.2, Duplicate: 0.05, Reorder: 0.1})
	builder := generic.NewMap2[components.Replicated, position](&g.serverModel.World)
	for i := range 50 {
		builder.NewWith(&components.Replicated{}, &position{X: float32(i)})
	}
	g.step(5 * hz)
	require.Equal(t, netcode.Connected, g.client.State())
	for _, s := range g.serverModel.Systems.Systems() {
		if m, isMover := s.(*mover); isMover {
			g.serverModel.RemoveSystem(m)
		}
	}
	g.step(4 * hz)
	require.True(t, g.inStep())
	require.Empty(t, g.serverErrors)
	require.Empty(t, g.clientErrors)
}

// Close tells the other end, within frames that arche-model runs; Finalize after it leaves nothing behind.
func TestCloseAndFinalizeUnderArcheModel(t *testing.T) {
	g := newGame(t, transport.Link{})
	g.step(10)
	require.Equal(t, netcode.Connected, g.client.State())
	g.serverFrame.Close()
	for range hz {
		g.step(1)
		if g.serverFrame.Closed() && g.clientFrame.Closed() {
			break
		}
	}
	require.True(t, g.serverFrame.Closed())
	require.True(t, g.clientFrame.Closed())
	require.ErrorIs(t, g.client.Err(), errs.ReasonShuttingDown)
	g.serverModel.Finalize()
	g.clientModel.Finalize()
}
