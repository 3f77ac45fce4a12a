package transport_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/stretchr/testify/require"
)

func TestZeroLinkIsPerfect(t *testing.T) {
	r := newRig(t, transport.Link{}, 1)
	arrivals := r.run(500, 100)
	require.Len(t, arrivals, 500)
	for i, a := range arrivals {
		require.Equal(t, i, a.number)
		require.Equal(t, time.Duration(i)*time.Millisecond, a.at)
		require.Equal(t, numbered(i, 100), a.data)
	}
	require.Equal(t, transport.LinkStats{Received: 500, Delivered: 500}, r.receiver.Stats())
}

func TestLossRates(t *testing.T) {
	const count = 20_000
	tests := []struct {
		name string
		link transport.Link
		want float64
		runs float64 // how much more the rate varies than that of single losses, since losses come in rows
	}{
		{"none", transport.Link{}, 0, 1},
		{"1 %", transport.Link{Loss: 0.01}, 0.01, 1},
		{"5 %", transport.Link{Loss: 0.05}, 0.05, 1},
		{"40 %", transport.Link{Loss: 0.4}, 0.4, 1},
		{"all", transport.Link{Loss: 1}, 1, 1},
		{"more than all", transport.Link{Loss: 7}, 1, 1},
		{"less than none", transport.Link{Loss: -1}, 0, 1},
		{"no number", transport.Link{Loss: math.NaN(), BurstLoss: transport.GilbertElliott{Enter: math.NaN(), Length: math.NaN()}}, 0, 1},
		{"bursts", transport.Link{BurstLoss: transport.GilbertElliott{Enter: 0.01, Length: 8}}, 0.08 / 1.08, 4},
		{"bursts of one", transport.Link{BurstLoss: transport.GilbertElliott{Enter: 0.1}}, 0.1 / 1.1, 1},
		{"bursts and loss", transport.Link{Loss: 0.1, BurstLoss: transport.GilbertElliott{Enter: 0.01, Length: 8}}, 1 - 0.9*(1-0.08/1.08), 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(3) {
				r := newRig(t, test.link, seed)
				arrivals := r.run(count, 16)
				lost := float64(count-len(arrivals)) / count
				deviation := test.runs * math.Sqrt(test.want*(1-test.want)/count)
				require.InDelta(t, test.want, lost, 4*deviation)
				require.Equal(t, uint64(count-len(arrivals)), r.receiver.Stats().Lost)
			}
		})
	}
}

func TestBurstLength(t *testing.T) {
	const count, length = 50_000, 8.0
	r := newRig(t, transport.Link{BurstLoss: transport.GilbertElliott{Enter: 0.01, Length: length}}, 1)
	bursts, lost, next := 0, 0, 0
	for _, a := range r.run(count, 16) {
		if a.number != next {
			bursts++
			lost += a.number - next
		}
		next = a.number + 1
	}
	require.InDelta(t, length, float64(lost)/float64(bursts), 1)
}

func TestDelayAndJitterKeepTheOrder(t *testing.T) {
	const delay, jitter = 40 * time.Millisecond, 10 * time.Millisecond
	r := newRig(t, transport.Link{Delay: delay, Jitter: jitter}, 3)
	arrivals := r.run(5000, 16)
	require.Len(t, arrivals, 5000)
	least, most := time.Hour, time.Duration(0)
	for i, a := range arrivals {
		require.Equal(t, i, a.number)
		took := a.at - time.Duration(i)*time.Millisecond
		least, most = min(least, took), max(most, took)
	}
	require.GreaterOrEqual(t, least, delay-jitter)
	require.LessOrEqual(t, most, delay+jitter+time.Millisecond, "the clock of the test steps by 1 ms")
	require.Greater(t, most-least, jitter, "it really varies")
}

func TestReorderReallyReorders(t *testing.T) {
	r := newRig(t, transport.Link{Delay: 20 * time.Millisecond, Reorder: 0.1}, 4)
	arrivals := r.run(5000, 16)
	require.Len(t, arrivals, 5000)
	late, newest := 0, -1
	for _, a := range arrivals {
		if a.number < newest {
			late++
			took := a.at - time.Duration(a.number)*time.Millisecond
			require.GreaterOrEqual(t, took, 70*time.Millisecond)
			require.LessOrEqual(t, took, 121*time.Millisecond)
		}
		newest = max(newest, a.number)
	}
	require.Equal(t, uint64(late), r.receiver.Stats().Reordered, "each that was held back was overtaken")
	require.InDelta(t, 500, late, 75)
}

