package netcode_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
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
	steps.OfServer(s).Drain(func(to transport.Addr, packet []byte) {
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
	config.Random = rig.Random(1)
	s, err := netcode.NewServer(p, config)
	require.NoError(t, err)
	steps.OfServer(s).BeginFrame(5 * time.Second)
	as, list := applicants{}, []*applicant(nil)
	for i := range count {
		a := &applicant{at: publicAddress(i), nonce: uint64(i) + 1}
		as[a.at], list = a, append(list, a)
		steps.OfServer(s).Receive(a.at, a.hello(p))
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
		s, list := proved(t, p, netcode.Config{SentPackets: sent, Clients: wire.MaxClients}, count)
		fresh, err := netcode.NewServer(p, netcode.Config{Random: rig.Random(1), SentPackets: sent, Clients: wire.MaxClients})
		require.NoError(t, err)
		steps.OfServer(fresh).BeginFrame(5 * time.Second) // With the same secret, and no buffer that has grown.
		var packets [][]byte
		for _, a := range list {
			packets = append(packets, a.hello(p))
		}
		made, size := alloctest.Cost(t, func() {
			for i, packet := range packets {
				steps.OfServer(fresh).Receive(list[i].at, packet)
			}
		})
		require.Zero(t, s.Stats().Connected)
		require.EqualValues(t, count, fresh.Stats().Hellos)
		require.Zero(t, fresh.Stats().Challenges, "every cookie is valid")
		accepts := 0
		steps.OfServer(fresh).Drain(func(_ transport.Addr, packet []byte) {
			_, err := peer.ParseAccept(packet)
			require.NoError(t, err)
			accepts++
		})
		require.Equal(t, count, accepts)
		n := float64(count)
		return float64(size) / n, float64(made) / n
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
		steps.OfServer(s).BeginFrame(now)
		for i, packet := range packets {
			steps.OfServer(s).Receive(list[i/2].at, packet)
		}
		steps.OfServer(s).Drain(nobody)
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
		steps.OfServer(s).Receive(a.at, a.hello(p))
		as.hear(s, nobody)
		if i == 0 {
			first = a.accept
		}
		require.Equal(t, first, a.accept)
	}
	require.Zero(t, s.Stats().Connected)
	forged := *a
	forged.accept.Epoch++
	steps.OfServer(s).Receive(a.at, forged.join(p))
	require.Zero(t, s.Stats().Connected, "its checksum is not that of the epoch")
	require.EqualValues(t, 1, s.Stats().BadHandshakes)
	for range 5 {
		steps.OfServer(s).Receive(a.at, a.join(p))
		steps.OfServer(s).Receive(a.at, a.hello(p))
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
	steps.OfServer(s).Receive(a.at, a.hello(p))
	as.hear(s, nobody)
	join := a.join(p)
	steps.OfServer(s).Receive(a.at, join)
	require.EqualValues(t, 1, s.Stats().Connected)
	require.True(t, s.Kick(1, "enough"))
	for now := 5 * time.Second; now < 25*time.Second; now += time.Second / 4 {
		steps.OfServer(s).BeginFrame(now)
		steps.OfServer(s).Receive(a.at, join)
		steps.OfServer(s).Send()
		as.hear(s, nobody)
	}
	require.EqualValues(t, 1, s.Stats().Connected)
	require.Positive(t, s.Stats().JoinsRepeated)
	require.Equal(t, errs.ReasonKicked, a.refuse.Reason)
	require.Equal(t, "enough", a.refuse.Detail)
}

// A Join that the network held back does not end the session of a later attempt from the same address.
func TestAJoinOfAnEarlierAttemptReplacesNothing(t *testing.T) {
	p := protocol()
	s, list := proved(t, p, netcode.Config{}, 1)
	early := list[0]
	as := applicants{early.at: early}
	steps.OfServer(s).Receive(early.at, early.hello(p))
	as.hear(s, nobody)
	late := &applicant{at: early.at, nonce: 77}
	as[late.at] = late
	for range 2 {
		steps.OfServer(s).Receive(late.at, late.hello(p))
		as.hear(s, nobody)
	}
	steps.OfServer(s).Receive(late.at, late.join(p))
	require.EqualValues(t, 1, s.Stats().Connected)
	steps.OfServer(s).Receive(early.at, early.join(p))
	require.EqualValues(t, 1, s.Stats().Connected)
	require.Zero(t, s.Stats().Replaced)

	again := &applicant{at: early.at, nonce: 78}
	as[again.at] = again
	for range 2 {
		steps.OfServer(s).Receive(again.at, again.hello(p))
		as.hear(s, nobody)
	}
	steps.OfServer(s).Receive(again.at, again.join(p))
	require.EqualValues(t, 1, s.Stats().Replaced, "a later attempt does")
	require.EqualValues(t, 2, s.Stats().Connected)
}

// A client is connected, to its game, with the server's first datagram of the session and not before.
func TestOnConnectComesWithTheFirstDatagramOfTheSession(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	deaf := true
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		kind := peer.KindOf(packet)
		if deaf && to != r.Server.Conn.LocalAddr() && (kind == peer.KindWelcome || kind == peer.KindPacket) {
			return nil
		}
		return packet
	}
	c := r.Join(p, netcode.Config{})
	r.Run(time.Second)
	require.Equal(t, netcode.Connecting, c.State())
	require.Empty(t, c.Log)
	require.Equal(t, []string{"connect 1"}, r.Server.Log)
	deaf = false
	r.Until(func() bool { return len(c.Log) == 1 })
	require.Equal(t, netcode.Connected, c.State())
	require.EqualValues(t, 1, r.Server.Stats().Connected, "its joins made one session")
	id := r.Spawn(3)
	r.Sees(c, id, 3)
}

// A client that is kicked before it was welcome learns why.
func TestKickedBeforeWelcome(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	r.Server.OnConnect(func(id wire.ClientID) { r.Server.Kick(id, "closed today") })
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if peer.KindOf(packet) == peer.KindWelcome {
			return nil
		}
		return packet
	}
	c := r.Join(p, netcode.Config{})
	r.Until(func() bool { return c.State() == netcode.Disconnected })
	require.ErrorIs(t, c.Err(), errs.ReasonKicked)
	require.Equal(t, []string{"disconnect 0: kicked: closed today"}, c.Log)
}

