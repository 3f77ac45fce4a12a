package nettest_test

import (
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/nettest/adversary"
	"github.com/arche-netcode/netcode/transport"
)

// steady runs a net frame by frame and measures the longest time that each of some clients had no new state.
type steady struct {
	t   *testing.T
	n   *nettest.Net
	of  []*nettest.Client
	at  map[*nettest.Client]time.Duration
	was map[*nettest.Client]netcode.Tick
	gap time.Duration
}

func newSteady(t *testing.T, n *nettest.Net, of ...*nettest.Client) *steady {
	s := &steady{t: t, n: n, of: of, at: map[*nettest.Client]time.Duration{}, was: map[*nettest.Client]netcode.Tick{}}
	for _, c := range of {
		s.at[c] = n.Now()
	}
	return s
}

// step runs a frame.
func (s *steady) step() {
	s.n.Step()
	for _, c := range s.of {
		if r := c.Replica(); r != nil && r.Tick() != s.was[c] {
			s.was[c], s.at[c] = r.Tick(), s.n.Now()
		}
		s.gap = max(s.gap, s.n.Now()-s.at[c])
	}
}

// run runs frames for a time and calls a function before each.
func (s *steady) run(d time.Duration, before func()) {
	for end := s.n.Now() + d; s.n.Now() < end; s.step() {
		if before != nil {
			before()
		}
	}
}

// unmoved fails unless all had new state at least each 300 ms, and are connected.
func (s *steady) unmoved() {
	s.t.Helper()
	require.LessOrEqual(s.t, s.gap, 300*time.Millisecond, "the longest time without new state at a client that does nothing wrong")
	for _, c := range s.of {
		require.Equal(s.t, netcode.Connected, c.State())
	}
}

// party is a server with so many clients that are connected and see some walkers.
func party(t *testing.T, clients int, seed uint64, server netcode.Config) *nettest.Net {
	g := &walkers{count: 30}
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: clients, Seed: seed, Rate: 30, Link: transport.Link{Delay: 20 * time.Millisecond}, Game: g.play, Server: server,
	})
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	n.Run(time.Second)
	return n
}

// Two of 24 links, of 64 with -heavy, are cut, one for nine seconds and one for good: their queues stay below their bound, the others miss nothing, the first is
// back without a new session, and silence ends the session of the second.
func TestCase34DeadReceiver(t *testing.T) {
	n := party(t, sized(24, 64), 34, netcode.Config{Clients: 64})
	n.Run(8 * time.Second) // Histories grow to their size first.
	back, dead := n.Clients[7], n.Clients[16]
	backID, deadID := back.ID(), dead.ID()
	for _, c := range []*nettest.Client{back, dead} {
		n.SetLinks(c, transport.Link{Down: true}, transport.Link{Down: true})
	}
	s := newSteady(t, n, slices.DeleteFunc(slices.Clone(n.Clients), func(c *nettest.Client) bool { return c == back || c == dead })...)
	memory, frames := alloctest.Heap(t), 0
	bounded := func() {
		require.LessOrEqual(t, alloctest.Heap(t), memory+memory/50+256<<10, "what waits for them is bounded")
	}
	s.run(9*time.Second, func() { frames += 2 })
	bounded()
	for _, id := range []netcode.ClientID{backID, deadID} {
		stats, here := n.Server.ClientStats(id)
		require.True(t, here)
		require.LessOrEqual(t, stats.Waiting, 64<<10)
	}
	n.Heal()
	n.SetLinks(dead, transport.Link{Down: true}, transport.Link{Down: true})
	s.run(2*time.Second, func() { frames++ })
	require.Equal(t, backID, back.ID(), "it is the same session")
	require.LessOrEqual(t, lag(n, back), 6)
	s.run(sized(4*time.Second, 49*time.Second), func() { frames++ })
	bounded()
	s.unmoved()
	casebook.Injected(t, frames, "frames in which one client receives nothing")
	_, here := n.Server.ClientStats(deadID)
	require.False(t, here, "silence ended its session")
}

