package nettest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// drifter moves with each frame.
type drifter struct{ X float32 }

// drifting is a server with an entity that moves with each frame, and clients that are connected and see it, over a link that loses
// datagrams from then on.
func drifting(t *testing.T, clients int, loss float64, seed uint64, server netcode.Config) *nettest.Net {
	p := netcode.NewProtocol()
	netcode.Replicate[drifter](p)
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: clients, Seed: seed, Server: server, Link: transport.Link{Delay: rtt / 2},
		Game: func(w *ecs.World, frame int) {
			if frame == 1 {
				m := generic.NewMap2[components.Replicated, drifter](w)
				m.New()
			}
			filter := generic.NewFilter1[drifter]()
			q := filter.Query(w)
			for q.Next() {
				q.Get().X++
			}
		},
	})
	require.True(t, n.RunUntil(time.Second, n.Connected))
	n.SetLink(transport.Link{Delay: rtt / 2, Loss: loss})
	n.Run(2 * time.Second)
	return n
}

// rtt is the round trip of drifting.
const rtt = 100 * time.Millisecond

// goesOn runs until a client shows a newer moment than it does now, and returns how long that took.
func goesOn(n *nettest.Net, c *nettest.Client, limit time.Duration) (took time.Duration, ok bool) {
	since, shown := n.Now(), c.Replica().Tick()
	ok = n.RunUntil(limit, func() bool { return c.Replica().Tick() > shown+1 })
	return n.Now() - since, ok
}

// A NAT gives the client another port in mid-game: play goes on within a round trip and a second, with nothing lost, also where two of
// five datagrams are.
func TestPlayGoesOnAfterRebind(t *testing.T) {
	for _, loss := range []float64{0, .2, .4} {
		t.Run(fmt.Sprintf("loss %g", loss), func(t *testing.T) {
			t.Parallel()
			slowest := time.Duration(0)
			for seed := range uint64(sized(20, 200)) {
				n := drifting(t, 1, loss, seed, netcode.Config{})
				c := n.Clients[0]
				id := c.ID()
				n.Rebind(c)
				took, ok := goesOn(n, c, 10*time.Second)
				require.True(t, ok, "seed %d", seed)
				require.LessOrEqual(t, took, rtt+time.Second, "seed %d", seed)
				slowest = max(slowest, took)
				n.Run(time.Second)
				require.Equal(t, id, c.ID())
				require.EqualValues(t, 1, n.Server.Stats().Migrated, "seed %d", seed)
				n.Heal()
				n.Run(time.Second)
				require.Equal(t, 1, c.Replica().Len())
				require.Zero(t, n.Server.Stats().Disconnected)
			}
			t.Logf("the slowest of all goes on after %v, at a round trip of %v", slowest, rtt)
		})
	}
}

// A client that is rebound again and again, and while it is being moved, stays.
func TestManyRebinds(t *testing.T) {
	n := drifting(t, 3, .1, 7, netcode.Config{})
	for i := range 40 {
		n.Rebind(n.Clients[i%3])
		n.Run(time.Duration(40*(i%9)) * time.Millisecond)
	}
	for _, c := range n.Clients {
		_, ok := goesOn(n, c, 2*time.Second)
		require.True(t, ok)
	}
	require.EqualValues(t, 3, n.Server.Stats().Connected)
	require.Zero(t, n.Server.Stats().Disconnected)
}

// The server starts anew: its clients are told within a round trip and a second, with its key of before and without, and those that
// rejoin are in right after.
func TestClientsOfARestartedServer(t *testing.T) {
	for name, key := range map[string][32]byte{"with a key": {1, 2, 3}, "without": {}} {
		for _, loss := range []float64{0, .2, .4} {
			t.Run(fmt.Sprintf("%s, loss %g", name, loss), func(t *testing.T) {
				t.Parallel()
				slowest := time.Duration(0)
				for seed := range uint64(sized(10, 100)) {
					n := drifting(t, 1, loss, seed, netcode.Config{ResetKey: key})
					c := n.Clients[0]
					n.Restart()
					since := n.Now()
					require.True(t, n.RunUntil(5*time.Second, func() bool { return c.State() == netcode.Disconnected }))
					require.ErrorIs(t, c.Err(), errs.ReasonReset)
					require.LessOrEqual(t, n.Now()-since, rtt+time.Second, "seed %d", seed)
					slowest = max(slowest, n.Now()-since)
				}
				t.Logf("the slowest of all is told after %v, at a round trip of %v", slowest, rtt)
			})
		}
	}
}

// A server that starts again has another secret: only with its key of before do its clients believe it at once. The world must be
// busy: of a server at rest a client asks so late that it needs no key.
func TestARestartedServerNeedsItsKey(t *testing.T) {
	told := func(key [32]byte) (waited uint64, after time.Duration) {
		n := drifting(t, 1, 0, 1, netcode.Config{ResetKey: key})
		c := n.Clients[0]
		n.Restart()
		since := n.Now()
		require.True(t, n.RunUntil(5*time.Second, func() bool { return c.State() == netcode.Disconnected }))
		require.ErrorIs(t, c.Err(), errs.ReasonReset)
		return c.Stats().ResetsWaited, n.Now() - since
	}
	waited, with := told([32]byte{1})
	require.Zero(t, waited)
	refused, without := told([32]byte{})
	require.NotZero(t, refused)
	require.Less(t, with, without)
}

// A client that rejoins has the world of the new session, and nothing of the old one.
func TestRejoin(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[drifter](p)
	entities := 3
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 3, Client: netcode.Config{Rejoin: true}, Link: transport.Link{Delay: 20 * time.Millisecond},
		Game: func(w *ecs.World, frame int) {
			if frame == 1 {
				m := generic.NewMap2[components.Replicated, drifter](w)
				for range entities {
					m.New()
				}
			}
		},
	})
	c := n.Clients[0]
	count := func() int { return c.Replica().Len() }
	require.True(t, n.RunUntil(time.Second, func() bool { return n.Connected() && count() == 3 }))
	entities = 2
	n.Restart()
	require.True(t, n.RunUntil(2*time.Second, func() bool { return c.State() == netcode.Connected && count() == 2 }))
	n.Run(100 * time.Millisecond)
	filter := generic.NewFilter1[drifter]()
	q := filter.Query(c.World)
	require.Equal(t, 2, q.Count(), "those of the session before are gone")
	q.Close()
}
