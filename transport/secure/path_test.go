package secure

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// nat is a client's connection behind a router: the server sees the outer socket, which rebind replaces.
type nat struct {
	r     *rig
	outer *memory.Conn
	tap   func(datagram []byte) // Sees what the client sends.
	stop  bool                  // Nothing of it goes further.
}

func newNAT(r *rig, at string) *nat {
	n := &nat{r: r}
	n.rebind(at)
	return n
}

// rebind changes the address at which the server sees the client. Datagrams to the one before are lost.
func (n *nat) rebind(at string) {
	if n.outer != nil {
		_ = n.outer.Close()
	}
	n.outer = must(n.r.network.Listen(transport.MustParseAddr(at)))
}

func (n *nat) Send(to transport.Addr, datagram []byte) error {
	if n.tap != nil {
		n.tap(datagram)
	}
	if n.stop {
		return nil
	}
	return n.outer.Send(to, datagram)
}
func (n *nat) Receive(buf []byte) (int, transport.Addr, error) { return n.outer.Receive(buf) }
func (n *nat) LocalAddr() transport.Addr                       { return transport.MustParseAddr("10.0.0.2:1") }
func (n *nat) Close() error                                    { return n.outer.Close() }

// behindNAT is a server with a client that plays from an address.
func behindNAT(t *testing.T, at string, change func(*Config)) (*rig, *nat, *Client) {
	t.Helper()
	r := newRig(t, func(c *Config) {
		if c.Admit = Open(); change != nil {
			change(c)
		}
	})
	n := newNAT(r, at)
	c := r.dialOver(n, ClientConfig{ServerKey: r.key.Public()})
	require.NoError(t, r.join(c))
	must(r.drain(r.server))
	return r, n, c
}

const (
	home   = "192.0.2.1:1000"
	street = "198.51.100.7:2000"
)

// say sends a datagram in each direction, and returns what arrived.
func (r *rig) say(c *Client, name transport.Addr) (atServer, atClient []got) {
	r.t.Helper()
	require.NoError(r.t, c.Send(r.at, []byte("from the client")))
	atServer = must(r.drain(r.server))
	require.NoError(r.t, r.server.Send(name, []byte("from the server")))
	atClient = must(r.drain(c))
	return atServer, append(atClient, must(r.drain(c))...)
}

// A client whose address changes goes on in its session, under its name, after one question and answer.
func TestASessionMovesWithItsClient(t *testing.T) {
	r, n, c := behindNAT(t, home, nil)
	name := transport.MustParseAddr(home)
	up, down := []got{{name, "from the client"}}, []got{{r.at, "from the server"}}
	a, b := r.say(c, name)
	require.Equal(t, up, a)
	require.Equal(t, down, b)
	for i, at := range []string{"192.0.2.1:1001", street, "[2001:db8::5]:7", home} {
		n.rebind(at)
		a, b = r.say(c, name)
		require.Equal(t, up, a, "what the client sends arrives at once, from %s", at)
		require.Empty(t, b, "the address has not proved itself")
		require.Empty(t, must(r.drain(r.server)))
		require.EqualValues(t, i+1, r.server.Stats().Moved)
		a, b = r.say(c, name)
		require.Equal(t, up, a)
		require.Equal(t, down, b)
		path, ok := r.server.Path(name)
		require.True(t, ok)
		require.Equal(t, transport.MustParseAddr(at), path)
		r.now += time.Second
	}
	_, ok := r.server.Identity(name)
	require.True(t, ok)
	require.EqualValues(t, 1, c.Stats().Sessions)
	require.EqualValues(t, 4, c.Stats().Paths)
}

