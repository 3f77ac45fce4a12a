package secure

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

func TestASessionMovesDatagramsBothWays(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial(ClientConfig{Token: r.token(nil)})
	require.NoError(t, c.Send(r.at, []byte("first")))
	require.Empty(t, must(r.drain(r.server)), "a Request is none of the game's")
	require.Empty(t, must(r.drain(c)))
	require.Empty(t, must(r.drain(r.server)))
	require.Empty(t, must(r.drain(c)))
	require.True(t, c.Open())
	at := keyedBy(c.LocalAddr(), 1)
	require.Equal(t, []got{{at, "first"}}, must(r.drain(r.server)), "the newest datagram waits for the session, and the address is the client's own")
	require.NoError(t, r.server.Send(at, []byte("welcome")))
	require.Equal(t, []got{{r.at, "welcome"}}, must(r.drain(c)))

	proves := transport.Join(transport.Condition(r.server, transport.Link{}, 1, func() time.Duration { return 0 }))
	_, _, ok := proves.Proved(at)
	require.False(t, ok, "it comes through none of the connections")
	at.Via = 1
	user, data, ok := proves.Proved(at) // Through a Join and a conditioner: netcode's Approval has it.
	require.True(t, ok)
	require.Equal(t, "ada", user)
	require.Equal(t, []byte("red team"), data)
	_, _, ok = r.server.Proved(c.LocalAddr())
	require.False(t, ok, "an address in clear")
	require.True(t, r.server.Secure() && c.Secure())
	s := r.server.Stats()
	require.Equal(t, []uint64{1, 1, 1, 1, 1, 1}, []uint64{s.Requests, s.Handshakes, s.Accepted, s.Confirmed, s.Opened, s.Sealed})
}

// timed tells a wait of its datagrams.
type timed struct{ transport.Conn }

func (timed) Waited() time.Duration { return 7 * time.Millisecond }

