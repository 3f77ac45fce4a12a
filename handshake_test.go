package netcode_test

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// applicant is a client that does the handshake by hand, from any address.
type applicant struct {
	at     transport.Addr
	nonce  uint64
	cookie peer.Cookie
	accept peer.Accept
	refuse peer.Refuse
}

// hello is its Hello.
func (a *applicant) hello(p *netcode.Protocol) []byte {
	return peer.AppendHello(nil, peer.Hello{Version: peer.Version, Nonce: a.nonce, Protocol: p.Hash(), Cookie: a.cookie})
}

// join is its Join.
func (a *applicant) join(p *netcode.Protocol) []byte {
	return peer.AppendJoin(nil, peer.Join{Nonce: a.nonce, Cookie: a.cookie}, wire.NewChecksum(a.accept.Epoch, p.Hash()))
}

// applicants is several of them by address.
type applicants map[transport.Addr]*applicant

// hear takes what a server has for them out of Drain, and hands the rest on.
func (as applicants) hear(s *netcode.Server, rest func(transport.Addr, []byte)) {
	s.Drain(func(to transport.Addr, packet []byte) {
		a := as[to]
		if a == nil {
			rest(to, packet)
			return
		}
		if c, err := peer.ParseChallenge(packet); err == nil {
			a.cookie = c.Cookie
		} else if c, err := peer.ParseAccept(packet); err == nil {
			a.accept = c
		} else if c, err := peer.ParseRefuse(packet); err == nil {
			a.refuse = c
		}
	})
}

func nobody(transport.Addr, []byte) {}

// publicAddress is one address of each of 65536 public networks.
func publicAddress(i int) transport.Addr {
	return transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, byte(i >> 8), byte(i), 1}), 4000))
}

// proved is a server, and as many applicants with a valid cookie.
func proved(t testing.TB, p *netcode.Protocol, config netcode.Config, count int) (*netcode.Server, []*applicant) {
	config.Random = random(1)
	s, err := netcode.NewServer(p, config)
	require.NoError(t, err)
	s.BeginFrame(5 * time.Second)
	as, list := applicants{}, []*applicant(nil)
	for i := range count {
		a := &applicant{at: publicAddress(i), nonce: uint64(i) + 1}
		as[a.at], list = a, append(list, a)
		s.Receive(a.at, a.hello(p))
	}
	as.hear(s, nobody)
	for _, a := range list {
		require.False(t, a.cookie.IsZero())
	}
	return s, list
}

