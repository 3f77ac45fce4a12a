package netcode_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// joinWith adds a client that connects with a payload. It does not wait.
func joinWith(r *rig.Rig, p *netcode.Protocol, config netcode.Config, payload string) *rig.ClientEnd {
	r.T.Helper()
	config.Random = rig.Random(uint64(r.Now/rig.FrameTime)<<4 + uint64(len(r.Clients))) // Another one for each attempt of a player.
	c := r.Join(p, config)
	require.NoError(r.T, c.ConnectWith(r.Server.Conn.LocalAddr(), []byte(payload)))
	c.Log = nil
	return c
}

// byPayload accepts every client with its payload as its identity.
func byPayload(a *netcode.Approval) { a.Accept(string(a.Payload)) }

func TestOnApproveDecidesWhoGetsAPlace(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	var asked []string
	r.Server.OnApprove(func(a *netcode.Approval) {
		require.Empty(t, r.Server.Log, "before a place is taken")
		asked = append(asked, fmt.Sprintf("%v %s", a.Address, a.Payload))
		require.Empty(t, a.User)
		require.True(t, a.Open())
		if !strings.HasPrefix(string(a.Payload), "key ") {
			require.True(t, a.Refuse("no key"))
			require.False(t, a.Accept("x"), "decided already")
			return
		}
		require.True(t, a.Accept(string(a.Payload[4:])))
		require.False(t, a.Refuse("late"), "decided already")
		require.False(t, a.Open())
	})
	bad := joinWith(r, p, netcode.Config{}, "nothing")
	r.Until(func() bool { return bad.Err() != nil })
	require.ErrorIs(t, bad.Err(), errs.ReasonNotApproved)
	require.Equal(t, "no key", bad.Err().Detail)
	require.EqualValues(t, 1, r.Server.Stats().NotApproved)
	none := r.Join(p, netcode.Config{})
	r.Until(func() bool { return none.Err() != nil })
	require.ErrorIs(t, none.Err(), errs.ReasonNotApproved)

	good := joinWith(r, p, netcode.Config{}, "key anna")
	r.Until(func() bool { return good.State() == netcode.Connected })
	require.Equal(t, "anna", r.Server.Identity(good.ID()))
	require.Equal(t, []string{"connect 1"}, r.Server.Log)
	require.False(t, r.Server.Returned(good.ID()))
	r.Run(time.Second)
	require.Equal(t, []string{
		fmt.Sprintf("%v nothing", bad.Conn.LocalAddr()), fmt.Sprintf("%v ", none.Conn.LocalAddr()), fmt.Sprintf("%v key anna", good.Conn.LocalAddr()),
	}, asked, "once for each attempt")

	r.Server.OnApprove(nil)
	all := joinWith(r, p, netcode.Config{}, "nothing")
	r.Until(func() bool { return all.State() == netcode.Connected })
	require.Empty(t, r.Server.Identity(all.ID()))
}

func TestPayloadHasALimit(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	longest := strings.Repeat("x", wire.MaxPayload)
	r.Server.OnApprove(func(a *netcode.Approval) {
		require.Equal(t, longest, string(a.Payload))
		a.Accept("")
	})
	largest := 0
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == r.Server.Conn.LocalAddr() && peer.KindOf(packet) == peer.KindJoin {
			largest = max(largest, len(packet))
		}
		return packet
	}
	c := joinWith(r, p, netcode.Config{}, longest)
	r.Until(func() bool { return c.State() == netcode.Connected })
	require.Equal(t, 429, largest, "a Join fits into a path of 576 bytes")
	require.ErrorContains(t, c.ConnectWith(r.Server.Conn.LocalAddr(), make([]byte, wire.MaxPayload+1)), "at most 400")
	require.Equal(t, netcode.Connected, c.State(), "nothing was done")
}