// The wait of a datagram is that of the connection inside.
func TestWaited(t *testing.T) {
	r := newRig(t, nil)
	socket, err := r.network.Listen(transport.Addr{})
	require.NoError(t, err)
	client := r.dialOver(timed{socket}, ClientConfig{ServerKey: r.key.Public(), Token: r.token(nil)})
	require.Equal(t, 7*time.Millisecond, client.Waited())
	require.Zero(t, r.server.Waited(), "a network in memory has no clock")
	server, err := Listen(timed{socket}, r.config)
	require.NoError(t, err)
	require.Equal(t, 7*time.Millisecond, server.Waited())
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A recorder of the path finds no word of the game in any datagram, and no datagram twice.
func TestNothingIsReadableOnThePath(t *testing.T) {
	r := newRig(t, nil)
	p := newProxy(r, 1)
	c := r.dialOver(p.near, ClientConfig{Token: r.token(func(tk *Token) { tk.User = "a secret user" })})
	r.at = p.front
	p.record = true
	for range 50 {
		require.NoError(t, c.Send(r.at, []byte("the secret plan")))
		p.pump()
		must(r.drain(r.server))
		if back, ok := p.clientAtServer(); ok {
			require.NoError(t, r.server.Send(back, []byte("the secret answer")))
		}
		p.pump()
		must(r.drain(c))
		r.now += 100 * time.Millisecond
	}
	require.True(t, c.Open())
	require.Greater(t, len(p.recorded), 80)
	seen := map[string]bool{}
	for _, d := range p.recorded {
		for _, word := range []string{"secret", "plan", "answer", "red team"} {
			require.NotContains(t, string(d.bytes), word)
		}
		require.False(t, seen[string(d.bytes)] && d.bytes[0] == kindData)
		seen[string(d.bytes)] = true
	}
}

// A client that begins again at its address gets a fresh session under a number of its own, and ends none.
func TestAClientThatReconnectsGetsAFreshSession(t *testing.T) {
	r := newRig(t, nil)
	socket := must(r.network.Listen(transport.Addr{}))
	a := r.dialOver(socket, ClientConfig{Token: r.token(nil)})
	require.NoError(t, r.join(a))
	must(r.drain(r.server))
	old := a.to.seal(nil, kindData, a.id, r.now, []byte("of the old session"))
	again := r.dialOver(socket, ClientConfig{Token: r.token(nil)})
	require.NoError(t, r.join(again))
	must(r.drain(r.server))
	require.NotEqual(t, a.id, again.id)
	require.NoError(t, again.Send(r.at, []byte("hi")))
	require.Equal(t, []got{{keyedBy(socket.LocalAddr(), 2), "hi"}}, must(r.drain(r.server)))
	require.NoError(t, socket.Send(r.at, old))
	require.Equal(t, []got{{keyedBy(socket.LocalAddr(), 1), "of the old session"}}, must(r.drain(r.server)))

	b := r.dialOver(socket, ClientConfig{Token: r.token(func(tk *Token) { tk.User = "bob" })})
	require.NoError(t, r.join(b))
	must(r.drain(r.server))
	require.NoError(t, b.Send(r.at, []byte("hi")))
	require.Equal(t, []got{{keyedBy(socket.LocalAddr(), 3), "hi"}}, must(r.drain(r.server)))
	for session, want := range map[uint64]string{1: "ada", 2: "ada", 3: "bob"} {
		user, _, _ := r.server.Proved(keyedBy(socket.LocalAddr(), session))
		require.Equal(t, want, user)
	}
	require.Zero(t, r.server.Stats().Replaced)
}

// Neither end stores anything for ever: silent sessions end, and a client makes a new one when the server forgot it.
func TestSilentSessionsEndAndAreMadeAnew(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Admit = Open() })
	c := r.dial(ClientConfig{ServerKey: r.key.Public()})
	require.NoError(t, r.join(c))
	must(r.drain(r.server))
	require.Equal(t, 1, r.server.Stats().Sessions)
	r.now += 31 * time.Second
	must(r.drain(r.server))
	require.Zero(t, r.server.Stats().Sessions)
	require.EqualValues(t, 1, r.server.Stats().TimedOut)
	require.NoError(t, r.server.Send(keyedBy(c.LocalAddr(), 1), []byte("anybody?")))
	require.EqualValues(t, 1, r.server.Stats().NoSession)
	for range 4 { // It is told at once.
		require.NoError(t, c.Send(r.at, []byte("still here")))
		must(r.drain(r.server))
		must(r.drain(c))
	}
	require.True(t, c.Open())
	must(r.drain(r.server))
	require.EqualValues(t, 2, c.Stats().Sessions)
	require.NoError(t, c.Send(r.at, []byte("under a number of its own")))
	require.Equal(t, keyedBy(c.LocalAddr(), 2), must(r.drain(r.server))[0].from, "the layer above may still have the first session, which is nobody's now")
}

func TestOpenSaysThatAnyoneMayJoin(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Admit = Open() })
	require.Contains(t, r.log.String(), "ANYONE MAY JOIN")
	require.Contains(t, r.log.String(), "level=WARN")
	c := r.dial(ClientConfig{ServerKey: r.key.Public()})
	require.NoError(t, r.join(c))
	require.NoError(t, c.Send(r.at, []byte("anyone")))
	_, _, ok := r.server.Proved(must(r.drain(r.server))[0].from)
	require.False(t, ok)
	require.NotContains(t, newRig(t, nil).log.String(), "ANYONE", "a server with tokens has nothing to warn of")
}

// Keys change by count and by time, in both directions, and late datagrams of the key before still open.
func TestKeysChangeByCountAndTime(t *testing.T) {
	for _, cipher := range []Cipher{AESGCM, ChaCha20Poly1305} {
		key := [32]byte{9}
		out, in := newSealer(cipher, key, 0, time.Minute), newOpener(cipher, key)
		buf := make([]byte, 100)
		pass := func(now time.Duration) (sealed []byte) {
			sealed = out.seal(nil, kindData, 5, now, []byte("hi"))
			n, result := in.open(buf, sealed)
			require.Equal(t, fine, result)
			require.Equal(t, "hi", string(buf[:n]))
			return sealed
		}
		out.number = 1<<epochBits - 3
		pass(0)
		late := out.seal(nil, kindData, 5, 0, []byte("late"))
		before := out.key
		for range 5 {
			pass(0)
		}
		require.NotEqual(t, before, out.key, "by count")
		require.EqualValues(t, 1, in.epoch)
		n, result := in.open(buf, late)
		require.Equal(t, fine, result)
		require.Equal(t, "late", string(buf[:n]))
		before = out.key
		pass(time.Minute)
		require.NotEqual(t, before, out.key, "by time")
		require.EqualValues(t, 2, in.epoch)
		require.EqualValues(t, 2<<epochBits+1, out.number)
		_, result = in.open(buf, late)
		require.Equal(t, tooOld, result)
		for i := range 10 {
			pass(time.Duration(i+2) * time.Minute)
		}
		require.EqualValues(t, 12, in.epoch)
	}
}

