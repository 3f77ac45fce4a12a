package nettest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// parcel is a reliable message of any size.
type parcel struct {
	Number uint16
	Text   []byte
}

// Serialize implements wire.Serializable.
func (m *parcel) Serialize(s *wire.Serializer) {
	s.Uint16(&m.Number)
	s.Bytes(&m.Text, 20000)
}

// parcels is a game of letters. It keeps what is handled, and what an end is told.
type parcels struct {
	net                *nettest.Net
	handled            map[uint16]int
	atServer, atClient map[uint16]bool // told: whether it was sent there
}

func newParcels(t *testing.T) *parcels {
	p := netcode.NewProtocol()
	g := &parcels{handled: map[uint16]int{}, atServer: map[uint16]bool{}, atClient: map[uint16]bool{}}
	netcode.Handle(p, func(_ *netcode.Context, m *parcel) { g.handled[m.Number]++ }, netcode.Over(netcode.ReliableOrdered))
	g.net = nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Link: transport.Link{Delay: 30 * time.Millisecond}})
	server, client := g.net.Server.Server, g.net.Clients[0].Client
	extend.OfServer(server).Extend(extend.ServerHooks{Undelivered: func(with netcode.ClientID, m *extend.Posted, sent bool) {
		require.Equal(t, client.ID(), with)
		g.told(t, server, g.atServer, m, sent)
	}})
	extend.OfClient(client).Extend(extend.ClientHooks{Undelivered: func(m *extend.Posted, sent bool) { g.told(t, client, g.atClient, m, sent) }})
	require.True(t, g.net.RunUntil(5*time.Second, g.net.Connected))
	return g
}

// told notes a message that an end is told. A parcel's text repeats the low byte of its number.
func (g *parcels) told(t *testing.T, end netcode.Endpoint, told map[uint16]bool, m *extend.Posted, sent bool) {
	l, ok := extend.ReadPosted[parcel](end, m)
	require.True(t, ok)
	require.NotContains(t, told, l.Number, "told twice")
	require.Zero(t, g.handled[l.Number])
	for _, b := range l.Text {
		require.Equal(t, byte(l.Number), b)
	}
	told[l.Number] = sent
}

// send sends a parcel.
func (g *parcels) send(t *testing.T, end netcode.Endpoint, to netcode.Recipient, number uint16, size int, how ...netcode.Option) {
	l := parcel{Number: number, Text: make([]byte, size)}
	for i := range l.Text {
		l.Text[i] = byte(number)
	}
	require.NoError(t, netcode.Send(end, to, &l, how...))
}

// TestWhatALineSwallowsIsTold sends letters of all sizes in both directions, over a line that is cut.
func TestWhatALineSwallowsIsTold(t *testing.T) {
	g := newParcels(t)
	client := g.net.Clients[0]
	id := client.ID()
	g.send(t, g.net.Server.Server, netcode.To(id), 1, 10)
	g.send(t, client.Client, netcode.ToServer(), 101, 9000)
	g.net.Run(2 * time.Second)
	require.Equal(t, map[uint16]int{1: 1, 101: 1}, g.handled)
	g.net.SetLink(transport.Link{Loss: 1})
	for i := range uint16(8) {
		g.send(t, g.net.Server.Server, netcode.To(id), 10+i, int(i)*1000)
		g.send(t, client.Client, netcode.ToServer(), 110+i, int(i)*900)
		g.net.Run(100 * time.Millisecond)
	}
	g.net.Run(12 * time.Second)
	require.Len(t, g.atServer, 8)
	require.Len(t, g.atClient, 8)
	for i := range uint16(8) {
		require.True(t, g.atServer[10+i])
		require.True(t, g.atClient[110+i])
	}
}

// TestWhatWaitsAtItsReceiverIsTold ends a connection while messages wait at both ends for a tick.
func TestWhatWaitsAtItsReceiverIsTold(t *testing.T) {
	g := newParcels(t)
	client, server := g.net.Clients[0], g.net.Server
	late := netcode.NotBefore(server.Tick() + 300)
	g.send(t, server.Server, netcode.To(client.ID()), 1, 10, late)
	g.send(t, server.Server, netcode.To(client.ID()), 2, 10)
	g.send(t, client.Client, netcode.ToServer(), 101, 3000, late)
	g.net.Run(time.Second)
	require.Empty(t, g.handled)
	client.Close()
	g.net.Run(10 * time.Second)
	require.Equal(t, map[uint16]bool{1: false, 2: false}, g.atClient)
	require.Equal(t, map[uint16]bool{101: false}, g.atServer)
}

// TestWhatOvertookALostMessageIsTold ends a connection while a message that came waits for an earlier one of its channel, which was lost.
func TestWhatOvertookALostMessageIsTold(t *testing.T) {
	g := newParcels(t)
	client, server := g.net.Clients[0], g.net.Server
	g.net.SetLinks(client, transport.Link{Loss: 1}, transport.Link{Delay: 30 * time.Millisecond})
	g.send(t, server.Server, netcode.To(client.ID()), 1, 10)
	g.net.Run(40 * time.Millisecond)
	g.net.SetLinks(client, transport.Link{Delay: 30 * time.Millisecond}, transport.Link{Delay: 30 * time.Millisecond})
	g.send(t, server.Server, netcode.To(client.ID()), 2, 10)
	g.net.Run(50 * time.Millisecond)
	client.Close()
	g.net.Run(5 * time.Second)
	require.Empty(t, g.handled)
	require.Equal(t, map[uint16]bool{2: false}, g.atClient)
	require.True(t, g.atServer[1])
}
