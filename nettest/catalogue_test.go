package nettest_test

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// The catalogue of faults, by number. Each case is small in plain `go test` and of its full size with -heavy.
var (
	heavy      = flag.Bool("heavy", false, "the cases of the catalogue in their full size")
	sweepSeeds = flag.Int("sweep-seeds", 1, "seeds for each loss of TestCase23LossSweep")
)

// sized is a size that a case has, small or full.
func sized[T any](small, full T) T {
	if *heavy {
		return full
	}
	return small
}

// lag counts the ticks that a client is behind its server.
func lag(n *nettest.Net, c *nettest.Client) int {
	if c.Replica() == nil {
		return 1 << 30
	}
	return int(n.Server.Tick() - c.Replica().Tick())
}

// heap is the memory in use once everything unused is given back.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// walkers is a game in which so many entities walk on for ever, or until the frame rest.
type walkers struct {
	count, rest int
	all         []ecs.Entity
}

func (g *walkers) play(w *ecs.World, frame int) {
	bodies := generic.NewMap2[components.Replicated, position](w)
	for len(g.all) < g.count {
		g.all = append(g.all, bodies.NewWith(&components.Replicated{}, &position{X: float32(len(g.all)%100) / 10}))
	}
	if g.rest > 0 && frame > g.rest {
		return
	}
	at := generic.NewMap[position](w)
	for i, e := range g.all {
		p := at.Get(e)
		p.X += float32((frame+i)%7-3) / 20
		p.Y += float32((frame*3+i)%5-2) / 20
	}
}

// A client that never acknowledges, and one that goes on acknowledging one old packet, for ten minutes: the server's memory
// stays as it is, such a client costs no more than its budget, and what it gets is whole, not deltas against what it never
// said it has. The other client notices nothing.
func TestCase20AckStarvation(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  func(n *nettest.Net, victim *nettest.Client)
	}{
		{"never acknowledges", func(n *nettest.Net, victim *nettest.Client) {
			n.SetLinks(victim, starvedLink(), transport.Link{Down: true})
		}},
		{"acknowledges one old packet", func(n *nettest.Net, victim *nettest.Client) {
			n.SetLinks(victim, transport.Link{Down: true}, starvedLink())
		}},
	} {
		t.Run(c.name, func(t *testing.T) { ackStarvation(t, c.cut) })
	}
}

func starvedLink() transport.Link { return transport.Link{Delay: 40 * time.Millisecond} }

func ackStarvation(t *testing.T, cut func(n *nettest.Net, victim *nettest.Client)) {
	const budget, settle = 16 << 10, 20 * time.Second
	span := sized(40*time.Second, 10*time.Minute)
	g := &walkers{count: 40}
	patience := netcode.Config{SendBudget: budget, SentPackets: 256, SilenceTimeout: time.Hour}
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: 2, Seed: 20, Rate: 30, Link: starvedLink(), Game: g.play, Server: patience, Client: patience,
	})
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	n.Run(time.Second)
	honest, victim := n.Clients[0], n.Clients[1]
	cut(n, victim)
	n.Run(settle)
	stats := func() netcode.ClientStats {
		s, ok := n.Server.ClientStats(victim.ID())
		require.True(t, ok, "it is still connected")
		return s
	}
	memory, before := heap(), stats()
	for end := n.Now() + span; n.Now() < end; {
		n.Step()
		require.LessOrEqual(t, lag(n, honest), 6, "the other client")
	}
	after := stats()
	require.LessOrEqual(t, heap(), memory+memory/50+64<<10, "memory is constant")
	casebook.Injected(t, after.Packets.Sent-before.Packets.Sent, "packets that are never acknowledged")
	bytes := after.Packets.BytesSent - before.Packets.BytesSent
	require.LessOrEqual(t, bytes, uint64(budget*span.Seconds()+budget/2), "the rate is capped")
	require.NotZero(t, after.Snapshot.Rows-before.Snapshot.Rows, "it is sent whole rows")
	require.Zero(t, after.Snapshot.Deltas-before.Snapshot.Deltas, "and nothing that leans on what is long gone")
	g.rest = n.Frame()
	n.AssertConverge()
}

// Every loss up to 60 %, half of it in bursts, with reordering, duplicates and corruption on top: Converge, NoGhostRef and
// Order hold, and members of a group are never seen apart.
func TestCase23LossSweep(t *testing.T) {
	for _, percent := range []int{0, 1, 5, 20, 33, 50, 60} {
		t.Run(fmt.Sprint(percent), func(t *testing.T) {
			for seed := range *sweepSeeds {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					t.Parallel()
					lossSweep(t, percent, uint64(seed))
				})
			}
		})
	}
}

// sweepLink loses so many percent, half each on its own and half in bursts of eight.
func sweepLink(percent int) transport.Link {
	loss := float64(percent) / 100
	alone := loss / 2
	inBursts := (loss - alone) / (1 - alone) // of what is left
	return transport.Link{
		Delay: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: alone, Reorder: .3, Duplicate: .1, Corrupt: .01,
		BurstLoss: transport.GilbertElliott{Enter: inBursts / (1 - inBursts) / 8, Length: 8},
	}
}

// twin is a component of entities that change together and travel together.
type twin struct{ Serial uint32 }

// twins is the churn, and three entities of one group that get the number of the frame all at once.
type twins struct {
	churn
	all []ecs.Entity
}

func (g *twins) play(w *ecs.World, frame int) {
	g.churn.play(w, frame)
	members := generic.NewMap3[components.Replicated, components.Group, twin](w)
	for len(g.all) < 3 {
		g.all = append(g.all, members.NewWith(&components.Replicated{}, &components.Group{ID: 7}, &twin{}))
	}
	if frame > g.rest {
		return
	}
	for _, e := range g.all {
		_, _, t := members.Get(e)
		t.Serial = uint32(frame)
	}
}

// together fails unless a client sees all three twins with the same number, or none.
func together(t testing.TB, c *nettest.Client) (seen int) {
	query := generic.NewFilter1[twin]().Query(&c.World)
	var first uint32
	for query.Next() {
		serial := query.Get().Serial
		if seen++; seen == 1 {
			first = serial
		} else if serial != first {
			t.Errorf("twins of %d and %d at one client", first, serial)
		}
	}
	if seen != 0 && seen != 3 {
		t.Errorf("%d of three twins", seen)
	}
	return seen
}

func lossSweep(t *testing.T, percent int, seed uint64) {
	const seconds = 3
	p := protocol()
	netcode.Replicate[twin](p)
	g := &twins{churn: churn{rest: 60 * seconds, state: seed}}
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: seed, Link: sweepLink(percent), Game: g.play, Server: netcode.Config{SendBudget: -1},
	})
	seen := 0
	for n.Now() < seconds*time.Second {
		n.Step()
		for _, c := range n.Clients {
			seen += together(t, c)
		}
		if t.Failed() {
			t.Fatalf("%d %% loss, seed %d, frame %d", percent, seed, n.Frame())
		}
	}
	n.AssertConverge()
	require.True(t, n.Connected(), "%d %% loss, seed %d", percent, seed)
	faults := n.LinkStats()
	casebook.Injected(t, faults.Lost+faults.Duplicated+faults.Reordered+faults.Corrupted, "datagrams lost, doubled, overtaken or damaged")
	require.True(t, percent > 33 || seen > 0, "the twins arrived")
	for _, c := range n.Clients {
		require.Zero(t, c.Stats().Malformed)
		require.Zero(t, c.Stats().Resyncs)
	}
}
