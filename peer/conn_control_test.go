package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// After another address the rate begins anew, and packets that went to the old one say nothing of it.
func TestANewPathHasANewRate(t *testing.T) {
	a, b := NewConn(ConnConfig{Bound: 8 << 20, TickInterval: 16 * ms}), NewConn(ConnConfig{})
	first := a.Control().State()
	send := func(c *Conn, now time.Duration, n int) []byte {
		p := c.Begin(make([]byte, 1200))
		p.Add(wire.MessageKeepAlive, tick.Initialization, n)
		return c.Finish(&p, 1, now)
	}
	read := func(c *Conn, packet []byte, now time.Duration) {
		in, err := c.Read(packet, now, nil)
		require.NoError(t, err)
		c.Accept(in, now)
	}
	var now time.Duration
	round := func() {
		now += 16 * ms
		read(b, send(a, now, 500), now)
		read(a, send(b, now, 0), now)
		a.Control().Tick(now, true)
	}
	for range 100 {
		round()
	}
	require.Greater(t, a.Control().State().Rate, 2*first.Rate, "it grew")
	now += 16 * ms
	old := send(a, now, 500)
	a.NewPath()
	require.Equal(t, first, a.Control().State())
	now += 16 * ms
	read(b, old, now)
	read(a, send(b, now, 0), now)
	a.Control().Tick(now, true)
	require.Equal(t, first.Rate, a.Control().State().Rate, "an old packet is no sample")
	for range 100 {
		round()
	}
	require.Greater(t, a.Control().State().Rate, 2*first.Rate, "it grows again")
}
