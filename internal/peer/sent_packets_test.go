package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// readAck hands c a packet of the remote end's, numbered seq, with this ack.
func readAck(c *Conn, seq, ack uint64, bits uint32, now time.Duration, out Outcome) error {
	h := wire.PacketHeader{Sequence: wire.Sequence(seq), HasAck: true, Ack: wire.Sequence(ack), AckBits: bits}
	_, err := c.Read(handmade(h, nil), now, out)
	return err
}

func TestCase19AckOfUnsent(t *testing.T) {
	for _, first := range append(startSequences(), 1) {
		const sent = 10
		last := first + sent - 1
		for name, c := range map[string]struct {
			ack  uint64
			bits uint32
			want error
		}{
			"newest":                      {last, 0, nil},
			"first":                       {first, 0, nil},
			"all":                         {last, 1<<(sent-1) - 1, nil},
			"next":                        {last + 1, 0, ErrAckOfUnsent},
			"far ahead":                   {last + 32767, 0, ErrAckOfUnsent},
			"next, all before right":      {last + 1, 1<<sent - 1, ErrAckOfUnsent},
			"before the first":            {first + 65535, 0, ErrAckOfUnsent},
			"long before the first":       {first + 65536 - 50, 0, ErrAckOfUnsent},
			"before the first in bits":    {last, 1 << (sent - 1), ErrAckOfUnsent},
			"before the first, last bit":  {last, 1 << 31, ErrAckOfUnsent},
			"all bits":                    {last, 1<<32 - 1, ErrAckOfUnsent},
			"all bits from the first":     {first, 1<<32 - 1, ErrAckOfUnsent},
			"out of reach is not judged":  {first + 65536 - 64, 0, nil},
			"half the circle is an old":   {last + 32768, 0, nil},
			"just beyond half the circle": {last + 32769, 1<<32 - 1, nil},
		} {
			conn := newTestConn(first, 64)
			for range sent {
				finish(t, conn, true, 1, 0)
			}
			before := *conn
			before.sent.ring = append([]record(nil), conn.sent.ring...)
			var out log
			err := readAck(conn, first, c.ack, c.bits, ms, &out)
			require.ErrorIs(t, err, c.want, name)
			if c.want != nil {
				require.Empty(t, out.acked, name)
				require.Equal(t, uint64(1), conn.Stats().AcksOfUnsent)
				casebook.Injected(t, conn.Stats().AcksOfUnsent, "acknowledgements of what was never sent")
				conn.stats.AcksOfUnsent = 0
				require.Equal(t, before, *conn, "%s: an illegal ack is applied not even in part", name)
			}
		}
	}
}

func TestCase19AckBeforeTheStart(t *testing.T) {
	for _, first := range append(startSequences(), 1) {
		require.ErrorIs(t, readAck(newTestConn(first, 64), first, first-1, 0, 0, nil), ErrAckOfUnsent)
		require.ErrorIs(t, readAck(newTestConn(first, 64), first, first, 0, 0, nil), ErrAckOfUnsent)
	}
}

func TestCase19AckOfSkipped(t *testing.T) {
	for _, first := range startSequences() {
		c := newTestConn(first, 64)
		finish(t, c, true, 1, 0)
		c.Skip()
		finish(t, c, true, 1, 0)
		require.ErrorIs(t, readAck(c, first, first+1, 0, 0, nil), ErrAckOfUnsent, "in the ack")
		require.ErrorIs(t, readAck(c, first, first+2, 3, 0, nil), ErrAckOfUnsent, "in the bits")
		var out log
		require.NoError(t, readAck(c, first, first+2, 2, 0, &out))
		require.Equal(t, []uint64{first, first + 2}, out.acked)
		c.DetectLost(time.Hour, &out)
		require.Empty(t, out.lost, "a number without a packet is not lost")
	}
}

