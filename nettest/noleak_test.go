package nettest_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

var (
	// Any number of games: go test ./nettest -run TestNothingHiddenChangesADatagram -leaks 1000
	leaks = flag.Int("leaks", 10, "random games of TestNothingHiddenChangesADatagram")
	// One that failed, again: go test ./nettest -run TestNothingHiddenChangesADatagram -leaks 1 -leak-seed N
	leakSeed = flag.Uint64("leak-seed", 1, "seed of the first game; the next has the next number")
)

// TestNothingHiddenChangesADatagram is TestNothingHiddenChangesAByte of package snapshot for all of it: a server and its world,
// a client under test, another one that sees everything, and at times one that joins. Each random game is played twice. The first client's sight is the
// same both times; what it may not is another each time: the components and the births and deaths of hidden entities, whom they
// name, their groups, parents and collections, what is said about them and to whom, and which of them a visible entity, a message or an
// element of a collection names. Every datagram to that client has to be the same, byte by byte and at the same time, and so has all
// that it can ask of its own end, and all that the server says about it.
//
// What may show all the same, and so is the same both times: network indexes, which are handed out in order (hidden entities
// are born and die at the same times as long as visible ones are born after), and what is counted for all clients together:
// Stats of the server, its limits (SECURITY.md). ClientStats.Waiting, which no client is told of, counts messages about what is
// still to come as they were sent: whom they name is taken out when they leave.
func TestNothingHiddenChangesADatagram(t *testing.T) {
	met := leakMet{}
	count := *leaks
	if testing.Short() {
		count = min(count, 3)
	}
	for n := range uint64(count) {
		seed := *leakSeed + n
		one, other := playLeak(t, seed, 0, -1, met), playLeak(t, seed, 1, -1, met)
		if at := one.differs(other); at >= 0 {
			a, b := playLeak(t, seed, 0, at, leakMet{}), playLeak(t, seed, 1, at, leakMet{})
			t.Fatalf("-leaks 1 -leak-seed %d: number %d of %d and %d is\n%s\nand\n%s\n%s", seed, at, len(one.told), len(other.told),
				a.shown, b.shown, strings.Join(a.trace, "\n"))
		}
		met["datagrams"] += len(one.told)
	}
	t.Log(met)
	if testing.Short() {
		return
	}
	if *leaks >= 10 {
		for _, what := range []string{"births", "hidden births", "hidden deaths", "own writes", "answers", "refusals", "messages", "hidden messages",
			"collections", "hidden collections", "blind aims", "hidden components", "hides", "shows", "lost", "others that join", "hidden inputs"} {
			require.NotZero(t, met[what], "no game met: %s", what)
		}
	}
}

// leakMet counts what games met.
type leakMet map[string]int

// leakTold is all that a client was told and could ask, as hashes, and one of these in full.
type leakTold struct {
	told  []uint64
	shown string
	trace []string
}

// tell notes one thing; at is the number of the one that is to be shown.
func (l *leakTold) tell(at int, what string, show func() string) {
	if len(l.told) == at {
		l.shown = what + "\n" + show()
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(what))
	l.told = append(l.told, hash.Sum64())
}

// differs is the number of the first thing that differs, -1 where nothing does.
func (l *leakTold) differs(m *leakTold) int {
	for i := range min(len(l.told), len(m.told)) {
		if l.told[i] != m.told[i] {
			return i
		}
	}
	if len(l.told) != len(m.told) {
		return min(len(l.told), len(m.told))
	}
	return -1
}

// playLeak plays one of the two games of a seed.
func playLeak(t *testing.T, seed, which uint64, show int, met leakMet) *leakTold {
	g := newLeakGame(t, seed, which, met)
	told := &leakTold{}
	n := g.net
	n.OnSend(func(_, to transport.Addr, datagram []byte) {
		if to == g.address() {
			told.tell(show, fmt.Sprintf("at %v: %x", n.Now(), datagram), func() string { return string(inspect.AppendClientDump(nil, n.Clients[0].Client, datagram)) })
		}
	})
	for range 60 {
		n.Step()
	}
	require.True(t, n.RunUntil(5*time.Second, n.Connected))
	n.SetLinks(n.Clients[0], g.down, g.up)
	n.SetLinks(n.Clients[1], bad(g.secret.Float64()/2), bad(g.secret.Float64()/2))
	g.began = n.Frame() + 1
	third := g.began + g.secret.IntN(2*g.frames)
	for n.Frame() < g.began+g.frames {
		if n.Step(); n.Frame() == third {
			n.Join()
			met["others that join"]++
		}
		if n.Frame()%4 == 0 {
			told.tell(show, g.known(n.Clients[0]), func() string { return "" })
		}
	}
	met["lost"] += int(n.Clients[0].Stats().Packets.Lost)
	told.trace = g.trace
	return told
}

// known is all that a client can ask of its end, and what the server says about it.
func (g *leakGame) known(c *nettest.Client) string {
	var b strings.Builder
	fmt.Fprintf(&b, "frame %d: %+v\n", g.net.Frame(), c.Stats())
	for e := range c.Replica().All {
		fmt.Fprintf(&b, "%+v", e)
		for row := range c.Replica().Schema().Rows() {
			at, ok := c.Replica().LanesAt(e.ID.Index, row, e.Tick)
			before, okBefore := c.Replica().LanesAt(e.ID.Index, row, e.Tick-5)
			fmt.Fprintf(&b, " %v %v %v %v %v", c.Replica().Row(e.ID.Index, row), at, ok, before, okBefore)
		}
		fmt.Fprintf(&b, " %v %v\n", elements(g.list.Of(c.Client, e.ID)), g.set.Of(c.Client, e.ID).Len())
	}
	stats, ok := g.net.Server.ClientStats(c.ID())
	stats.Waiting = 0
	fmt.Fprintf(&b, "%v %+v\n%v", ok, stats, g.heard)
	return b.String()
}
