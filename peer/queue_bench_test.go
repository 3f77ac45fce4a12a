package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// flow sends messages one way, with the acknowledgements and the credit that come back, without a link between.
type flow struct {
	a, b    *Conn
	out     *Outgoing
	in      Arrivals
	back    *Outgoing
	now     time.Duration
	at      tick.Tick
	buf     []byte
	body    [16]byte
	lose    tick.Tick // every so many packets one is lost; 0 for none
	deliver func(*Arrival)
	got     int
}

func newFlow(lose tick.Tick) *flow {
	f := &flow{a: newTestConn(1, 1024), b: newTestConn(1, 1024), buf: make([]byte, DefaultPacketSize), lose: lose,
		out: NewOutgoing(OutgoingConfig{UnreliableBytes: 1 << 20}, NewPool(DefaultPacketSize))}
	f.deliver = func(m *Arrival) { f.got++; f.in.Freed(m.Cost) }
	return f
}

// Acked implements Outcome for the sender.
func (f *flow) Acked(seq uint64, _ tick.Tick) { f.out.Acked(seq) }

// Lost implements Outcome for the sender.
func (f *flow) Lost(seq uint64) { f.out.Lost(seq) }

// turn hands over n messages on a channel and sends what waits.
func (f *flow) turn(p *Post, n int) {
	f.at++
	f.now += 10 * ms
	for range n {
		room, err := f.out.Reserve(p, len(f.body))
		if err != nil {
			break
		}
		copy(room, f.body[:])
		f.out.Commit(len(f.body))
	}
	f.a.DetectLost(f.now, f)
	for more := true; more; {
		b := f.a.Begin(f.buf)
		more = f.out.Fill(&b, DefaultPacketSize)
		if packet := f.a.Finish(&b, f.at, f.now); packet == nil {
			panic("packet refused")
		} else if f.lose == 0 || tick.Tick(f.a.Next())%f.lose != 0 {
			f.take(packet)
		}
	}
	b := f.b.Begin(f.buf)
	if low, due := f.in.CreditDue(); due {
		b.Add(wire.MessageCredit, tick.Initialization, len(AppendCredit(b.Payload()[:0], low)))
		f.in.CreditSent(b.Sequence())
	}
	in, err := f.a.Read(f.b.Finish(&b, f.at, f.now), f.now, f)
	if err != nil {
		panic(err)
	}
	r := in.Messages()
	for r.Next() {
		low, _ := ParseCredit(r.Payload)
		f.out.Credit(low)
	}
	f.a.Accept(in, f.now)
}

func (f *flow) take(packet []byte) {
	in, err := f.b.Read(packet, f.now, nil)
	if err != nil {
		panic(err)
	}
	r := in.Messages()
	for r.Next() {
		if r.Channel == 0 && r.Header.Flags == 0 {
			f.got++
			continue
		}
		if err := f.in.Judge(r.Channel, r.Header, r.Payload); err != nil {
			panic(err)
		}
		if err := f.in.Take(in.Sequence, r.Channel, r.Header, r.Payload, f.deliver); err != nil {
			panic(err)
		}
	}
	f.b.Accept(in, f.now)
}

func TestMessagesDoNotAllocate(t *testing.T) {
	for name, p := range map[string]Post{
		"unreliable": {Type: 16, Stage: tick.Update},
		"flags":      {Type: 16, Flags: wire.FlagTick | wire.FlagEntity | wire.FlagCall, Entity: wire.NetworkID{Index: 9, Generation: 1}},
		"sequenced":  {Type: 16, Channel: wire.NewChannel(wire.UnreliableSequenced, 3)},
		"reliable":   {Type: 16, Channel: wire.NewChannel(wire.Reliable, 3)},
		"ordered":    {Type: 16, Channel: wire.NewChannel(wire.ReliableOrdered, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlow(5)
			for range 3000 {
				f.turn(&p, 100)
			}
			before := f.got
			alloctest.Zero(t, 500, func() { f.turn(&p, 100) })
			require.Greater(t, f.got-before, 500*60)
			if p.Channel.Delivery().Reliable() {
				require.NotZero(t, f.out.Stats().Resent)
			}
		})
	}
}

