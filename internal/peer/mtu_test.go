package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/wire"
)

// pathGame is a sender whose packets cross a path that takes so many bytes. Each step takes a moment.
type pathGame struct {
	p      mtuSearch
	number uint64
	now    time.Duration
	probes int
}

// send sends a packet and tells what became of it.
func (g *pathGame) send(n, takes int, probe bool) {
	g.number++
	g.now += 10 * time.Millisecond
	g.p.sent(g.number, n, 1<<20, probe)
	if n <= takes {
		g.p.acked(g.number, n)
	} else {
		g.p.lost(g.number, n, g.now)
	}
}

// step sends a packet as large as may be, a small one, and the probe that is due.
func (g *pathGame) step(takes int) {
	g.send(g.p.size, takes, false)
	g.send(9, takes, false)
	if n := g.p.due(g.now); n > 0 {
		g.probes++
		g.send(n, takes, true)
	}
}

func TestPathFindsItsSize(t *testing.T) {
	for _, c := range []struct{ base, most, takes, least, probes int }{
		{512, 1200, 1500, 1200, 1},
		{512, 1200, 1200, 1200, 1},
		{512, 1200, 1199, 1199 - probeStep, 31},
		{512, 1200, 548, 512, 31},
		{512, 1200, 1000, 1000 - probeStep, 31},
		{512, 8192, 1472, 1472 - probeStep, 60},
		{512, 512, 1500, 512, 0},
		{512, 256, 1500, 256, 0},
	} {
		g := pathGame{p: newMTUSearch(c.base, c.most, 1)}
		for range 100 {
			g.step(c.takes)
		}
		require.LessOrEqual(t, g.p.size, c.takes, "%+v", c)
		require.GreaterOrEqual(t, g.p.size, c.least, "%+v", c)
		require.LessOrEqual(t, g.probes, c.probes, "%+v", c)
		require.Equal(t, g.p.size < c.most, g.p.settled(), "%+v", c)
	}
}

// An end that sends little sends no probe: its packets fit in any case.
func TestSmallPacketsAreNoReasonToProbe(t *testing.T) {
	g := pathGame{p: newMTUSearch(512, 1200, 1)}
	for range 1000 {
		g.send(512-probeStep, 1500, false)
		require.Zero(t, g.p.due(g.now))
	}
	g.send(512, 1500, false)
	require.Equal(t, 1200, g.p.due(g.now))
}

// A path that takes less than before is noticed by large packets that are lost where small ones arrive, and not by a link that is down.
func TestPathThatShrinks(t *testing.T) {
	g := pathGame{p: newMTUSearch(512, 1200, 1)}
	for range 10 {
		g.step(1500)
	}
	require.Equal(t, 1200, g.p.size)
	for range 1000 {
		g.send(1200, 0, false) // Nothing arrives.
	}
	require.Equal(t, 1200, g.p.size, "the link is down")
	g.step(1500)
	for range blackHole {
		require.Equal(t, 1200, g.p.size)
		g.step(600)
	}
	require.Equal(t, 512, g.p.size)
	for range 100 {
		g.step(600)
	}
	require.GreaterOrEqual(t, g.p.size, 600-probeStep)
	require.LessOrEqual(t, g.p.size, 600)
	g.now += probeAgain
	g.step(1500)
	require.Equal(t, 1200, g.p.size, "and back")
}

// Where all packets are large, one of the base tells a path that shrank from a link that is down.
func TestPathThatShrinksUnderLargePacketsAlone(t *testing.T) {
	g := pathGame{p: newMTUSearch(512, 1200, 1)}
	for range 10 {
		g.step(1500)
	}
	for range blackHole {
		require.Zero(t, g.p.due(g.now))
		g.send(1200, 600, false)
	}
	for range 5 { // First the link is down.
		require.Equal(t, 512, g.p.due(g.now))
		g.send(512, 0, true)
		require.Equal(t, 1200, g.p.size)
	}
	g.send(512, 600, true)
	require.Equal(t, 512, g.p.size)
}

// A path that took less is searched again with one probe each time.
func TestASettledPathIsTriedAgainNowAndThen(t *testing.T) {
	g := pathGame{p: newMTUSearch(512, 1200, 1)}
	for range 100 {
		g.step(800)
	}
	size, before, since := g.p.size, g.probes, g.now
	for g.now < since+60*time.Second {
		g.step(800)
	}
	require.Equal(t, size, g.p.size)
	require.LessOrEqual(t, g.probes-before, 6)
	require.Positive(t, g.probes-before)
}

