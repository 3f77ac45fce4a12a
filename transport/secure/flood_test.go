package secure

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// flooder is a host that proves its address and then sends garbage as the first message of Noise, which costs the server curve
// operations.
type flooder struct {
	socket *memory.Conn
	packet []byte
	n      uint32
}

// send sends one Initiate. Its key is new each time, and its cookie at most 5 s old.
func (f *flooder) send(r *rig) {
	if f.n%1000 == 0 {
		request := make([]byte, requestSize)
		request[0], request[1] = kindRequest, version
		require.NoError(r.t, f.socket.Send(r.at, request))
		must(r.drain(r.server))
		answer := must(r.drain(f.socket))
		f.packet = append(append([]byte{kindInitiate}, answer[0].text[1:]...), make([]byte, minInitiate-challengeSize)...)
	}
	f.n++
	_, _ = r.random.Read(f.packet[challengeSize:])
	require.NoError(r.t, f.socket.Send(r.at, f.packet))
}

// However many hosts send garbage behind cookies, a client of another host is in within 2 s: the budget of curve operations is shared.
func TestGarbageBehindCookiesLocksNobodyOut(t *testing.T) {
	v6 := func(at int) func(i int) netip.Addr {
		return func(i int) netip.Addr {
			ip := [16]byte{0x20, 1, 0xd, 0xb8, 15: 1}
			ip[at] = byte(i)
			return netip.AddrFrom16(ip)
		}
	}
	for name, row := range map[string]struct {
		host   func(i int) netip.Addr
		hosts  int
		honest string // A format of the addresses of honest clients.
	}{
		"64 networks /48":             {v6(5), 64, "[2001:db9:%x::1]:1"},
		"64 networks /56 of a /48":    {v6(6), 64, "[2001:db8:%x::1]:1"},
		"64 networks /64 of a /56":    {v6(7), 64, "[2001:db8:0:1%x00::1]:1"},
		"64 hosts of IPv4":            {func(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, byte(i), 7, 1}) }, 64, "203.0.113.%d:1"},
		"16 neighbours in an IPv4/24": {func(i int) netip.Addr { return netip.AddrFrom4([4]byte{203, 0, 113, 100 + byte(i)}) }, 16, "203.0.113.%d:1"},
	} {
		t.Run(name, func(t *testing.T) {
			const step, clients = 5 * time.Millisecond, 4
			r := newRig(t, func(c *Config) { c.Admit = Open() })
			var flood []*flooder
			for i := range row.hosts {
				socket := must(r.network.Listen(transport.AddrOf(netip.AddrPortFrom(row.host(i), 7))))
				flood = append(flood, &flooder{socket: socket})
			}
			type joiner struct {
				*Client
				began, took time.Duration
			}
			var all []*joiner
			in := 0
			for r.now < 1200*time.Millisecond || in < clients && r.now < 2800*time.Millisecond {
				if r.now%(200*time.Millisecond) == 0 && len(all) < clients {
					socket := must(r.network.Listen(transport.MustParseAddr(fmt.Sprintf(row.honest, len(all)+1))))
					all = append(all, &joiner{Client: r.dialOver(socket, ClientConfig{ServerKey: r.key.Public()}), began: r.now})
				}
				for i, f := range flood { // 200 a second each, out of step: a limit by host lets some of them through at any time.
					if r.now >= time.Duration(i%8)*2*step {
						f.send(r)
					}
				}
				must(r.drain(r.server))
				for _, f := range flood {
					must(r.drain(f.socket))
				}
				for _, c := range all {
					require.NoError(t, c.Send(r.at, []byte("hello")))
					must(r.drain(r.server))
					must(r.drain(c))
					must(r.drain(r.server)) // Its Initiate comes after the garbage of the moment.
					must(r.drain(c))
					if c.took == 0 && c.Open() {
						c.took = r.now - c.began + 1
						in++
					}
				}
				r.now += step
			}
			for i, c := range all {
				require.True(t, c.Open(), "client %d", i)
				require.LessOrEqual(t, c.took, 2*time.Second, "client %d", i)
			}
			require.Len(t, all, clients)
			handshakes := r.server.Stats().Handshakes
			require.LessOrEqual(t, handshakes, uint64(1001+r.now/time.Millisecond), "the budget of a second, and of the time that passed")
			require.Greater(t, r.server.Stats().Busy, handshakes, "it was a flood")
		})
	}
}

// mute is a connection whose client never confirms a session: it drops what is sealed.
type mute struct{ transport.Conn }