// candidate is a client whose server is written by hand.
type candidate struct {
	*rig.Rig
	p      *netcode.Protocol
	client *rig.ClientEnd
	socket *memory.Conn
	hello  peer.Hello
}

func newCandidate(t *testing.T) *candidate {
	ca := &candidate{Rig: &rig.Rig{T: t, Network: memory.NewNetwork(), Now: 5 * time.Second}, p: protocol()}
	var err error
	ca.socket, err = ca.Network.Listen(transport.Addr{})
	require.NoError(t, err)
	ca.Server = &rig.ServerEnd{Conn: ca.socket}
	ca.client = ca.Join(ca.p, netcode.Config{})
	ca.frames(1)
	n, _, err := ca.socket.Receive(ca.Buf[:])
	require.NoError(t, err)
	ca.hello, err = peer.ParseHello(ca.Buf[:n])
	require.NoError(t, err)
	return ca
}

// frames runs frames of the client.
func (ca *candidate) frames(n int) {
	for range n {
		ca.Now += rig.FrameTime
		ca.ClientFrame(ca.client)
		_, _, _ = ca.client.Time(), ca.client.ServerTime(), ca.client.Present()
	}
}

// tell gives the client a datagram of its server.
func (ca *candidate) tell(datagram []byte) {
	steps.OfClient(ca.client).Receive(ca.socket.LocalAddr(), datagram)
}

