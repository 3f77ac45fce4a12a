package nettest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
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

// flat fails unless the heap stays within 2 % of its size at the start while f runs several times.
func flat(t *testing.T, times int, f func()) {
	t.Helper()
	first := heap()
	for i := range times {
		f()
		now := heap()
		t.Logf("%d: %.2f MB at the start, %.2f MB now", i, float64(first)/1e6, float64(now)/1e6)
		if testing.Verbose() {
			continue
		}
		require.LessOrEqual(t, now, first+first/50, "the heap grows with those who have left")
	}
}

// Clients that join, stay for two seconds and close in order leave nothing behind: 1200 of them, and 20 entities.
func TestCase60VisitsLeaveNoMemory(t *testing.T) {
	g := &walkers{count: 20}
	n := nettest.New(t, nettest.Config{Protocol: protocol(), Seed: 60, Link: transport.Link{Delay: 20 * time.Millisecond}, Game: g.play})
	visits(n, 100, 2*time.Second, 300*time.Millisecond, inOrder)
	flat(t, 4, func() { visits(n, 300, 2*time.Second, 300*time.Millisecond, inOrder) })
}

func inOrder(_ int, c *nettest.Client) (gone bool) {
	c.Close()
	return false
}