func TestDuplicatesReallyArriveTwice(t *testing.T) {
	r := newRig(t, transport.Link{Duplicate: 0.2}, 5)
	seen := map[int]int{}
	for _, a := range r.run(5000, 16) {
		require.Equal(t, numbered(a.number, 16), a.data)
		seen[a.number]++
	}
	require.Len(t, seen, 5000)
	twice := 0
	for _, times := range seen {
		require.LessOrEqual(t, times, 2)
		twice += times - 1
	}
	require.Equal(t, uint64(twice), r.receiver.Stats().Duplicated)
	require.InDelta(t, 1000, twice, 120)
}

func TestCorruptionAlwaysChangesSomething(t *testing.T) {
	for _, size := range []int{4, 16, 1200} {
		r := newRig(t, transport.Link{Corrupt: 1}, 6)
		shorter := 0
		for i, a := range r.run(4000, size) {
			require.NotEmpty(t, a.data)
			require.NotEqual(t, numbered(i, size), a.data)
			if len(a.data) < size {
				shorter++
			}
		}
		require.InDelta(t, 500, shorter, 100, "one in eight is cut")
		require.Equal(t, uint64(4000), r.receiver.Stats().Corrupted)
		require.Equal(t, uint64(4000), r.receiver.Stats().Delivered)
	}
}

func TestCorruptionOfOneByte(t *testing.T) {
	r := newRig(t, transport.Link{Corrupt: 1}, 6)
	for range 1000 {
		require.NoError(t, r.sender.Send(r.receiver.LocalAddr(), []byte{0x55}))
		n, _, err := r.receiver.Receive(r.buf)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.NotEqual(t, byte(0x55), r.buf[0])
	}
}

func TestMTU(t *testing.T) {
	r := newRig(t, transport.Link{MTU: 100}, 7)
	require.Len(t, r.run(10, 100), 10)
	require.Empty(t, r.run(10, 101))
	require.Equal(t, uint64(10), r.receiver.Stats().TooLarge)
}

func TestBlackouts(t *testing.T) {
	spans := []transport.Interval{{100 * time.Millisecond, 200 * time.Millisecond}, {300 * time.Millisecond, 301 * time.Millisecond}}
	r := newRig(t, transport.Link{Delay: 5 * time.Millisecond, Blackouts: spans}, 8)
	spans[0] = transport.Interval{} // the link has its own copy
	arrivals := r.run(400, 16)
	require.Len(t, arrivals, 400-101)
	for _, a := range arrivals {
		require.False(t, a.number >= 100 && a.number < 200 || a.number == 300, a.number)
	}
	require.Equal(t, uint64(101), r.receiver.Stats().BlackedOut)
}

func TestDownAndHealed(t *testing.T) {
	r := newRig(t, transport.Link{Delay: 10 * time.Millisecond}, 9)
	r.send(16)
	r.collect(nil)
	r.receiver.SetLink(transport.Link{Down: true, Delay: time.Hour})
	require.Len(t, r.run(100, 16), 1, "what was on its way arrives, nothing else")
	r.receiver.SetLink(transport.Link{})
	require.Len(t, r.run(100, 16), 100)
}

func TestHealingDoesNotWaitForDatagramsInFlight(t *testing.T) {
	r := newRig(t, transport.Link{Delay: time.Hour}, 9)
	r.send(16)
	require.Empty(t, r.collect(nil))
	r.receiver.SetLink(transport.Link{})
	r.send(16)
	arrivals := r.collect(nil)
	require.Len(t, arrivals, 1)
	require.Equal(t, 1, arrivals[0].number)
	r.now = time.Hour
	require.Len(t, r.collect(nil), 1)
}

