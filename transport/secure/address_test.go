package secure

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// A datagram has the number of its session and the address from which it came, wherever that is. What the server sends goes where the
// layer above says: an address that did not prove itself there gets nothing.
func TestADatagramHasTheAddressItCameFrom(t *testing.T) {
	r, n, c := behindNAT(t, home, nil)
	m := newNAT(r, street)
	d := r.dialOver(m, ClientConfig{ServerKey: r.key.Public()})
	require.NoError(t, r.join(d))
	first := transport.Addr{IP: transport.MustParseAddr(home).IP, Key: 1}
	second := transport.Addr{IP: transport.MustParseAddr(street).IP, Key: 2}
	say := func(c *Client) []got {
		require.NoError(t, c.Send(r.at, []byte("hello")))
		return must(r.drain(r.server))
	}
	must(r.drain(r.server))
	require.Equal(t, []got{{first, "hello"}}, say(c))
	require.Equal(t, []got{{second, "hello"}}, say(d))
	n.rebind("192.0.2.77:1") // They change places.
	m.rebind(home)
	n.rebind(street)
	require.Equal(t, []got{{transport.Addr{IP: second.IP, Key: 1}, "hello"}}, say(c))
	require.Equal(t, []got{{transport.Addr{IP: first.IP, Key: 2}, "hello"}}, say(d))

	unknown := d.Stats().Unknown
	require.NoError(t, r.server.Send(first, []byte("where it was")))
	require.Empty(t, must(r.drain(c)))
	require.Empty(t, must(r.drain(d)), "sealed with the keys of another session")
	require.Equal(t, unknown+1, d.Stats().Unknown)
	failed, err := r.server.SendAll([]transport.Addr{{IP: second.IP, Key: 1}, {IP: first.IP, Key: 2}}, [][]byte{[]byte("onetwo"), []byte("three")}, []int{3, 5})
	require.NoError(t, err)
	require.Zero(t, failed)
	require.Equal(t, []got{{r.at, "one"}, {r.at, "two"}}, must(r.drain(c)))
	require.Equal(t, []got{{r.at, "three"}}, must(r.drain(d)))
	require.EqualValues(t, 2, r.server.Stats().Confirmed)

	sent := r.server.Stats().Sealed
	for _, to := range []transport.Addr{{IP: first.IP}, {IP: first.IP, Key: 3}} {
		require.NoError(t, r.server.Send(to, []byte("to nobody")))
	}
	require.Equal(t, sent, r.server.Stats().Sealed)
	require.EqualValues(t, 2, r.server.Stats().NoSession)
}

// A session is recognised from anywhere by one thing alone: a datagram with a new number, sealed with its keys.
func TestCopiesFromElsewhereAreNobodys(t *testing.T) {
	r, n, c := behindNAT(t, home, nil)
	var copied [][]byte
	n.tap = func(b []byte) { copied = append(copied, append([]byte(nil), b...)) }
	for range 5 {
		require.NoError(t, c.Send(r.at, []byte("0123456789")))
	}
	require.Len(t, must(r.drain(r.server)), 5)
	thief := must(r.network.Listen(transport.MustParseAddr(street)))
	for _, b := range copied {
		require.NoError(t, thief.Send(r.at, b))
		b[len(b)-1] ^= 1
		require.NoError(t, thief.Send(r.at, b))
	}
	require.Empty(t, must(r.drain(r.server)))
	require.Empty(t, must(r.drain(thief)), "the server answers none")
	require.EqualValues(t, 10, r.server.Stats().Repeated+r.server.Stats().Forged)
}

// Over a transport whose addresses have keys of their own, a session belongs to the connection of its handshake: another one may be anybody's.
func TestASessionStaysOnItsConnection(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Admit = Open() })
	r.server.inner = keyed{r.server.inner}
	n := newNAT(r, home)
	c := r.dialOver(n, ClientConfig{ServerKey: r.key.Public()})
	require.NoError(t, r.join(c))
	require.NoError(t, c.Send(r.at, []byte("here")))
	all := must(r.drain(r.server))
	require.Len(t, all, 1)
	require.EqualValues(t, 1, all[0].from.Key)
	require.NoError(t, r.server.Send(all[0].from, []byte("back")))
	require.Len(t, must(r.drain(c)), 1)
	n.rebind("192.0.2.1:1001")
	require.NoError(t, c.Send(r.at, []byte("from another connection")))
	require.Empty(t, must(r.drain(r.server)))
	require.Empty(t, must(r.drain(c)), "no Reset: there is such a session")
	require.EqualValues(t, 1, r.server.Stats().Unknown)
}

// keyed is a connection whose peers have their port as key, as a transport with connections numbers them.
type keyed struct{ transport.Conn }

func (k keyed) Receive(buf []byte) (int, transport.Addr, error) {
	n, from, err := k.Conn.Receive(buf)
	from.Key = uint64(from.IP.Port())
	return n, from, err
}

func (k keyed) Send(to transport.Addr, b []byte) error {
	if to.Key != uint64(to.IP.Port()) {
		return transport.ErrAddress
	}
	to.Key = 0
	return k.Conn.Send(to, b)
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
	token := r.server.tokens.Make(c.id, 0)
	reset := append(binary.BigEndian.AppendUint32([]byte{kindReset}, c.id), token[:resetToken]...)
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