// Outcomes of packets that were sent before the path began say nothing about it.
func TestAnotherPathStartsAnew(t *testing.T) {
	p := newMTUSearch(512, 1200, 10)
	p.acked(9, 1200)
	require.Equal(t, 512, p.size)
	for n := range uint64(20) {
		p.lost(n%10, 1200, 0)
	}
	p.acked(10, 1200)
	require.Equal(t, 1200, p.size)
}

// Any outcomes, in any order, against what a dumb observer knows: never above what arrived or the base, never above the most, a probe
// is between what arrived and the most, and there is one at a time.
func TestPathByRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, most := 512, rapid.IntRange(256, 8192).Draw(t, "most")
		p := newMTUSearch(base, most, 1)
		type flight struct {
			number uint64
			bytes  int
		}
		now, number, arrived := time.Duration(0), uint64(0), 0
		var open []flight
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 1000).Draw(t, "ms")) * time.Millisecond
			number++
			n := rapid.IntRange(9, most).Draw(t, "bytes")
			probe := false
			if due := p.due(now); due > 0 {
				require.Zero(t, p.probe, "one at a time")
				if due != base {
					require.Greater(t, due, p.size)
				}
				require.LessOrEqual(t, due, most)
				n, probe = due, true
			}
			p.sent(number, n, 1<<20, probe)
			waits := open[:0]
			for _, f := range append(open, flight{number, n}) {
				switch rapid.IntRange(0, 3).Draw(t, "fate") {
				case 0:
					p.acked(f.number, f.bytes)
					arrived = max(arrived, f.bytes)
				case 1:
					p.lost(f.number, f.bytes, now)
				default:
					waits = append(waits, f)
				}
			}
			open = waits
			require.LessOrEqual(t, p.size, max(min(base, most), arrived))
			require.LessOrEqual(t, p.size, most)
			require.GreaterOrEqual(t, p.size, min(base, most))
			require.LessOrEqual(t, p.size, p.high)
		}
	})
}

// A probe has exactly its size, and its loss counts neither as loss nor in the rate of it.
func TestProbesOfAConn(t *testing.T) {
	c := NewConn(ConnConfig{Check: wire.NewChecksum(1, 1), BaseSize: 512})
	require.Equal(t, 512, c.PathSize())
	require.Equal(t, DefaultPacketSize, c.SettledSize())
	buf := make([]byte, 2000)
	full := func() {
		b := c.Begin(buf)
		b.Limit(c.PathSize())
		b.Add(wire.MessageKeepAlive, 0, b.Room())
		require.Len(t, c.Finish(&b, 1, 0), c.PathSize())
	}
	require.Zero(t, c.ProbeDue(0))
	full()
	n := c.ProbeDue(0)
	require.Equal(t, DefaultPacketSize, n)
	b := c.BeginProbe(buf, n)
	probe := b.Sequence()
	b.Add(wire.MessageKeepAlive, 0, b.Room())
	require.Len(t, c.Finish(&b, 1, 0), n)
	require.Zero(t, c.ProbeDue(0), "one is under way")
	c.DetectLost(time.Hour, nil)
	require.EqualValues(t, 1, c.Stats().ProbesLost)
	require.EqualValues(t, 1, c.Stats().Lost, "the packet before it")
	require.NotZero(t, probe)
	require.Equal(t, n, c.ProbeDue(time.Hour))
	c.SetPacketSize(300)
	require.Equal(t, 300, c.PathSize())
	require.Zero(t, c.ProbeDue(time.Hour))
}

// A packet that congestion control made smaller than the path wants to be larger: else a game that sends such ones keeps the base size.
func TestAPacketThatWasCutWantsALargerPath(t *testing.T) {
	p := newMTUSearch(512, 1200, 0)
	p.sent(1, 400, 456, false)
	require.Zero(t, p.due(0), "it is smaller than it may be")
	p.sent(2, 470, 456, false)
	require.Zero(t, p.due(0), "it has a single record")
	p.sent(3, 440, 456, false)
	require.Equal(t, 1200, p.due(0))
	p = newMTUSearch(512, 1200, 0)
	p.sent(1, 122, 122, false)
	require.Zero(t, p.due(0), "the start has no room for a probe")
}
