package queued_test

import (
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/queued"
)

// blocked is a pipe whose Write waits until the test lets it go on.
type blocked struct {
	writes chan []byte // Unbuffered: each Write waits for the test.
	reads  chan []byte
	closed chan struct{}
	once   sync.Once
}

var errEnd = errors.New("end")

func newBlocked() *blocked {
	return &blocked{writes: make(chan []byte), reads: make(chan []byte), closed: make(chan struct{})}
}

func (b *blocked) Write(datagram []byte) error {
	if len(datagram) > 1215 {
		return transport.ErrTooLarge
	}
	select {
	case b.writes <- append([]byte(nil), datagram...):
		return nil
	case <-b.closed:
		return errEnd
	}
}

func (b *blocked) Read(buf []byte) (int, error) {
	select {
	case datagram := <-b.reads:
		return copy(buf, datagram), nil
	case <-b.closed:
		return 0, errEnd
	}
}

func (b *blocked) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// waitFor waits until something holds, for as long as the test may run.
func waitFor(t *testing.T, what func() bool) {
	t.Helper()
	require.Eventually(t, what, time.Minute, time.Millisecond)
}

func TestNewerDatagramsReplaceOlderOnesWhileBlocked(t *testing.T) {
	c := queued.New(transport.Addr{}, queued.Config{Ring: 4})
	defer c.Close()
	pipe := newBlocked()
	p, err := c.Add(netip.AddrPort{}, pipe)
	require.NoError(t, err)
	const sent = 100
	for i := range byte(sent) {
		require.NoError(t, c.Send(p.Addr(), []byte{i}), "it never waits")
	}
	var got []byte
	for uint64(len(got)) < sent-c.Stats().Overtaken {
		got = append(got, (<-pipe.writes)[0])
	}
	// One more than the ring: the goroutine may have taken one before the pipe blocked.
	require.LessOrEqual(t, len(got), 5)
	require.Equal(t, []byte{96, 97, 98, 99}, got[len(got)-4:], "the newest, in order")
	waitFor(t, func() bool { return c.Stats().Sent == uint64(len(got)) })
	require.EqualValues(t, sent-len(got), c.Stats().Overtaken)
}

func TestDatagramsArriveWithTheAddressOfTheirPeer(t *testing.T) {
	c := queued.New(transport.MustParseAddr("192.0.2.1:9"), queued.Config{})
	defer c.Close()
	require.Equal(t, transport.MustParseAddr("192.0.2.1:9"), c.LocalAddr())
	ip := netip.MustParseAddrPort("[::ffff:192.0.2.7]:4000")
	one, other := newBlocked(), newBlocked()
	p, err := c.Add(ip, one)
	require.NoError(t, err)
	q, err := c.Add(ip, other)
	require.NoError(t, err)
	require.NotEqual(t, p.Addr(), q.Addr(), "one IP address and port, as behind a proxy")
	require.Equal(t, netip.MustParseAddrPort("192.0.2.7:4000"), p.Addr().IP)
	buf := make([]byte, 10)
	n, _, err := c.Receive(buf)
	require.NoError(t, err)
	require.Zero(t, n, "nothing waits")
	for i, x := range []struct {
		pipe *blocked
		addr transport.Addr
	}{{one, p.Addr()}, {other, q.Addr()}, {one, p.Addr()}} {
		x.pipe.reads <- []byte{byte(i), 7}
		var from transport.Addr
		waitFor(t, func() bool { n, from, err = c.Receive(buf); return n > 0 || err != nil })
		require.NoError(t, err)
		require.Equal(t, []byte{byte(i), 7}, buf[:n])
		require.Equal(t, x.addr, from)
	}
	one.reads <- []byte{5}
	waitFor(t, func() bool { return c.Stats().Received == 4 })
	came := time.Now()
	time.Sleep(10 * time.Millisecond)
	least := time.Since(came)
	n, _, err = c.Receive(buf)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.GreaterOrEqual(t, c.Waited(), least)
	one.reads <- make([]byte, 11)
	waitFor(t, func() bool { _, _, err = c.Receive(buf); return err != nil })
	require.ErrorIs(t, err, transport.ErrTooLarge)
}

func TestLimits(t *testing.T) {
	c := queued.New(transport.Addr{}, queued.Config{Connections: 4, PerIP: 2, Queue: 8, MaxDatagram: 1300})
	defer c.Close()
	ip := netip.MustParseAddrPort("192.0.2.7:4000")
	var pipes []*blocked
	add := func(ip netip.AddrPort) (*queued.Peer, error) {
		pipes = append(pipes, newBlocked())
		return c.Add(ip, pipes[len(pipes)-1])
	}
	first, err := add(ip)
	require.NoError(t, err)
	_, err = add(ip)
	require.NoError(t, err)
	_, err = add(netip.MustParseAddrPort("192.0.2.7:4001"))
	require.ErrorIs(t, err, queued.ErrFull, "PerIP")
	<-pipes[2].closed
	for range 2 {
		_, err = add(netip.MustParseAddrPort("127.0.0.1:4001"))
		require.NoError(t, err)
	}
	_, err = add(netip.MustParseAddrPort("192.0.2.8:4001"))
	require.ErrorIs(t, err, queued.ErrFull, "Connections")
	require.EqualValues(t, 2, c.Stats().Refused)

	for range 100 { // one peer fills a quarter of the queue, and no more
		pipes[0].reads <- []byte{1}
	}
	waitFor(t, func() bool { s := c.Stats(); return s.Received+s.Overflowed == 100 })
	require.EqualValues(t, 2, c.Stats().Received)
	pipes[1].reads <- []byte{2}
	waitFor(t, func() bool { return c.Stats().Received == 3 })

	require.ErrorIs(t, c.Send(first.Addr(), make([]byte, 1301)), transport.ErrTooLarge)
	require.ErrorIs(t, c.Send(transport.Addr{}, []byte{1}), transport.ErrAddress)
	require.NoError(t, c.Send(first.Addr(), make([]byte, 1216)), "the pipe refuses it")
	waitFor(t, func() bool { return c.Stats().TooLarge == 2 })
	require.NoError(t, first.Err(), "which ends nothing")

	_ = pipes[0].Close()
	<-first.Done()
	require.ErrorIs(t, first.Err(), errEnd)
	require.NoError(t, c.Send(first.Addr(), []byte{1}))
	require.EqualValues(t, 1, c.Stats().Unreachable)
	again, err := add(ip)
	require.NoError(t, err, "its place is free")
	require.NotEqual(t, first.Addr(), again.Addr(), "its address is never used again")
}

