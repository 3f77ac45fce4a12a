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

func benchmarkFinish(b *testing.B, size int) {
	x := newExchange(size)
	b.ReportAllocs()
	for b.Loop() {
		x.at++
		if !x.a.CanSend() {
			x.a.DetectLost(time.Hour, &x.out)
		}
		x.build(x.a)
	}
}

func BenchmarkFinishAckOnly(b *testing.B) { benchmarkFinish(b, 0) }
func BenchmarkFinish200(b *testing.B)     { benchmarkFinish(b, 200) }
func BenchmarkFinish1200(b *testing.B)    { benchmarkFinish(b, 1<<20) }

// benchmarkRead reads packets that each acknowledge one more, with all ack bits
// set: the usual case.
func benchmarkRead(b *testing.B, size int) {
	x := newExchange(size)
	packets := make([][]byte, 4096)
	for i := range packets {
		x.b.received.accept(uint64(i+1), true)
		packets[i] = append(packets[i], x.build(x.b)...)
		x.b.sent.oldest = x.b.sent.next
	}
	next := 0
	x.a = newTestConn(1, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if next == len(packets) {
			next = 0
			x.a = newTestConn(1, 1024)
		}
		x.a.sent.push(tick.Tick(next), x.now, sentPending)
		x.take(x.a, packets[next])
		next++
	}
}

func BenchmarkReadAckOnly(b *testing.B) { benchmarkRead(b, 0) }
func BenchmarkRead200(b *testing.B)     { benchmarkRead(b, 200) }
func BenchmarkRead1200(b *testing.B)    { benchmarkRead(b, 1<<20) }

// BenchmarkReadWorstAck has an old ack with all its bits, none of them news and
// each of them forgotten, so that all 33 are looked up.
func BenchmarkReadWorstAck(b *testing.B) {
	x := newExchange(0)
	var old []byte
	for n := range 200 {
		x.take(x.b, x.build(x.a))
		if n == 100 {
			old = append(old, x.build(x.b)...)
		}
	}
	if _, err := x.a.Read(x.build(x.b), x.now, &x.out); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.a.Read(old, x.now, &x.out); err != nil {
			b.Fatal(err)
		}
	}
}