// A datagram grows by Overhead bytes.
func TestOverheadIsWhatADatagramGrowsBy(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Admit = Open() })
	p := newProxy(r, 1)
	c := r.dialOver(p.near, ClientConfig{ServerKey: r.key.Public()})
	for range 4 {
		require.NoError(t, c.Send(p.front, []byte("x")))
		p.pump()
		must(r.drain(r.server))
		p.pump()
		must(r.drain(c))
	}
	p.record = true
	require.NoError(t, c.Send(p.front, make([]byte, 1000)))
	p.pump()
	require.Len(t, p.recorded[0].bytes, 1000+Overhead)
}

// Sealing and opening allocate nothing.
func TestSealingAndOpeningAllocateNothing(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial(ClientConfig{Token: r.token(nil)})
	require.NoError(t, r.join(c))
	must(r.drain(r.server))
	datagram := make([]byte, 1200)
	step := func() {
		_ = c.Send(r.at, datagram)
		if n, _, err := r.server.Receive(r.buf); n != 1200 || err != nil {
			t.Fatal(n, err)
		}
		_ = r.server.Send(keyedBy(c.LocalAddr(), 1), datagram)
		if n, _, err := c.Receive(r.buf); n != 1200 || err != nil {
			t.Fatal(n, err)
		}
	}
	for range 20 {
		step()
	}
	alloctest.Zero(t, 100, step)
}

// An unproved flood allocates nothing, is answered with less than it sent, and costs no curve operation and no memory.
func TestAFloodCostsNoStateAndIsNotAmplified(t *testing.T) {
	r := newRig(t, nil)
	p := must(r.network.Listen(transport.Addr{}))
	request := make([]byte, requestSize)
	request[0], request[1] = kindRequest, version
	initiate := make([]byte, maxInitiate)
	initiate[0], initiate[1] = kindInitiate, version
	strange := make([]byte, requestSize)
	strange[0], strange[1] = kindRequest, version+1
	for _, packet := range [][]byte{request, initiate, strange} {
		require.NoError(t, p.Send(r.at, packet))
		must(r.drain(r.server))
		answer := must(r.drain(p))
		require.Len(t, answer, 1)
		require.Less(t, len(answer[0].text), len(packet))
	}
	for n := range requestSize {
		for _, packet := range [][]byte{request, initiate, strange} {
			require.NoError(t, p.Send(r.at, packet[:n]))
			must(r.drain(r.server))
			require.Empty(t, must(r.drain(p)), "a short question gets no answer")
		}
	}
	p.Reserve(64)
	r.server.inner.(*memory.Conn).Reserve(64)
	alloctest.Zero(t, 100, func() {
		_ = p.Send(r.at, request)
		_ = p.Send(r.at, initiate)
		_, _, _ = r.server.Receive(r.buf)
		_, _, _ = p.Receive(r.buf)
		_, _, _ = p.Receive(r.buf)
	})
	s := r.server.Stats()
	require.Zero(t, s.Handshakes)
	require.Zero(t, s.Sessions)
	require.Greater(t, s.BadCookie, uint64(100))
	require.Greater(t, s.Requests, uint64(100))
	require.EqualValues(t, 1, s.Version)
}

