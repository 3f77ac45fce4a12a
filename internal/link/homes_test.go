package link

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/transport"
)

// Clients of one address start with parts of the first rate; clients of this machine and of other addresses do not. An
// address without clients is removed.
func TestClientsOfAnAddressStartTogether(t *testing.T) {
	h, now := Homes{}, time.Duration(0)
	var links []*Link
	rate := func(address string) int {
		l := &Link{Address: transport.MustParseAddr(address), Conn: peer.NewConn(peer.ConnConfig{Bound: 1 << 20})}
		h.Join(l)
		h.EndTick(now)
		links = append(links, l)
		return l.Conn.Control.State().Rate
	}
	first := rate("192.0.2.1:7")
	require.Equal(t, first/2, rate("192.0.2.1:8"))
	require.Equal(t, first, rate("192.0.2.2:7"))
	require.Equal(t, first, rate("[2001:db8::1]:7"))
	require.Equal(t, first/2, rate("[2001:db8::2]:7"), "a home has a network of 64 bits")
	require.Equal(t, first, rate("127.0.0.1:7"))
	require.Equal(t, first, rate("127.0.0.1:8"))
	require.Len(t, h, 3)
	for _, l := range links {
		h.Leave(l)
	}
	require.Empty(t, h)
}