// Datagrams of no and of one byte, many times what honest clients send, from an address without a session and from that of a client.
func TestCase36TinyDatagrams(t *testing.T) {
	n := party(t, 6, 36, netcode.Config{})
	s := newSteady(t, n, n.Clients...)
	victim, _ := n.Server.ClientStats(n.Clients[0].ID())
	stranger := adversary.NewStranger(protocol(), 36, steps.OfServer(n.Server).Receive)
	elsewhere := transport.MustParseAddr("198.51.100.7:9")
	before := n.Server.Stats()
	s.run(sized(3*time.Second, 30*time.Second), func() {
		stranger.Tiny(elsewhere, 1000)
		stranger.Tiny(victim.Address, 1000)
	})
	s.unmoved()
	after := n.Server.Stats()
	told := uint64(stranger.Told("Tiny"))
	counted := after.BadHandshakes + after.Strangers + after.Packets.BadChecksum - before.BadHandshakes - before.Strangers - before.Packets.BadChecksum
	require.Equal(t, told, counted, "each is counted")
	casebook.Injected(t, told, "datagrams of no and of one byte")
}

// Handshakes from forged addresses: no place is taken, no more bytes go out than come in, nothing is kept, and an honest client joins in 2 s.
func TestCase37SpoofedFlood(t *testing.T) {
	n := party(t, 6, 37, netcode.Config{})
	out := 0
	n.OnSend(func(from, to transport.Addr, datagram []byte) {
		if from == n.Address() && !to.IP.Addr().IsLoopback() {
			out += len(datagram)
		}
	})
	s := newSteady(t, n, n.Clients...)
	stranger := adversary.NewStranger(protocol(), 37, steps.OfServer(n.Server).Receive)
	flood := func() {
		stranger.Hellos(300)
		stranger.ForgedCookies(300)
		stranger.ForgedJoins(300)
		stranger.Noise(100)
	}
	s.run(12*time.Second, nil)
	s.run(2*time.Second, flood)
	connected, memory := n.Server.Stats().Connected, alloctest.Heap(t)
	s.run(sized(2*time.Second, 30*time.Second), flood)
	require.LessOrEqual(t, alloctest.Heap(t), memory+memory/50+256<<10)
	require.LessOrEqual(t, out, stranger.Bytes(), "bytes out, at most bytes in")
	require.Equal(t, connected, n.Server.Stats().Connected)
	honest := n.Join()
	s.run(2*time.Second, flood)
	require.Equal(t, netcode.Connected, honest.State(), "an honest client joins in 2 s")
	s.unmoved()
	casebook.Injected(t, stranger.Told("Hellos")+stranger.Told("ForgedCookies")+stranger.Told("ForgedJoins"), "handshakes from forged addresses")
	casebook.Injected(t, out, "bytes of answers, fewer than came")
}

// A thousand clients with a good cookie that stop before their Join, or right after it: the first kind costs nothing, of the second kind a
// network takes a quarter of the places at most, and silence ends them. Others still join.
func TestCase38Slowloris(t *testing.T) {
	n := party(t, 6, 38, netcode.Config{Clients: 64, SilenceTimeout: 4 * time.Second, KeepAlive: time.Second})
	s := newSteady(t, n, n.Clients...)
	var slow []*adversary.Client
	count := sized(200, 1000)
	crowded := 0
	for i := range count {
		at := transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(1 + i%200)}), uint16(2000+i)))
		conn := n.ListenAt(at)
		c := adversary.NewClient(adversary.Config{Protocol: protocol(), Conn: conn, Remote: n.Address(), Now: n.Now, Seed: uint64(i)})
		c.HaltAt([]adversary.Phase{adversary.Joining, adversary.Playing}[i%2])
		slow = append(slow, c)
	}
	step := func() {
		for _, c := range slow {
			c.Step()
		}
	}
	s.run(2*time.Second, step)
	require.LessOrEqual(t, clientsOf(n), 6+16, "one network has a quarter of the places at most")
	honest := n.Join()
	s.run(2*time.Second, step)
	require.Equal(t, netcode.Connected, honest.State())
	s.run(5*time.Second, step)
	require.Equal(t, 7, clientsOf(n), "silence ended all others")
	s.unmoved()
	halted := 0
	for _, c := range slow {
		if r := c.Reason(); r != nil && r.Reason == errs.ReasonCrowded {
			crowded++
		}
		if c.Told("HaltAt") > 0 {
			halted++
		}
	}
	casebook.Injected(t, halted, "clients that stop with a good cookie or a fresh session")
	casebook.Injected(t, crowded, "of them refused: too many from one network")
}

