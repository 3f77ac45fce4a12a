package nettest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/proof"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// rtt200 is a link with a round trip of 200 ms.
func rtt200(loss float64) transport.Link {
	return transport.Link{Delay: 100 * time.Millisecond, Loss: loss}
}

// joiners is a net of so many clients that connect at once. Its clients keep little memory each.
func joiners(t *testing.T, clients int, link transport.Link) *nettest.Net {
	small := netcode.Config{Clients: wire.MaxClients, SentPackets: 128, Entities: 16, HistoryBytes: 1 << 20}
	return nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: clients, Seed: 18, Rate: 30, Link: link, Server: small,
		Client: netcode.Config{SentPackets: 128, Entities: 16, HistoryBytes: 1 << 20},
	})
}

// in counts the connected clients, as both ends agree.
func in(n *nettest.Net) int {
	count := 0
	for _, c := range n.Clients {
		if joined(n, c) {
			count++
		}
	}
	return count
}

// joined reports whether a client is connected, as both ends agree.
func joined(n *nettest.Net, c *nettest.Client) bool {
	_, ok := n.Server.ClientStats(c.ID())
	return ok && c.State() == netcode.Connected
}

func TestAThousandClientsJoinAtOnceOverALossyLink(t *testing.T) {
	clients := sized(300, 1000)
	n := joiners(t, clients, rtt200(.05))
	all := n.RunUntil(3*time.Second, func() bool { return in(n) == clients })
	require.True(t, all, "%d of %d clients are in after %v", in(n), clients, n.Now())
	t.Logf("%d clients are in after %v; each has one session: %d", clients, n.Now(), n.Server.Stats().Connected)
	require.EqualValues(t, clients, n.Server.Stats().Connected)
}

// All clients lose their server, learn of it from the new one, each for itself, and connect to it in the frame in which they
// learn. A client's time is counted from there until both ends agree that it is in. 300 of them, and a thousand with -heavy.
func TestAThousandClientsJoinAgainAfterARestart(t *testing.T) {
	clients := sized(300, 1000)
	n := joiners(t, clients, rtt200(.05))
	require.True(t, n.RunUntil(5*time.Second, func() bool { return in(n) == clients }))
	learned := make([]time.Duration, clients)
	for i, c := range n.Clients {
		c.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) {
			require.ErrorIs(t, reason, errs.ReasonReset)
			require.Zero(t, learned[i], "one attempt is enough")
			learned[i] = n.Now()
			require.NoError(t, c.Connect(n.Address()))
		})
	}
	n.Restart()
	back, slowest := make([]bool, clients), time.Duration(0)
	all := n.RunUntil(15*time.Second, func() bool {
		for i, c := range n.Clients {
			if !back[i] && learned[i] != 0 && joined(n, c) {
				back[i], slowest = true, max(slowest, n.Now()-learned[i])
			}
		}
		return !slices.Contains(back, false)
	})
	require.True(t, all, "%d of %d clients are in", in(n), clients)
	require.LessOrEqual(t, slowest, 3*time.Second)
	t.Logf("the slowest of %d clients is in %v after it learned that its server was gone", clients, slowest)
}

// Cookies change every 5 s. Where the round trip is longer than the time between two Hellos, a client gets the old cookie and then the new one.
func TestClientsJoinWhileCookiesChange(t *testing.T) {
	n := nettest.New(t, nettest.Config{Protocol: protocol(), Seed: 19, Link: transport.Link{Delay: 150 * time.Millisecond}})
	n.Run(proof.CookieBucket - 600*time.Millisecond)
	for range 40 {
		n.Join()
		n.Step()
	}
	require.True(t, n.RunUntil(2*time.Second, n.Connected), "%d of %d are connected", in(n), len(n.Clients))
}