func TestOldAcksAreIgnored(t *testing.T) {
	for _, first := range startSequences() {
		c := newTestConn(first, 64)
		for range 64 {
			finish(t, c, true, 1, 0)
		}
		c.DetectLost(time.Hour, nil)
		for range 50 {
			finish(t, c, true, 2, time.Hour)
		}
		var out log
		// The ring holds first+50..first+113: of this ack only 50..52 are in reach.
		require.NoError(t, readAck(c, first, first+52, 1<<32-1, time.Hour, &out))
		require.Equal(t, []uint64{first + 50, first + 51, first + 52}, out.acked)
		require.NoError(t, readAck(c, first+1, first+20, 1<<32-1, time.Hour, &out))
		require.Len(t, out.acked, 3)
	}
}

// sendAt sends an eliciting packet at each of the ticks.
func sendAt(t *testing.T, c *Conn, ticks ...tick.Tick) {
	for _, at := range ticks {
		finish(t, c, true, at, 0)
	}
}

func TestLostByThreeOfLaterTicks(t *testing.T) {
	t.Run("of the same tick they do not count", func(t *testing.T) {
		c, out := newTestConn(1, 64), log{}
		sendAt(t, c, 1, 1, 1, 1, 1, 1, 1, 1)
		require.NoError(t, readAck(c, 1, 8, 0x3f, 0, &out))
		c.DetectLost(0, &out)
		require.Empty(t, out.lost)
	})
	t.Run("two are not enough", func(t *testing.T) {
		c, out := newTestConn(1, 64), log{}
		sendAt(t, c, 1, 2, 2)
		require.NoError(t, readAck(c, 1, 3, 1, 0, &out))
		require.NoError(t, readAck(c, 2, 3, 1, 0, &out))
		c.DetectLost(0, &out)
		require.Empty(t, out.lost, "the same two twice are two")
	})
	t.Run("one that is acknowledged again and again is one", func(t *testing.T) {
		c, out := newTestConn(1, 1024), log{}
		for at := range tick.Tick(200) {
			finish(t, c, true, 1+at, 0)
		}
		require.NoError(t, readAck(c, 1, 10, 0, 0, &out))
		require.NoError(t, readAck(c, 2, 200, 0, 0, &out)) // the first is too far back to be remembered as a bit
		require.NoError(t, readAck(c, 3, 10, 0, 0, &out))
		require.NoError(t, readAck(c, 4, 10, 0, 0, &out))
		c.DetectLost(0, &out)
		require.Empty(t, out.lost)
		require.Equal(t, []uint64{10, 200}, out.acked)
	})
	t.Run("one is after many in order, whether they elicit or not", func(t *testing.T) {
		c, out := newTestConn(1, 256), log{}
		for n := range uint64(2 * settling) {
			finish(t, c, n%2 == 0, 1, 0)
			require.NoError(t, readAck(c, 1+n, 1+n, 0, 0, &out))
		}
		sendAt(t, c, 1, 2)
		require.NoError(t, readAck(c, 2*settling+1, 2*settling+2, 0, 0, &out))
		c.DetectLost(0, &out)
		require.Equal(t, []uint64{2*settling + 1}, out.lost)
	})
	t.Run("three are", func(t *testing.T) {
		c, out := newTestConn(1, 64), log{}
		sendAt(t, c, 1, 1, 2, 3, 3)
		require.NoError(t, readAck(c, 1, 5, 3, 0, &out)) // 3, 4, 5
		c.DetectLost(0, &out)
		require.Equal(t, []uint64{1, 2}, out.lost)
		c.DetectLost(time.Hour, &out)
		require.Equal(t, []uint64{1, 2}, out.lost)
	})
}

func TestStepOfALaterTick(t *testing.T) {
	t.Run("packets that elicit nothing count as later ones", func(t *testing.T) {
		c, out := newTestConn(1, 64), log{}
		sendAt(t, c, 1)
		for range 3 {
			finish(t, c, false, 2, 0)
		}
		require.NoError(t, readAck(c, 1, 4, 3, 0, &out))
		c.DetectLost(0, &out)
		require.Equal(t, []uint64{1}, out.lost)
		require.Empty(t, out.acked, "and have no outcome of their own")
	})
	t.Run("a tick that went back is still a later one", func(t *testing.T) {
		c, out := newTestConn(1, 64), log{}
		sendAt(t, c, 100, 40, 41, 42)
		require.NoError(t, readAck(c, 1, 4, 3, 0, &out))
		c.DetectLost(0, &out)
		require.Equal(t, []uint64{1}, out.lost)
		require.Equal(t, []tick.Tick{40, 41, 42}, out.ticks)
	})
}

