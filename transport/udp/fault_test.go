package udp

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport"
)

// One socket for all addresses serves IPv4 and IPv6 at the same time, and goes on after each fault that a network reports: a datagram that
// is too large for the path, a network without a route, a port where nobody listens.
func TestADualStackSocketSurvivesFaults(t *testing.T) {
	c := listen(t, ":0", Config{MaxDatagram: transport.MaxDatagram})
	port := c.LocalAddr().IP.Port()
	peers := []*Conn{listen(t, "127.0.0.1:0", Config{})}
	if probe, err := net.ListenPacket("udp6", "[::1]:0"); err == nil {
		require.NoError(t, probe.Close())
		peers = append(peers, listen(t, "[::1]:0", Config{}))
	}
	for _, p := range peers {
		own := netip.AddrPortFrom(p.LocalAddr().IP.Addr(), port)
		require.NoError(t, p.Send(transport.AddrOf(own), []byte("hello")))
	}
	var from []transport.Addr
	buf := make([]byte, 64)
	for range peers {
		_, who := receive(t, c, buf)
		from = append(from, who)
	}
	families := map[bool]bool{}
	for _, who := range from {
		families[who.IP.Addr().Is4()] = true
	}
	require.Len(t, families, len(peers), "IPv4 senders have IPv4 addresses")

	dead, err := Listen("127.0.0.1:0", Config{})
	require.NoError(t, err)
	require.NoError(t, dead.Close())
	// Networks of documentation (RFC 5737, RFC 3849): nobody is there, and mostly no route. 65,507 bytes are too large for any path but
	// loopback's, and over IPv6 for loopback's too.
	faults := []transport.Addr{transport.MustParseAddr("192.0.2.1:9"), transport.MustParseAddr("[2001:db8::1]:9"), transport.MustParseAddr("[::1]:9"), dead.LocalAddr()}
	failed := 0
	for range 20 {
		for _, to := range faults {
			for _, size := range []int{1, transport.MaxDatagram} {
				if err := c.Send(to, make([]byte, size)); err != nil {
					require.NotErrorIs(t, err, transport.ErrClosed)
					failed++
				}
				_ = c.sendRun(to, make([]byte, 4*size/2+1), size/2+1)
			}
		}
	}
	require.GreaterOrEqual(t, int(c.Stats().SendErrors), failed)
	for i, p := range peers {
		require.NoError(t, c.Send(from[i], []byte("still here")))
		n, _ := receive(t, p, buf)
		require.Equal(t, "still here", string(buf[:n]))
	}
	t.Logf("%d families, %d faults of Send: %+v", len(families), failed, c.Stats())
}
