package nettest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
)

// rtt200 is a link with a round trip of 200 ms.
func rtt200(loss float64) transport.Link {
	return transport.Link{Delay: 100 * time.Millisecond, Loss: loss}
}

// joiners is a net of so many clients that connect at once. Its clients keep little memory each.
func joiners(t *testing.T, clients int, link transport.Link) *nettest.Net {
	small := netcode.Config{Clients: netcode.MaxClients, SentPackets: 128, Entities: 16, HistoryBytes: 1 << 20}
	return nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: clients, Seed: 18, Rate: 30, Link: link, Server: small,
		Client: netcode.Config{SentPackets: 128, Entities: 16, HistoryBytes: 1 << 20},
	})
}

// in is how many clients are connected, as both ends agree.
func in(n *nettest.Net) int {
	count := 0
	for _, c := range n.Clients {
		if c.State() == netcode.Connected {
			if _, ok := n.Server.ClientStats(c.ID()); ok {
				count++
			}
		}
	}
	return count
}

func TestThreeHundredClientsJoinAtOnce(t *testing.T) {
	const clients = 300
	n := joiners(t, clients, rtt200(0))
	all := n.RunUntil(3*time.Second, func() bool { return in(n) == clients })
	require.True(t, all, "%d of %d clients are in after %v", in(n), clients, n.Now())
	t.Logf("%d clients are in after %v", clients, n.Now())
}

func TestAThousandClientsJoinAtOnceOverALossyLink(t *testing.T) {
	clients := sized(300, 1000)
	n := joiners(t, clients, rtt200(.05))
	all := n.RunUntil(3*time.Second, func() bool { return in(n) == clients })
	require.True(t, all, "%d of %d clients are in after %v", in(n), clients, n.Now())
	t.Logf("%d clients are in after %v; each has one session: %d", clients, n.Now(), n.Server.Stats().Connected)
	require.EqualValues(t, clients, n.Server.Stats().Connected)
}

// All clients lose their server, learn of it by silence, and connect to the new one in the frame in which they learn. The
// time is counted from the first of them that learns to the last that is in.
func TestAThousandClientsJoinAgainAfterARestart(t *testing.T) {
	clients := sized(300, 1000)
	n := joiners(t, clients, rtt200(.05))
	require.True(t, n.RunUntil(5*time.Second, func() bool { return in(n) == clients }))
	var first time.Duration
	for _, c := range n.Clients {
		c.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) {
			if first == 0 {
				first = n.Now()
			}
			require.ErrorIs(t, reason, peer.ReasonTimeout)
			require.NoError(t, c.Connect(n.Address()))
		})
	}
	n.Restart()
	require.True(t, n.RunUntil(15*time.Second, func() bool { return first != 0 }), "they learn of it by silence")
	all := n.RunUntil(3*time.Second, func() bool { return in(n) == clients })
	require.True(t, all, "%d of %d clients are in %v after the first learned", in(n), clients, n.Now()-first)
	t.Logf("%d clients are in again %v after the first of them learned", clients, n.Now()-first)
}
