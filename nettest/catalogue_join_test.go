package nettest_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// door is a policy that shows a client nothing until it has proved who it is.
type door struct {
	interest.Policy
	open map[netcode.ClientID]bool
}

func (d *door) Sees(client netcode.ClientID) interest.Set {
	if !d.open[client] {
		return nil
	}
	return d.Policy.Sees(client)
}

// Who a client is becomes known only some time after it has connected, and OnConnect has told of it. Until then it learns of
// nothing that lives, and of nothing that dies; three seconds later it lacks nothing.
func TestCase27AuthEndsAfterTheJoin(t *testing.T) {
	const rate, age = 60, time.Second
	d := &door{Policy: interest.All(), open: map[netcode.ClientID]bool{1: true}}
	connected := map[netcode.ClientID]time.Duration{}
	g := &turnover{count: sized(1000, 5000), perSecond: sized(100, 500), rate: rate, rest: 1 << 30}
	var n *nettest.Net
	n = nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: 1, Seed: 271, Rate: rate, Game: g.play, Server: netcode.Config{SendBudget: 256 << 10},
		Link: transport.Link{Delay: 40 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: .2},
		Setup: func(s *systems.ServerSystems, _ *ecs.World) {
			s.Server.SetInterest(interest.New(d, interest.Despawn))
			s.Server.OnConnect(func(client netcode.ClientID) { connected[client] = n.Now() })
		},
	})
	born := census{born: map[netcode.NetworkID]time.Duration{}}
	run := func(span time.Duration, each func()) {
		for end := n.Now() + span; n.Now() < end; {
			n.Step()
			born.take(n)
			if each != nil {
				each()
			}
		}
	}
	run(4*time.Second, nil)
	late := n.Join()
	run(time.Second, func() { require.True(t, late.Replica() == nil || late.Replica().Len() == 0, "before it is known") })
	require.Contains(t, connected, late.ID())
	before, _ := n.Server.ClientStats(late.ID())
	require.Zero(t, before.Snapshot.Spawns+before.Snapshot.Despawns)
	d.open[late.ID()] = true
	run(3*time.Second, func() { require.Zero(t, born.missing(n, n.Clients[0], age), "the others are not disturbed") })
	run(time.Second, func() { require.Zero(t, born.missing(n, late, age), "three seconds after it is known") })
	g.rest = n.Frame()
	n.AssertConverge()
}

// bucket is a token bucket as the budget of a client must be, counted apart.
type bucket struct {
	rate, tokens  float64
	at            time.Duration
	sent, packets uint64
	records       uint64
}

// The work of a tick is bounded by the budget, also in the ticks in which somebody joins: of each client, the bytes of a tick are
// what its bucket holds and a packet at most, packets are full, and records are so few as such bytes can hold. Counted, and
// not timed, in every single tick: a join is spread over as many of them as it takes. The others get no less by it.
func TestCase27TheWorkOfATickIsBoundedByTheBudget(t *testing.T) {
	const rate, packet = 30, 1200
	for _, budget := range []int{256 << 10, 32 << 10} {
		g := &turnover{count: sized(1000, 5000), perSecond: sized(100, 500), rate: rate, rest: 1 << 30}
		n := nettest.New(t, nettest.Config{
			Protocol: protocol(), Clients: 1, Seed: 272, Rate: rate, Game: g.play, Server: netcode.Config{SendBudget: budget, Clients: 4},
			Link: transport.Link{Delay: 40 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: .2},
		})
		buckets := map[netcode.ClientID]*bucket{}
		most, ticks := uint64(0), 0
		step := func() {
			n.Step()
			for id := range n.Server.Clients {
				b := buckets[id]
				stats, _ := n.Server.ClientStats(id)
				if b == nil { // its handshake is not counted
					b = &bucket{rate: float64(budget), tokens: float64(budget) / 4, at: n.Now()}
					buckets[id] = b
				}
				b.tokens = min(b.tokens+b.rate*(n.Now()-b.at).Seconds(), b.rate/4)
				b.at = n.Now()
				v := stats.Snapshot
				records := v.Spawns + v.Updates + v.Despawns
				bytes, packets := stats.Packets.BytesSent-b.sent, stats.Packets.Sent-b.packets
				require.LessOrEqual(t, float64(bytes), b.tokens+packet, "bytes to client %d in frame %d", id, n.Frame())
				require.LessOrEqual(t, packets, bytes/(uint64(stats.PacketSize)*2/3)+3, "packets are full")
				spawns := records - b.records
				require.LessOrEqual(t, spawns, bytes*8/despawnLeast, "records, of which none takes less than a despawn")
				if most = max(most, spawns); id > 1 && spawns > 100 {
					ticks++
				}
				b.tokens -= float64(bytes)
				b.sent, b.packets, b.records = stats.Packets.BytesSent, stats.Packets.Sent, records
			}
		}
		run := func(span time.Duration) {
			for end := n.Now() + span; n.Now() < end; {
				step()
			}
		}
		run(sized(3*time.Second, 5*time.Second))
		first, _ := n.Server.ClientStats(1)
		run(3 * time.Second)
		alone, _ := n.Server.ClientStats(1)
		for range 3 {
			n.Join() // three at once
		}
		run(3 * time.Second)
		beside, _ := n.Server.ClientStats(1)
		require.InEpsilon(t, alone.Packets.BytesSent-first.Packets.BytesSent, beside.Packets.BytesSent-alone.Packets.BytesSent, .2,
			"who is there already is sent as much as before")
		run(sized(time.Second, 8*time.Second))
		for _, c := range n.Clients {
			require.Greater(t, c.Replica().Len(), g.count*9/10)
		}
		t.Logf("%d bytes a second: at most %d records in a tick, %d ticks of a join with more than 100", budget, most, ticks)
		g.rest = n.Frame()
		n.AssertConverge()
	}
}

// despawnLeast is less than any record takes, in bits.
const despawnLeast = 3
