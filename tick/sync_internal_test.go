package tick

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSyncSamplesATickOnce gives one clock the first packet of each tick, and another 36 packets of it, some of them
// ticks later. Both have the same samples and the same time. If each packet were a sample, 64 samples would reach back 2
// ticks.
func TestSyncSamplesATickOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	one, all := NewSync(0, 0), NewSync(0, 0)
	for n := Tick(1); n <= 400; n++ {
		now := time.Duration(n)*time.Second/30*1001/1000 + time.Duration(random.IntN(20))*time.Millisecond
		one.Sample(n, now)
		for k := range 36 {
			now += 100 * time.Microsecond
			all.Sample(n, now-100*time.Microsecond)
			if k%5 == 0 {
				all.Sample(n-Tick(random.IntN(4)), now)
			}
		}
		one.touch(now)
		for _, s := range []*Sync{&one, &all} {
			s.RTT(50*time.Millisecond, 0)
			s.Advance(now)
			s.Feedback(s.Tick(), OneTick)
		}
		require.Equal(t, min(int(n), seenPoints), all.seen.filled)
		require.Equal(t, one.seen.points, all.seen.points)
		require.Equal(t, one.pace, all.pace)
		require.Equal(t, one.Server(now), all.Server(now))
		require.Equal(t, one.Input(), all.Input())
	}
}

// A tick far ahead, without confirmation, does not block the following samples.
func TestSyncFollowsATimeThatStepped(t *testing.T) {
	s, now := NewSync(0, 0), time.Duration(0)
	for n := Tick(1000); n < 1100; n++ {
		now += time.Second / 30
		s.Sample(n, now)
		if n == 1050 {
			s.Sample(1<<40, now)
		}
	}
	require.InDelta(t, 1099, s.Server(now).Sub(Time{}).Float(), 1)
}
