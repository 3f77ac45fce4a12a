package consistent_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/consistent"
	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// A client that holds state back, and a server that repairs what was lost, allocate nothing once warm.
func TestWarmTicksAllocateNothing(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Clock](p)
	consistent.Register(p)
	now := time.Duration(0)
	clock := func() time.Duration { return now }
	network, address := memory.NewNetwork(), transport.MustParseAddr("127.0.0.1:1")
	listen := func(a transport.Addr, seed uint64) transport.Conn {
		conn, err := network.Listen(a)
		require.NoError(t, err)
		return transport.Condition(conn, transport.Link{Delay: 40 * time.Millisecond, Loss: .1}, seed, clock)
	}
	config := func(seed byte) netcode.Config {
		return netcode.Config{SendBudget: -1, Random: rand.NewChaCha8([32]byte{seed})}
	}
	server, err := netcode.NewServer(p, config(1))
	require.NoError(t, err)
	serverWorld, clientWorld := ecs.New(), ecs.New()
	serverLoop := systems.NewRunner(serverWorld, systems.NewServer(server, listen(address, 1), clock), 30)
	client, err := netcode.NewClient(p, config(2))
	require.NoError(t, err)
	clientLoop := systems.NewRunner(clientWorld, systems.NewClient(client, listen(transport.Addr{}, 2), clock), 30)
	require.NoError(t, client.Connect(address))
	bodies := generic.NewMap2[Clock, components.Replicated](serverWorld)
	for range 400 {
		bodies.New()
	}
	all, random := generic.NewFilter1[Clock](), rand.New(rand.NewPCG(1, 2))
	write := func() {
		now += time.Second / 30
		for q := all.Query(serverWorld); q.Next(); {
			*q.Get() = Clock{uint32(server.Tick()), random.Uint32()}
		}
	}
	for range 3000 {
		write()
		serverLoop.Step()
		clientLoop.Step()
	}
	before, _ := consistent.Of(client)
	counter := alloctest.Start(t)
	for range 150 {
		write()
		counter.Count(func() {
			serverLoop.Step()
			clientLoop.Step()
		})
	}
	after, _ := consistent.Of(client)
	require.Greater(t, after.Complete, before.Complete+50)
	require.Greater(t, after.Repaired, before.Repaired)
	counter.Zero("frames of a server and a client")
}