// A decision that is postponed costs the client no place. It may be given in any later frame.
func TestDecisionsCanBePostponed(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{Clients: 2})
	pending := map[string]*netcode.Approval{}
	r.Server.OnApprove(func(a *netcode.Approval) {
		require.NotContains(t, pending, string(a.Payload), "asked once")
		pending[string(a.Payload)] = a
	})
	anna, bert := joinWith(r, p, netcode.Config{}, "anna"), joinWith(r, p, netcode.Config{}, "bert")
	r.Run(2 * time.Second)
	require.Len(t, pending, 2)
	require.Equal(t, netcode.Connecting, anna.State())
	third := joinWith(r, p, netcode.Config{}, "carl")
	r.Run(time.Second)
	require.Len(t, pending, 2, "at most Clients are asked about")
	require.Positive(t, r.Server.Stats().ApprovalsFull)

	require.True(t, pending["anna"].Accept("anna"))
	require.True(t, pending["bert"].Refuse("wrong password"))
	r.Run(200 * time.Millisecond)
	require.Equal(t, netcode.Connected, anna.State())
	require.ErrorIs(t, bert.Err(), errs.ReasonNotApproved)
	require.Equal(t, "wrong password", bert.Err().Detail)
	r.Run(200 * time.Millisecond)
	require.Contains(t, pending, "carl")
	require.Equal(t, netcode.Connecting, third.State())
}

// A client whose refusal was lost asks again, and gets the same answer. The game is asked once.
func TestALostRefusalIsRepeated(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	asked, lost := 0, 0
	r.Server.OnApprove(func(a *netcode.Approval) {
		asked++
		a.Refuse(fmt.Sprint("refusal ", asked))
	})
	r.Tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from == r.Server.Conn.LocalAddr() && asked > 0 && lost < 3 {
			lost++
			return nil
		}
		return packet
	}
	c := joinWith(r, p, netcode.Config{}, "anna")
	r.Until(func() bool { return c.Err() != nil })
	require.ErrorIs(t, c.Err(), errs.ReasonNotApproved)
	require.Equal(t, "refusal 1", c.Err().Detail)
	require.Equal(t, []int{1, 3}, []int{asked, lost})
}

// A decision that does not come refuses the client when the server's time is over; where the client's own is over first, its error says why.
func TestDecisionsTimeOut(t *testing.T) {
	p := protocol()
	for _, test := range []struct {
		name   string
		server netcode.Config
		client netcode.Config
		want   errs.Reason
		detail string
	}{
		{"the server's time", netcode.Config{HandshakeTimeout: time.Second}, netcode.Config{}, errs.ReasonNotApproved, "did not decide in 1s"},
		{"the client's time", netcode.Config{HandshakeTimeout: time.Minute}, netcode.Config{}, errs.ReasonPending, "had not decided in 5s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rig.New(t, p, test.server)
			var asked *netcode.Approval
			r.Server.OnApprove(func(a *netcode.Approval) { asked = a })
			c := joinWith(r, p, test.client, "anna")
			r.Until(func() bool { return c.Err() != nil })
			require.ErrorIs(t, c.Err(), test.want)
			require.Contains(t, c.Err().Detail, test.detail)
			r.Run(time.Minute)
			require.False(t, asked.Accept("anna"), "its time is over")
			require.EqualValues(t, 1, r.Server.Stats().ApprovalsLate)
			require.Empty(t, r.Server.Log)
		})
	}
}

// An accepted client that does not ask any more takes no place, and is forgotten.
func TestAcceptedClientThatIsGoneTakesNoPlace(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{Clients: 1})
	var asked *netcode.Approval
	r.Server.OnApprove(func(a *netcode.Approval) { asked = a })
	joinWith(r, p, netcode.Config{}, "anna")
	r.Until(func() bool { return asked != nil })
	r.Clients = nil
	asked.Accept("anna")
	r.Run(10 * time.Second)
	require.Empty(t, r.Server.Log)
	bert := joinWith(r, p, netcode.Config{}, "bert")
	r.Until(func() bool { return string(asked.Payload) == "bert" })
	asked.Accept("bert")
	r.Until(func() bool { return bert.State() == netcode.Connected })
}

// A full server asks all the same: the client may be a player who has a place. If it is not, it is refused.
func TestFullServerRefusesWhoIsApproved(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{Clients: 1})
	r.Server.OnApprove(byPayload)
	anna := joinWith(r, p, netcode.Config{}, "anna")
	r.Until(func() bool { return anna.State() == netcode.Connected })
	bert := joinWith(r, p, netcode.Config{}, "bert")
	r.Until(func() bool { return bert.Err() != nil })
	require.ErrorIs(t, bert.Err(), errs.ReasonFull)
	again := joinWith(r, p, netcode.Config{}, "anna")
	r.Until(func() bool { return again.State() == netcode.Connected })
	require.Equal(t, anna.ID(), again.ID())
}

