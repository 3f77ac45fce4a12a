package systems_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/memory"
)

type position struct{ X, Y float32 }

type ping struct{ Number uint32 }

// rig is a server's and a client's loop on a virtual clock.
type rig struct {
	now     time.Duration
	network *memory.Network
	worlds  [2]ecs.World
	server  *systems.ServerSystems
	client  *systems.ClientSystems
	loops   [2]*systems.Runner
	handled []ping
	stands  []bool // Whether the entity of each message was in the client's world by then.
	errors  []error
}

func newRig(t *testing.T) *rig {
	r := &rig{network: memory.NewNetwork(), worlds: [2]ecs.World{ecs.NewWorld(), ecs.NewWorld()}}
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
	clock := func() time.Duration { return r.now }

	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	address := netip.MustParseAddrPort("127.0.0.1:1")
	socket, err := r.network.Listen(address)
	require.NoError(t, err)
	r.server = systems.NewServer(server, socket, clock)

	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	socket, err = r.network.Listen(netip.AddrPort{})
	require.NoError(t, err)
	r.client = systems.NewClient(client, socket, clock)
	require.NoError(t, client.Connect(address))

	report := func(err error) { r.errors = append(r.errors, err) }
	server.OnError(report)
	client.OnError(report)
	r.loops = [2]*systems.Runner{systems.NewRunner(&r.worlds[0], r.server, 60), systems.NewRunner(&r.worlds[1], r.client, 60)}
	return r
}

func (r *rig) step() {
	r.now += time.Second / 60
	for _, loop := range r.loops {
		loop.Step()
	}
}

func (r *rig) until(t *testing.T, condition func() bool) {
	t.Helper()
	for range 600 {
		if condition() {
			return
		}
		r.step()
	}
	require.Fail(t, "the condition did not come true in ten seconds")
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
	mapper := generic.NewMap2[components.Replicated, position](&r.worlds[0])
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
	mapper := generic.NewMap1[position](&r.worlds[1])
	return mapper.Get(e), e
}
