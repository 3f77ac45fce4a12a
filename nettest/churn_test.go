package nettest_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// visits lets clients join one after the other, stay for a time and leave, until so many have left. leave says false of one that
// is to be waited for.
func visits(n *nettest.Net, count int, stay, between time.Duration, leave func(i int, c *nettest.Client) (gone bool)) {
	type visit struct {
		c       *nettest.Client
		i       int
		until   time.Duration
		leaving bool
	}
	var here []visit
	joinAt, joined := n.Now(), 0
	for left := 0; left < count; n.Step() {
		if joined < count && n.Now() >= joinAt {
			here, joined, joinAt = append(here, visit{n.Join(), joined, n.Now() + stay, false}), joined+1, joinAt+between
		}
		kept := here[:0]
		for _, v := range here {
			gone := false
			if v.c.State() == netcode.Connected && n.Now() >= v.until && !v.leaving {
				gone, v.leaving = leave(v.i, v.c), true
			}
			if gone || v.c.State() == netcode.Disconnected && n.Now() >= v.until {
				n.Remove(v.c)
				left++
				continue
			}
			kept = append(kept, v)
		}
		clear(here[len(kept):])
		here = kept
	}
}

// inOrder closes a client's connection.
func inOrder(_ int, c *nettest.Client) (gone bool) {
	c.Close()
	return false
}

// staysFlat fails unless the heap stays within 2 % of its size at the start, and heapNoise, after each of several waves of visitors.
func staysFlat(t *testing.T, waves int, wave func()) {
	t.Helper()
	first := heap()
	for i := range waves {
		wave()
		now := heap()
		t.Logf("after wave %d: %.2f MB, %.2f MB at the start", i+1, float64(now)/1e6, float64(first)/1e6)
		require.LessOrEqual(t, now, first+first/50+heapNoise, "the heap grows with those who have left")
	}
}

// heapNoise is the size that tables of the runtime add to a heap of two megabytes.
const heapNoise = 16 << 10

// 1200 clients that join, stay for two seconds and close in order leave nothing behind, whether one or several parts of the
// server write to them.
func TestCase49VisitsLeaveNoMemory(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts int
		waves int
	}{{"in one part", 1, 4}, {"in three parts", 3, sized(2, 4)}} {
		t.Run(c.name, func(t *testing.T) {
			g := &walkers{count: 20}
			n := nettest.New(t, nettest.Config{
				Protocol: protocol(), Seed: 60, Link: transport.Link{Delay: 20 * time.Millisecond}, Game: g.play, Rate: 30, Server: inParts(c.parts, netcode.Config{}),
			})
			visits(n, 100, 2*time.Second, 250*time.Millisecond, inOrder)
			staysFlat(t, c.waves, func() { visits(n, 300, 2*time.Second, 250*time.Millisecond, inOrder) })
			casebook.Injected(t, n.Server.Stats().Disconnected, "clients that came and left")
		})
	}
}

// Eight places whose clients come and go all the time: 15 000 ticks, and a million with -heavy.
func TestEightPlacesChangeHandsForLong(t *testing.T) {
	if testing.Short() {
		t.Skip("a long simulation")
	}
	g := &walkers{count: 20}
	n := nettest.New(t, nettest.Config{Protocol: protocol(), Seed: 62, Link: transport.Link{Delay: 30 * time.Millisecond}, Game: g.play, Rate: 30})
	const between = 400 * time.Millisecond
	wave := func(ticks int) { visits(n, ticks/12, 8*between, between, inOrder) }
	wave(5000)
	staysFlat(t, 4, func() { wave(sized(2500, 250_000)) })
}

// bursts is a game in which a few walk, and all do every now and then.
type bursts struct{ walkers }

func (g *bursts) play(w *ecs.World, frame int) {
	all := g.all
	if frame > 5 && frame%97 != 0 {
		g.all = all[:20]
		g.count = 20
	}
	g.walkers.play(w, frame)
	if len(all) > len(g.all) {
		g.all = all
	}
	g.count = len(g.all)
}

// What a client keeps of the past follows what its ticks need together, on a link where now this tick and now that one is lost:
// memory that one large tick needed serves the next one: within an eighth.
func TestCase61HistoriesStayAsTheyAre(t *testing.T) {
	g := &bursts{walkers: walkers{count: 600}}
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Seed: 61, Clients: 1, Rate: 30, Link: transport.Link{Delay: 50 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: .1}, Game: g.play,
		Server: netcode.Config{SendBudget: -1},
	})
	n.Run(sized(time.Minute, 6*time.Minute))
	before, memory := n.Clients[0].Stats().HistoryBytes, heap()
	n.Run(sized(2*time.Minute, 20*time.Minute))
	after := n.Clients[0].Stats().HistoryBytes
	grows := before / 8 // The first large ticks find no memory that others have left.
	t.Logf("%d bytes at the start, %d at the end", before, after)
	require.NotZero(t, before)
	require.LessOrEqual(t, after, before+grows)
	require.LessOrEqual(t, heap(), memory+int(grows)+heapNoise)
}
