package nats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A lease counts from the question, ends on either clock, and one that is dropped is over at once.
func TestALeaseEnds(t *testing.T) {
	l := &lease{length: time.Second}
	require.Zero(t, l.held(moment{0, 0}))
	l.grant(moment{mono: 10 * time.Second, wall: 50 * time.Second}, 7)
	require.EqualValues(t, 7, l.held(moment{mono: 10900 * time.Millisecond, wall: 50900 * time.Millisecond}))
	require.Zero(t, l.held(moment{mono: 11 * time.Second, wall: 50900 * time.Millisecond}))
	require.Zero(t, l.held(moment{mono: 10100 * time.Millisecond, wall: 60 * time.Second}), "the machine slept: its monotonic clock stood still")
	require.EqualValues(t, 7, l.last())
	l.drop()
	require.Zero(t, l.held(moment{mono: 10100 * time.Millisecond, wall: 50100 * time.Millisecond}))
}

// Whenever somebody may end a lease, its owner has stopped before: for each moment of the renewals and each delay of the news.
func TestNobodyIsBuriedAlive(t *testing.T) {
	const length = time.Second
	for asked := time.Duration(0); asked < 500*time.Millisecond; asked += 7 * time.Millisecond {
		for delay := time.Duration(0); delay < 3*time.Second; delay += 101 * time.Millisecond {
			l, d := &lease{length: length}, newDeaths(length)
			l.grant(moment{asked, asked}, 1)
			d.saw("owner", 1, asked+delay)
			for now := asked + delay; ; now += 10 * time.Millisecond {
				d.wrote(now)
				if len(d.due(now)) > 0 {
					require.Zero(t, l.held(moment{now, now}), "asked at %v, told after %v, buried at %v", asked, delay, now)
					require.Less(t, now-asked-delay, length*5/4, "and it is buried in time")
					break
				}
			}
		}
	}
}

// While the directory takes no writes nobody is buried, and behind that everyone has time to renew.
func TestNobodyIsBuriedForAnOutage(t *testing.T) {
	d := newDeaths(time.Second)
	now := time.Duration(0)
	step := func() { now += 50 * time.Millisecond }
	for range 100 {
		step()
		d.wrote(now)
		d.saw("alive", uint64(now), now)
		d.saw("dead", uint64(now), now)
		require.Empty(t, d.due(now))
	}
	for range 200 { // No writes: nobody can renew, and this process cannot know who lives.
		step()
		require.Empty(t, d.due(now))
	}
	back := now
	for len(d.due(now)) == 0 {
		step()
		d.wrote(now)
		if now-back > 200*time.Millisecond {
			d.saw("alive", uint64(now), now)
		}
	}
	require.GreaterOrEqual(t, now-back, d.grace)
	require.Less(t, now-back, time.Second)
	require.Equal(t, "dead", d.due(now)[0].name)
	require.Len(t, d.due(now), 1)
	d.gone("dead")
	require.Empty(t, d.due(now))
}