func (m mute) Send(to transport.Addr, b []byte) error {
	if b[0] == kindData {
		return nil
	}
	return m.Conn.Send(to, b)
}

// begin makes an unconfirmed session from an address.
func (r *rig) begin(at string, c ClientConfig) *Client {
	client := r.dialOver(mute{must(r.network.Listen(transport.MustParseAddr(at)))}, c)
	for range 4 {
		_ = client.Send(r.at, []byte("x"))
		must(r.drain(r.server))
		_, _ = r.drain(client)
	}
	return client
}

// One token opens one unconfirmed session, from however many networks: it once opened 1031, and nobody else got in.
func TestATokenHasOneUnconfirmedSession(t *testing.T) {
	r := newRig(t, nil)
	token := r.token(nil)
	var last *Client
	for i := range 1100 {
		last = r.begin(fmt.Sprintf("198.51.%d.7:%d", i%5, 1000+i), ClientConfig{Token: token})
		r.now += 4 * time.Millisecond
	}
	require.Equal(t, 1, r.server.Stats().Sessions)
	require.Len(t, r.server.pending, 1)
	require.Greater(t, r.server.Stats().Accepted, uint64(500))
	honest := r.dialOver(must(r.network.Listen(transport.MustParseAddr("203.0.113.1:1"))), ClientConfig{Token: r.token(func(k *Token) { k.User = "bob" })})
	require.NoError(t, r.join(honest))
	must(r.drain(r.server))
	require.Contains(t, r.server.sessions, last.id, "the newest one stays")
	require.Len(t, r.server.initiates, 2)
}

// Unconfirmed sessions take half of all places at most, and end after 5 s. When there are no more, the host with the most gives up its
// newest one.
func TestUnconfirmedSessionsAreBounded(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Admit, c.Sessions, c.SessionsPerHost = Open(), 20, 10 })
	config := ClientConfig{ServerKey: r.key.Public()}
	for i := range 7 {
		r.begin(fmt.Sprintf("198.51.100.7:%d", 1+i), config)
	}
	for i := range 3 {
		r.begin(fmt.Sprintf("203.0.113.%d:1", i), config)
	}
	require.Len(t, r.server.pending, 10)
	require.ErrorIs(t, r.begin("198.51.100.7:99", config).Err(), ErrFull)
	require.Zero(t, r.server.Stats().Evicted)
	for i := range 4 {
		require.NoError(t, r.begin(fmt.Sprintf("192.0.2.%d:1", i), config).Err(), "a host that has less")
		require.Len(t, r.server.pending, 10)
	}
	require.EqualValues(t, 4, r.server.Stats().Evicted)
	for port, there := range map[int]bool{1: true, 2: true, 3: true, 4: false, 7: false} {
		_, ok := r.server.pending[claim{from: transport.MustParseAddr(fmt.Sprint("198.51.100.7:", port))}]
		require.Equal(t, there, ok, "the newest go first: %d", port)
	}
	r.now += pendingTime
	must(r.drain(r.server))
	require.Len(t, r.server.pending, 10)
	r.now += time.Second + 1
	must(r.drain(r.server))
	require.Empty(t, r.server.pending)
	require.Zero(t, r.server.Stats().Sessions)
	require.EqualValues(t, 10, r.server.Stats().TimedOut)
	require.Empty(t, r.server.initiates)
	require.Empty(t, r.server.hosts.Counts)
	require.Zero(t, r.server.unconfirmed.Len())
}

// Strangers who begin sessions and never confirm them take the unconfirmed half, and no more: who plays stays.
func TestStrangersWhoNeverConfirmEndNoSession(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Admit, c.Sessions, c.SessionsPerHost = Open(), 20, 10 })
	config := ClientConfig{ServerKey: r.key.Public()}
	for i := range 10 {
		c := r.dialOver(must(r.network.Listen(transport.MustParseAddr(fmt.Sprint("198.51.100.7:", 1+i)))), config)
		require.NoError(t, r.join(c))
		must(r.drain(r.server))
	}
	for i := range 40 {
		r.begin(fmt.Sprintf("203.0.%d.1:1", i), config)
	}
	require.Len(t, r.server.pending, 10)
	require.Len(t, r.server.bySerial, 10, "confirmed sessions")
	require.Zero(t, r.server.Stats().Evicted)
}