// accept is one that any server could send.
func (ca *candidate) accept() peer.Accept {
	return peer.Accept{Nonce: ca.hello.Nonce, Epoch: 77, Rate: 30, Window: 64, PacketSize: 1200}
}

// welcome is a Welcome sealed for the epoch of accept.
func (ca *candidate) welcome(w peer.Welcome) []byte {
	return peer.AppendWelcome(nil, w, ^wire.NewChecksum(77, ca.p.Hash()))
}

// The effects that a datagram of the handshake may have on a client.
const (
	dropped  = "dropped" // It goes on as before, and counts it.
	taken    = "taken"
	outRange = "out of range"
)

// Every field of every datagram from the server, at its bounds. What NewServer would refuse ends the attempt with a typed
// error that names the field; what is no answer to this attempt, or damaged, has no effect.
func TestClientTakesOnlyValuesThatAServerMayDecide(t *testing.T) {
	accept := func(change func(*peer.Accept)) func(*candidate) []byte {
		return func(ca *candidate) []byte {
			a := ca.accept()
			change(&a)
			return peer.AppendAccept(nil, a)
		}
	}
	refuse := func(nonce uint64, reason errs.Reason, detail int) func(*candidate) []byte {
		return func(ca *candidate) []byte {
			b := peer.AppendRefuse(nil, peer.Refuse{Nonce: ca.hello.Nonce + nonce, Reason: reason})
			b = b[:len(b)-wire.ChecksumSize]
			for range detail {
				b = append(b, 'x')
			}
			return binary.LittleEndian.AppendUint32(b, wire.NewChecksum(0, 0).Sum(b))
		}
	}
	challenge := func(nonce uint64, cookie peer.Cookie) func(*candidate) []byte {
		return func(ca *candidate) []byte {
			return peer.AppendChallenge(nil, peer.Challenge{Nonce: ca.hello.Nonce + nonce, Cookie: cookie})
		}
	}
	cases := []struct {
		name  string
		give  func(*candidate) []byte
		comes string
		names string // By the error.
	}{
		{"challenge: another nonce", challenge(1, peer.Cookie{1}), dropped, ""},
		{"challenge: no cookie", challenge(0, peer.Cookie{}), dropped, ""},
		{"challenge: the least cookie", challenge(0, peer.Cookie{15: 1}), taken, ""},
		{"accept: another nonce, above", accept(func(a *peer.Accept) { a.Nonce++ }), dropped, ""},
		{"accept: another nonce, below", accept(func(a *peer.Accept) { a.Nonce-- }), dropped, ""},
		{"accept: another nonce and out of range", accept(func(a *peer.Accept) { a.Nonce++; a.Rate = 0 }), dropped, ""},
		{"accept: epoch 0", accept(func(a *peer.Accept) { a.Epoch = 0 }), outRange, "the epoch of an Accept is 0: it must be 1 to 4294967295"},
		{"accept: epoch 1", accept(func(a *peer.Accept) { a.Epoch = 1 }), taken, ""},
		{"accept: epoch greatest", accept(func(a *peer.Accept) { a.Epoch = math.MaxUint32 }), taken, ""},
		{"accept: rate 0", accept(func(a *peer.Accept) { a.Rate = 0 }), outRange, "the tick rate of an Accept is 0: it must be 1 to 1000"},
		{"accept: rate 1", accept(func(a *peer.Accept) { a.Rate = 1 }), taken, ""},
		{"accept: rate 1000", accept(func(a *peer.Accept) { a.Rate = 1000 }), taken, ""},
		{"accept: rate 1001", accept(func(a *peer.Accept) { a.Rate = 1001 }), outRange, "the tick rate of an Accept is 1001: it must be 1 to 1000"},
		{"accept: rate greatest", accept(func(a *peer.Accept) { a.Rate = math.MaxUint16 }), outRange, "the tick rate"},
		{"accept: window 63", accept(func(a *peer.Accept) { a.Window = 63 }), outRange, "the window of an Accept is 63: it must be 64 to 4096"},
		{"accept: window 64", accept(func(a *peer.Accept) { a.Window = 64 }), taken, ""},
		{"accept: window 4096", accept(func(a *peer.Accept) { a.Window = 4096 }), taken, ""},
		{"accept: window 4097", accept(func(a *peer.Accept) { a.Window = 4097 }), outRange, "the window of an Accept is 4097: it must be 64 to 4096"},
		{"accept: packet 255", accept(func(a *peer.Accept) { a.PacketSize = 255 }), outRange, "the packet size of an Accept is 255: it must be 256 to 8192"},
		{"accept: packet 256", accept(func(a *peer.Accept) { a.PacketSize = 256 }), taken, ""},
		{"accept: packet 8192", accept(func(a *peer.Accept) { a.PacketSize = 8192 }), taken, ""},
		{"accept: packet 8193", accept(func(a *peer.Accept) { a.PacketSize = 8193 }), outRange, "the packet size of an Accept is 8193: it must be 256 to 8192"},
		{"refuse: another nonce", refuse(1, errs.ReasonFull, 0), dropped, ""},
		{"refuse: no reason", refuse(0, errs.ReasonNone, 0), dropped, ""},
		{"refuse: the least", refuse(0, 1, 0), "closed", ""},
		{"refuse: a reason that is not known", refuse(0, 255, 3), "reason 255: xxx", ""},
		{"refuse: the longest detail", refuse(0, errs.ReasonFull, peer.MaxRefuseDetail), "server is full: x", ""},
		{"refuse: a detail too long", refuse(0, errs.ReasonFull, peer.MaxRefuseDetail+1), dropped, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ca := newCandidate(t)
			ca.tell(c.give(ca))
			bad := ca.client.Stats().BadHandshakes
			switch c.comes {
			case dropped:
				require.EqualValues(t, 1, bad)
				require.Equal(t, netcode.Connecting, ca.client.State())
			case taken:
				require.Zero(t, bad)
				require.Equal(t, netcode.Connecting, ca.client.State(), "it needs a Welcome")
			case outRange:
				require.Equal(t, netcode.Disconnected, ca.client.State())
				require.ErrorIs(t, ca.client.Err(), errs.ReasonMalformed)
				require.Contains(t, ca.client.Err().Error(), c.names)
				require.EqualValues(t, 1, ca.client.Stats().Malformed)
			default:
				require.Equal(t, netcode.Disconnected, ca.client.State())
				require.Contains(t, ca.client.Err().Error(), c.comes)
			}
			ca.frames(90)
		})
	}
}