// A valid Hello costs at most 320 bytes, whatever is kept of a session's packets, and as many for each whether they are few or
// many. Nothing of it is kept once the answers are drained and the next frame is over.
func TestValidHellosCostNextToNothing(t *testing.T) {
	const hellos = 8192
	p := protocol()
	cost := func(count, sent int) (bytes, allocations float64) {
		s, list := proved(t, p, netcode.Config{SentPackets: sent, Clients: netcode.MaxClients}, count)
		fresh, err := netcode.NewServer(p, netcode.Config{Random: random(1), SentPackets: sent, Clients: netcode.MaxClients})
		require.NoError(t, err)
		fresh.BeginFrame(5 * time.Second) // With the same secret, and no buffer that has grown.
		var packets [][]byte
		for _, a := range list {
			packets = append(packets, a.hello(p))
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i, packet := range packets {
			fresh.Receive(list[i].at, packet)
		}
		runtime.ReadMemStats(&after)
		require.Zero(t, s.Stats().Connected)
		require.EqualValues(t, count, fresh.Stats().Hellos)
		require.Zero(t, fresh.Stats().Challenges, "every cookie is valid")
		accepts := 0
		fresh.Drain(func(_ transport.Addr, packet []byte) {
			_, err := peer.ParseAccept(packet)
			require.NoError(t, err)
			accepts++
		})
		require.Equal(t, count, accepts)
		n := float64(count)
		return float64(after.TotalAlloc-before.TotalAlloc) / n, float64(after.Mallocs-before.Mallocs) / n
	}
	for _, c := range []struct{ count, sent int }{{hellos / 4, 1024}, {hellos, 64}, {hellos, 1024}, {hellos, 16384}} {
		bytes, allocations := cost(c.count, c.sent)
		t.Logf("%d hellos, SentPackets %d: %.1f bytes and %.4f allocations each", c.count, c.sent, bytes, allocations)
		if alloctest.Counts() {
			require.LessOrEqual(t, bytes, 320.0, "%d hellos, SentPackets %d", c.count, c.sent)
			require.Less(t, allocations, 0.02, "only buffers grow")
		}
	}
}

// Once its buffers have grown a server allocates nothing for handshakes without a session, and keeps nothing of them.
func TestHandshakesWithoutASessionAllocateNothing(t *testing.T) {
	p := protocol()
	s, list := proved(t, p, netcode.Config{}, 512)
	var packets [][]byte
	for _, a := range list {
		packets = append(packets, a.hello(p), (&applicant{nonce: a.nonce}).hello(p))
	}
	now := 5 * time.Second
	frame := func() {
		now += time.Second
		s.BeginFrame(now)
		for i, packet := range packets {
			s.Receive(list[i/2].at, packet)
		}
		s.Drain(nobody)
	}
	frame()
	alloctest.Zero(t, 1, frame)
}

// A Hello that comes again gets the same Accept, and makes no session; a Join makes one, once.
func TestOnlyAJoinMakesASession(t *testing.T) {
	p := protocol()
	s, list := proved(t, p, netcode.Config{}, 1)
	a := list[0]
	as := applicants{a.at: a}
	var first peer.Accept
	for i := range 5 {
		s.Receive(a.at, a.hello(p))
		as.hear(s, nobody)
		if i == 0 {
			first = a.accept
		}
		require.Equal(t, first, a.accept)
	}
	require.Zero(t, s.Stats().Connected)
	forged := *a
	forged.accept.Epoch++
	s.Receive(a.at, forged.join(p))
	require.Zero(t, s.Stats().Connected, "its checksum is not that of the epoch")
	require.EqualValues(t, 1, s.Stats().BadHandshakes)
	for range 5 {
		s.Receive(a.at, a.join(p))
		s.Receive(a.at, a.hello(p))
	}
	require.EqualValues(t, 1, s.Stats().Connected)
	require.Zero(t, s.Stats().Replaced)
}

// A Join that comes when its session is over makes no other one, and is told why; so is none that comes after its cookie's time.
func TestAJoinOfASessionThatIsOverMakesNone(t *testing.T) {
	p := protocol()
	s, list := proved(t, p, netcode.Config{}, 1)
	a := list[0]
	as := applicants{a.at: a}
	s.Receive(a.at, a.hello(p))
	as.hear(s, nobody)
	join := a.join(p)
	s.Receive(a.at, join)
	require.EqualValues(t, 1, s.Stats().Connected)
	require.True(t, s.Kick(1, "enough"))
	for now := 5 * time.Second; now < 25*time.Second; now += time.Second / 4 {
		s.BeginFrame(now)
		s.Receive(a.at, join)
		s.Send()
		as.hear(s, nobody)
	}
	require.EqualValues(t, 1, s.Stats().Connected)
	require.Positive(t, s.Stats().JoinsRepeated)
	require.Equal(t, peer.ReasonKicked, a.refuse.Reason)
	require.Equal(t, "enough", a.refuse.Detail)
}

// A Join that the network held back does not end the session of a later attempt from the same address.
func TestAJoinOfAnEarlierAttemptReplacesNothing(t *testing.T) {
	p := protocol()
	s, list := proved(t, p, netcode.Config{}, 1)
	early := list[0]
	as := applicants{early.at: early}
	s.Receive(early.at, early.hello(p))
	as.hear(s, nobody)
	late := &applicant{at: early.at, nonce: 77}
	as[late.at] = late
	for range 2 {
		s.Receive(late.at, late.hello(p))
		as.hear(s, nobody)
	}
	s.Receive(late.at, late.join(p))
	require.EqualValues(t, 1, s.Stats().Connected)
	s.Receive(early.at, early.join(p))
	require.EqualValues(t, 1, s.Stats().Connected)
	require.Zero(t, s.Stats().Replaced)

	again := &applicant{at: early.at, nonce: 78}
	as[again.at] = again
	for range 2 {
		s.Receive(again.at, again.hello(p))
		as.hear(s, nobody)
	}
	s.Receive(again.at, again.join(p))
	require.EqualValues(t, 1, s.Stats().Replaced, "a later attempt does")
	require.EqualValues(t, 2, s.Stats().Connected)
}

// A client is connected, to its game, with the server's first datagram of the session and not before.
func TestOnConnectComesWithTheFirstDatagramOfTheSession(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{})
	deaf := true
	r.tamper = func(_, to transport.Addr, packet []byte) []byte {
		kind := peer.KindOf(packet)
		if deaf && to != r.server.conn.LocalAddr() && (kind == peer.KindWelcome || kind == peer.KindPacket) {
			return nil
		}
		return packet
	}
	c := r.join(p, netcode.Config{})
	r.run(time.Second)
	require.Equal(t, netcode.Connecting, c.State())
	require.Empty(t, c.log)
	require.Equal(t, []string{"connect 1"}, r.server.log)
	deaf = false
	r.until(func() bool { return len(c.log) == 1 })
	require.Equal(t, netcode.Connected, c.State())
	require.EqualValues(t, 1, r.server.Stats().Connected, "its joins made one session")
	id := r.spawn(3)
	r.sees(c, id, 3)
}

