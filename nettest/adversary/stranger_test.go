package adversary_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/nettest/adversary"
	"github.com/arche-netcode/netcode/transport"
)

// Datagrams from addresses without a session, and forged ones from that of a client, against a busy server: no session comes about, the
// server sends no more than it got, honest clients notice nothing, and the heap stays as it is.
func TestStrangersThatLie(t *testing.T) {
	counters := map[string]func(s netcode.Stats) uint64{
		"Hellos":        func(s netcode.Stats) uint64 { return s.Challenges },
		"ForgedCookies": func(s netcode.Stats) uint64 { return s.Challenges },
		"ForgedJoins":   func(s netcode.Stats) uint64 { return s.Challenges },
		"Noise":         func(s netcode.Stats) uint64 { return s.BadHandshakes + s.Strangers },
		"Tiny":          func(s netcode.Stats) uint64 { return s.Packets.BadChecksum + s.BadHandshakes },
		"ForgedCloses":  func(s netcode.Stats) uint64 { return s.Packets.BadChecksum },
	}
	for _, lie := range adversary.StrangerLies(transport.Addr{}) {
		t.Run(lie.Name, func(t *testing.T) {
			b := newBusy(t, 31, netcode.Config{SentPackets: 64})
			server := b.net.Server
			victim, _ := server.ClientStats(b.net.Clients[0].ID())
			known := map[transport.Addr]bool{}
			for _, c := range b.net.Clients {
				s, _ := server.ClientStats(c.ID())
				known[s.Address] = true
			}
			out := 0
			b.net.OnSend(func(from, to transport.Addr, datagram []byte) {
				if from == b.net.Address() && !known[to] {
					out += len(datagram)
				}
			})
			stranger := adversary.NewStranger(b.protocol, 3, steps.OfServer(server).Receive)
			for _, l := range adversary.StrangerLies(victim.Address) {
				if l.Name == lie.Name {
					lie = l
				}
			}
			connected, before := server.Stats().Connected, counters[lie.Name](server.Stats())
			tell := func(frames int) {
				for range frames {
					lie.Tell(stranger)
					b.step()
				}
			}
			tell(300)
			require.Equal(t, connected, server.Stats().Connected, "no session")
			require.LessOrEqual(t, out, stranger.Bytes(), "bytes out, at most bytes in")
			memory := alloctest.Heap(t)
			tell(150)
			flat(t, memory, stranger.AllTold())
			b.net.OnSend(nil)
			b.unmoved(func() { lie.Tell(stranger) })
			require.GreaterOrEqual(t, stranger.Told(lie.Name), 45000, "nothing was injected")
			require.GreaterOrEqual(t, counters[lie.Name](server.Stats())-before, uint64(stranger.Told(lie.Name)/2), "it is counted")
			t.Logf("told %v, %d bytes in, %d bytes out, gap %v", stranger.AllTold(), stranger.Bytes(), out, b.gap)
		})
	}
}

// The same seed gives the same bytes, with clients and servers that lie.
func TestTheSameSeedTellsTheSameLies(t *testing.T) {
	play := func(seed uint64) uint64 {
		b := newBusy(t, seed, netcode.Config{})
		liar := b.liar(seed)
		server := adversary.NewServer(adversary.Config{Protocol: b.protocol, Conn: b.net.Listen(), Now: b.net.Now, Seed: seed})
		b.net.Each(server.Step)
		b.net.JoinAt(server.Address())
		for i := range 300 {
			switch i % 4 {
			case 0:
				liar.Messages(1)
			case 1:
				liar.Repeat(2)
			case 2:
				server.SpawnForever(1)
			}
			b.net.Step()
		}
		require.NotZero(t, liar.Told("Messages"))
		require.NotZero(t, server.Told("SpawnForever"))
		return b.net.TraceHash()
	}
	require.Equal(t, play(5), play(5))
	require.NotEqual(t, play(5), play(6))
}

// Each lie has another name, and every method of the ends that sends is a lie of the list or takes a type of the game.
func TestNamesOfLies(t *testing.T) {
	names := map[string]int{}
	for _, l := range adversary.ClientLies() {
		names[l.Name]++
	}
	for name, n := range names {
		require.Equal(t, 1, n, name)
	}
	require.GreaterOrEqual(t, len(names), 25)
	require.GreaterOrEqual(t, len(adversary.ServerLies()), 30)
}

// A lie that has a name wrong, and an end without a connection, do nothing.
func TestWithoutAConnectionNothingIsTold(t *testing.T) {
	p := busyProtocol()
	n := nettest.New(t, nettest.Config{Protocol: p, Seed: 1})
	s := adversary.NewServer(adversary.Config{Protocol: p, Conn: n.Listen(), Now: n.Now})
	s.AckAhead(1)
	s.Messages(1)
	require.Empty(t, s.AllTold())
	require.ErrorContains(t, s.Named("no such", 1), "no such")
	n.Run(time.Second)
}
