package systems_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

type position struct{ X, Y float32 }

type ping struct{ Number uint32 }

// ends has some loops, each with its own world, on a virtual clock and network.
type ends struct {
	now     time.Duration
	network *memory.Network
	worlds  []*ecs.World
	loops   []*systems.Runner
	errors  []error
}

func newEnds() ends { return ends{network: memory.NewNetwork()} }

// serverAddress is the address of a server of ends.
var serverAddress = transport.MustParseAddr("127.0.0.1:1")

// world adds a world.
func (e *ends) world() *ecs.World {
	w := ecs.New()
	e.worlds = append(e.worlds, w)
	return w
}

// run adds a loop of a group over a world.
func (e *ends) run(w *ecs.World, group systems.Group) {
	e.loops = append(e.loops, systems.NewRunner(w, group, 60))
}

// listen opens a socket, at any address if none is given.
func (e *ends) listen(t *testing.T, address transport.Addr) *memory.Conn {
	socket, err := e.network.Listen(address)
	require.NoError(t, err)
	return socket
}

func (e *ends) clock() time.Duration { return e.now }

func (e *ends) report(err error) { e.errors = append(e.errors, err) }

func (e *ends) step() {
	e.now += time.Second / 60
	for _, loop := range e.loops {
		loop.Step()
	}
}

func (e *ends) until(t *testing.T, condition func() bool) {
	t.Helper()
	for range 600 {
		if condition() {
			return
		}
		e.step()
	}
	require.Fail(t, "the condition did not come true in ten seconds")
}

// rig is a server's and a client's loop.
type rig struct {
	ends
	server  *systems.ServerSystems
	client  *systems.ClientSystems
	handled []ping
	stands  []bool // By message: its entity was in the client's world.
}

func newRig(t *testing.T) *rig {
	r := &rig{ends: newEnds()}
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Replicate[components.Kind](p)
	netcode.Handle(p, func(ctx *message.Context, m *ping) {
		r.handled = append(r.handled, *m)
		if !ctx.Entity.IsZero() {
			_, ok := r.client.Entity(ctx.Entity)
			r.stands = append(r.stands, ok)
		}
	})
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	r.server = systems.NewServer(server, r.listen(t, serverAddress), r.clock)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	r.client = systems.NewClient(client, r.listen(t, transport.Addr{}), r.clock)
	require.NoError(t, client.Connect(serverAddress))
	server.OnError(r.report)
	client.OnError(r.report)
	r.run(r.world(), r.server)
	r.run(r.world(), r.client)
	return r
}

// move is a system of a game.
type move struct{ filter *generic.Filter1[position] }

func (m *move) Initialize(*ecs.World) { m.filter = generic.NewFilter1[position]() }

func (m *move) Update(w *ecs.World) {
	query := m.filter.Query(w)
	for query.Next() {
		query.Get().X++
	}
}

func (m *move) Finalize(*ecs.World) {}

// spawn adds a replicated entity to the server's world.
func (r *rig) spawn() ecs.Entity {
	mapper := generic.NewMap2[components.Replicated, position](r.worlds[0])
	return mapper.NewWith(&components.Replicated{}, &position{X: 1, Y: 2})
}

func (r *rig) seen(server ecs.Entity) (*position, ecs.Entity) {
	id, ok := r.server.ID(server)
	if !ok {
		return nil, ecs.Entity{}
	}
	e, ok := r.client.Entity(id)
	if !ok {
		return nil, ecs.Entity{}
	}
	mapper := generic.NewMap1[position](r.worlds[1])
	return mapper.Get(e), e
}
