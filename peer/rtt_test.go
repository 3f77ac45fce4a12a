package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func TestRoundTripEstimate(t *testing.T) {
	var r roundTrip
	require.Equal(t, firstTimeout+time.Millisecond, r.timeout(time.Millisecond))

	r.sample(80 * time.Millisecond)
	require.Equal(t, 80*time.Millisecond, r.smoothed)
	require.Equal(t, 40*time.Millisecond, r.jitter)
	require.Equal(t, (100+40+10)*time.Millisecond, r.timeout(10*time.Millisecond))

	for range 200 {
		r.sample(80 * time.Millisecond)
	}
	require.Equal(t, 80*time.Millisecond, r.smoothed)
	require.Less(t, r.jitter, time.Microsecond)

	for i := range 400 {
		r.sample(time.Duration(70+20*(i%2)) * time.Millisecond)
	}
	require.InDelta(t, 80, float64(r.smoothed)/1e6, 2)
	require.InDelta(t, 10, float64(r.jitter)/1e6, 1)
}

func TestRoundTripSampleIsBounded(t *testing.T) {
	var r roundTrip
	r.sample(-time.Hour)
	require.Zero(t, r.smoothed)
	for range 1000 {
		r.sample(time.Hour)
	}
	require.LessOrEqual(t, r.smoothed, maxSample)
	require.LessOrEqual(t, r.jitter, maxSample)
}

// A packet that lay in the socket of an end that stood still, or whose acknowledgement did, says nothing about the
// network: where nothing is sent but what keeps alive, it would be long before others outweigh it.
func TestAnEndThatStoodStillGivesNoSample(t *testing.T) {
	for _, stop := range []time.Duration{1100 * ms, 2 * time.Second, 30 * time.Second} {
		c := newTestConn(1, 64)
		finish(t, c, true, 1, 0) // 1
		hear(t, c, 1, 80*ms)
		finish(t, c, true, 2, 90*ms)      // 2 meets the end that stands still,
		finish(t, c, true, 3, stop-90*ms) // 3 as well,
		finish(t, c, true, 4, stop+80*ms) // and 4 is on its way when it goes on.
		for n := range 3 {
			hear(t, c, 2+n, stop+time.Duration(81+n)*ms)
		}
		rtt, jitter := c.RTT()
		require.Equal(t, 80*ms, rtt)
		require.Equal(t, 40*ms, jitter)
		finish(t, c, true, 5, stop+100*ms) // 5
		hear(t, c, 5, stop+180*ms)
		rtt, jitter = c.RTT()
		require.Equal(t, 80*ms, rtt)
		require.Equal(t, 30*ms, jitter, "what was sent afterwards counts")
	}
}

// A long way and a remote end that speaks seldom are no end that stands still, and neither is the time before it spoke.
func TestLongWaysAndSeldomWordsGiveSamples(t *testing.T) {
	for _, every := range []time.Duration{ms, time.Second, 4 * time.Second, 20 * time.Second} {
		c := newTestConn(1, 64)
		const first = time.Hour
		for n := range uint64(40) { // One packet comes in and one goes out, answered four later.
			now := first + time.Duration(n)*every
			hear(t, c, int(n)-3, now)
			finish(t, c, true, tick.Tick(n), now) // n+1
		}
		rtt, jitter := c.RTT()
		require.Equal(t, min(4*every, maxSample), rtt)
		require.Less(t, jitter, rtt/10+time.Duration(1), "every %v", every)
	}
	c := newTestConn(1, 64)
	finish(t, c, true, 1, time.Hour)
	hear(t, c, 1, time.Hour+80*ms)
	rtt, _ := c.RTT()
	require.Equal(t, 80*ms, rtt, "the first thing that is heard")
}

// hear reads and accepts a packet that acknowledges another, or none that is 0 or below.
func hear(t *testing.T, c *Conn, ack int, now time.Duration) {
	t.Helper()
	deliver(t, c, handmade(wire.PacketHeader{
		Sequence: wire.Sequence(c.received.newest + 1), HasAck: ack > 0, Ack: wire.Sequence(max(ack, 0)),
	}, nil), now, nil)
}

func TestLossRate(t *testing.T) {
	var l lossRate
	require.Zero(t, l.rate())
	for i := range 10000 {
		l.add(i%5 == 0)
	}
	require.InDelta(t, 0.2, l.rate(), 0.02)
	for range 3 * lossMemory {
		l.add(false)
	}
	require.Less(t, l.rate(), 0.05)
	for range 1000 {
		l.withdraw()
	}
	require.Zero(t, l.rate())
}

// A link that holds everything for 1.5 s and then delivers a burst, again and again, is measured all the same.
func TestSamplesDoNotEndOnALinkOfBursts(t *testing.T) {
	type flying struct {
		p   []byte
		due time.Duration
	}
	held := func(d time.Duration) time.Duration { // the link is open 300 ms in each 1.8 s
		if at := d % (1800 * ms); at >= 300*ms {
			return d - at + 1800*ms
		}
		return d
	}
	ends := [2]*Conn{newTestConn(1, 1024), newTestConn(1, 1024)}
	var to [2][]flying
	for n := range 6000 {
		now := time.Duration(n) * 10 * ms
		for i, c := range ends {
			for len(to[i]) > 0 && to[i][0].due <= now {
				deliver(t, c, to[i][0].p, now, nil)
				to[i] = to[i][1:]
			}
			c.DetectLost(now, nil)
			if c.CanSend() {
				to[1-i] = append(to[1-i], flying{finish(t, c, true, 1, now), held(now + 200*ms)})
			}
		}
	}
	for _, c := range ends {
		require.True(t, c.rtt.sampled)
		require.Greater(t, c.rtt.smoothed, 400*ms)
	}
}