func TestRate(t *testing.T) {
	// 100 bytes and 28 of headers at 128,000 bytes per second: one datagram a millisecond.
	r := newRig(t, transport.Link{Rate: 128_000}, 10)
	for range 400 {
		r.send(100)
	}
	arrivals := r.collect(nil)
	require.Empty(t, arrivals)
	for r.receiver.InFlight() > 0 {
		r.now += time.Millisecond
		arrivals = r.collect(arrivals)
	}
	require.Len(t, arrivals, 251, "250 ms wait in the queue, one is on the wire")
	for i, a := range arrivals {
		require.Equal(t, time.Duration(i+1)*time.Millisecond, a.at)
	}
	require.Equal(t, uint64(149), r.receiver.Stats().Overflowed)
}

func TestInFlightIsBounded(t *testing.T) {
	r := newRig(t, transport.Link{Delay: time.Second}, 11)
	for range transport.MaxInFlight/memory.QueueSize + 1 {
		for range memory.QueueSize {
			r.send(16)
		}
		for range 10 {
			require.Empty(t, r.collect(nil))
		}
	}
	require.Equal(t, transport.MaxInFlight, r.receiver.InFlight())
	require.Equal(t, uint64(memory.QueueSize), r.receiver.Stats().Overflowed)
	r.now = time.Second
	require.Len(t, r.collect(nil), transport.MaxInFlight)
}

func TestTooSmallABuffer(t *testing.T) {
	r := newRig(t, transport.Link{}, 12)
	r.send(16)
	r.send(16)
	_, _, err := r.receiver.Receive(r.buf[:15])
	require.ErrorIs(t, err, transport.ErrTooLarge)
	n, _, err := r.receiver.Receive(r.buf[:16])
	require.NoError(t, err)
	require.Equal(t, 16, n)
}

func TestClose(t *testing.T) {
	r := newRig(t, transport.Link{}, 13)
	require.NoError(t, r.receiver.Close())
	_, _, err := r.receiver.Receive(r.buf)
	require.ErrorIs(t, err, transport.ErrClosed)
	require.ErrorIs(t, r.receiver.Send(r.sender.LocalAddr(), []byte{1}), transport.ErrClosed)
}

// faulty fails once before each datagram.
type faulty struct {
	transport.Conn
	healthy bool
}

var errFault = errors.New("fault")

func (f *faulty) Receive(buf []byte) (int, transport.Addr, error) {
	if f.healthy = !f.healthy; !f.healthy {
		return f.Conn.Receive(buf)
	}
	return 0, transport.Addr{}, errFault
}

func TestFaultsInsideAreTold(t *testing.T) {
	network := memory.NewNetwork()
	a, err := network.Listen(transport.Addr{})
	require.NoError(t, err)
	b := transport.Condition(&faulty{Conn: a}, transport.Link{}, 1, func() time.Duration { return 0 })
	require.NoError(t, b.Send(b.LocalAddr(), []byte{1}))
	buf := make([]byte, 10)
	_, _, err = b.Receive(buf)
	require.ErrorIs(t, err, errFault)
	_, _, err = b.Receive(buf)
	require.ErrorIs(t, err, errFault, "behind the first datagram")
	n, _, err := b.Receive(buf)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestConditionerDoesNotAllocate(t *testing.T) {
	r := newRig(t, transport.Link{Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: 0.05, Duplicate: 0.5, Reorder: 0.1, Corrupt: 0.1}, 16)
	datagram := make([]byte, 1200)
	turn := func() {
		for range 20 {
			_ = r.sender.Send(r.receiver.LocalAddr(), datagram)
		}
		for n := 1; n > 0; {
			n, _, _ = r.receiver.Receive(r.buf)
		}
		r.now += 10 * time.Millisecond
	}
	r.receiver.Reserve(1000) // A burst of duplicates is rare, so no warming meets the largest.
	for range 100 {
		turn()
	}
	alloctest.Zero(t, 3000, turn)
}

func BenchmarkConditionerReceive(b *testing.B) {
	r := newRig(b, transport.Link{Delay: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: 0.05, Reorder: 0.02}, 1)
	datagram := make([]byte, 1200)
	b.ReportAllocs()
	for b.Loop() {
		_ = r.sender.Send(r.receiver.LocalAddr(), datagram)
		_, _, _ = r.receiver.Receive(r.buf)
		r.now += 500 * time.Microsecond
	}
}
