package nettest_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

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
		world := ecs.NewWorld()
		s.worlds = append(s.worlds, &world)
		if i == 0 {
			end, err := netcode.NewServer(p, config(i))
			require.NoError(t, err)
			socket, err := network.Listen(address)
			require.NoError(t, err)
			s.server = systems.NewServer(end, socket, clock)
			s.server.Add(netcode.StageUpdate, &play{game: game})
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
	for range 200 { // until every history went round
		s.step()
	}
	for _, part := range []int{100, 10, 0} {
		share = part
		for range 300 { // until every history went round with such motion
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