func TestApprovalFaultsRefuseTheClient(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	r.Server.OnApprove(func(a *netcode.Approval) {
		if string(a.Payload) == "panic" {
			panic("oops")
		}
		require.False(t, a.Accept(strings.Repeat("x", wire.MaxIdentity+1)))
	})
	panics, long := joinWith(r, p, netcode.Config{}, "panic"), joinWith(r, p, netcode.Config{}, "long")
	r.Until(func() bool { return panics.Err() != nil && long.Err() != nil })
	require.ErrorIs(t, panics.Err(), errs.ReasonHandlerPanic)
	require.ErrorIs(t, long.Err(), errs.ReasonNotApproved)
	var failed *errs.PanicError
	require.Len(t, r.Server.Errors, 2)
	require.True(t, errors.As(errors.Join(r.Server.Errors...), &failed))
	require.Equal(t, "OnApprove", failed.Name)
	require.ErrorContains(t, errors.Join(r.Server.Errors...), "the identity has 65 bytes")
}

// prover proves who is at an address.
type prover map[transport.Addr]string

func (p prover) Proved(of transport.Addr) (user string, data []byte, ok bool) {
	user, ok = p[of]
	return user, []byte("data of " + user), ok
}

func TestApprovalHasWhatTheTransportProves(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	proofs := prover{}
	steps.OfServer(r.Server).SetProver(proofs)
	r.Server.OnApprove(func(a *netcode.Approval) {
		require.Equal(t, "data of anna", string(a.Data))
		a.Accept(a.User)
	})
	c := joinWith(r, p, netcode.Config{}, "")
	proofs[c.Conn.LocalAddr()] = "anna"
	r.Until(func() bool { return c.State() == netcode.Connected })
	require.Equal(t, "anna", r.Server.Identity(c.ID()))
}

// The pending decisions of one address are as few as its places.
func TestPendingDecisionsOfAnAddressHaveALimit(t *testing.T) {
	s := newSiege(t, netcode.Config{Clients: 64, ClientsPerAddress: 3})
	asked := 0
	s.server.OnApprove(func(*netcode.Approval) { asked++ })
	for i := range 8 {
		s.join(transport.MustParseAddr(fmt.Sprintf("198.51.100.9:%d", 4000+i)), netcode.Config{})
	}
	for range 60 {
		s.frame(func() {})
	}
	require.Equal(t, 3, asked)
	s.join(transport.MustParseAddr("203.0.113.9:4000"), netcode.Config{})
	for range 60 {
		s.frame(func() {})
	}
	require.Equal(t, 4, asked, "others are asked about")
}

// delayed is a datagram on its way.
type delayed struct {
	at     time.Duration
	from   transport.Addr
	to     transport.Addr
	packet []byte
}

// siege is a server on the public internet, honest clients far from each other, and attackers.
type siege struct {
	t       *testing.T
	p       *netcode.Protocol
	now     time.Duration
	server  *netcode.Server
	home    transport.Addr
	honest  map[transport.Addr]*netcode.Client
	since   map[*netcode.Client]time.Duration
	took    map[*netcode.Client]time.Duration
	hostile applicants
	flying  []delayed
	delay   time.Duration // One way, of the honest.
}

func newSiege(t *testing.T, config netcode.Config) *siege {
	s := &siege{
		t: t, p: protocol(), now: 5 * time.Second, home: transport.MustParseAddr("203.0.113.1:4000"), delay: 50 * time.Millisecond,
		honest: map[transport.Addr]*netcode.Client{}, since: map[*netcode.Client]time.Duration{}, took: map[*netcode.Client]time.Duration{}, hostile: applicants{},
	}
	config.Random = rig.Random(1)
	var err error
	s.server, err = netcode.NewServer(s.p, config)
	require.NoError(t, err)
	steps.OfServer(s.server).BeginFrame(s.now)
	return s
}

