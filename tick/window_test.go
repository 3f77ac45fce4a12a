package tick_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/tick"
)

func TestVerdict(t *testing.T) {
	for i, name := range []string{"Accepted", "Late", "Duplicate", "TooOld", "TooFar", "Verdict(5)"} {
		require.Equal(t, name, tick.Verdict(i).String())
	}
}

// Case 53: the ticks that a client can name.
func TestCase53InputTicks(t *testing.T) {
	for _, server := range []tick.Tick{1000, 1<<31 - 50, 1 << 31, 1<<32 - 50, 1 << 32, 1 << 60} {
		w := tick.NewWindow(64, 64)
		for _, c := range []struct {
			input tick.Tick
			want  tick.Verdict
		}{
			{server + 1, tick.Accepted},
			{server + 1, tick.Duplicate},
			{server, tick.Late},
			{server - 64, tick.Late},
			{server - 64, tick.Duplicate},
			{server - 65, tick.TooOld},
			{server + 64, tick.Accepted},
			{server + 65, tick.TooFar},
			{server + 1<<31, tick.TooFar},
			{server - 1<<31, tick.TooOld},
			{server + 1<<32, tick.TooFar},
			{server - 1<<32, tick.TooOld},
			{math.MaxInt64, tick.TooFar},
			{math.MinInt64, tick.TooOld},
			{0, tick.TooOld},
			{-1, tick.TooOld},
			{server + 64, tick.Duplicate},
		} {
			require.Equal(t, c.want, w.Judge(c.input, server), "%d at %d", c.input, server)
		}
		require.True(t, w.Holds(server+1))
		require.True(t, w.Holds(server-64))
		require.False(t, w.Holds(server+2))
		require.False(t, w.Holds(server+65))
		require.False(t, w.Holds(-5))
	}
	require.Equal(t, tick.Span(0), tick.Early(11, 10), "just in time")
	require.Equal(t, -tick.OneTick, tick.Early(10, 10), "its tick has begun")
	require.Equal(t, 3*tick.OneTick, tick.Early(14, 10))
	require.Equal(t, tick.Span(math.MaxInt64), tick.Early(1<<40, 10))
}

// An input in time is early to a fraction of a tick. A late input is late by whole ticks.
func TestEarlyAtCountsPartsOfATick(t *testing.T) {
	const quarter = tick.OneTick / 4
	for _, c := range []struct {
		input tick.Tick
		came  tick.Time // 10 is the newest tick that began.
		want  tick.Span
	}{
		{11, tick.Time{Tick: 10}.Add(3 * quarter), quarter},
		{11, tick.Time{Tick: 10}, tick.OneTick},
		{11, tick.Time{Tick: 11}.Add(quarter), 0}, // Read late, in the frame of its tick.
		{13, tick.Time{Tick: 11}.Add(quarter), 2 * tick.OneTick},
		{13, tick.Time{Tick: 10}.Add(quarter), 3*tick.OneTick - quarter},
		{11, tick.Time{Tick: 8}, 3 * tick.OneTick}, // The server hung.
		{10, tick.Time{Tick: 10}.Add(quarter), -tick.OneTick},
		{10, tick.Time{Tick: 8}, -tick.OneTick},
	} {
		require.Equal(t, c.want, tick.EarlyAt(c.input, 10, c.came), "%d at %v", c.input, c.came)
	}
}

// A server's first tick has no tick before it.
func TestWindowAtTheStart(t *testing.T) {
	w := tick.NewWindow(64, 64)
	require.Equal(t, tick.Accepted, w.Judge(1, tick.None))
	require.Equal(t, tick.TooOld, w.Judge(0, 1))
	require.False(t, w.Holds(0))
	narrow := tick.NewWindow(-1, -1)
	require.Equal(t, tick.Late, narrow.Judge(5, 5))
	require.Equal(t, tick.TooOld, narrow.Judge(4, 5))
	require.Equal(t, tick.TooFar, narrow.Judge(6, 5))
}

// TestCase53Flood sends a hundred inputs a tick, at random ticks around the server's. It accepts as many as ticks pass,
// plus the reach once.
func TestCase53Flood(t *testing.T) {
	random := rand.New(rand.NewPCG(53, 53))
	w := tick.NewWindow(64, 64)
	taken := 0
	const first, ticks = tick.Tick(1<<32 - 1000), 2000
	for server := first; server < first+ticks; server++ {
		for range 100 {
			input := server + tick.Tick(random.Int64N(400)) - 200
			if verdict := w.Judge(input, server); verdict == tick.Accepted || verdict == tick.Late {
				taken++
			}
		}
	}
	require.LessOrEqual(t, taken, ticks+128)
	require.Greater(t, taken, ticks/2)
	casebook.Injected(t, 100*ticks, "inputs of random ticks")
}

// TestCase55Window compares the window with a map that never forgets, for many reaches, across the limits of 31 and 32
// bits.
func TestCase55Window(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		past, ahead := rapid.IntRange(0, 70).Draw(t, "past"), rapid.IntRange(0, 70).Draw(t, "ahead")
		w := tick.NewWindow(past, ahead)
		server := rapid.SampledFrom([]tick.Tick{1, 1<<31 - 100, 1<<32 - 100}).Draw(t, "start")
		seen := map[tick.Tick]bool{}
		for range rapid.IntRange(0, 120).Draw(t, "steps") {
			server += tick.Tick(rapid.IntRange(0, 5).Draw(t, "go"))
			off := rapid.OneOf(rapid.Int64Range(-80, 80), rapid.Int64()).Draw(t, "off")
			input := server + tick.Tick(off)
			want := tick.Accepted
			switch {
			case input < 1 || off < int64(-past):
				want = tick.TooOld
			case off > int64(ahead):
				want = tick.TooFar
			case seen[input]:
				want = tick.Duplicate
			case off <= 0:
				want = tick.Late
			}
			if off > 0 && input < 0 { // The sum overflowed: not a tick.
				want = tick.TooOld
			}
			require.Equal(t, want, w.Judge(input, server))
			if want <= tick.Late {
				seen[input] = true
			}
			if want != tick.TooFar && want != tick.TooOld {
				require.True(t, w.Holds(input))
			}
		}
	})
}

func TestWindowAllocatesNothing(t *testing.T) {
	w, server := tick.NewWindow(64, 64), tick.Tick(0)
	alloctest.Zero(t, 100, func() {
		server++
		w.Judge(server+3, server)
		w.Holds(server)
	})
}