// A client that is kicked before it was welcome learns why.
func TestKickedBeforeWelcome(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{})
	r.server.OnConnect(func(id wire.ClientID) { r.server.Kick(id, "closed today") })
	r.tamper = func(_, to transport.Addr, packet []byte) []byte {
		if peer.KindOf(packet) == peer.KindWelcome {
			return nil
		}
		return packet
	}
	c := r.join(p, netcode.Config{})
	r.until(func() bool { return c.State() == netcode.Disconnected })
	require.ErrorIs(t, c.Err(), peer.ReasonKicked)
	require.Equal(t, []string{"disconnect 0: kicked: closed today"}, c.log)
}

// A cookie that is not good any more while a client joins is followed by another.
func TestACookieThatExpiresWhileJoining(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{})
	stop := r.now + 12*time.Second
	r.tamper = func(_, to transport.Addr, packet []byte) []byte {
		if peer.KindOf(packet) == peer.KindJoin && r.now < stop {
			return nil
		}
		return packet
	}
	c := r.join(p, netcode.Config{HandshakeTimeout: 30 * time.Second})
	r.run(11 * time.Second)
	require.Equal(t, netcode.Connecting, c.State())
	r.run(2 * time.Second)
	require.Equal(t, netcode.Connected, c.State())
	require.EqualValues(t, 1, r.server.Stats().Connected)
	require.EqualValues(t, 2, c.Stats().Challenges)
}

// An attempt to which the server never answers Welcome ends in time.
func TestJoiningTakesTheHandshakesTime(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{})
	r.tamper = func(_, _ transport.Addr, packet []byte) []byte {
		if peer.KindOf(packet) == peer.KindWelcome {
			return nil
		}
		return packet
	}
	c := r.join(p, netcode.Config{})
	r.run(6 * time.Second)
	require.ErrorIs(t, c.Err(), peer.ReasonHandshakeTimeout)
	require.Contains(t, c.Err().Detail, "made no session")
	require.EqualValues(t, 1, c.Stats().HandshakeTimeouts)
}

// BenchmarkHello is what a valid Hello costs a server, its answer included.
func BenchmarkHello(b *testing.B) {
	p := protocol()
	const count = 8192
	for _, valid := range []bool{true, false} {
		b.Run(fmt.Sprintf("cookie=%t", valid), func(b *testing.B) {
			s, list := proved(b, p, netcode.Config{HandshakesPerAddress: 1 << 20, HandshakesPerNetwork: 1 << 20}, count)
			var packets [][]byte
			for _, a := range list {
				if !valid {
					a.cookie = peer.Cookie{}
				}
				packets = append(packets, a.hello(p))
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s.Receive(list[i].at, packets[i])
				if i++; i == count {
					i = 0
					s.Drain(nobody)
				}
			}
		})
	}
}