// With tokens a confirmed session never ends for a new one: a stranger has none.
func TestConfirmedSessionsOfUsersStay(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Sessions, c.SessionsPerHost = 3, 3 })
	join := func(ip string) error {
		c := r.dialOver(must(r.network.Listen(transport.MustParseAddr(ip))), ClientConfig{Token: r.token(nil)})
		err := r.join(c)
		must(r.drain(r.server))
		return err
	}
	for i := range 3 {
		require.NoError(t, join(fmt.Sprint("198.51.100.7:", 1+i)))
	}
	require.ErrorIs(t, join("203.0.113.1:1"), ErrFull)
	require.Zero(t, r.server.Stats().Evicted)
	require.Equal(t, 3, r.server.Stats().Sessions)
}

// The first datagram of a session comes from the address of its handshake. From elsewhere it confirms nothing.
func TestDataFromElsewhereConfirmsNoSession(t *testing.T) {
	r := newRig(t, nil)
	c := r.begin(home, ClientConfig{Token: r.token(nil)})
	require.True(t, c.Open())
	thief := must(r.network.Listen(transport.MustParseAddr(street)))
	first := c.to.seal(nil, kindData, c.id, r.now, []byte("first"))
	require.NoError(t, thief.Send(r.at, first))
	require.Empty(t, must(r.drain(r.server)))
	require.EqualValues(t, 1, r.server.Stats().Unknown)
	require.Zero(t, r.server.Stats().Confirmed)
	require.Zero(t, r.server.Stats().UsedTokens)
	require.Empty(t, must(r.drain(thief)), "nothing is sent there")
	require.NoError(t, c.inner.(mute).Conn.Send(r.at, first))
	require.Equal(t, []got{{keyedBy(transport.MustParseAddr(home), 1), "first"}}, must(r.drain(r.server)))
}

// A client takes no cipher that it did not offer, though the server signs it.
func TestACipherThatWasNotOfferedIsRefused(t *testing.T) {
	for offered, answered := range map[Cipher]Cipher{ChaCha20Poly1305: AESGCM, AESGCM: ChaCha20Poly1305, AESGCM | ChaCha20Poly1305: 4} {
		r := newRig(t, func(c *Config) { c.Admit = Open() })
		c := r.dial(ClientConfig{ServerKey: r.key.Public(), Ciphers: offered})
		require.NoError(t, c.Send(r.at, []byte("x")))
		must(r.drain(r.server))
		must(r.drain(c))
		n, from, err := r.server.inner.Receive(r.buf)
		require.NoError(t, err)
		initiate := r.buf[:n]
		require.Equal(t, kindInitiate, initiate[0])
		hs, err := newHandshake(r.server.static, nil, initiate[:challengeSize], r.random)
		require.NoError(t, err)
		_, _, _, err = hs.ReadMessage(nil, initiate[challengeSize:])
		require.NoError(t, err)
		body := [acceptPayload]byte{byte(accepted)<<4 | byte(answered), 4: 1}
		accept, _, _, err := hs.WriteMessage(appendHello(nil, kindAccept, initiate[2:helloSize]), body[:])
		require.NoError(t, err)
		require.NoError(t, r.server.inner.Send(from, accept))
		_, err = r.drain(c)
		require.ErrorIs(t, err, ErrCipher)
		require.False(t, c.Open())
		require.EqualValues(t, 1, c.Stats().Refused)
	}
}

// A client that crashed comes back within a second with a new token, where its own old session takes the last place of its host, or of
// all. Another user there is refused.
func TestAUserIsNotLockedOutByTheOwnOldSession(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"of the host": func(c *Config) { c.SessionsPerHost = 1 },
		"of all":      func(c *Config) { c.Sessions = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, change)
			at := must(r.network.Listen(transport.MustParseAddr("198.51.100.7:4000")))
			as := func(user string) *Client {
				return r.dialOver(at, ClientConfig{Token: r.token(func(k *Token) { k.User = user })})
			}
			one := as("ada")
			require.NoError(t, r.join(one))
			require.NoError(t, one.Send(r.at, []byte("here")))
			must(r.drain(r.server))
			for range 3 {
				again := as("ada")
				require.NoError(t, again.Send(r.at, []byte("at once")))
				for range 2 {
					must(r.drain(r.server))
					_, _ = r.drain(again)
				}
				require.ErrorIs(t, again.Err(), ErrFull)
				require.False(t, again.Open(), "the old session may be alive")
				r.now += time.Second
				require.NoError(t, r.join(again))
				require.NoError(t, again.Send(r.at, []byte("here")))
				must(r.drain(r.server))
				require.Equal(t, 1, r.server.Stats().Sessions)
			}
			require.EqualValues(t, 3, r.server.Stats().Replaced)
			r.now += 2 * time.Second
			require.ErrorIs(t, r.join(as("bob")), ErrFull)
		})
	}
}
