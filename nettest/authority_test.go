package nettest_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// steered is a component that its entity's owner writes, carried one that whoever is named does.
type steered struct {
	X, Y float32 `net:"min=-64,max=64,step=0.01"`
}
type carried struct{ Load int32 }

func writtenProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[steered](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[carried](p, authority.WrittenBy(authority.NamedWrites))
	netcode.Replicate[health](p)
	netcode.Replicate[components.Owner](p)
	return p
}

// fleet is a world in which each client owns one ship and steers it.
type fleet struct {
	net   *nettest.Net
	ships []ecs.Entity // By client, in the server's world.
	crate ecs.Entity
}

func newFleet(t *testing.T, clients int, seed uint64, link transport.Link) *fleet {
	f := &fleet{}
	f.net = nettest.New(t, nettest.Config{
		Protocol: writtenProtocol(), Clients: clients, Seed: seed, Link: link,
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			ships := generic.NewMap4[components.Replicated, components.Owner, steered, health](w)
			crates := generic.NewMap2[components.Replicated, carried](w)
			f.crate = crates.NewWith(&components.Replicated{}, &carried{})
			s.Server.OnConnect(func(id netcode.ClientID) {
				f.ships = append(f.ships, ships.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &steered{}, &health{Points: 100}))
			})
		},
	})
	require.True(t, f.net.RunUntil(5*time.Second, func() bool { return len(f.ships) == clients && f.net.Connected() }))
	for i, c := range f.net.Clients {
		require.True(t, f.net.RunUntil(5*time.Second, func() bool {
			return authority.MayWrite[steered](c.Client, f.id(t, f.own(i)))
		}), "client %d", i)
	}
	return f
}

// own is the ship of a client: ids are given in the order of connecting, which a bad link may change.
func (f *fleet) own(client int) ecs.Entity {
	owners := generic.NewMap1[components.Owner](f.net.Server.World)
	for _, e := range f.ships {
		if owners.Get(e).Client == f.net.Clients[client].ID() {
			return e
		}
	}
	return ecs.Entity{}
}

func (f *fleet) id(t *testing.T, e ecs.Entity) netcode.NetworkID {
	id, ok := f.net.Server.Systems.ID(e)
	require.True(t, ok)
	return id
}

// at is T of an entity of the server's in a client's world.
func at[T any](t *testing.T, f *fleet, client int, e ecs.Entity) *T {
	c := f.net.Clients[client]
	there, ok := c.Systems.Entity(f.id(t, e))
	require.True(t, ok)
	mapper := generic.NewMap1[T](c.World)
	return mapper.Get(there)
}

func onServer[T any](f *fleet, e ecs.Entity) *T {
	mapper := generic.NewMap1[T](f.net.Server.World)
	return mapper.Get(e)
}

// A value that an owner writes reaches the server and the other clients over a bad link. Nothing of it is sent back to its author,
// and nothing touches the author's world meanwhile.
func TestOwnersWriteAndNothingEchoes(t *testing.T) {
	f := newFleet(t, 3, 11, transport.Link{Delay: 30 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .05})
	f.net.Run(time.Second)
	f.net.SetLink(transport.Link{Delay: 30 * time.Millisecond})
	f.net.Run(time.Second)
	f.net.SetLink(transport.Link{Delay: 30 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .05})
	before, _ := f.net.Server.ClientStats(f.net.Clients[0].ID())
	for i := range 300 {
		ship := at[steered](t, f, 0, f.own(0))
		ship.X = float32(i) / 10
		f.net.Step()
		require.InDelta(t, float32(i)/10, at[steered](t, f, 0, f.own(0)).X, 1e-6, "nobody touches what is the author's")
	}
	after, _ := f.net.Server.ClientStats(f.net.Clients[0].ID())
	require.LessOrEqual(t, after.Snapshot.Updates-before.Snapshot.Updates, uint64(2), "nothing echoes to its author")
	f.net.AssertConverge()
	require.InDelta(t, 29.9, onServer[steered](f, f.own(0)).X, .006)
	require.InDelta(t, 29.9, at[steered](t, f, 1, f.own(0)).X, .006)
	require.InDelta(t, 29.9, at[steered](t, f, 2, f.own(0)).X, .006)
	stats := f.net.Server.Stats()
	require.Greater(t, authority.StatsOf(f.net.Server).Writes, uint64(100))
	require.Zero(t, stats.NotAllowed)
	// A value that is not the client's own is put back.
	at[steered](t, f, 0, f.own(1)).X = 50
	at[health](t, f, 0, f.own(0)).Points = 1000
	f.net.Run(time.Second)
	require.Zero(t, at[steered](t, f, 0, f.own(1)).X)
	require.EqualValues(t, 100, at[health](t, f, 0, f.own(0)).Points)
	require.EqualValues(t, 100, onServer[health](f, f.own(0)).Points)
	f.net.AssertConverge()
}