// Over a line of 100 ms each way with 5 % loss, play goes on within a round trip and a second. Without loss so it does for a client that
// sends nothing for a second.
func TestPlayResumesWithinARoundTripAndASecond(t *testing.T) {
	const step, round = 5 * time.Millisecond, 200 * time.Millisecond
	for seed := range uint64(40) {
		for _, every := range []time.Duration{15 * time.Millisecond, time.Second} {
			r := newRig(t, func(c *Config) { c.Admit = Open() })
			link := transport.Link{Delay: round / 2}
			if every < time.Second {
				link.Loss = 0.05
			}
			now := func() time.Duration { return r.now }
			r.server.inner = transport.Condition(r.server.inner, link, seed, now)
			n := newNAT(r, home)
			c := r.dialOver(transport.Condition(n, link, seed+100, now), ClientConfig{ServerKey: r.key.Public()})
			name, moved := transport.MustParseAddr(home), time.Duration(0)
			var sent, heard time.Duration // The last datagram of the server that came.
			for heard <= moved || moved == 0 {
				require.Less(t, r.now, 10*time.Second, "seed %d, every %v: %+v", seed, every, r.server.Stats())
				if r.now += step; r.now-sent >= every {
					sent = r.now
					require.NoError(t, c.Send(r.at, []byte("0123456789")))
				}
				must(r.drain(r.server))
				require.NoError(t, r.server.Send(name, []byte("0123456789")))
				if len(must(r.drain(c))) > 0 && r.now-moved > round {
					heard = r.now
				}
				if moved == 0 && r.now > 3*time.Second {
					require.True(t, c.Open())
					n.rebind(street)
					moved = r.now
				}
			}
			require.LessOrEqual(t, heard-moved, round+time.Second, "seed %d, every %v", seed, every)
			require.EqualValues(t, 1, r.server.Stats().Moved)
		}
	}
}

// Nothing but the newest datagram of the session, and the answer to the server's question from the address that was asked, moves it.
func TestAnAddressThatDoesNotAnswerGetsNothing(t *testing.T) {
	r, n, c := behindNAT(t, home, nil)
	thief := must(r.network.Listen(transport.MustParseAddr("203.0.113.9:9")))
	name := transport.MustParseAddr(home)
	var copied [][]byte
	n.tap = func(b []byte) { copied = append(copied, append([]byte(nil), b...)) }
	for range 5 {
		r.say(c, name)
	}
	before := r.server.Stats()
	for _, b := range copied { // All repeats.
		require.NoError(t, thief.Send(r.at, b))
	}
	require.Empty(t, must(r.drain(r.server)))
	require.Empty(t, must(r.drain(thief)))
	require.Equal(t, before.Repeated+uint64(len(copied)), r.server.Stats().Repeated)

	// A thief on the path sends the client's newest datagram before the client's own arrives.
	for range 20 {
		fresh := c.to.seal(nil, kindData, c.id, r.now, []byte("0123456789"))
		require.NoError(t, thief.Send(r.at, fresh))
		require.Len(t, must(r.drain(r.server)), 1, "it is the client's, and new")
		size := 0
		for _, one := range must(r.drain(thief)) {
			size += len(one.text)
			require.NoError(t, thief.Send(r.at, []byte(one.text)), "it cannot answer: it returns the question")
			text := append([]byte{kindPath}, one.text[1:]...)
			require.NoError(t, thief.Send(r.at, text))
		}
		require.LessOrEqual(t, size, len(fresh), "no answer is longer than its question")
		require.Empty(t, must(r.drain(r.server)))
		require.NoError(t, r.server.Send(name, []byte("secret state")))
		require.Empty(t, must(r.drain(thief)))
		require.Len(t, must(r.drain(c)), 1, "the client is where it was")
		r.now += 10 * time.Millisecond
	}
	require.Zero(t, r.server.Stats().Moved)
	require.LessOrEqual(t, r.server.Stats().Challenged, uint64(3), "one each 100 ms")

	// The client's answer from its own address to a question to another one moves nothing.
	r.now += time.Second
	require.NoError(t, thief.Send(r.at, c.to.seal(nil, kindData, c.id, r.now, []byte("0123456789"))))
	must(r.drain(r.server))
	asked := must(r.drain(thief))
	require.Len(t, asked, 1)
	require.NoError(t, r.server.inner.Send(n.outer.LocalAddr(), []byte(asked[0].text)))
	must(r.drain(c))
	must(r.drain(r.server))
	require.Zero(t, r.server.Stats().Moved)

	// Neither does the answer from a third address, nor another Path of the client from the one that was asked.
	third := must(r.network.Listen(transport.MustParseAddr("203.0.113.10:9")))
	n.stop = true
	ask := func() string {
		r.now += time.Second
		require.NoError(t, thief.Send(r.at, c.to.seal(nil, kindData, c.id, r.now, []byte("0123456789"))))
		must(r.drain(r.server))
		asked = must(r.drain(thief))
		require.Len(t, asked, 1)
		return asked[0].text
	}
	require.NoError(t, r.server.inner.Send(n.outer.LocalAddr(), []byte(ask())))
	copied = nil
	must(r.drain(c))
	require.Len(t, copied, 1)
	require.NoError(t, third.Send(r.at, copied[0]))
	must(r.drain(r.server))
	ask()
	copied = nil
	must(r.drain(c))
	require.Len(t, copied, 1, "of silence")
	require.NoError(t, thief.Send(r.at, copied[0]))
	must(r.drain(r.server))
	require.Zero(t, r.server.Stats().Moved)
	require.Greater(t, r.server.Stats().Paths, uint64(2))
	path, _ := r.server.Path(name)
	require.Equal(t, name, path)
}