// join lets an honest client connect from an address.
func (s *siege) join(from transport.Addr, config netcode.Config) *netcode.Client {
	config.Random = rig.Random(uint64(1000 + len(s.honest)))
	c, err := netcode.NewClient(s.p, config)
	require.NoError(s.t, err)
	steps.OfClient(c).BeginFrame(s.now)
	require.NoError(s.t, c.Connect(s.home))
	s.honest[from], s.since[c] = c, s.now
	return c
}

// frame is 1/60 s: attack is called before the honest are heard, at a server that has begun its frame.
func (s *siege) frame(attack func()) {
	s.now += rig.FrameTime
	steps.OfServer(s.server).BeginFrame(s.now)
	for _, c := range s.honest {
		steps.OfClient(c).BeginFrame(s.now)
	}
	attack()
	due := func(d delayed) bool { return d.at <= s.now }
	for _, d := range s.flying {
		switch {
		case !due(d):
		case d.to == s.home:
			steps.OfServer(s.server).Receive(d.from, d.packet)
		default:
			steps.OfClient(s.honest[d.to]).Receive(d.from, d.packet)
		}
	}
	s.flying = slices.DeleteFunc(s.flying, due)
	steps.OfServer(s.server).Send()
	s.hostile.hear(s.server, func(to transport.Addr, packet []byte) {
		if s.honest[to] != nil {
			s.flying = append(s.flying, delayed{s.now + s.delay, s.home, to, slices.Clone(packet)})
		}
	})
	for at, c := range s.honest {
		steps.OfClient(c).Send()
		steps.OfClient(c).Drain(func(to transport.Addr, packet []byte) {
			s.flying = append(s.flying, delayed{s.now + s.delay, at, to, slices.Clone(packet)})
		})
		if s.took[c] == 0 && c.State() == netcode.Connected {
			s.took[c] = s.now - s.since[c]
		}
	}
}

// flood is so many valid Hellos of attackers, one after the other; each joins when it was accepted, so as to take places too.
func (s *siege) flood(as []*applicant, from, hellos int) {
	for i := range hellos {
		a := as[(from+i)%len(as)]
		steps.OfServer(s.server).Receive(a.at, a.hello(s.p))
		if a.accept.Epoch != 0 {
			steps.OfServer(s.server).Receive(a.at, a.join(s.p))
			a.accept = peer.Accept{}
		}
	}
}

// attackers is applicants at such addresses.
func (s *siege) attackers(count int, at func(i int) transport.Addr) (list []*applicant) {
	for i := range count {
		a := &applicant{at: at(i), nonce: uint64(len(s.hostile)) + 1}
		s.hostile[a.at] = a
		list = append(list, a)
	}
	return list
}

// Honest clients join within 2 s while one address, a network of IPv4 and one of IPv6 each send 12 000 valid Hellos a second,
// and a Join for each Accept; and they all find a place.
func TestHonestClientsJoinUnderAFlood(t *testing.T) {
	s := newSiege(t, netcode.Config{Entities: 16, SentPackets: 64})
	sources := [][]*applicant{
		s.attackers(64, func(i int) transport.Addr {
			return transport.AddrOf(netip.AddrPortFrom(netip.MustParseAddr("198.51.100.9"), uint16(1024+i)))
		}),
		s.attackers(4096, func(i int) transport.Addr {
			return transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), uint16(1024+i>>8)))
		}),
		s.attackers(4096, func(i int) transport.Addr {
			ip := netip.MustParseAddr("2001:db8:1:2::").As16()
			ip[14], ip[15] = byte(i>>8), byte(i)
			return transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom16(ip), 4000))
		}),
	}
	sent := 0
	attack := func() {
		for _, as := range sources {
			s.flood(as, sent, 12000/60)
		}
		sent += 12000 / 60
	}
	for range 3 * 60 {
		s.frame(attack)
	}
	before := s.server.Stats()
	t.Logf("after 3 s of it: %d places taken, %d+%d answers refused, %d+%d places refused",
		before.Connected, before.BusyAddress, before.BusyNetwork, before.RefusedAddress, before.RefusedNetwork)
	require.LessOrEqual(t, before.Connected-before.Disconnected, uint64(8+16+16))
	for _, n := range []uint64{before.BusyAddress, before.BusyNetwork, before.RefusedAddress, before.RefusedNetwork} {
		require.NotZero(t, n, "each limit is counted")
	}
	const clients = 20
	for i := range clients {
		s.join(publicAddress(i), netcode.Config{Entities: 16, SentPackets: 64})
	}
	for range 2 * 60 {
		s.frame(attack)
	}
	slowest := time.Duration(0)
	for at, c := range s.honest {
		require.NotZero(t, s.took[c], "%v is not in: %v, %v", at, c.State(), c.Err())
		slowest = max(slowest, s.took[c])
	}
	require.LessOrEqual(t, slowest, 2*time.Second)
	t.Logf("the slowest of %d honest clients is in after %v", clients, slowest)
}