// Sessions are limited by number and by host. When there are no more, the host with the most gives one up.
func TestHandshakesAndSessionsAreBounded(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Admit, c.Sessions, c.SessionsPerHost = Open(), 6, 2 })
	join := func(ip string) error {
		socket, err := r.network.Listen(transport.MustParseAddr(ip))
		require.NoError(t, err)
		c := r.dialOver(socket, ClientConfig{ServerKey: r.key.Public()})
		err = r.join(c)
		must(r.drain(r.server))
		return err
	}
	require.NoError(t, join("192.0.2.1:1"))
	require.NoError(t, join("192.0.2.1:2"))
	require.ErrorIs(t, join("192.0.2.1:3"), ErrFull)
	require.Positive(t, r.server.Stats().Full)
	require.NoError(t, join("192.0.2.2:1"))
	require.NoError(t, join("[2001:db8::1]:1"))
	require.NoError(t, join("[2001:db8::2]:1"))
	require.ErrorIs(t, join("[2001:db8::3]:1"), ErrFull, "one /64")
	require.NoError(t, join("127.0.0.1:1"))
	require.Equal(t, 6, r.server.Stats().Sessions)
	require.ErrorIs(t, join("192.0.2.2:2"), ErrFull, "it would have as many as the one with the most")
	require.Zero(t, r.server.Stats().Evicted)
	require.NoError(t, join("203.0.113.1:1"))
	require.NoError(t, join("203.0.114.1:1"))
	require.ErrorIs(t, join("203.0.115.1:1"), ErrFull, "each has one")
	require.EqualValues(t, 2, r.server.Stats().Evicted)
	require.Equal(t, 6, r.server.Stats().Sessions)
}

// SendAll seals each datagram of each run for its own client, and a run that became too long is cut.
func TestRunsAreSealedOneByOne(t *testing.T) {
	r := newRig(t, nil)
	batch := &batchConn{Conn: r.server.inner}
	r.server.batch = batch
	a, b := r.dial(ClientConfig{Token: r.token(nil)}), r.dial(ClientConfig{Token: r.token(nil)})
	require.NoError(t, r.join(a))
	require.NoError(t, r.join(b))
	must(r.drain(r.server))
	nobody := transport.MustParseAddr("127.0.0.1:1")
	long := strings.Repeat("0123456789", 6550)
	failed, err := r.server.SendAll([]transport.Addr{keyedBy(a.LocalAddr(), 1), nobody, keyedBy(b.LocalAddr(), 2)}, [][]byte{[]byte("aabbc"), []byte("xx"), []byte(long)}, []int{2, 2, 1000})
	require.NoError(t, err)
	require.Zero(t, failed)
	require.Equal(t, []got{{r.at, "aa"}, {r.at, "bb"}, {r.at, "c"}}, must(r.drain(a)))
	text := ""
	for _, one := range must(r.drain(b)) {
		text += one.text
	}
	require.Equal(t, long, text)
	require.Equal(t, 3, batch.runs, "the long run is cut in two")
	require.EqualValues(t, 1, r.server.Stats().NoSession)
	batch.err = transport.ErrAddress
	failed, err = r.server.SendAll([]transport.Addr{nobody, keyedBy(a.LocalAddr(), 1)}, [][]byte{[]byte("x"), []byte("y")}, []int{1, 1})
	require.ErrorIs(t, err, transport.ErrAddress)
	require.Equal(t, 1, failed, "the number of the caller's run")
}

// batchConn sends runs datagram by datagram, and checks their form.
type batchConn struct {
	transport.Conn
	runs int
	err  error
}

func (b *batchConn) SendAll(to []transport.Addr, runs [][]byte, sizes []int) (int, error) {
	for i, run := range runs {
		b.runs++
		if len(run) > transport.MaxDatagram {
			return i, transport.ErrTooLarge
		}
		for len(run) > 0 {
			n := min(sizes[i], len(run))
			if err := b.Send(to[i], run[:n]); err != nil {
				return i, err
			}
			run = run[n:]
		}
	}
	return 0, b.err
}

// A client in clear, beside in a Join, at the address of a client with a session has not its identity.
func TestTheIdentityOfAnotherConnectionOfAJoinIsNone(t *testing.T) {
	r := newRig(t, nil)
	server := transport.Join(must(memory.NewNetwork().Listen(r.at)), r.server)
	c := r.dial(ClientConfig{Token: r.token(nil)})
	require.NoError(t, r.join(c))
	require.NoError(t, c.Send(r.at, []byte("here")))
	var buf [64]byte
	n, from, err := server.Receive(buf[:])
	require.NoError(t, err)
	require.Positive(t, n)
	require.EqualValues(t, 2, from.Via)
	user, _, ok := server.Proved(from)
	require.True(t, ok)
	require.Equal(t, "ada", user)
	for _, via := range []uint8{0, 1, 3} {
		from.Via = via
		_, _, ok = server.Proved(from)
		require.False(t, ok)
	}
}