// A session that has moved does not go back by anything that was sent before: neither by old datagrams nor by an old answer.
func TestARecordingDoesNotMoveASessionBack(t *testing.T) {
	r, n, c := behindNAT(t, home, nil)
	name := transport.MustParseAddr(home)
	var copied [][]byte
	n.tap = func(b []byte) { copied = append(copied, append([]byte(nil), b...)) }
	late := c.to.seal(nil, kindData, c.id, r.now, []byte("a late one"))
	r.say(c, name)
	n.rebind(street)
	r.say(c, name)
	r.say(c, name)
	n.rebind("198.51.100.7:2001")
	r.now += time.Second
	r.say(c, name)
	r.say(c, name)
	require.EqualValues(t, 2, r.server.Stats().Moved)
	for _, at := range []string{home, street} {
		old := must(r.network.Listen(transport.MustParseAddr(at)))
		for _, b := range append(copied, late) {
			r.now += time.Second
			require.NoError(t, old.Send(r.at, b))
			must(r.drain(r.server))
		}
		require.Empty(t, must(r.drain(old)), "a datagram that is not the newest asks nobody")
	}
	path, _ := r.server.Path(name)
	require.Equal(t, transport.MustParseAddr("198.51.100.7:2001"), path)
	require.EqualValues(t, 2, r.server.Stats().Moved)
}

// Clients may come to each other's former addresses. Each name stays that of one session.
func TestNamesStayApart(t *testing.T) {
	r, n, c := behindNAT(t, home, nil)
	name := transport.MustParseAddr(home)
	n.rebind(street)
	r.say(c, name)
	r.say(c, name)
	m := newNAT(r, home)
	d := r.dialOver(m, ClientConfig{ServerKey: r.key.Public()})
	require.NoError(t, r.join(d))
	require.NoError(t, d.Send(r.at, []byte("here")))
	all := must(r.drain(r.server))
	require.Len(t, all, 1)
	other := all[0].from
	require.NotEqual(t, name, other)
	require.Equal(t, name.IP, other.IP)
	require.Zero(t, r.server.Stats().Replaced)
	for range 3 { // They change places, and each goes on.
		n.rebind("192.0.2.77:1")
		m.rebind(street)
		n.rebind(home)
		for range 4 {
			r.say(c, name)
			r.say(d, other)
			r.now += 200 * time.Millisecond
		}
		a, b := r.say(c, name)
		require.Equal(t, []got{{name, "from the client"}}, a)
		require.Len(t, b, 1, "%+v %+v %v", r.server.Stats(), c.Stats(), c.state)
		a, b = r.say(d, other)
		require.Equal(t, []got{{other, "from the client"}}, a)
		require.Len(t, b, 1)
		n, m, c, d, name, other = m, n, d, c, other, name
	}
	// Another client at the address of a session gets a name of its own, and the session stays.
	again := r.dialOver(n, ClientConfig{ServerKey: r.key.Public()})
	require.NoError(t, r.join(again))
	require.NoError(t, again.Send(r.at, []byte("here")))
	all = must(r.drain(r.server))
	require.NotContains(t, []transport.Addr{name, other}, all[0].from)
	require.Zero(t, r.server.Stats().Replaced)
	require.Equal(t, 3, r.server.Stats().Sessions)
	require.Len(t, r.server.byName, 3)
	r.server.SetVia(3)
	_, ok := r.server.Path(transport.Addr{IP: name.IP, Key: name.Key, Via: 3})
	require.True(t, ok, "as a game sees it through a transport.Join")
	_, ok = r.server.Path(transport.Addr{IP: name.IP, Key: name.Key, Via: 1})
	require.False(t, ok, "another client, over another connection of the Join")
}