// joinFrom is a server that so many clients, each from its address, connect to.
func joinFrom(t *testing.T, config netcode.Config, addresses []string) (*siege, []*netcode.Client) {
	config.Entities, config.SentPackets = 16, 64
	s := newSiege(t, config)
	var clients []*netcode.Client
	for i, at := range addresses {
		clients = append(clients, s.join(transport.AddrOf(netip.AddrPortFrom(netip.MustParseAddr(at), uint16(4000+i))), netcode.Config{Entities: 16, SentPackets: 64}))
		for range 30 {
			s.frame(func() {})
		}
	}
	return s, clients
}

// repeated is an address, so often.
func repeated(address string, count int) []string { return slices.Repeat([]string{address}, count) }

// hosts is so many addresses of a network.
func hosts(network string, count int) (list []string) {
	ip := netip.MustParseAddr(network)
	for range count {
		ip = ip.Next()
		list = append(list, ip.String())
	}
	return list
}

// networks returns addresses that differ in one byte.
func networks(base string, at, count int) (list []string) {
	ip := netip.MustParseAddr(base).As16()
	for i := range count {
		ip[at] = byte(i)
		list = append(list, netip.AddrFrom16(ip).String())
	}
	return list
}

func TestPlacesOfAnAddressAndANetwork(t *testing.T) {
	cases := map[string]struct {
		config    netcode.Config
		addresses []string
		in        int
		detail    string
	}{
		"an address":              {netcode.Config{}, repeated("198.51.100.9", 12), 8, "8 clients from this address, which is the most (ClientsPerAddress)"},
		"an address of a LAN":     {netcode.Config{}, repeated("10.0.0.9", 12), 8, "8 clients from this address, which is the most (ClientsPerAddress)"},
		"an IPv6 address":         {netcode.Config{}, repeated("2001:db8::9", 12), 8, "8 clients from this address, which is the most (ClientsPerAddress)"},
		"a network":               {netcode.Config{}, hosts("198.51.100.9", 20), 16, "16 clients from 198.51.100.0/24, which is the most (ClientsPerNetwork)"},
		"hosts of an IPv6 /64":    {netcode.Config{}, hosts("2001:db8::9", 20), 8, "8 clients from this address, which is the most (ClientsPerAddress)"},
		"a /56 of IPv6":           {netcode.Config{}, networks("2001:db8::9", 7, 20), 16, "16 clients from 2001:db8::/56, which is the most (ClientsPerNetwork)"},
		"a /48 of IPv6":           {netcode.Config{}, networks("2001:db8::9", 6, 40), 32, "32 clients from 2001:db8::/48, which is the most (ClientsPerNetwork)"},
		"a LAN":                   {netcode.Config{}, hosts("192.168.1.0", 64), 64, ""},
		"a LAN of IPv6":           {netcode.Config{}, hosts("fd00:1::", 64), 64, ""},
		"without a router":        {netcode.Config{}, hosts("fe80::", 64), 64, ""},
		"this machine":            {netcode.Config{}, repeated("127.0.0.1", 64), 64, ""},
		"this machine, IPv6":      {netcode.Config{}, repeated("::1", 64), 64, ""},
		"as configured":           {netcode.Config{ClientsPerAddress: 2}, repeated("198.51.100.9", 4), 2, "2 clients from this address, which is the most (ClientsPerAddress)"},
		"network, as configured":  {netcode.Config{ClientsPerNetwork: 3}, hosts("198.51.100.9", 4), 3, "3 clients from 198.51.100.0/24, which is the most (ClientsPerNetwork)"},
		"without limits":          {netcode.Config{ClientsPerAddress: -1, ClientsPerNetwork: -1}, repeated("198.51.100.9", 64), 64, ""},
		"several small networks":  {netcode.Config{}, []string{"198.51.100.1", "198.51.101.1", "198.51.102.1"}, 3, ""},
		"as many as Clients says": {netcode.Config{Clients: 512}, repeated("198.51.100.9", 70), 64, "64 clients from this address, which is the most (ClientsPerAddress)"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, clients := joinFrom(t, c.config, c.addresses)
			in := 0
			for _, client := range clients {
				if client.State() == netcode.Connected {
					in++
					continue
				}
				require.ErrorIs(t, client.Err(), errs.ReasonCrowded)
				require.Equal(t, c.detail, client.Err().Detail)
				require.EqualValues(t, 1, client.Stats().RefusedAddress)
			}
			require.Equal(t, c.in, in)
			stats := s.server.Stats()
			require.GreaterOrEqual(t, stats.RefusedAddress+stats.RefusedNetwork, uint64(len(clients)-in), "each, with those that it repeats until it knows")
			require.True(t, in < len(clients) || stats.RefusedAddress+stats.RefusedNetwork == 0)
			if in < len(clients) { // A place that is given back can be taken again.
				clients[0].Close()
				for range 60 {
					s.frame(func() {})
				}
				require.NoError(t, clients[len(clients)-1].Connect(s.home))
				for range 60 {
					s.frame(func() {})
				}
				require.Equal(t, netcode.Connected, clients[len(clients)-1].State())
			}
		})
	}
}