func TestLargeMessagesDoNotAllocate(t *testing.T) {
	f, p := newFlow(5), Post{Type: 16, Channel: wire.NewChannel(wire.ReliableOrdered, 0)}
	body := make([]byte, 3000)
	turn := func() {
		_ = f.out.Push(&p, body)
		f.turn(&p, 1)
	}
	for range 3000 {
		turn()
	}
	alloctest.Zero(t, 500, turn)
	require.NotZero(t, f.in.Stats().Joined)
	require.NotZero(t, f.in.Stats().Early)
}

// benchmarkMessages tells the cost of one message, with its share of everything.
func benchmarkMessages(b *testing.B, p Post, lose tick.Tick) {
	f := newFlow(lose)
	b.ReportAllocs()
	const each = 470
	b.N = (b.N + each - 1) / each * each
	for range b.N / each {
		f.turn(&p, each)
	}
}

func BenchmarkUnreliableThrough(b *testing.B) { benchmarkMessages(b, Post{Type: 16}, 0) }
func BenchmarkReliableThrough(b *testing.B) {
	benchmarkMessages(b, Post{Type: 16, Channel: wire.NewChannel(wire.Reliable, 0)}, 0)
}
func BenchmarkOrderedThroughLossy(b *testing.B) {
	benchmarkMessages(b, Post{Type: 16, Channel: wire.NewChannel(wire.ReliableOrdered, 0)}, 10)
}

// BenchmarkReserveCommit hands over unreliable messages of 16 bytes and drops them when the queue is half full.
func BenchmarkReserveCommit(b *testing.B) {
	o, p, n := NewOutgoing(OutgoingConfig{}, NewPool(DefaultPacketSize)), Post{Type: 16, Stage: tick.Update}, 0
	b.ReportAllocs()
	for b.Loop() {
		room, err := o.Reserve(&p, 16)
		if err != nil {
			b.Fatal(err)
		}
		room[0] = byte(n)
		o.Commit(16)
		if n++; n == 1500 {
			n = 0
			o.Clear()
		}
	}
}

// BenchmarkByteQueue is what BenchmarkReserveCommit is measured against: messages of 16 bytes behind a header of 4 in a
// plain slice.
func BenchmarkByteQueue(b *testing.B) {
	queue, n, body := make([]byte, 0, 1<<16), 0, [16]byte{}
	b.ReportAllocs()
	for b.Loop() {
		queue = append(queue, 16, 4, 16, 0)
		queue = append(queue, body[:]...)
		if n++; n == 1500 {
			n, queue = 0, queue[:0]
		}
	}
}

// BenchmarkFill moves 470 messages of 16 bytes into packets: 9400 bytes; beside it the same bytes by copy alone.
func BenchmarkFill(b *testing.B) {
	o, p := NewOutgoing(OutgoingConfig{}, NewPool(DefaultPacketSize)), Post{Type: 16, Stage: tick.Update}
	c, buf := newTestConn(1, 64), make([]byte, DefaultPacketSize)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for range 470 {
			_ = o.Push(&p, buf[:16])
		}
		b.StartTimer()
		for more := true; more; {
			packet := c.Begin(buf)
			more = o.Fill(&packet, DefaultPacketSize)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/470, "ns/message")
}

func BenchmarkReader(b *testing.B) {
	batches := []byte{0, 0}
	for range 55 {
		framed := make([]byte, 20)
		wire.MessageHeader{Type: 16, Stage: tick.Update, Size: 16}.Put(framed)
		batches = append(batches, framed...)
	}
	wire.BatchHeader{Size: uint16(len(batches))}.Put(batches)
	sum := 0
	for b.Loop() {
		r := readBatches(batches)
		for r.Next() {
			sum += int(r.Payload[0]) + int(r.Header.Type)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/55, "ns/message")
	require.NotZero(b, sum)
}

// BenchmarkAckLayer is one packet of a busy link: built, read, and acknowledged.
func BenchmarkAckLayer(b *testing.B) {
	x := newExchange(0)
	b.ReportAllocs()
	for b.Loop() {
		x.at++
		x.now += 16 * ms
		x.a.DetectLost(x.now, &x.out)
		builder := x.a.Begin(x.buf)
		builder.Add(16, tick.Update, 0)
		x.take(x.b, x.a.Finish(&builder, x.at, x.now))
		x.a, x.b = x.b, x.a // the answer acknowledges
	}
}