// Every field of a Welcome at its bounds, and after each that is taken, seconds of frames in which the clocks run.
func TestTheClientTakesAWelcomeThatAServerMaySendOnly(t *testing.T) {
	const latest = peer.MaxTick
	cases := []struct {
		name    string
		welcome peer.Welcome
		names   string
	}{
		{"client 0", peer.Welcome{Tick: 1}, "the client id of a Welcome is 0: it must be 1 to 4294967295"},
		{"client 1", peer.Welcome{Client: 1, Tick: 1}, ""},
		{"client greatest", peer.Welcome{Client: math.MaxUint32, Tick: 1}, ""},
		{"tick least", peer.Welcome{Client: 1, Tick: math.MinInt64}, "the tick of a Welcome"},
		{"tick -1", peer.Welcome{Client: 1, Tick: -1}, "the tick of a Welcome"},
		{"tick 0", peer.Welcome{Client: 1}, ""},
		{"the latest first tick", peer.Welcome{Client: 1, Tick: 1 << 62}, ""},
		{"the latest tick", peer.Welcome{Client: 1, Tick: latest}, ""},
		{"one after it", peer.Welcome{Client: 1, Tick: latest + 1}, "the tick of a Welcome is 4620693217682128897: it must be 0 to 4620693217682128896"},
		{"near the end", peer.Welcome{Client: 1, Tick: math.MaxInt64 - 1000}, "the tick of a Welcome"},
		{"tick greatest", peer.Welcome{Client: 1, Tick: math.MaxInt64}, "the tick of a Welcome"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ca := newCandidate(t)
			ca.tell(ca.welcome(peer.Welcome{Client: 1, Tick: 1}))
			require.EqualValues(t, 1, ca.client.Stats().BadHandshakes, "before it was accepted")
			ca.tell(peer.AppendAccept(nil, ca.accept()))
			ca.frames(1)
			ca.tell(peer.AppendWelcome(nil, c.welcome, ^wire.NewChecksum(78, ca.p.Hash())))
			require.EqualValues(t, 2, ca.client.Stats().BadHandshakes, "of another epoch")
			require.Equal(t, netcode.Connecting, ca.client.State())
			ca.tell(ca.welcome(c.welcome))
			if c.names != "" {
				require.Equal(t, netcode.Disconnected, ca.client.State())
				require.ErrorIs(t, ca.client.Err(), errs.ReasonMalformed)
				require.Contains(t, ca.client.Err().Error(), c.names)
				ca.frames(90)
				return
			}
			require.Equal(t, netcode.Connected, ca.client.State())
			require.Equal(t, c.welcome.Client, ca.client.ID())
			ca.frames(180)
			require.Equal(t, netcode.Connected, ca.client.State())
			require.GreaterOrEqual(t, ca.client.Tick(), c.welcome.Tick+85)
			ca.tell(ca.welcome(peer.Welcome{Client: 9, Tick: 9}))
			require.Equal(t, c.welcome.Client, ca.client.ID(), "a second one has no effect")
			require.EqualValues(t, 2, ca.client.Stats().BadHandshakes, "and is none that nobody waits for")
			ca.tell(peer.AppendWelcome(nil, c.welcome, ^wire.NewChecksum(78, ca.p.Hash())))
			require.EqualValues(t, 3, ca.client.Stats().BadHandshakes)
		})
	}
}