// A datagram that is shorter than a question causes none.
func TestAShortDatagramAsksNobody(t *testing.T) {
	r, n, c := behindNAT(t, home, nil)
	n.rebind(street)
	for size := range pathText + 3 {
		require.NoError(t, n.Send(r.at, c.to.seal(nil, kindData, c.id, r.now, make([]byte, size))))
		must(r.drain(r.server))
		waiting := must(r.drain(n))
		require.Equal(t, size >= pathText, len(waiting) > 0, size)
		for _, one := range waiting {
			require.LessOrEqual(t, len(one.text), size+Overhead)
		}
		r.now += time.Second
	}
}

// The sessions of a host are counted where they are, so that moving gets round no limit.
func TestAMoveCountsForItsHost(t *testing.T) {
	r, n, c := behindNAT(t, home, func(c *Config) { c.SessionsPerHost = 1 })
	m := newNAT(r, street)
	d := r.dialOver(m, ClientConfig{ServerKey: r.key.Public()})
	require.NoError(t, r.join(d))
	must(r.drain(r.server))
	name := transport.MustParseAddr(home)
	n.rebind("198.51.100.7:3")
	r.say(c, name)
	r.say(c, name)
	require.Zero(t, r.server.Stats().Moved)
	require.Positive(t, r.server.Stats().PathFull)
	n.rebind("192.0.2.1:4")
	r.say(c, name)
	r.say(c, name)
	require.EqualValues(t, 1, r.server.Stats().Moved, "within a host")
	m.rebind("203.0.113.1:1")
	r.say(d, transport.MustParseAddr(street))
	r.say(d, transport.MustParseAddr(street))
	require.EqualValues(t, 2, r.server.Stats().Moved)
	n.rebind("198.51.100.7:3")
	r.now += time.Second
	r.say(c, name)
	r.say(c, name)
	require.EqualValues(t, 3, r.server.Stats().Moved, "there is room now")
	total := 0
	for _, n := range r.server.hosts.Counts {
		total += n
	}
	require.Equal(t, 2*2, total, "by host and by network")
}

// A server that was started anew tells its clients, who join again at once. Nobody else can.
func TestAServerThatStartsAnewTellsItsClients(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial(ClientConfig{Token: r.token(nil)})
	require.NoError(t, r.join(c))
	must(r.drain(r.server))
	restart := func(key Key, names ...string) {
		config := r.config
		config.Key, config.Admit = key, Tokens(names...)
		server, err := Listen(r.server.inner, config)
		require.NoError(t, err)
		r.server = server
	}
	// Another server, with the same key under another name, or with another key at the same address.
	for _, other := range []func(){func() { restart(r.key, "127.0.0.1:9001") }, func() { restart(Key{8}) }} {
		other()
		require.NoError(t, c.Send(r.at, []byte("hello?")))
		require.Empty(t, must(r.drain(r.server)))
		require.Empty(t, must(r.drain(c)))
		require.EqualValues(t, 1, r.server.Stats().Resets)
		require.True(t, c.Open())
	}
	require.EqualValues(t, 2, c.Stats().Forged)

	restart(r.key)
	require.NoError(t, c.Send(r.at, []byte("hello?")))
	must(r.drain(r.server))
	require.Empty(t, must(r.drain(c)))
	require.False(t, c.Open())
	require.NoError(t, r.join(c))
	require.Positive(t, r.server.Stats().Opened)
	require.EqualValues(t, 1, c.Stats().Resets)
	require.EqualValues(t, 2, c.Stats().Sessions)
}

