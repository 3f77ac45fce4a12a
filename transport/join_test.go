package transport_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// joined is a server on three networks, with a client on each at one and the same address.
func joined(t *testing.T) (server *transport.Joined, inside, clients []*memory.Conn) {
	var conns []transport.Conn
	for range 3 {
		network := memory.NewNetwork()
		s, err := network.Listen(transport.MustParseAddr("192.0.2.1:9"))
		require.NoError(t, err)
		c, err := network.Listen(transport.MustParseAddr("192.0.2.7:4000"))
		require.NoError(t, err)
		inside, clients, conns = append(inside, s), append(clients, c), append(conns, s)
	}
	return transport.Join(conns...), inside, clients
}

func TestJoinKeepsAddressesApart(t *testing.T) {
	server, _, clients := joined(t)
	require.Equal(t, transport.MustParseAddr("192.0.2.1:9"), server.LocalAddr())
	buf := make([]byte, 10)
	seen := map[transport.Addr]int{}
	for i, c := range clients {
		require.NoError(t, c.Send(server.LocalAddr(), []byte{byte(i)}))
	}
	for range clients {
		n, from, err := server.Receive(buf)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		seen[from] = int(buf[0])
		require.NoError(t, server.Send(from, []byte{buf[0] + 10}))
	}
	require.Len(t, seen, 3, "all clients have the same IP address and port")
	for i, c := range clients {
		n, _, err := c.Receive(buf)
		require.NoError(t, err)
		require.Equal(t, []byte{byte(i) + 10}, buf[:n])
	}
	require.ErrorIs(t, server.Send(transport.MustParseAddr("192.0.2.7:4000"), []byte{1}), transport.ErrAddress, "of no connection")
	require.ErrorIs(t, server.Send(transport.Addr{Key: 1, Via: 4}, []byte{1}), transport.ErrAddress)
}

func TestAFloodOnOneConnectionDoesNotStopTheOthers(t *testing.T) {
	server, _, clients := joined(t)
	for range 1000 {
		require.NoError(t, clients[0].Send(server.LocalAddr(), []byte{0}))
	}
	require.NoError(t, clients[2].Send(server.LocalAddr(), []byte{2}))
	buf := make([]byte, 10)
	for i := range 3 {
		_, from, err := server.Receive(buf)
		require.NoError(t, err)
		if from.Via == 3 {
			return
		}
		require.Less(t, i, 2)
	}
}

func TestJoinSendsRunsAndBatches(t *testing.T) {
	server, inside, clients := joined(t)
	to := make([]transport.Addr, 3)
	for i := range to {
		to[i] = clients[i].LocalAddr()
		to[i].Via = uint8(i + 1)
	}
	addrs := []transport.Addr{to[2], to[0], to[2], to[1]}
	runs := [][]byte{[]byte("aabb"), []byte("cc"), []byte("d"), []byte("eeff")}
	sizes := []int{2, 2, 2, 2}
	_, err := server.SendAll(addrs, runs, sizes)
	require.NoError(t, err)
	_, err = server.SendAll(to[1:2], [][]byte{[]byte("gghhi")}, []int{2})
	require.NoError(t, err)
	buf := make([]byte, 10)
	for i, want := range [][]string{{"cc"}, {"ee", "ff", "gg", "hh", "i"}, {"aa", "bb", "d"}} {
		for _, text := range want {
			n, _, err := clients[i].Receive(buf)
			require.NoError(t, err)
			require.Equal(t, text, string(buf[:n]))
		}
		require.EqualValues(t, len(want), inside[i].Stats().Sent, "counters of each")
	}
	addrs[2] = transport.Addr{}
	failed, err := server.SendAll(addrs, runs, sizes)
	require.ErrorIs(t, err, transport.ErrAddress)
	require.Equal(t, 2, failed)
	n, _, err := clients[1].Receive(buf)
	require.NoError(t, err)
	require.Equal(t, "ee", string(buf[:n]), "the others are sent")
}

func TestTheEndOfOneConnectionIsNoEndOfTheOthers(t *testing.T) {
	server, inside, clients := joined(t)
	require.NoError(t, inside[0].Close())
	buf := make([]byte, 10)
	for range 3 {
		n, _, err := server.Receive(buf)
		require.NoError(t, err)
		require.Zero(t, n)
	}
	at := clients[0].LocalAddr()
	at.Via = 1
	require.ErrorIs(t, server.Send(at, []byte{1}), transport.ErrAddress)
	require.NoError(t, clients[1].Send(server.LocalAddr(), []byte{1}))
	n, _, err := server.Receive(buf)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, server.Close())
	_, _, err = server.Receive(buf)
	require.ErrorIs(t, err, transport.ErrClosed)
	require.ErrorIs(t, server.Send(at, []byte{1}), transport.ErrClosed)
}

func TestJoinTellsFaultsInside(t *testing.T) {
	network := memory.NewNetwork()
	a, err := network.Listen(transport.Addr{})
	require.NoError(t, err)
	server := transport.Join(&faulty{Conn: a}, a)
	_, _, err = server.Receive(make([]byte, 10))
	require.ErrorIs(t, err, errFault)
	require.Panics(t, func() { transport.Join() })
	require.Panics(t, func() { transport.Join(server) })
	require.Panics(t, func() { transport.Join(make([]transport.Conn, 256)...) })
}

func TestJoinDoesNotAllocate(t *testing.T) {
	server, _, clients := joined(t)
	to := []transport.Addr{{IP: clients[0].LocalAddr().IP, Via: 1}, {IP: clients[2].LocalAddr().IP, Via: 3}}
	runs, sizes, buf := [][]byte{make([]byte, 100), make([]byte, 100)}, []int{50, 100}, make([]byte, 2000)
	turn := func() {
		_, _ = server.SendAll(to, runs, sizes)
		for _, c := range clients {
			for n := 1; n > 0; {
				n, _, _ = c.Receive(buf)
			}
		}
		_, _, _ = server.Receive(buf)
	}
	for range 100 {
		turn()
	}
	alloctest.Zero(t, 100, turn)
}
