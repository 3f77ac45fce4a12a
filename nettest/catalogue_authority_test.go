package nettest_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// TestCase47OwnershipAndVisibilityFlap: an entity goes from owner to owner with writes in flight, at 30 % loss, and is hidden
// and shown each tick from one of them. After the tick of a transfer nothing of the old owner comes through, nobody is
// struck, and when it rests all worlds are the same, the author's included.
func TestCase47OwnershipAndVisibilityFlap(t *testing.T) {
	for seed := range uint64(sized(2, 10)) {
		f := newFleet(t, 3, 47+seed, transport.Link{Delay: 40 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .3})
		server := f.net.Server
		flapping := f.own(0)
		id := f.id(t, flapping)
		owners := generic.NewMap1[components.Owner](&server.World)
		written := map[int]float32{}
		owner, changes, through := 0, 0, 0
		frames := sized(1200, 6000)
		for i := range frames {
			if i%25 == 0 {
				owner = (owner + 1) % 3
				owners.Get(flapping).Client = f.net.Clients[owner].ID()
				changes++
			}
			if server.TickDue() { // Of the frame before: each tick another way.
				if i/2%2 == 0 {
					server.Hide(f.net.Clients[2].ID(), id)
				} else {
					server.Show(f.net.Clients[2].ID(), id)
				}
			}
			for k, c := range f.net.Clients {
				e, there := c.Systems.Entity(id)
				if !there || !authority.MayWrite[steered](c.Client, id) {
					continue
				}
				mapper := generic.NewMap1[steered](&c.World)
				if s := mapper.Get(e); s != nil {
					written[k] = float32(20*k) - 20 + float32(i%64)/8 // Each has a band of its own.
					s.X = written[k]
				}
			}
			before, holder := onServer[steered](f, flapping).X, server.Owner(id) // A component counts from its capture on.
			f.net.Step()
			after := onServer[steered](f, flapping).X
			if after != before {
				through++
				band := int((after + 20 + .1) / 20)
				require.Equal(t, holder, f.net.Clients[band].ID(), "seed %d, frame %d: %v was written by another than the owner", seed, i, after)
			}
		}
		require.Greater(t, changes, 40)
		require.Greater(t, through, frames/20)
		server.Show(f.net.Clients[2].ID(), id)
		f.net.Heal()
		f.net.Run(time.Second)
		at[steered](t, f, owner, flapping).X = 3 // The author keeps what it wrote, which 0.01 m need not divide.
		f.net.AssertConverge()
		require.EqualValues(t, 3, onServer[steered](f, flapping).X)
		require.Zero(t, server.Stats().NotAllowed, "all were honest")
		require.Positive(t, authority.StatsOf(server).WritesLate)
	}
}

// meshPeer is a game that is nobody's server or client: it has a world, shows others what is its own there, and holds
// there what others show it.
type meshPeer struct {
	world  ecs.World
	server *systems.ServerSystems
	client *systems.ClientSystems
	loops  []*systems.Runner
	mine   ecs.Entity
}

// Two peers that each own a part of the world replicate it to each other: a server and a client each, over one world each
// [E11]. Neither takes what is the other's for its own.
func TestMeshOfTwoPeersThatEachOwnAPart(t *testing.T) {
	network := memory.NewNetwork()
	now := time.Duration(0)
	clock := func() time.Duration { return now }
	link := transport.Link{Delay: 30 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .1}
	p := protocol()
	addresses := []transport.Addr{transport.MustParseAddr("127.0.0.1:1"), transport.MustParseAddr("127.0.0.1:2")}
	peers := []*meshPeer{{world: ecs.NewWorld()}, {world: ecs.NewWorld()}}
	var links []*transport.Conditioner
	socket := func(at transport.Addr) *transport.Conditioner {
		conn, err := network.Listen(at)
		require.NoError(t, err)
		c := transport.Condition(conn, link, uint64(len(links)), clock)
		links = append(links, c)
		return c
	}
	var problems []error
	for i, peer := range peers {
		server, err := netcode.NewServer(p, netcode.Config{})
		require.NoError(t, err)
		client, err := netcode.NewClient(p, netcode.Config{})
		require.NoError(t, err)
		server.OnError(func(err error) { problems = append(problems, err) })
		client.OnError(func(err error) { problems = append(problems, err) })
		peer.server = systems.NewServer(server, socket(addresses[i]), clock)
		peer.client = systems.NewClient(client, socket(transport.Addr{}), clock)
		require.NoError(t, client.Connect(addresses[1-i]))
		bodies := generic.NewMap2[components.Replicated, position](&peer.world)
		peer.mine = bodies.NewWith(&components.Replicated{}, &position{})
		peer.loops = []*systems.Runner{systems.NewRunner(&peer.world, peer.client, 60), systems.NewRunner(&peer.world, peer.server, 60)}
	}
	at := func(peer *meshPeer, e ecs.Entity) *position {
		mapper := generic.NewMap1[position](&peer.world)
		return mapper.Get(e)
	}
	twin := func(i int) (ecs.Entity, bool) { // Of the other's entity in the world of peer i.
		id, ok := peers[1-i].server.ID(peers[1-i].mine)
		if !ok {
			return ecs.Entity{}, false
		}
		return peers[i].client.Entity(id)
	}
	for frame := range 600 {
		now += time.Second / 60
		for i, peer := range peers {
			if frame < 300 {
				at(peer, peer.mine).X = float32(10*(i+1)) + float32(frame)/100
			}
			for _, loop := range peer.loops {
				loop.Step()
			}
		}
		if frame == 300 {
			for _, l := range links {
				l.SetLink(transport.Link{Delay: link.Delay})
			}
		}
	}
	for i, peer := range peers {
		e, ok := twin(i)
		require.True(t, ok, "peer %d", i)
		require.InDelta(t, at(peers[1-i], peers[1-i].mine).X, at(peer, e).X, .006)
		require.InDelta(t, float32(10*(i+1))+2.99, at(peer, peer.mine).X, .006)
		require.Equal(t, 1, peer.server.Server.Store().Len(), "it does not take the other's for its own")
		held := 0
		for range netecs.Entities(&peer.world) {
			held++
		}
		require.Equal(t, 2, held)
		at(peer, e).X = -50 // It is not its own to write.
	}
	for range 60 {
		now += time.Second / 60
		for _, peer := range peers {
			for _, loop := range peer.loops {
				loop.Step()
			}
		}
	}
	for i, peer := range peers {
		e, _ := twin(i)
		require.InDelta(t, float32(10*(2-i))+2.99, at(peer, e).X, .006)
	}
	require.Len(t, problems, 2, "what was put back, and not that there is what is the other's: %v", problems)
}
