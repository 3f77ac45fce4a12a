package nettest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// meshMember is a server and a client of each other peer, all over one world.
type meshMember struct {
	world   *ecs.World
	server  *systems.ServerSystems
	clients []*systems.ClientSystems
	loops   []*systems.Runner
	spawns  int
	errors  []error
}

// mesh is peers that each own a part of what all see.
type mesh struct {
	now   time.Duration
	peers []*meshMember
	links []*transport.Conditioner
}

func newMesh(t *testing.T, size int, protocol func() *netcode.Protocol) *mesh {
	m := &mesh{}
	clock := func() time.Duration { return m.now }
	network := memory.NewNetwork()
	seed := uint64(0)
	listen := func() (transport.Conn, transport.Addr) {
		socket, err := network.Listen(transport.Addr{})
		require.NoError(t, err)
		seed++
		m.links = append(m.links, transport.Condition(socket, transport.Link{Delay: 30 * time.Millisecond, Jitter: 10 * time.Millisecond}, seed, clock))
		return m.links[len(m.links)-1], socket.LocalAddr()
	}
	var addresses []transport.Addr
	for range size {
		p := &meshMember{world: ecs.New()}
		server, err := netcode.NewServer(protocol(), netcode.Config{})
		require.NoError(t, err)
		server.OnError(func(err error) { p.errors = append(p.errors, err) })
		socket, at := listen()
		p.server = systems.NewServer(server, socket, clock)
		m.peers, addresses = append(m.peers, p), append(addresses, at)
	}
	for i, p := range m.peers {
		for j := range m.peers {
			if i == j {
				continue
			}
			client, err := netcode.NewClient(protocol(), netcode.Config{})
			require.NoError(t, err)
			client.OnError(func(err error) { p.errors = append(p.errors, err) })
			socket, _ := listen()
			group := systems.NewClient(client, socket, clock)
			group.OnSpawn(func(ecs.Entity, netcode.NetworkID) { p.spawns++ })
			require.NoError(t, client.Connect(addresses[j]))
			p.clients = append(p.clients, group)
			p.loops = append(p.loops, systems.NewRunner(p.world, group, 60))
		}
		p.loops = append(p.loops, systems.NewRunner(p.world, p.server, 60))
	}
	return m
}

func (m *mesh) run(d time.Duration) {
	for end := m.now + d; m.now < end; {
		m.now += time.Second / 60
		for _, p := range m.peers {
			for _, loop := range p.loops {
				loop.Step()
			}
		}
	}
}

// In a mesh each entity is shown once by each other peer, also by those that still show it when it is gone, and that there are
// others' entities in the world is nothing to report.
func TestMesh(t *testing.T) {
	for name, protocol := range map[string]func() *netcode.Protocol{
		"as it arrives": func() *netcode.Protocol {
			p := netcode.NewProtocol()
			netcode.Replicate[position](p)
			return p
		},
		"interpolated": smoothProtocol,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMesh(t, 3, protocol)
			m.run(2 * time.Second)
			for n := range 12 {
				p := m.peers[n%3]
				bodies := generic.NewMap2[components.Replicated, position](p.world)
				body := bodies.New()
				m.run(400 * time.Millisecond)
				p.world.RemoveEntity(body)
				m.run(200 * time.Millisecond)
			}
			m.run(2 * time.Second)
			for _, p := range m.peers {
				require.Equal(t, 8, p.spawns)
				require.Empty(t, p.errors)
				query := generic.NewFilter1[components.Replicated]().Query(p.world)
				require.Zero(t, query.Count())
				query.Close()
			}
		})
	}
}

// Two peers that each own a part of the world [E11] have both parts after losses, and none writes what is the other's.
func TestMeshOfTwoPeersThatEachOwnAPart(t *testing.T) {
	m := newMesh(t, 2, protocol)
	var mine [2]ecs.Entity
	for i, p := range m.peers {
		bodies := generic.NewMap2[components.Replicated, position](p.world)
		mine[i] = bodies.New()
	}
	relink := func(loss float64) {
		for _, l := range m.links {
			l.SetLink(transport.Link{Delay: 30 * time.Millisecond, Loss: loss})
		}
	}
	at := func(in, of int) *position { // In the world of one peer, of the entity of another.
		e := mine[of]
		if in != of {
			id, ok := m.peers[of].server.ID(e)
			require.True(t, ok)
			e, ok = m.peers[in].clients[0].Entity(id)
			require.True(t, ok, "peer %d", in)
		}
		mapper := generic.NewMap1[position](m.peers[in].world)
		return mapper.Get(e)
	}
	relink(.1)
	for frame := range 300 {
		for i := range m.peers {
			at(i, i).X = float32(10*(i+1)) + float32(frame)/100
		}
		m.run(time.Second / 60)
	}
	relink(0)
	m.run(5 * time.Second)
	for _, write := range []float32{-50, 0} { // It is not its own to write.
		for i, p := range m.peers {
			require.InDelta(t, float32(10*(i+1))+2.99, at(i, i).X, .006)
			require.InDelta(t, at(1-i, 1-i).X, at(i, 1-i).X, .006)
			require.Equal(t, 1, p.server.Server.Store().Len(), "it does not take the other's for its own")
			query := generic.NewFilter1[components.Replicated]().Query(p.world)
			require.Equal(t, 2, query.Count())
			query.Close()
		}
		if write == 0 {
			break
		}
		for i := range m.peers {
			at(i, 1-i).X = write
		}
		m.run(time.Second)
	}
	for _, p := range m.peers {
		require.Len(t, p.errors, 1, "what was put back")
	}
}
