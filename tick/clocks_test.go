package tick_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
)

// play restarts the clocks at tick 100 and runs them for frames of 1/30 s, with a packet of the server in each.
func play(c *tick.Clocks, frames int) {
	c.Begin(0)
	c.Restart(30, 4, 250*time.Millisecond, 100, 60*time.Millisecond)
	for i := range frames {
		c.Begin(time.Duration(i) * time.Second / 30)
		c.Hear(uint64(i+1), 100+tick.Tick(i), false)
		c.Advance(60*time.Millisecond, time.Millisecond)
		c.Present()
	}
}

func TestClocksAnswerOnceAFrame(t *testing.T) {
	var c tick.Clocks
	play(&c, 60)
	c.Begin(2 * time.Second)
	c.Advance(60*time.Millisecond, time.Millisecond)
	input, steps, shown := c.Sync.Input(), c.Steps, c.Present()
	c.Advance(60*time.Millisecond, time.Millisecond)
	require.Equal(t, input, c.Sync.Input())
	require.Equal(t, steps, c.Steps)
	c.Hear(1000, 200, false)
	require.Equal(t, shown, c.Present(), "a packet that comes later in the frame changes the next one")
}

func TestClocksKeepThePresentedMomentAfterTheEnd(t *testing.T) {
	var c tick.Clocks
	play(&c, 60)
	shown := c.Present()
	require.Positive(t, shown.Tick)
	c.Stop()
	c.Begin(time.Minute)
	require.Equal(t, shown, c.Present())
	c.Advance(time.Second, 0)
	require.Zero(t, c.Steps)
}

func TestClocksOfHeldStateShowNothing(t *testing.T) {
	var c tick.Clocks
	c.Begin(0)
	c.Restart(30, 4, 250*time.Millisecond, 100, 60*time.Millisecond)
	c.Hear(1, 101, true)
	require.Equal(t, tick.Tick(101), c.Newest)
	require.Equal(t, tick.None, c.Shown.Newest())
	c.Hear(2, 102, false)
	require.Equal(t, tick.Tick(102), c.Shown.Newest())
}

func TestClocksKeepTheirDelayForLaterConnections(t *testing.T) {
	var c tick.Clocks
	c.SetDelay(200*time.Millisecond, 200*time.Millisecond)
	play(&c, 300)
	require.InDelta(t, 6, c.Shown.Delay().Float(), 0.6, "200 ms are 6 ticks")
	play(&c, 300)
	require.InDelta(t, 6, c.Shown.Delay().Float(), 0.6)
}
