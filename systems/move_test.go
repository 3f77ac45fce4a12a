package systems_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/transport/secure"
	"github.com/arche-netcode/netcode/transport/udp"
)

// router is a UDP relay in front of a server, for one client. rebind changes its port at the server, as a NAT does.
type router struct {
	t      *testing.T
	server *net.UDPAddr
	inner  *net.UDPConn // For the client.

	mu     sync.Mutex
	client netip.AddrPort
	outer  *net.UDPConn // For the server.
}

func newRouter(t *testing.T, server transport.Addr) *router {
	inner, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	r := &router{t: t, server: net.UDPAddrFromAddrPort(server.IP), inner: inner}
	r.rebind()
	t.Cleanup(func() { _ = inner.Close(); _ = r.outer.Close() })
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := inner.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			r.mu.Lock()
			r.client = from
			_, _ = r.outer.Write(buf[:n])
			r.mu.Unlock()
		}
	}()
	return r
}

// rebind replaces the port. Datagrams to the one before are lost.
func (r *router) rebind() transport.Addr {
	outer, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}, r.server)
	require.NoError(r.t, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outer != nil {
		_ = r.outer.Close()
	}
	r.outer = outer
	go func() {
		buf := make([]byte, 2048)
		for {
			n, err := outer.Read(buf)
			if err != nil {
				return
			}
			r.mu.Lock()
			_, _ = r.inner.WriteToUDPAddrPort(buf[:n], r.client)
			r.mu.Unlock()
		}
	}()
	return transport.AddrOf(outer.LocalAddr().(*net.UDPAddr).AddrPort())
}

type counter struct{ N int32 }

// knock is a message of the client.
type knock struct{ N int32 }

// A session over secure UDP continues behind a router that changes its port, in both directions, on real sockets.
func TestPlayGoesOnWhenARouterChangesThePort(t *testing.T) {
	protocol := func(got func(int32)) *netcode.Protocol {
		p := netcode.NewProtocol()
		netcode.Replicate[counter](p)
		netcode.Handle(p, func(_ *netcode.Context, m *knock) { got(m.N) }, netcode.FromClient())
		return p
	}
	key := secure.Key{3}
	listen := func() *udp.Conn {
		conn, err := udp.Listen("127.0.0.1:0", udp.Config{})
		require.NoError(t, err)
		return conn
	}
	knocked := int32(0)
	end, err := secure.Listen(listen(), secure.Config{Key: key, Admit: secure.Open(), Timeout: time.Minute})
	require.NoError(t, err)
	patient := netcode.Config{HandshakeTimeout: time.Minute, SilenceTimeout: time.Minute} // For a busy machine.
	server, err := netcode.NewServer(protocol(func(n int32) { knocked = n }), patient)
	require.NoError(t, err)
	far, err := secure.Dial(listen(), secure.ClientConfig{ServerKey: key.Public(), Timeout: time.Minute, Silence: time.Minute})
	require.NoError(t, err)
	client, err := netcode.NewClient(protocol(func(int32) {}), patient)
	require.NoError(t, err)

	left := false
	server.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { left = true })
	world, mirror := ecs.New(), ecs.New()
	build := generic.NewMap2[components.Replicated, counter](world)
	entity := build.New()
	value, seen := generic.NewMap1[counter](world), generic.NewFilter1[counter]()
	serving := systems.NewRunner(world, systems.NewServer(server, end, systems.WallClock()), 60)
	playing := systems.NewRunner(mirror, systems.NewClient(client, far, systems.WallClock()), 60)
	router := newRouter(t, end.LocalAddr())
	require.NoError(t, client.Connect(transport.AddrOf(router.inner.LocalAddr().(*net.UDPAddr).AddrPort())))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = serving.Run(ctx) })
	running.Go(func() { _ = playing.Run(ctx) })
	defer running.Wait()
	defer cancel()

	for round := range int32(4) {
		n := round + 1
		serving.Do(func() { value.Get(entity).N = n })
		var fault error
		sent := false
		require.Eventually(t, func() (both bool) {
			playing.Do(func() {
				for query := seen.Query(mirror); query.Next(); {
					both = query.Get().N == n
				}
				if !sent && client.State() == netcode.Connected {
					sent, fault = true, netcode.Send(client, netcode.ToServer(), &knock{n})
				}
			})
			serving.Do(func() { both = both && knocked == n })
			return both
		}, time.Minute, 10*time.Millisecond, "round %d", round)
		require.NoError(t, fault)
		var moved uint64
		serving.Do(func() { moved = server.Stats().Migrated })
		require.EqualValues(t, round, moved)
		at := router.rebind()
		require.Eventually(t, func() (moved bool) {
			serving.Do(func() {
				for id := range server.Clients {
					stats, _ := server.ClientStats(id)
					moved = stats.Address.IP == at.IP
				}
			})
			return moved
		}, time.Minute, 10*time.Millisecond)
	}
	var sessions uint64
	playing.Do(func() { sessions = far.Stats().Sessions })
	require.EqualValues(t, 1, sessions)
	gone := false
	serving.Do(func() { gone = left })
	require.False(t, gone)
}