// A Reset is shorter than its question, is bounded by second and host, and moves no session by itself.
func TestResetsAreBounded(t *testing.T) {
	r := newRig(t, func(c *Config) { c.HandshakesPerHost = 5 })
	p := must(r.network.Listen(transport.MustParseAddr(street)))
	data := append([]byte{kindData}, make([]byte, Overhead)...)
	for i := range 20 {
		binary.BigEndian.PutUint32(data[1:], uint32(i))
		require.NoError(t, p.Send(r.at, data[:Overhead]))
		must(r.drain(r.server))
	}
	answers := must(r.drain(p))
	require.Len(t, answers, 5)
	for _, one := range answers {
		require.Less(t, len(one.text), Overhead)
	}
	require.NoError(t, p.Send(r.at, data[:Overhead-1]))
	require.NoError(t, p.Send(r.at, []byte(answers[0].text)))
	r.now += time.Second
	must(r.drain(r.server))
	require.Empty(t, must(r.drain(p)), "neither a cut datagram nor a Reset is answered")

	c := r.dial(ClientConfig{Token: r.token(nil)})
	require.NoError(t, r.join(c))
	must(r.drain(r.server))
	binary.BigEndian.PutUint32(data[1:], c.id)
	told := r.server.Stats().Resets
	require.NoError(t, p.Send(r.at, data[:Overhead]))
	must(r.drain(r.server))
	require.Empty(t, must(r.drain(p)), "the token of a session that there is, is told to nobody")
	require.Equal(t, told, r.server.Stats().Resets)
	token := append([]byte(nil), r.server.resets.token(c.id)...)
	reset := append(binary.BigEndian.AppendUint32([]byte{kindReset}, c.id), token...)
	for i := 5; i < len(reset); i++ {
		reset[i] ^= 1
		require.NoError(t, r.server.inner.Send(c.LocalAddr(), reset))
		reset[i] ^= 1
		require.NoError(t, r.server.inner.Send(c.LocalAddr(), reset[:i]))
	}
	reset[1] ^= 1
	require.NoError(t, r.server.inner.Send(c.LocalAddr(), reset))
	reset[1] ^= 1
	stranger := must(r.network.Listen(transport.Addr{}))
	require.NoError(t, stranger.Send(c.LocalAddr(), reset))
	require.Empty(t, must(r.drain(c)))
	require.True(t, c.Open(), "changed, cut, of another session, from another address")
	require.NoError(t, r.server.inner.Send(c.LocalAddr(), reset))
	require.Empty(t, must(r.drain(c)))
	require.False(t, c.Open())
}