func TestLostByTime(t *testing.T) {
	c, out := newTestConn(1, 64), log{}
	finish(t, c, true, 1, 0)
	c.DetectLost(firstTimeout+10*ms-1, &out)
	require.Empty(t, out.lost)
	c.DetectLost(firstTimeout+10*ms, &out)
	require.Equal(t, []uint64{1}, out.lost)

	// Its late ack is a sample of 400 ms: the timeout is 500 + 200 + 10 ms.
	require.NoError(t, readAck(c, 1, 1, 0, 400*ms, &out))
	require.Equal(t, []uint64{1}, out.acked)
	finish(t, c, true, 2, time.Second)
	c.DetectLost(time.Second+710*ms-1, &out)
	require.Len(t, out.lost, 1)
	c.DetectLost(time.Second+710*ms, &out)
	require.Equal(t, []uint64{1, 2}, out.lost)
}

func TestCase22LateAckIsToldOnce(t *testing.T) {
	c, out := newTestConn(1, 64), log{}
	for range 3 {
		finish(t, c, true, 1, 0)
	}
	c.DetectLost(time.Second, &out)
	require.Equal(t, []uint64{1, 2, 3}, out.lost)
	require.Equal(t, 1.0, c.Loss())
	for n := range uint64(4) {
		require.NoError(t, readAck(c, 1+n, 3, 3, time.Second, &out))
	}
	c.DetectLost(time.Hour, &out)
	require.Equal(t, []uint64{1, 2, 3}, out.lost)
	require.Equal(t, []uint64{1, 2, 3}, out.acked)
	require.Zero(t, c.Loss())
	s := c.Stats()
	require.Equal(t, [3]uint64{3, 3, 3}, [3]uint64{s.Acked, s.Lost, s.LateAcks})
}

func TestSilentPacketsAreNeverPending(t *testing.T) {
	c, out := newTestConn(1, 64), log{}
	for range 1000 {
		require.True(t, c.CanSend())
		finish(t, c, false, 1, 0)
		c.DetectLost(time.Hour, &out)
	}
	require.NoError(t, readAck(c, 1, 1000, 1<<32-1, time.Hour, &out))
	require.Empty(t, out.lost)
	require.Empty(t, out.acked)
	rtt, _ := c.RTT()
	require.Zero(t, rtt, "and give no sample")
}

func TestFullRingStopsSending(t *testing.T) {
	for _, first := range startSequences() {
		c, out := newTestConn(first, 64), log{}
		fill := func(now time.Duration) (n int) {
			for ; c.CanSend(); n++ {
				finish(t, c, true, tick.Tick(now), now)
			}
			return n
		}
		require.Equal(t, 48, fill(0), "a quarter is for signs of life")
		c.Skip()
		require.Equal(t, first+48, c.Next())

		// The timeout is too short, for nothing is known of the link: what is lost by it alone is awaited all the same.
		c.DetectLost(firstTimeout+10*ms, &out)
		require.Len(t, out.lost, 48)
		require.Equal(t, uint64(1), c.Stats().RingFull)
		require.Zero(t, fill(firstTimeout+10*ms))
		require.NoError(t, readAck(c, first, first+1, 1, 800*ms, &out))
		require.Equal(t, []uint64{first, first + 1}, out.acked)
		rtt, _ := c.RTT()
		require.Equal(t, 800*ms, rtt)
		require.Equal(t, 2, fill(800*ms), "an ack makes room")
		c.DetectLost(800*ms, &out)
		require.Equal(t, uint64(2), c.Stats().RingFull)

		// Once it is too long ago for an acknowledgement, the ring is used again.
		c.DetectLost(awaitedFor-1, &out)
		require.Zero(t, fill(awaitedFor-1))
		c.DetectLost(awaitedFor, &out)
		require.Equal(t, 46, fill(awaitedFor))
	}
}

