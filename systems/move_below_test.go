package systems_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/transport/secure"
)

// rebinder is a socket behind a router in memory: the server sees the address of the socket inside, which a test replaces.
type rebinder struct{ *memory.Conn }

// A session that transport/secure moves to another address tells the layer above: OnMigrate is called with the addresses of both paths,
// once a move, and both ends measure the round trip, the rate and the size of packets anew. The new path is slower and narrower.
func TestAMoveBelowSecureBeginsThePathAnew(t *testing.T) {
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
			query := bodies.NewBatchQ(300)
			for query.Next() {
			}
			r.server.Add(netcode.StageUpdate, &move{})
			stats := func() netcode.ClientStats { s, _ := server.ClientStats(id); return s }
			r.until(t, func() bool { return id != 0 && stats().PacketSize > 1000 && client.Replica().Len() == 300 })
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
			require.Equal(t, []told{{transport.Addr{IP: transport.MustParseAddr("192.0.2.1:1000").IP, Via: 1}, transport.Addr{IP: at.IP, Via: 1}}}, moves)
			require.EqualValues(t, 1, server.Stats().Migrated)
			require.EqualValues(t, 1, client.Stats().Migrated)
			require.EqualValues(t, 1, end.Stats().Confirmed, "it is the same session")
			who, ok := end.Path(stats().Address)
			require.True(t, ok)
			require.Equal(t, at, who)
		})
	}
}