// A server takes exactly the settings that a client takes from it, and a client connects with each at its bounds.
func TestClientsTakeAllValuesThatAServerMayDecide(t *testing.T) {
	legal := map[string]netcode.Config{
		"rate 1":      {TickRate: 1, Window: 64},
		"rate 1000":   {TickRate: 1000},
		"window 64":   {Window: 64},
		"window 4096": {Window: 4096},
		"packet 256":  {PacketSize: 256},
		"packet 8192": {PacketSize: 8192},
		"first tick":  {FirstTick: 1 << 62},
	}
	for name, config := range legal {
		t.Run(name, func(t *testing.T) {
			p := protocol()
			r := rig.New(t, p, config)
			c := r.Joined(p, netcode.Config{})
			r.Run(2 * time.Second)
			require.Equal(t, netcode.Connected, c.State())
			require.InDelta(t, float64(r.Server.Tick()-config.FirstTick), float64(c.Tick()-config.FirstTick), 40)
		})
	}
	for name, config := range map[string]netcode.Config{
		"TickRate":   {TickRate: 1001},
		"Window":     {Window: 63},
		"PacketSize": {PacketSize: 255},
		"FirstTick":  {FirstTick: 1<<62 + 1},
	} {
		_, err := netcode.NewServer(protocol(), config)
		require.ErrorContains(t, err, "Config."+name)
	}
	require.Less(t, tick.Tick(1)<<62, peer.MaxTick, "a server that began at the latest first tick can go on")
}

