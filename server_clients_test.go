package netcode

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Clients of one address start with parts of the first rate; those of this machine and of another address do not. An address without
// clients is forgotten.
func TestClientsOfAnAddressStartTogether(t *testing.T) {
	l, now := lines{}, time.Duration(0)
	var sessions []*Session
	rate := func(address string) int {
		c := &Session{}
		c.link.Address, c.link.Conn = transport.MustParseAddr(address), peer.NewConn(peer.ConnConfig{Bound: 1 << 20})
		l.join(c)
		l.endTick(now)
		sessions = append(sessions, c)
		return c.link.Conn.Control().State().Rate
	}
	first := rate("192.0.2.1:7")
	require.Equal(t, first/2, rate("192.0.2.1:8"))
	require.Equal(t, first, rate("192.0.2.2:7"))
	require.Equal(t, first, rate("[2001:db8::1]:7"))
	require.Equal(t, first/2, rate("[2001:db8::2]:7"), "a home has a network of 64 bits")
	require.Equal(t, first, rate("127.0.0.1:7"))
	require.Equal(t, first, rate("127.0.0.1:8"))
	require.Len(t, l, 3)
	for _, c := range sessions {
		l.leave(c)
	}
	require.Empty(t, l)
}

// Clients whose ids share a place are found all the same, and none that is gone is.
func TestClientsAreFoundByTheirID(t *testing.T) {
	s, err := NewServer(NewProtocol(), Config{})
	require.NoError(t, err)
	sessions := map[wire.ClientID]*Session{}
	for _, id := range []wire.ClientID{1, 2, 1 + numNear, 1 + 2*numNear} {
		sessions[id] = &Session{id: id, state: connected}
		s.byID[id] = sessions[id]
	}
	for range 2 {
		for id, want := range sessions {
			require.Same(t, want, s.client(id))
		}
		require.Nil(t, s.client(3))
		require.Nil(t, s.client(0))
	}
	s.client(1)
	s.forget(sessions[1])
	require.Nil(t, s.client(1))
	require.Nil(t, s.near[1], "a session that is gone is not kept alive")
	s.client(1 + numNear)
	s.forget(sessions[1+2*numNear])
	require.Same(t, sessions[1+numNear], s.near[1], "another one's place")
	require.Nil(t, s.client(1+2*numNear))
	sessions[1+numNear].state = lingering
	require.Nil(t, s.client(1+numNear))
}
