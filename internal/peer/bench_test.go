package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
)

// exchange is two ends that send each other packets without a link between.
type exchange struct {
	a, b *Conn
	buf  []byte
	now  time.Duration
	at   tick.Tick
	size int
	out  quiet
}

func newExchange(size int) *exchange {
	return &exchange{a: newTestConn(1, 1024), b: newTestConn(1, 1024), buf: make([]byte, DefaultPacketSize), size: size}
}

func (x *exchange) build(c *Conn) []byte {
	b := c.Begin(x.buf)
	if x.size > 0 {
		b.Add(16, tick.Update, min(x.size, len(b.Payload())))
	}
	return c.Finish(&b, x.at, x.now)
}

func (x *exchange) take(c *Conn, packet []byte) {
	in, err := c.Read(packet, x.now, &x.out)
	if err != nil {
		panic(err)
	}
	c.Accept(in, x.now)
}

// turn sends a packet each way; every third from a is lost.
func (x *exchange) turn() {
	x.at++
	x.now += 10 * ms
	x.a.DetectLost(x.now, &x.out)
	x.b.DetectLost(x.now, &x.out)
	if packet := x.build(x.a); x.at%3 != 0 {
		x.take(x.b, packet)
	}
	x.take(x.a, x.build(x.b))
}

func TestPacketsDoNotAllocate(t *testing.T) {
	x := newExchange(100)
	alloctest.Zero(t, 2000, x.turn)
	require.NotZero(t, x.out.lost)
	require.NotZero(t, x.out.acked)

	packet := append([]byte(nil), x.build(x.a)...)
	packet[3] ^= 1
	alloctest.Zero(t, 100, func() {
		if _, err := x.b.Read(packet, x.now, &x.out); err != ErrChecksum {
			t.Fatal(err)
		}
	}, "damaged packets cost nothing")
}