// A transfer: asked for, granted from a tick on, given up. Later writes of the one before are refused, which is
// no offence.
func TestAuthorityIsAskedForGrantedAndReleased(t *testing.T) {
	f := newFleet(t, 2, 12, transport.Link{Delay: 80 * time.Millisecond})
	var asked []netcode.ClientID
	server := f.net.Server
	authority.OnAsk(server.Server, func(client netcode.ClientID, entity netcode.NetworkID) bool {
		asked = append(asked, client)
		return authority.Granted(server.Server, entity) == 0
	})
	crate := f.id(t, f.crate)
	first, second := f.net.Clients[0], f.net.Clients[1]
	var told []bool
	authority.OnChange(first.Client, func(id netcode.NetworkID, may bool, _ netcode.Tick) {
		if id == crate {
			told = append(told, may)
		}
	})
	require.NoError(t, authority.Ask(first.Client, crate))
	require.True(t, f.net.RunUntil(time.Second, func() bool { return authority.MayWrite[carried](first.Client, crate) }))
	require.NoError(t, authority.Ask(second.Client, crate))
	f.net.Run(time.Second)
	require.False(t, authority.MayWrite[carried](second.Client, crate))
	require.Equal(t, []netcode.ClientID{first.ID(), second.ID()}, asked)
	for i := range int32(60) {
		at[carried](t, f, 0, f.crate).Load = 100 + i
		f.net.Step()
	}
	f.net.Run(time.Second)
	require.EqualValues(t, 159, onServer[carried](f, f.crate).Load)

	from, ok := authority.Grant(server.Server, crate, second.ID()) // While the first one writes on.
	require.True(t, ok)
	require.Equal(t, server.Tick(), from)
	taken := onServer[carried](f, f.crate).Load
	for i := range int32(60) {
		if authority.MayWrite[carried](first.Client, crate) {
			at[carried](t, f, 0, f.crate).Load = 500 + i
		}
		if authority.MayWrite[carried](second.Client, crate) {
			at[carried](t, f, 1, f.crate).Load = 900
		}
		f.net.Step()
		load := onServer[carried](f, f.crate).Load
		require.True(t, load == taken || load == 900, "%d of the old author came through after tick %d", load, from)
	}
	f.net.AssertConverge()
	require.EqualValues(t, 900, at[carried](t, f, 0, f.crate).Load, "the old author has the new one's")
	require.Equal(t, []bool{true, false}, told)
	require.Positive(t, authority.StatsOf(server).WritesLate)
	require.Zero(t, server.Stats().NotAllowed)

	require.NoError(t, authority.Release(second.Client, crate))
	f.net.Run(time.Second)
	require.Zero(t, authority.Granted(server.Server, crate))
	onServer[carried](f, f.crate).Load = 7
	f.net.AssertConverge()
	require.EqualValues(t, 7, at[carried](t, f, 1, f.crate).Load)
}

// A tick in which every client writes what is its own allocates nothing once warm, on any end.
func TestFramesOfWritesAllocateNothing(t *testing.T) {
	f := newFleet(t, 3, 21, transport.Link{})
	i := 0
	frame := func() {
		i++
		for k := range f.net.Clients {
			at[steered](t, f, k, f.own(k)).X = float32(i%600) / 20
		}
		f.net.Step()
	}
	for f.net.Now() < 20*time.Second { // Until every history went round.
		frame()
	}
	before := authority.StatsOf(f.net.Server).Writes
	moving := alloctest.Count(t, 100, frame)
	require.Greater(t, authority.StatsOf(f.net.Server).Writes, before+100)
	still := alloctest.Count(t, 100, f.net.Step) // What the harness takes to check each frame.
	outside := alloctest.Count(t, 100, func() {  // What the test itself takes to find the ships.
		for k := range f.net.Clients {
			at[steered](t, f, k, f.own(k)).X++
		}
	})
	require.LessOrEqual(t, moving, outside+still, "writes cost nothing beyond a frame at rest")
}