// A move is told once: several before it is asked for are one, and a session that has ended is forgotten. A client learns of its own by
// the server's question, once for each.
func TestAMoveIsToldOnce(t *testing.T) {
	r, n, c := behindNAT(t, home, nil)
	name := transport.MustParseAddr(home)
	_, ok := r.server.Moved()
	require.False(t, ok)
	moveTo := func(at string) {
		n.rebind(at)
		r.now += time.Second
		r.say(c, name)
		r.say(c, name)
		r.say(c, name)
	}
	for _, at := range []string{street, "198.51.100.7:2001"} {
		moveTo(at)
	}
	m, ok := c.Moved()
	require.True(t, ok)
	require.Equal(t, transport.Move{Peer: r.at, From: r.at, To: r.at}, m)
	_, ok = c.Moved()
	require.False(t, ok)
	m, ok = r.server.Moved()
	require.True(t, ok)
	require.Equal(t, transport.Move{Peer: name, From: name, To: transport.MustParseAddr("198.51.100.7:2001")}, m)
	_, ok = r.server.Moved()
	require.False(t, ok)

	// The client's answer is lost: the server asks once more, with the same text.
	r.now += moveAgain
	n.rebind("198.51.100.7:2002")
	for _, want := range []bool{true, false} {
		r.now += moveAgain // The text, not the time since the last, makes the second question no move.
		require.NoError(t, c.Send(r.at, []byte("from the client")))
		must(r.drain(r.server))
		n.stop = true
		must(r.drain(c))
		n.stop = false
		_, ok = c.Moved()
		require.Equal(t, want, ok)
	}
	require.EqualValues(t, 2, r.server.Stats().Moved)

	moveTo(street)
	m, ok = transport.Join(transport.Condition(r.server, transport.Link{}, 1, func() time.Duration { return r.now })).Moved()
	require.True(t, ok, "through what wraps it")
	require.Equal(t, uint8(1), m.Peer.Via)
	require.Equal(t, transport.MustParseAddr(street).IP, m.To.IP)

	moveTo(home)
	r.now += time.Hour
	must(r.drain(r.server))
	require.Zero(t, r.server.Stats().Sessions)
	require.Empty(t, r.server.moved)
}

// Copies of a client's datagrams from elsewhere make the server ask there, and an attacker on the path sends the client the questions: the client
// takes its path for a new one each 5 s at most. A move that comes earlier is told then.
func TestCopiesFromElsewhereMakeAPathNewRarely(t *testing.T) {
	r, n, c := behindNAT(t, home, nil)
	name, told := transport.MustParseAddr(home), 0
	var newest []byte
	n.tap = func(b []byte) { newest = append(newest[:0], b...) }
	elsewhere := []*memory.Conn{must(r.network.Listen(transport.MustParseAddr(street))), must(r.network.Listen(transport.MustParseAddr("198.51.100.7:2001")))}
	for i := range 100 {
		r.now += pathAgain
		n.stop = true
		require.NoError(t, c.Send(r.at, []byte("from the client")))
		n.stop = false
		at := elsewhere[i%2]
		require.NoError(t, at.Send(r.at, newest)) // before the client's own
		must(r.drain(r.server))
		for _, question := range must(r.drain(at)) {
			require.NoError(t, r.server.inner.Send(name, []byte(question.text)))
		}
		must(r.drain(c))
		if _, ok := c.Moved(); ok {
			told++
		}
	}
	require.GreaterOrEqual(t, c.Stats().Paths, uint64(90), "questions")
	require.Equal(t, 2, told, "in 10 s")
	require.Zero(t, r.server.Stats().Moved)

	r.now += pathAgain
	n.rebind("198.51.100.7:2002")
	r.say(c, name)
	r.say(c, name)
	require.EqualValues(t, 1, r.server.Stats().Moved)
	r.now += moveAgain
	_, ok := c.Moved()
	require.True(t, ok)
}

// Following a client costs no memory.
func TestMovingAllocatesNothing(t *testing.T) {
	r, n, c := behindNAT(t, home, nil)
	second := newNAT(r, street)
	name := transport.MustParseAddr(home)
	first := n.outer
	for _, one := range []*memory.Conn{first, second.outer, r.server.inner.(*memory.Conn)} {
		one.Reserve(16)
	}
	text := []byte("from the client")
	places := []*memory.Conn{second.outer, first}
	step := func() {
		for _, outer := range places {
			n.outer = outer
			for range 2 {
				_ = c.Send(r.at, text)
				_, _, _ = r.server.Receive(r.buf)
				_, _, _ = c.Receive(r.buf)
				_, _, _ = r.server.Receive(r.buf)
				r.now += pathAgain
			}
		}
	}
	for range 10 {
		step()
	}
	moved := r.server.Stats().Moved
	alloctest.Zero(t, 50, step)
	require.Greater(t, r.server.Stats().Moved, moved+90)
	_, ok := r.server.Path(name)
	require.True(t, ok)
}
