package congestion

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The start makes packets small to count them. If the application is the limit there is nothing to count: packets grow with the rate, or
// the path would never be searched for a larger size.
func TestPacketsOfAnApplicationThatIsTheLimitAreLarge(t *testing.T) {
	c := New(1<<20, time.Second/30)
	c.rate = 36 << 10
	c.path.taken = 2
	c.Tick(time.Second, true)
	require.Equal(t, Start, c.State().Reason)
	require.Less(t, c.PacketSize(), 210)
	c.Tick(2*time.Second, false)
	require.Equal(t, Application, c.State().Reason)
	require.Greater(t, c.PacketSize(), 600)
	c.Tick(2*time.Second+time.Second/30, false)
	require.Greater(t, c.PacketSize(), 1200, "in every second tick what it may send fits one packet")
	c.Tick(3*time.Second, true)
	c.SetBound(36 << 10)
	require.Equal(t, Bound, c.State().Reason)
	require.Greater(t, c.PacketSize(), 600)
}

// The start of a connection does not depend on how long the server has run.
func TestTheStartOfALateConnection(t *testing.T) {
	play := func(began time.Duration) (rates []int) {
		w, interval := &world{now: began}, time.Second/30
		c := New(1<<30, interval)
		f := &flow{w: w, q: &queue{rate: 256 << 10, most: 200 * ms}, c: &c, interval: interval, frame: interval, delay: 30 * ms,
			random: rand.New(rand.NewPCG(1, 3)), phase: began, theirs: began + interval/3}
		f.start()
		for i := range 50 {
			w.run(began + time.Duration(i+1)*100*ms)
			rates = append(rates, c.State().Rate)
		}
		return rates
	}
	first := play(0)
	require.Greater(t, first[49], 200<<10)
	require.Equal(t, first, play(300*time.Hour))
}

// In a stall packets have room for a group of entities, also before the start has found a rate: a group without room for W ticks is parted.
func TestPacketsOfAStallAreNotThoseOfAPulse(t *testing.T) {
	c := New(1<<20, time.Second/30)
	var sent []uint32
	for i := range 40 {
		now := time.Duration(i) * time.Second / 30
		sent = append(sent, c.Sent(now, 150, true))
		if n := len(sent) - 4; n >= 0 && i < 10 {
			c.Acked(now, sent[n], 150, true)
		}
		c.Tick(now, true)
		if i == 9 {
			require.Less(t, c.PacketSize(), leastPacket)
		}
	}
	require.Equal(t, Loss, c.State().Reason)
	require.GreaterOrEqual(t, c.PacketSize(), leastPacket)
}