// stand is a server and clients with worlds of their own, and nothing of a harness that could allocate beside them.
type stand struct {
	now     time.Duration
	server  *systems.ServerSystems
	clients []*systems.ClientSystems
	worlds  []*ecs.World
	loops   []*systems.Runner
}

func newStand(t *testing.T, p *netcode.Protocol, clients int, game func(w *ecs.World, frame int)) *stand {
	s, network, address := &stand{}, memory.NewNetwork(), transport.MustParseAddr("127.0.0.1:1")
	config := func(i int) netcode.Config {
		var seed [32]byte
		seed[0] = byte(i)
		return netcode.Config{SendBudget: -1, Random: rand.NewChaCha8(seed)}
	}
	clock := func() time.Duration { return s.now }
	for i := range clients + 1 {
		world := ecs.New()
		s.worlds = append(s.worlds, world)
		if i == 0 {
			end, err := netcode.NewServer(p, config(i))
			require.NoError(t, err)
			socket, err := network.Listen(address)
			require.NoError(t, err)
			s.server = systems.NewServer(end, socket, clock)
			s.server.Add(tick.Update, &play{game: game})
			s.loops = append(s.loops, systems.NewRunner(s.worlds[i], s.server, 30))
			continue
		}
		end, err := netcode.NewClient(p, config(i))
		require.NoError(t, err)
		socket, err := network.Listen(transport.Addr{})
		require.NoError(t, err)
		client := systems.NewClient(end, socket, clock)
		s.clients = append(s.clients, client)
		s.loops = append(s.loops, systems.NewRunner(s.worlds[i], client, 30))
		require.NoError(t, end.Connect(address))
	}
	return s
}

// step is one network tick of all ends.
func (s *stand) step() {
	s.now += time.Second / 30
	for _, loop := range s.loops {
		loop.Step()
	}
}

// play is the game as a system.
type play struct {
	game  func(w *ecs.World, frame int)
	frame int
}

func (p *play) Initialize(*ecs.World) {}
func (p *play) Update(w *ecs.World)   { p.frame++; p.game(w, p.frame) }
func (p *play) Finalize(*ecs.World)   {}

// A tick of a server with 1000 entities and 16 clients allocates nothing once warm, on no end and from the world's columns to
// the worlds of the clients, be all entities on the move, a tenth of them, or none.
func TestThousandEntitiesSixteenClientsAllocateNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long under the race detector")
	}
	const count, clients = 1000, 16
	share := 100 // of a hundred entities, how many move
	var all []ecs.Entity
	var bodies generic.Map2[components.Replicated, position]
	s := newStand(t, protocol(), clients, func(w *ecs.World, frame int) {
		if len(all) == 0 {
			bodies = generic.NewMap2[components.Replicated, position](w)
		}
		for len(all) < count {
			all = append(all, bodies.NewWith(&components.Replicated{}, &position{X: float32(len(all)%100) / 10}))
		}
		for i, e := range all {
			if (i*37+frame)%100 < share {
				_, p := bodies.Get(e)
				p.X = float32((frame*7+i*13)%500) / 10
				p.Y = float32((frame*3+i*29)%500) / 10
			}
		}
	})
	for _, part := range []int{100, 10, 0} {
		share = part
		for range 200 { // until every history went round with such motion
			s.step()
		}
		before, tick := s.updates(), s.server.Server.Store().Tick()
		alloctest.Zero(t, 40, s.step, "%d %% move: 40 ticks of all 17 ends", part)
		ran := int(s.server.Server.Store().Tick() - tick)
		require.Equal(t, 41, ran, "every frame is a tick, and a first run is not counted")
		require.InDelta(t, ran*count*part/100*clients, s.updates()-before, float64(count*part/100*clients), "%d %% move", part)
	}
	for i, c := range s.clients {
		require.Equal(t, count, c.Client.Replica().Len())
		held := 0
		query := generic.NewFilter1[position]().Query(s.worlds[i+1])
		for query.Next() {
			held++
		}
		require.Equal(t, count, held)
	}
}

// updates counts the records that were sent to all clients.
func (s *stand) updates() (n uint64) {
	for id := range s.server.Server.Clients {
		stats, _ := s.server.Server.ClientStats(id)
		n += stats.Snapshot.Updates
	}
	return n
}
