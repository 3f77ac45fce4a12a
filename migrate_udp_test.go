package netcode_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
)

// nat is a relay of real sockets between one client and a server, which gives the client another port when it is told to.
type nat struct {
	t      *testing.T
	inside *net.UDPConn
	server *net.UDPAddr

	mu      sync.Mutex
	client  *net.UDPAddr
	outside *net.UDPConn
}

func newNAT(t *testing.T, server transport.Addr) *nat {
	n := &nat{t: t, inside: loopback(t), server: net.UDPAddrFromAddrPort(server.IP)}
	n.rebind()
	go func() {
		for buf := make([]byte, 2048); ; {
			size, from, err := n.inside.ReadFromUDP(buf)
			if err != nil {
				return
			}
			n.mu.Lock()
			n.client = from
			_, _ = n.outside.WriteToUDP(buf[:size], n.server)
			n.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		_ = n.outside.Close()
	})
	return n
}

func loopback(t *testing.T) *net.UDPConn {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// rebind opens another port towards the server. The old one is gone.
func (n *nat) rebind() {
	next := loopback(n.t)
	n.mu.Lock()
	if n.outside != nil {
		_ = n.outside.Close()
	}
	n.outside = next
	n.mu.Unlock()
	go func() {
		for buf := make([]byte, 2048); ; {
			size, _, err := next.ReadFromUDP(buf)
			if err != nil {
				return
			}
			n.mu.Lock()
			if n.client != nil {
				_, _ = n.inside.WriteToUDP(buf[:size], n.client)
			}
			n.mu.Unlock()
		}
	}()
}

// live is a server and a client over real sockets, in real time.
type live struct {
	t      *testing.T
	began  time.Time
	server *netcode.Server
	client *netcode.Client
	here   *udp.Conn
	there  *udp.Conn
	x      float32
	body   netcode.NetworkID
}

func newLive(t *testing.T, p *netcode.Protocol) *live {
	l := &live{t: t, began: time.Now()}
	var err error
	l.here, err = udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	l.there, err = udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = l.here.Close(), l.there.Close() })
	l.serve(p, netcode.Config{ResetKey: [32]byte{5}, SilenceTimeout: time.Minute})
	l.client, err = netcode.NewClient(p, netcode.Config{Rejoin: true, HandshakeTimeout: time.Minute, SilenceTimeout: time.Minute})
	require.NoError(t, err)
	return l
}

// serve starts a server that knows nobody.
func (l *live) serve(p *netcode.Protocol, config netcode.Config) {
	var err error
	l.server, err = netcode.NewServer(p, config)
	require.NoError(l.t, err)
	l.body = netcode.NetworkID{}
}

func (l *live) frame() {
	time.Sleep(time.Millisecond)
	now, buf := time.Since(l.began), make([]byte, 2048)
	l.server.BeginFrame(now)
	l.client.BeginFrame(now)
	for _, end := range []struct {
		socket *udp.Conn
		take   func(transport.Addr, []byte)
	}{{l.here, l.server.Receive}, {l.there, l.client.Receive}} {
		for n, from, _ := end.socket.Receive(buf); n > 0; n, from, _ = end.socket.Receive(buf) {
			end.take(from, buf[:n])
		}
	}
	for stage := range tick.Stage(tick.NumStages) {
		l.server.Dispatch(stage)
		l.client.Dispatch(stage)
	}
	if s := l.server.Store(); l.server.TickDue() && l.server.Tick() > s.Tick() {
		s.Begin(l.server.Tick())
		l.move(s)
		s.Commit()
	}
	l.server.Send()
	l.client.Send()
	l.server.Drain(func(to transport.Addr, packet []byte) { _ = l.here.Send(to, packet) })
	l.client.Drain(func(to transport.Addr, packet []byte) { _ = l.there.Send(to, packet) })
}

func (l *live) move(s *snapshot.Store) {
	if l.body.IsZero() {
		l.body = s.Spawn()
	}
	l.x++
	s.Set(l.body, 1, []uint32{uint32(l.x), 0})
}

// until runs frames until a condition holds. The limit is for a machine that stands still.
func (l *live) until(condition func() bool) time.Duration {
	l.t.Helper()
	since := time.Now()
	for !condition() {
		l.frame()
		require.Less(l.t, time.Since(since), time.Minute)
	}
	return time.Since(since)
}

// Over real sockets, behind a NAT that gives another port in mid-game, and with a server that is started anew.
func TestMigrationOverUDP(t *testing.T) {
	p := protocol()
	l := newLive(t, p)
	n := newNAT(t, l.here.LocalAddr())
	require.NoError(t, l.client.Connect(transport.AddrOf(n.inside.LocalAddr().(*net.UDPAddr).AddrPort())))
	shown := func() netcode.Tick {
		if l.client.Replica() == nil {
			return 0
		}
		return l.client.Replica().Tick()
	}
	l.until(func() bool { return shown() > 10 })
	stats, _ := l.server.ClientStats(1)
	for move := range uint64(3) {
		n.rebind()
		before := shown()
		t.Logf("goes on after %v", l.until(func() bool { return shown() > before+1 && l.server.Stats().Migrated > move }))
	}
	after, ok := l.server.ClientStats(1)
	require.True(t, ok)
	require.NotEqual(t, stats.Address, after.Address)
	require.EqualValues(t, 3, l.server.Stats().Migrated)
	require.EqualValues(t, 1, l.server.Stats().Connected)

	var why *netcode.CloseError
	l.client.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) { why = reason })
	l.serve(p, netcode.Config{ResetKey: [32]byte{5}})
	t.Logf("is told of a restart after %v", l.until(func() bool { return why != nil }))
	require.ErrorIs(t, why, peer.ReasonReset)
	l.until(func() bool { return l.client.State() == netcode.Connected && l.client.Replica().Len() == 1 })
}