// rebinder is a socket behind a router in memory: the server sees the address of the inner socket, which a test replaces.
type rebinder struct{ *memory.Conn }

// A session over transport/secure moves as one in clear does, with its keys. OnMigrate gets both addresses once per move, and both ends
// measure the path again. The new path is slower and narrower.
func TestAMoveOverSecureBeginsThePathAnew(t *testing.T) {
	for i := range uint64(15) {
		loss, seed := []float64{0, 0.05, 0.4}[i%3], i/3
		t.Run(fmt.Sprintf("loss %v, seed %d", loss, seed), func(t *testing.T) {
			fast := transport.Link{Delay: 10 * time.Millisecond, Loss: loss}
			slow := transport.Link{Delay: 100 * time.Millisecond, Loss: loss, MTU: 700}
			r := &rig{ends: newEnds()}
			here := transport.Condition(r.listen(t, serverAddress), fast, seed, r.clock)
			end, err := secure.Listen(here, secure.Config{Key: secure.Key{3}, Admit: secure.Open(), Now: r.clock})
			require.NoError(t, err)
			nat := &rebinder{r.listen(t, transport.MustParseAddr("192.0.2.1:1000"))}
			there := transport.Condition(nat, fast, seed+100, r.clock)
			far, err := secure.Dial(there, secure.ClientConfig{ServerKey: secure.Key{3}.Public(), Now: r.clock})
			require.NoError(t, err)

			p := netcode.NewProtocol()
			netcode.Replicate[position](p)
			server, err := netcode.NewServer(p, netcode.Config{SendBudget: 1 << 20})
			require.NoError(t, err)
			client, err := netcode.NewClient(p, netcode.Config{})
			require.NoError(t, err)
			r.server = systems.NewServer(server, transport.Join(end), r.clock)
			r.client = systems.NewClient(client, far, r.clock)
			require.NoError(t, client.Connect(serverAddress))
			r.run(r.world(), r.server)
			r.run(r.world(), r.client)
			type told struct{ from, to transport.Addr }
			var moves []told
			server.OnMigrate(func(_ netcode.ClientID, from, to transport.Addr) { moves = append(moves, told{from, to}) })
			var id netcode.ClientID
			server.OnConnect(func(c netcode.ClientID) { id = c })
			bodies := generic.NewMap2[components.Replicated, position](r.worlds[0])
			bodies.NewBatch(1000)
			r.server.Add(tick.Update, &move{})
			stats := func() netcode.ClientStats { s, _ := server.ClientStats(id); return s }
			r.until(t, func() bool { return id != 0 && stats().PacketSize > 1000 && client.Replica().Len() == 1000 })
			before, _ := client.RTT()
			require.Less(t, stats().RTT, 100*time.Millisecond)

			at := transport.MustParseAddr("198.51.100.7:2000")
			require.NoError(t, nat.Close())
			nat.Conn = r.listen(t, at)
			here.SetLink(slow)
			there.SetLink(slow)
			began := r.now
			r.until(t, func() bool { return len(moves) > 0 })
			require.Less(t, stats().PacketSize, 700, "the size of the path before does not fit this one")
			t.Logf("told %v after the router's change", r.now-began)
			newest := client.Replica().Tick()
			r.until(t, func() bool { return client.Replica().Tick() > newest && stats().RTT > 0 })
			t.Logf("state again after %v", r.now-began)
			require.Less(t, r.now-began, 3*time.Second)
			r.until(t, func() bool {
				after, _ := client.RTT()
				return stats().RTT > 190*time.Millisecond && after > max(before, 190*time.Millisecond)
			})
			require.Less(t, stats().PacketSize, 700)
			require.Equal(t, []told{{transport.Addr{IP: transport.MustParseAddr("192.0.2.1:1000").IP, Key: 1, Via: 1}, transport.Addr{IP: at.IP, Key: 1, Via: 1}}}, moves)
			require.EqualValues(t, 1, server.Stats().Migrated)
			require.EqualValues(t, 1, client.Stats().Migrated)
			require.EqualValues(t, 1, end.Stats().Confirmed, "it is the same session")
			require.Equal(t, at.IP, stats().Address.IP)
		})
	}
}
