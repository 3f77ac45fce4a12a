package peer

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const (
	wrapPackets = 10 << 16
	wrapLoss    = 0.3
	wrapDelay   = 3 // ticks each way
	wrapTick    = 10 * time.Millisecond
)

// wrapEnd sends one packet a tick over a link that loses some, and checks every
// outcome against what really happened.
type wrapEnd struct {
	t       *testing.T
	conn    *Conn
	first   uint64
	arrived []bool
	told    []byte // 'a' acked, 'l' lost
	lost    int
	acked   int
	transit [wrapDelay + 1][]byte // to this end, by tick of arrival; empty = lost
}

func (e *wrapEnd) Acked(seq uint64, sentAt tick.Tick) {
	i := seq - e.first
	if !e.arrived[i] || e.told[i] == 'a' || sentAt != tick.Tick(i) {
		require.FailNow(e.t, "wrong ack", "packet %d: arrived %v, told %q, at %d", i, e.arrived[i], e.told[i], sentAt)
	}
	e.told[i] = 'a'
	e.acked++
}

func (e *wrapEnd) Lost(seq uint64) {
	i := seq - e.first
	if e.told[i] != 0 {
		require.FailNow(e.t, "wrong loss", "packet %d was told %q", i, e.told[i])
	}
	e.told[i] = 'l'
	e.lost++
}

func (e *wrapEnd) step(n int, other *wrapEnd, now time.Duration, random *rand.Rand) {
	if packet := e.transit[n%len(e.transit)]; len(packet) > 0 {
		in, err := e.conn.Read(packet, now, e)
		if err != nil || in.Sequence != other.first+uint64(n-wrapDelay) {
			require.FailNow(e.t, "wrong packet", "tick %d: sequence %d, %v", n, in.Sequence, err)
		}
		e.conn.Accept(in, now)
		other.arrived[n-wrapDelay] = true
	}
	e.conn.DetectLost(now, e)
	to := &other.transit[(n+wrapDelay)%len(other.transit)]
	buf := (*to)[:cap(*to)]
	b := e.conn.Begin(buf)
	b.Payload()[0] = byte(n)
	b.Add(16, tick.Update, 1)
	*to = e.conn.Finish(&b, tick.Tick(n), now)
	if random.Float64() < wrapLoss {
		*to = (*to)[:0]
	}
}

// TestCase16SequenceWraps sends ten times around the 16-bit numbers each way, at 30 %
// loss. RTT and loss stay what they are across every wrap.
func TestCase16SequenceWraps(t *testing.T) {
	if testing.Short() {
		t.Skip("long; the race detector has nothing to find in one goroutine")
	}
	for _, first := range startSequences() {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			var ends [2]*wrapEnd
			for i := range ends {
				ends[i] = &wrapEnd{t: t, conn: NewConn(ConnConfig{
					Check: testCheck(), FirstSequence: first, TickInterval: wrapTick, SentPackets: 128}), first: first}
				ends[i].arrived, ends[i].told = make([]bool, wrapPackets), make([]byte, wrapPackets)
				for k := range ends[i].transit {
					ends[i].transit[k] = make([]byte, 0, 64)
				}
			}
			random := rand.New(rand.NewPCG(first, 1))
			for n := range wrapPackets {
				now := time.Duration(n) * wrapTick
				ends[0].step(n, ends[1], now, random)
				ends[1].step(n, ends[0], now, random)
				if n > 1000 && n%97 == 0 {
					checkContinuous(t, ends[n%2].conn, n)
				}
			}
			for _, e := range ends {
				require.InDelta(t, wrapLoss, float64(e.lost)/wrapPackets, 0.02)
				casebook.Injected(t, e.lost, "packets lost over ten wraps")
				for i, arrived := range e.arrived[:wrapPackets-100] {
					if arrived != (e.told[i] == 'a') {
						require.FailNow(t, "wrong outcome", "packet %d: arrived %v, told %q", i, arrived, e.told[i])
					}
				}
				require.Equal(t, first+wrapPackets, e.conn.Next())
			}
		})
	}
}

func checkContinuous(t *testing.T, c *Conn, n int) {
	rtt, jitter := c.RTT()
	require.InDelta(t, float64(2*wrapDelay*wrapTick), float64(rtt), float64(2*wrapTick), "tick %d", n)
	require.Less(t, jitter, 2*wrapTick)
	require.InDelta(t, wrapLoss, c.Loss(), 0.2)
}

// TestCase17LongSilence: one side says nothing for 40,000 packets of the other, then
// it does.
func TestCase17LongSilence(t *testing.T) {
	for _, first := range startSequences() {
		a, b := newTestConn(first, 2048), newTestConn(first, 64)
		now := time.Duration(0)
		early := finish(t, b, true, 1, now)
		for n := range 40000 {
			now += wrapTick
			a.DetectLost(now, nil)
			deliver(t, b, finish(t, a, true, tick.Tick(n), now), now, nil)
			if n%1000 == 0 { // its only sign of life
				deliver(t, a, finish(t, b, false, 1, now), now, nil)
			}
		}
		var out log
		deliver(t, a, finish(t, b, true, 2, now), now, &out)
		require.Len(t, out.acked, AckReach+1)
		casebook.Injected(t, a.Next()-first, "packets while the other end was silent")
		require.Equal(t, a.Next()-1, out.acked[AckReach])
		_, err := a.Read(early, now, &out)
		require.NoError(t, err, "its first packet is late, and still within 256 of its own")
	}
}

// TestCase20AckStarvation: the remote end acknowledges one old packet for ever. Memory
// is constant by construction; three quarters of a ring are sent in the time that an
// acknowledgement may take, everything is lost in time, and the connection ends when
// half the wire's numbers are between.
func TestCase20AckStarvation(t *testing.T) {
	c := newTestConn(1, 64)
	var out quiet
	finish(t, c, true, 1, 0)
	require.NoError(t, readAck(c, 1, 1, 0, ms, &out))
	for n, now := uint64(2), time.Duration(0); ; now += 10 * wrapTick {
		c.DetectLost(now, &out)
		if !c.CanSend() {
			continue
		}
		finish(t, c, true, tick.Tick(n), now)
		require.GreaterOrEqual(t, now+awaitedFor, time.Duration(n/48)*awaitedFor, "no faster")
		err := readAck(c, n, 1, 0, now, &out)
		c.received.accept(n, false)
		if n > 1<<15+1 {
			require.ErrorIs(t, err, ErrAckOfUnsent)
			break
		}
		require.NoError(t, err, "packet %d", n)
		n++
	}
	require.Equal(t, 1, out.acked)
	require.InDelta(t, 1<<15, out.lost, 50)
}

// A packet that somebody recorded is read again once half of the numbers have gone by: by the 16 bits that travel it is one of the packets
// to come. SECURITY.md says so of connections in clear; transport/secure has numbers of 64 bits.
func TestARecordedPacketIsReadAgainAfterHalfOfTheNumbers(t *testing.T) {
	const first = 1 << 16
	c := newTestConn(first, 64)
	packet := func(n int) []byte { return handmade(wire.PacketHeader{Sequence: wire.Sequence(n)}, nil) }
	for n := range 1 << 15 {
		deliver(t, c, packet(n), 0, nil)
		_, err := c.Read(packet(0), 0, nil)
		require.Error(t, err, n)
	}
	deliver(t, c, packet(1<<15), 0, nil)
	deliver(t, c, packet(1<<15+1), 0, nil)
	in, err := c.Read(packet(0), 0, nil)
	require.NoError(t, err)
	require.EqualValues(t, first+1<<16, in.Sequence)
}