// Every datagram that was sent is sent again later: to the session that it belongs to, into another one, from another address, and back to
// its sender. Nothing happens twice and nothing ends.
func TestCase40Replay(t *testing.T) {
	n := party(t, 3, 40, netcode.Config{})
	type sent struct {
		from, to transport.Addr
		bytes    []byte
	}
	var recorded []sent
	n.OnSend(func(from, to transport.Addr, datagram []byte) {
		recorded = append(recorded, sent{from, to, append([]byte(nil), datagram...)})
	})
	again := n.Clients[2]
	require.NoError(t, again.Connect(n.Address())) // a handshake is among them
	n.Run(2 * time.Second)
	n.OnSend(nil)
	s := newSteady(t, n, n.Clients...)
	before, worlds := n.Server.Stats(), n.Server.Store().Len()
	replay := func() int {
		replayed := 0
		elsewhere := transport.MustParseAddr("198.51.100.8:9")
		for i, d := range recorded {
			if d.to == n.Address() {
				other, _ := n.Server.ClientStats(n.Clients[i%2].ID())
				steps.OfServer(n.Server).Receive(d.from, d.bytes)
				steps.OfServer(n.Server).Receive(other.Address, d.bytes)
				steps.OfServer(n.Server).Receive(elsewhere, d.bytes)
				for _, c := range n.Clients {
					steps.OfClient(c).Receive(n.Address(), d.bytes) // reflected
				}
				replayed += 3 + len(n.Clients)
				continue
			}
			for _, c := range n.Clients {
				steps.OfClient(c).Receive(n.Address(), d.bytes)
				replayed++
			}
			steps.OfServer(n.Server).Receive(d.to, d.bytes) // reflected
			replayed++
		}
		return replayed
	}
	count := 0
	for _, wait := range []time.Duration{time.Second, sized(30*time.Second, 15*time.Minute)} {
		s.run(wait, nil)
		count += replay()
	}
	s.run(2*time.Second, nil)
	s.unmoved()
	after := n.Server.Stats()
	require.Equal(t, before.Connected, after.Connected, "no session comes of it")
	require.Equal(t, before.Disconnected, after.Disconnected, "and none ends")
	require.Equal(t, worlds, n.Server.Store().Len())
	require.Positive(t, after.Packets.Duplicates+after.Packets.Old-before.Packets.Duplicates-before.Packets.Old)
	require.Positive(t, after.Packets.BadChecksum-before.Packets.BadChecksum)
	casebook.Injected(t, count, "recorded datagrams that came again, elsewhere and reflected")
}

// 300 clients say Hello within 100 ms: all are in within five seconds, and those who play have their state all the while.
func TestCase42JoinBurst(t *testing.T) {
	n := party(t, 8, 42, netcode.Config{Clients: 320})
	s := newSteady(t, n, n.Clients[:8]...)
	began := n.Now()
	for range 100 {
		n.Join()
	}
	s.step()
	for range 2 {
		for range 100 {
			n.Join()
		}
		s.step()
	}
	require.LessOrEqual(t, n.Now()-began, 110*time.Millisecond)
	s.run(2*time.Second, nil)
	s.unmoved()
	in := 0
	for _, c := range n.Clients[8:] {
		if c.State() == netcode.Connected {
			in++
		}
	}
	require.Equal(t, 300, in, "all are in")
	casebook.Injected(t, in, "joins within 100 ms")
}