// A customer of IPv6 has many addresses, and is one host or network all the same: one /64 once took all places.
func TestConnectionsOfANetworkAreLimited(t *testing.T) {
	for name, row := range map[string]struct {
		base string
		at   int // The byte of the address that changes.
		room int
	}{
		"a /64": {"2001:db8::", 15, 64},
		"a /56": {"2001:db8::", 7, 128},
		"a /48": {"2001:db8::", 6, 256},
	} {
		t.Run(name, func(t *testing.T) {
			c := queued.New(transport.Addr{}, queued.Config{})
			defer c.Close()
			ip, taken := netip.MustParseAddr(row.base).As16(), 0
			for i := range 4096 {
				ip[row.at], ip[14] = byte(i), byte(i>>8)
				if _, err := c.Add(netip.AddrPortFrom(netip.AddrFrom16(ip), 4000), newBlocked()); err == nil {
					taken++
				}
			}
			require.Equal(t, row.room, taken)
			_, err := c.Add(netip.MustParseAddrPort("[2001:db8:1::1]:4000"), newBlocked())
			require.NoError(t, err, "another network")
		})
	}
}

// When all places are taken a connection without a session makes room, the oldest of the host with the most, and never one with a session.
func TestConnectionsWithoutASessionMakeRoom(t *testing.T) {
	c := queued.New(transport.Addr{}, queued.Config{Connections: 4})
	defer c.Close()
	at := func(ip string) (*queued.Peer, *blocked) {
		pipe := newBlocked()
		p, err := c.Add(netip.AddrPortFrom(netip.MustParseAddr(ip), 1), pipe)
		require.NoError(t, err)
		return p, pipe
	}
	player, pipe := at("192.0.2.7")
	var others []*queued.Peer
	for range 3 {
		p, _ := at("203.0.113.9")
		others = append(others, p)
	}
	_, err := c.Add(netip.MustParseAddrPort("198.51.100.1:1"), newBlocked())
	require.ErrorIs(t, err, queued.ErrFull, "nobody is known to have a session: all are alike")
	pipe.reads <- []byte{1}
	waitFor(t, func() bool { return c.Stats().Received == 1 })
	n, _, err := c.Receive(make([]byte, 10))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	c.Rank(true)
	for i, p := range others {
		_, _ = at("198.51.100." + string(rune('1'+i)))
		<-p.Done()
		require.ErrorIs(t, p.Err(), queued.ErrDisplaced)
		require.NoError(t, player.Err())
	}
	require.EqualValues(t, 3, c.Stats().Displaced)
}

// Those who take all places before anybody has a session lock nobody out.
func TestConnectionsMakeRoomBeforeAnybodyHasASession(t *testing.T) {
	c := queued.New(transport.Addr{}, queued.Config{Connections: 4, PerIP: 2})
	defer c.Close()
	var first *queued.Peer
	for i := range 4 {
		pipe := newBlocked()
		p, err := c.Add(netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, byte(i / 2), 9}), 1), pipe)
		require.NoError(t, err)
		if first == nil {
			first = p
			pipe.reads <- []byte{1}
		}
	}
	waitFor(t, func() bool { return c.Stats().Received == 1 })
	_, _, err := c.Receive(make([]byte, 10))
	require.NoError(t, err)
	c.Rank(false) // The layer above tells, and knows nobody yet.
	_, err = c.Add(netip.MustParseAddrPort("198.51.100.1:1"), newBlocked())
	require.NoError(t, err)
	<-first.Done()
	require.ErrorIs(t, first.Err(), queued.ErrDisplaced)
}

func TestASilentConnectionEnds(t *testing.T) {
	c := queued.New(transport.Addr{}, queued.Config{Idle: time.Millisecond})
	defer c.Close()
	p, err := c.Add(netip.AddrPort{}, newBlocked())
	require.NoError(t, err)
	<-p.Done()
	require.ErrorIs(t, p.Err(), queued.ErrIdle)
	require.EqualValues(t, 1, c.Stats().Idle)
}

func TestCloseEndsAll(t *testing.T) {
	c := queued.New(transport.Addr{}, queued.Config{})
	p, err := c.Add(netip.AddrPort{}, newBlocked())
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	<-p.Done()
	require.ErrorIs(t, c.Send(p.Addr(), []byte{1}), transport.ErrClosed)
	_, _, err = c.Receive(make([]byte, 10))
	require.ErrorIs(t, err, transport.ErrClosed)
	late := newBlocked()
	_, err = c.Add(netip.AddrPort{}, late)
	require.ErrorIs(t, err, transport.ErrClosed)
	<-late.closed
}