// Every field of every datagram from a client, at its bounds.
func TestServerTakesOnlyMessagesThatAClientMaySend(t *testing.T) {
	p := protocol()
	reseal := func(b []byte) []byte {
		body := b[:len(b)-wire.ChecksumSize]
		return binary.LittleEndian.AppendUint32(body, crc32.Update(uint32(wire.NewChecksum(0, 0)), crc32.IEEETable, body))
	}
	hello := func(change func(*peer.Hello), bytes func([]byte)) func(*applicant) []byte {
		return func(a *applicant) []byte {
			h := peer.Hello{Version: peer.Version, Nonce: a.nonce, Protocol: p.Hash(), Cookie: a.cookie}
			if change != nil {
				change(&h)
			}
			b := peer.AppendHello(nil, h)
			if bytes != nil {
				bytes(b)
				b = reseal(b)
			}
			return b
		}
	}
	entries := func(n int) func(*applicant) []byte {
		return hello(func(h *peer.Hello) { h.Digest = peer.NewDigest(make([]uint32, n)) }, nil)
	}
	join := func(change func(*peer.Join), epoch uint32) func(*applicant) []byte {
		return func(a *applicant) []byte {
			j := peer.Join{Nonce: a.nonce, Cookie: a.cookie}
			if change != nil {
				change(&j)
			}
			return peer.AppendJoin(nil, j, wire.NewChecksum(a.accept.Epoch+epoch, p.Hash()))
		}
	}
	cases := []struct {
		name  string
		give  func(*applicant) []byte
		comes peer.Kind // Of the answer; KindUnknown: none.
		why   errs.Reason
		bad   bool
	}{
		{"hello", hello(nil, nil), peer.KindAccept, 0, false},
		{"hello: version 0", hello(func(h *peer.Hello) { h.Version = 0 }, nil), peer.KindRefuse, errs.ReasonWrongVersion, false},
		{"hello: the next version", hello(func(h *peer.Hello) { h.Version = peer.Version + 1 }, nil), peer.KindRefuse, errs.ReasonWrongVersion, false},
		{"hello: the greatest version", hello(func(h *peer.Hello) { h.Version = math.MaxUint16 }, nil), peer.KindRefuse, errs.ReasonWrongVersion, false},
		{"hello: another nonce", hello(func(h *peer.Hello) { h.Nonce++ }, nil), peer.KindChallenge, 0, false},
		{"hello: nonce 0", hello(func(h *peer.Hello) { h.Nonce = 0 }, nil), peer.KindChallenge, 0, false},
		{"hello: nonce greatest", hello(func(h *peer.Hello) { h.Nonce = math.MaxUint64 }, nil), peer.KindChallenge, 0, false},
		{"hello: another protocol", hello(func(h *peer.Hello) { h.Protocol++ }, nil), peer.KindRefuse, errs.ReasonWrongProtocol, false},
		{"hello: no cookie", hello(func(h *peer.Hello) { h.Cookie = peer.Cookie{} }, nil), peer.KindChallenge, 0, false},
		{"hello: another cookie", hello(func(h *peer.Hello) { h.Cookie[15] ^= 1 }, nil), peer.KindChallenge, 0, false},
		{"hello: a cookie of another time", hello(func(h *peer.Hello) { h.Cookie[0] ^= 1 }, nil), peer.KindChallenge, 0, false},
		{"hello: a cookie of another secret", hello(func(h *peer.Hello) { h.Cookie[0] ^= 2 }, nil), peer.KindChallenge, 0, false},
		{"hello: as many hashes as fit", entries(peer.MaxDigest), peer.KindAccept, 0, false},
		{"hello: one more", entries(peer.MaxDigest + 1), peer.KindAccept, 0, false},
		{"hello: as many entries as can be said", entries(1 << 16), peer.KindAccept, 0, false},
		{"hello: padding", hello(nil, func(b []byte) { b[peer.HelloSize-5] = 1 }), peer.KindUnknown, 0, true},
		{"hello: more entries than hashes", hello(nil, func(b []byte) { b[35] = 1 }), peer.KindAccept, 0, false},
		{"hello: too short", func(a *applicant) []byte { return reseal(a.hello(p)[:peer.HelloSize-1]) }, peer.KindUnknown, 0, true},
		{"hello: too long", func(a *applicant) []byte { return reseal(append(a.hello(p), 0)) }, peer.KindUnknown, 0, true},
		{"join", join(nil, 0), peer.KindWelcome, 0, false},
		{"join: another nonce", join(func(j *peer.Join) { j.Nonce++ }, 0), peer.KindChallenge, 0, false},
		{"join: no cookie", join(func(j *peer.Join) { j.Cookie = peer.Cookie{} }, 0), peer.KindUnknown, 0, true},
		{"join: another cookie", join(func(j *peer.Join) { j.Cookie[15] ^= 1 }, 0), peer.KindChallenge, 0, false},
		{"join: another epoch", join(nil, 1), peer.KindUnknown, 0, true},
		{"join: too short", func(a *applicant) []byte { return join(nil, 0)(a)[:28] }, peer.KindUnknown, 0, true},
		{"join: too long", func(a *applicant) []byte { return append(join(nil, 0)(a), 0) }, peer.KindUnknown, 0, true},
		{"a challenge", func(a *applicant) []byte {
			return peer.AppendChallenge(nil, peer.Challenge{Nonce: 1, Cookie: a.cookie})
		}, peer.KindUnknown, 0, true},
		{"an accept", func(a *applicant) []byte { return peer.AppendAccept(nil, a.accept) }, peer.KindUnknown, 0, true},
		{"a welcome", func(a *applicant) []byte {
			return peer.AppendWelcome(nil, peer.Welcome{Client: 1}, ^wire.NewChecksum(a.accept.Epoch, p.Hash()))
		}, peer.KindUnknown, 0, true},
		{"no kind", func(*applicant) []byte { return []byte{0x87, 1, 2, 3, 4, 5, 6} }, peer.KindUnknown, 0, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, list := proved(t, p, netcode.Config{}, 1)
			a := list[0]
			steps.OfServer(s).Receive(a.at, a.hello(p))
			applicants{a.at: a}.hear(s, nobody)
			steps.OfServer(s).Receive(a.at, c.give(a))
			answer, why := peer.KindUnknown, errs.ReasonNone
			steps.OfServer(s).Drain(func(_ transport.Addr, packet []byte) {
				answer = peer.KindOf(packet)
				if r, err := peer.ParseRefuse(packet); err == nil {
					why = r.Reason
				}
			})
			require.Equal(t, c.comes, answer)
			require.Equal(t, c.why, why)
			require.Equal(t, c.bad, s.Stats().BadHandshakes == 1)
			require.Equal(t, c.comes == peer.KindWelcome, s.Stats().Connected == 1)
		})
	}
}

