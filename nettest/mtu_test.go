package nettest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// tile does not pack well: a hundred of them take many packets.
type tile struct{ A, B, C float64 }

// note is a message that needs a packet of its own on a usual path, and pieces on a narrow one.
type letter struct{ Text [900]uint8 }

// mtuGame is a world of which all changes in each tick, and messages both ways.
type mtuGame struct {
	*nettest.Net
	got map[netcode.ClientID]int
}

func newMTUGame(t *testing.T, link transport.Link, server netcode.Config) *mtuGame {
	g := &mtuGame{got: map[netcode.ClientID]int{}}
	p := netcode.NewProtocol()
	netcode.Replicate[tile](p)
	netcode.Handle(p, func(ctx *netcode.Context, m *letter) {
		if m.Text[899] == 7 {
			g.got[ctx.Sender]++
		}
	}, netcode.Over(netcode.ReliableOrdered))
	g.Net = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 4, Link: link, Server: server, Client: netcode.Config{SendBudget: -1},
		Game: func(w *ecs.World, frame int) {
			if frame == 1 {
				m := generic.NewMap2[components.Replicated, tile](w)
				for range 100 {
					m.New()
				}
			}
			filter, n := generic.NewFilter1[tile](), 0.
			q := filter.Query(w)
			for q.Next() {
				n++
				v := q.Get()
				v.A, v.B, v.C = v.A*1.37+n/7, v.B+v.A/3, v.C-v.B/11
				if v.A > 1e9 {
					v.A, v.B, v.C = n, 0, 0
				}
			}
		},
	})
	return g
}

// say sends a message both ways.
func (g *mtuGame) say(t *testing.T) {
	m := &letter{}
	m.Text[899] = 7
	require.NoError(t, netcode.Send(g.Clients[0].Client, netcode.ToServer(), m))
	require.NoError(t, netcode.Send(g.Server.Server, netcode.To(g.Clients[0].ID()), m))
}

// reasonOf is why a client's connection ended.
func reasonOf(c *nettest.Client) error {
	if err := c.Err(); err != nil {
		return err
	}
	return nil
}

// sizes is the packet size of both ends.
func (g *mtuGame) sizes() (down, up int) {
	stats, _ := g.Server.ClientStats(g.Clients[0].ID())
	return stats.PacketSize, g.Clients[0].PacketSize()
}

// A game runs over any path from 576 bytes on, in packets as large as it takes: the handshake, state, and messages.
func TestPathsOfAllSizes(t *testing.T) {
	for _, mtu := range []int{548, 576, 700, 1000, 1199, 1200, 1472} {
		t.Run(fmt.Sprint(mtu), func(t *testing.T) {
			g := newMTUGame(t, transport.Link{Delay: 25 * time.Millisecond, MTU: mtu}, netcode.Config{SendBudget: -1})
			require.True(t, g.RunUntil(2*time.Second, g.Connected))
			for range 20 {
				g.say(t)
				g.Run(500 * time.Millisecond)
			}
			g.Run(time.Second)
			down, up := g.sizes()
			for _, size := range []int{down, up} {
				require.LessOrEqual(t, size, mtu)
				require.GreaterOrEqual(t, size, min(max(mtu-32, 512), 1200))
			}
			require.NoError(t, reasonOf(g.Clients[0]))
			require.Equal(t, map[netcode.ClientID]int{0: 20, 1: 20}, g.got)
			require.Equal(t, 100, g.Clients[0].Replica().Len())
			require.Less(t, int(g.Server.Tick()-g.Clients[0].Replica().Tick()), 6, "state is not late")
		})
	}
}

// A usual path has packets of full size within three round trips after the first large packet, with one probe.
func TestUsualPathsAreFoundAtOnce(t *testing.T) {
	const trip = 100 * time.Millisecond
	g := newMTUGame(t, transport.Link{Delay: trip / 2}, netcode.Config{SendBudget: -1})
	require.True(t, g.RunUntil(2*time.Second, g.Connected))
	since := g.Now()
	require.True(t, g.RunUntil(time.Second, func() bool { down, _ := g.sizes(); return down == 1200 }))
	t.Logf("1200 bytes after %v", g.Now()-since)
	require.LessOrEqual(t, g.Now()-since, 3*trip)
}

// The path takes less in mid-game, and more again: play goes on, with reliable messages that were cut before.
func TestAPathThatShrinksInMidGame(t *testing.T) {
	link := transport.Link{Delay: 25 * time.Millisecond}
	g := newMTUGame(t, link, netcode.Config{SendBudget: -1})
	require.True(t, g.RunUntil(2*time.Second, g.Connected))
	g.say(t)
	g.Run(2 * time.Second)
	down, _ := g.sizes()
	require.Equal(t, 1200, down)
	for range 10 {
		g.say(t)
	}
	narrow := link
	narrow.MTU = 548
	g.SetLink(narrow)
	g.say(t)
	took, ok := goesOn(g.Net, g.Clients[0], 10*time.Second)
	require.True(t, ok)
	t.Logf("state comes again after %v", took)
	require.LessOrEqual(t, took, time.Second)
	g.Run(5 * time.Second)
	down, _ = g.sizes()
	require.LessOrEqual(t, down, 548)
	require.Equal(t, map[netcode.ClientID]int{0: 12, 1: 12}, g.got)
	require.Equal(t, netcode.Connected, g.Clients[0].State())
	g.SetLink(link)
	g.Run(15 * time.Second)
	down, _ = g.sizes()
	require.Equal(t, 1200, down, "it is tried again")
}

// Random loss is no narrow path: packets are of full size also where two of five datagrams are lost.
func TestLossIsNoNarrowPath(t *testing.T) {
	g := newMTUGame(t, transport.Link{Delay: 25 * time.Millisecond}, netcode.Config{SendBudget: -1})
	require.True(t, g.RunUntil(2*time.Second, g.Connected))
	g.SetLink(transport.Link{Delay: 25 * time.Millisecond, Loss: .4})
	full, ticks := 0, 0
	for range 1200 {
		g.Step()
		if down, _ := g.sizes(); down == 1200 {
			full++
		}
		ticks++
	}
	t.Logf("full size in %d of %d frames", full, ticks)
	require.Greater(t, full, ticks*8/10)
}

// Where everything fits small packets there are no probes, and a session has no packet above the base.
func TestASmallGameIsNotProbed(t *testing.T) {
	n := drifting(t, 1, 0, 1, netcode.Config{})
	longest := 0
	n.OnSend(func(_, _ transport.Addr, datagram []byte) { longest = max(longest, len(datagram)) })
	n.Run(10 * time.Second)
	require.LessOrEqual(t, longest, 100)
	stats, _ := n.Server.ClientStats(1)
	require.Equal(t, 512, stats.PacketSize)
}

// A new address is another path: its size is learned anew.
func TestAnotherAddressIsAnotherPath(t *testing.T) {
	g := newMTUGame(t, transport.Link{Delay: 25 * time.Millisecond}, netcode.Config{SendBudget: -1})
	require.True(t, g.RunUntil(2*time.Second, g.Connected))
	g.Run(2 * time.Second)
	g.SetLink(transport.Link{Delay: 25 * time.Millisecond, MTU: 548})
	g.Rebind(g.Clients[0])
	took, ok := goesOn(g.Net, g.Clients[0], 5*time.Second)
	require.True(t, ok)
	require.LessOrEqual(t, took, 50*time.Millisecond+time.Second)
	g.Run(3 * time.Second)
	down, _ := g.sizes()
	require.LessOrEqual(t, down, 548)
}