func TestAFullRingHasRoomForSignsOfLife(t *testing.T) {
	c := newTestConn(1, 64)
	for c.CanSend() {
		finish(t, c, true, 1, 0)
	}
	require.False(t, c.CanSign(0), "something went out at this very time")
	signs := 0
	for now := time.Duration(0); now < awaitedFor; now += ms {
		c.DetectLost(now, nil)
		require.True(t, c.HasRoom())
		if c.CanSign(now) {
			finish(t, c, signs%2 == 0, 2, now)
			signs++
		}
	}
	require.InDelta(t, 8, signs, 1, "they last for as long as the others are awaited, though acknowledgements have taken half")

	c = newTestConn(1, 64)
	for c.CanSend() {
		finish(t, c, true, 1, 0)
	}
	for n := range uint64(100) {
		c.Accept(Incoming{Sequence: 1 + n, Eliciting: true}, 0)
		if c.CanSign(0) {
			require.True(t, c.AckNow())
			finish(t, c, false, 1, 0)
		}
	}
	require.Equal(t, uint64(1+48+6), c.Next(), "acknowledgements of much do not wait")
	for n := range uint64(1000) {
		c.Accept(Incoming{Sequence: 101 + n, Eliciting: true}, 0)
		if c.CanSign(0) {
			finish(t, c, false, 1, 0)
		}
	}
	require.Equal(t, uint64(1+48+8), c.Next(), "and leave half of the room for those that time brings")
	var buf [64]byte
	for c.HasRoom() {
		finish(t, c, true, 1, 0)
	}
	b := c.Begin(buf[:])
	require.Nil(t, c.Finish(&b, 1, 0))
	require.Equal(t, uint64(1+64), c.Next())
}

// Two ends on a link without loss, whose rings are smaller than what is under way in a round trip, even in half of one.
func TestARingSmallerThanARoundTrip(t *testing.T) {
	for _, trip := range []int{30, 60, 80, 120, 200, 300} { // in ticks of 10 ms
		type flying struct {
			packet []byte
			due    int
		}
		var ends [2]*Conn
		var to [2][]flying
		for i := range ends {
			ends[i] = newTestConn(1, 64)
		}
		for n := range 2000 {
			now := time.Duration(n) * 10 * ms
			for i, c := range ends {
				for len(to[i]) > 0 && to[i][0].due <= n {
					deliver(t, c, to[i][0].packet, now, nil)
					to[i] = to[i][1:]
				}
				c.DetectLost(now, nil)
				switch {
				case c.CanSend():
					to[1-i] = append(to[1-i], flying{finish(t, c, true, tick.Tick(n), now), n + trip/2})
				case c.AckDue() && c.CanSign(now):
					to[1-i] = append(to[1-i], flying{finish(t, c, false, tick.Tick(n), now), n + trip/2})
				}
			}
		}
		for _, c := range ends {
			rtt, _ := c.RTT()
			require.InDelta(t, float64(trip)*10, float64(rtt/ms), float64(trip)*2+100, "trip of %d ms: acknowledgements may wait for signs of life", trip*10)
			s := c.Stats()
			require.Zero(t, c.Loss())
			require.Equal(t, s.LateAcks, s.Lost, "what was thought to be lost in the beginning was only late")
			require.Greater(t, s.Acked, uint64(2000*48/2/(trip+48)), "it goes on, at about a ring in a round trip")
		}
	}
}

func TestSampleOnlyFromNewestNewlyAckedEliciting(t *testing.T) {
	c := newTestConn(1, 64)
	finish(t, c, true, 1, 0)      // 1
	finish(t, c, true, 1, 10*ms)  // 2
	finish(t, c, false, 1, 20*ms) // 3
	require.NoError(t, readAck(c, 1, 3, 3, 50*ms, nil))
	rtt, _ := c.RTT()
	require.Equal(t, 40*ms, rtt, "from 2: 3 elicits nothing, 1 is older")
	require.NoError(t, readAck(c, 2, 3, 3, 500*ms, nil))
	rtt, _ = c.RTT()
	require.Equal(t, 40*ms, rtt, "no news, no sample")

	finish(t, c, true, 2, 600*ms) // 4
	finish(t, c, true, 2, 600*ms) // 5
	require.NoError(t, readAck(c, 3, 5, 0, 640*ms, nil))
	require.NoError(t, readAck(c, 4, 5, 1, 900*ms, nil))
	rtt, jitter := c.RTT()
	require.Equal(t, 40*ms, rtt, "4 came late after 5: it says nothing about now")
	require.Equal(t, 15*ms, jitter)
}