// An attempt to which the server never answers Welcome ends in time.
func TestJoiningTakesTheHandshakesTime(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	r.Tamper = func(_, _ transport.Addr, packet []byte) []byte {
		if peer.KindOf(packet) == peer.KindWelcome {
			return nil
		}
		return packet
	}
	c := r.Join(p, netcode.Config{})
	r.Run(6 * time.Second)
	require.ErrorIs(t, c.Err(), errs.ReasonHandshakeTimeout)
	require.Contains(t, c.Err().Detail, "made no session")
	require.EqualValues(t, 1, c.Stats().HandshakeTimeouts)
}

// An attempt that nobody answers says what its socket said, in that attempt alone.
func TestAnUnansweredAttemptNamesTheSocketsFault(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	r.Tamper = func(_, _ transport.Addr, packet []byte) []byte { return nil }
	c := r.Join(p, netcode.Config{})
	c.Report(errors.New("the token was used"))
	r.Run(6 * time.Second)
	require.ErrorIs(t, c.Err(), errs.ReasonHandshakeTimeout)
	require.Contains(t, c.Err().Detail, "; the token was used")
	require.NoError(t, c.Connect(r.Server.Conn.LocalAddr()))
	r.Run(6 * time.Second)
	require.ErrorIs(t, c.Err(), errs.ReasonHandshakeTimeout)
	require.NotContains(t, c.Err().Detail, "token")
}