// A client whose own address is flooded tries until its time is over, and its error says why.
func TestAClientLearnsThatItsAddressIsBusy(t *testing.T) {
	s := newSiege(t, netcode.Config{HandshakesPerAddress: 1})
	flooder := s.attackers(1, func(int) transport.Addr { return transport.MustParseAddr("198.51.100.9:9") })
	attack := func() {
		flooder[0].cookie = peer.Cookie{}
		steps.OfServer(s.server).Receive(flooder[0].at, flooder[0].hello(s.p))
	}
	s.frame(attack)
	c := s.join(transport.MustParseAddr("198.51.100.9:4000"), netcode.Config{})
	for range 4 * 60 {
		s.frame(attack)
	}
	require.Equal(t, netcode.Connecting, c.State())
	for range 2 * 60 {
		s.frame(attack)
	}
	require.ErrorIs(t, c.Err(), errs.ReasonBusy)
	require.Contains(t, c.Err().Error(), "too many attempts to connect from one address or network")
	require.Positive(t, c.Stats().BusyAddress)
	require.Positive(t, s.server.Stats().BusyAddress)

	other := s.join(transport.MustParseAddr("198.51.100.10:4000"), netcode.Config{})
	for range 3 * 60 {
		s.frame(attack)
	}
	require.Equal(t, netcode.Connected, other.State(), "its neighbour is not concerned")
	require.NoError(t, c.Connect(s.home))
	for range 4 * 60 {
		s.frame(func() {})
	}
	require.Equal(t, netcode.Connected, c.State(), "nor is it, when the flood is over")
}

// Hellos that forge an address use up none of the budget of answers to those who have proved it.
func TestForgedHellosDoNotStopAClientWithACookie(t *testing.T) {
	s := newSiege(t, netcode.Config{})
	victim := s.attackers(1, func(int) transport.Addr { return transport.MustParseAddr("198.51.100.9:4000") })[0]
	steps.OfServer(s.server).Receive(victim.at, victim.hello(s.p))
	s.frame(func() {})
	for range 5000 {
		forged := &applicant{nonce: 5}
		steps.OfServer(s.server).Receive(transport.MustParseAddr("198.51.100.9:9"), forged.hello(s.p))
	}
	require.Positive(t, s.server.Stats().BusyAddress)
	steps.OfServer(s.server).Receive(victim.at, victim.hello(s.p))
	s.frame(func() {})
	steps.OfServer(s.server).Receive(victim.at, victim.join(s.p))
	require.EqualValues(t, 1, s.server.Stats().Connected)
}