// On a link where nothing was overtaken for long, what was sent before one that
// receivedMessage is lost; where packets overtake each other, it takes as many more.
func TestFewerOvertakersWhereNothingIsOvertaken(t *testing.T) {
	c, out := newTestConn(1, 64), log{}
	next := tick.Tick(0)
	send := func() uint64 {
		next++
		finish(t, c, true, next, 0)
		return c.Next() - 1
	}
	reader := uint64(0)
	hear := func(seq uint64, bits uint32) {
		reader++
		require.NoError(t, readAck(c, reader, seq, bits, 0, &out))
		c.DetectLost(0, &out)
	}
	orderly := func(n int) {
		for range n {
			hear(send(), 0)
		}
	}
	orderly(2*settling - 2)
	lost := send()
	hear(send(), 0)
	require.NotContains(t, out.lost, lost, "not long enough")
	orderly(3)
	require.Contains(t, out.lost, lost)

	lost = send()
	hear(send(), 0)
	require.Contains(t, out.lost, lost, "one is enough")

	late := send()
	newest := send()
	hear(newest, 0)
	require.Contains(t, out.lost, late)
	hear(newest, 1) // it was only late
	require.Contains(t, out.acked, late)
	lost = send()
	hear(send(), 0)
	require.NotContains(t, out.lost, lost, "one may have overtaken it")
	hear(send(), 0)
	require.Contains(t, out.lost, lost, "two have not been seen to")

	late = send()
	send()
	send()
	newest = send()
	hear(newest, 3)
	hear(newest, 7)
	require.Contains(t, out.acked, late)
	lost = send()
	hear(send(), 0)
	hear(send(), 0)
	require.NotContains(t, out.lost, lost)
	hear(send(), 0)
	require.Contains(t, out.lost, lost, "three always are")
}

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

// The ring is as long as the round trip needs, however many packets were sent, and no acknowledgement within AckReach is forgotten.
func TestTheRingOfSentPacketsIsAsLongAsTheRoundTrip(t *testing.T) {
	for name, c := range map[string]struct{ trip, lossEvery, want int }{
		"short":           {4, 0, 64},
		"lossy":           {10, 3, 64},
		"long":            {100, 0, 256},
		"nothing arrives": {1 << 20, 0, 1024},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newTestConn(1, 1024), newTestConn(1, 1024)
			var out log
			var packets [][]byte
			arrived := 0
			for n := 0; n < 3000 && a.CanSend(); n++ {
				now := time.Duration(n) * 16 * ms
				packets = append(packets, append([]byte(nil), finish(t, a, true, tick.Tick(n+1), now)...))
				if n < c.trip {
					continue
				}
				if i := n - c.trip; c.lossEvery == 0 || i%c.lossEvery != 0 {
					arrived++
					deliver(t, b, packets[i], now, nil)
				}
				deliver(t, a, finish(t, b, true, tick.Tick(n+1), now), now, &out)
				a.DetectLost(now, &out)
			}
			require.Len(t, a.sent.ring, c.want)
			require.Len(t, out.acked, arrived)
		})
	}
}

// A record that the ring had forgotten before it grew is not news, and no packet that was never sent.
func TestAckOfAForgottenRecordAfterGrowth(t *testing.T) {
	c := newTestConn(1, 1024)
	for n := range uint64(200) {
		finish(t, c, true, tick.Tick(n+1), 0)
		require.NoError(t, readAck(c, n+1, n+1, 0, 0, nil))
	}
	require.Len(t, c.sent.ring, 64)
	for n := range 100 {
		finish(t, c, true, tick.Tick(300+n), 0)
	}
	require.Greater(t, len(c.sent.ring), 64)
	before := c.Stats()
	var out log
	require.NoError(t, readAck(c, 201, 100, 1<<32-1, 0, &out))
	require.Empty(t, out.acked)
	before.Received, before.BytesReceived = c.Stats().Received, c.Stats().BytesReceived
	require.Equal(t, before, c.Stats())
}