// Closes, packets and handshake answers that one who is not on the path forges for both ends, with their addresses: no session ends.
func TestCase43OffPath(t *testing.T) {
	n := party(t, 3, 43, netcode.Config{})
	s := newSteady(t, n, n.Clients...)
	victim := n.Clients[0]
	stats, _ := n.Server.ClientStats(victim.ID())
	toServer := adversary.NewStranger(protocol(), 43, steps.OfServer(n.Server).Receive)
	toClient := adversary.NewStranger(protocol(), 44, steps.OfClient(victim).Receive)
	forged := 0
	var random uint64
	s.run(sized(3*time.Second, time.Minute), func() {
		toServer.ForgedCloses(stats.Address, 100)
		toClient.ForgedCloses(n.Address(), 100)
		random = random*6364136223846793005 + 1442695040888963407
		for _, datagram := range [][]byte{
			peer.AppendRefuse(nil, peer.Refuse{Nonce: random, Reason: errs.ReasonFull}),
			peer.AppendAccept(nil, peer.Accept{Nonce: random, Epoch: uint32(random), Rate: 30, Window: 64, PacketSize: 1200}),
			peer.AppendChallenge(nil, peer.Challenge{Nonce: random, Cookie: peer.Cookie{1}}),
		} {
			steps.OfClient(victim).Receive(n.Address(), datagram)
			forged++
		}
	})
	s.unmoved()
	require.GreaterOrEqual(t, victim.Stats().Packets.BadChecksum, uint64(toClient.Told("ForgedCloses")))
	casebook.Injected(t, toServer.Told("ForgedCloses")+toClient.Told("ForgedCloses"), "forged Closes to both ends")
	casebook.Injected(t, forged, "forged answers of a handshake")
}

// clientsOf is the number of clients with a session at the server.
func clientsOf(n *nettest.Net) int { return len(slices.Collect(n.Server.Clients)) }

// lines counts the lines and bytes of a log.
type lines struct{ count, bytes int }

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.count, l.bytes = l.count+1, l.bytes+len(b)
	return len(b), nil
}

// Bad packets of every kind, and sessions that end for them one after the other: the log gets some ten lines a second, none with the
// bytes of a packet, and the others are counted.
func TestCase51LogFlood(t *testing.T) {
	var log lines
	n := party(t, 3, 51, netcode.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), Clients: 64})
	s := newSteady(t, n, n.Clients...)
	stranger := adversary.NewStranger(protocol(), 51, steps.OfServer(n.Server).Receive)
	var liars []*adversary.Client
	for i := range 20 {
		c := adversary.NewClient(adversary.Config{Protocol: protocol(), Conn: n.Listen(), Remote: n.Address(), Now: n.Now, Seed: uint64(i)})
		n.Each(c.Step)
		liars = append(liars, c)
	}
	log = lines{}
	began, ended := n.Now(), n.Server.Stats().Malformed
	s.run(sized(10*time.Second, 2*time.Minute), func() {
		stranger.Noise(100)
		stranger.ForgedCookies(100)
		for _, c := range liars {
			if c.Connected() {
				c.Noise(1)
			} else if c.Reason() != nil {
				c.Connect()
			}
		}
	})
	s.unmoved()
	seconds := (n.Now() - began).Seconds()
	stats := n.Server.Stats()
	t.Logf("%d lines in %.0f s, %d more left out; %d sessions ended", log.count, seconds, stats.LinesSkipped, stats.Malformed-ended)
	require.LessOrEqual(t, float64(log.count), 12*(seconds+1))
	require.LessOrEqual(t, log.bytes, log.count*600, "no line has the bytes of a packet")
	require.Positive(t, stats.LinesSkipped)
	casebook.Injected(t, stranger.Told("Noise")+stranger.Told("ForgedCookies"), "bad datagrams")
	casebook.Injected(t, stats.Malformed-ended, "sessions that end for a malformed packet")
}
