package peer

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func onChannel(d wire.Delivery, number int) Post {
	return Post{Type: 16, Stage: tick.Update, Channel: wire.NewChannel(d, number)}
}

// sendAll fills packets until nothing is pending and returns what each says, as channel and body of its messages.
func sendAll(t *testing.T, c *Conn, o *Outgoing) (packets []string) {
	for o.Pending() {
		packets = append(packets, sendOne(t, c, o, 1<<20))
	}
	return packets
}

func sendOne(t *testing.T, c *Conn, o *Outgoing, limit int) string {
	b := c.Begin(make([]byte, c.config.PacketSize))
	o.Fill(&b, limit)
	in := Incoming{}
	packet := c.Finish(&b, 1, 0)
	require.NotNil(t, packet)
	_, n, err := wire.ParsePacketHeader(packet)
	require.NoError(t, err)
	in.Batches = packet[n : len(packet)-wire.ChecksumSize]
	require.True(t, legalBatches(in.Batches))
	var text []string
	r := in.Messages()
	for r.Next() {
		var m Arrival
		require.NoError(t, m.Open(r.Channel, r.Header, r.Payload))
		text = append(text, fmt.Sprintf("%v %s", r.Channel, m.Body))
	}
	require.NoError(t, r.Err())
	return strings.Join(text, ", ")
}

func TestHandOverOrderIsCallOrder(t *testing.T) {
	c, o := newTestConn(1, 64), NewOutgoing(OutgoingConfig{}, NewPool(DefaultPacketSize))
	var want []string
	for i := range 40 {
		p := onChannel(wire.Delivery(i%4), i%3)
		body := fmt.Sprint(i)
		require.NoError(t, o.Push(&p, []byte(body)))
		want = append(want, fmt.Sprintf("%v %s", p.Channel, body))
	}
	require.Equal(t, 40*4+20*2+10+2*30, o.Waiting())
	require.Equal(t, []string{strings.Join(want, ", ")}, sendAll(t, c, o), "one packet, in the order of the calls")
	require.Zero(t, o.Waiting())
	require.Equal(t, 20, o.Unconfirmed())
}

func TestTwoChannelsInTurnShareAPacket(t *testing.T) {
	c, o := newTestConn(1, 64), NewOutgoing(OutgoingConfig{}, NewPool(DefaultPacketSize))
	for i := range 10 {
		p := onChannel(wire.UnreliableSequenced, 1+i%2)
		require.NoError(t, o.Push(&p, []byte{byte(i)}))
	}
	b := c.Begin(make([]byte, DefaultPacketSize))
	before := len(b.buf)
	require.False(t, o.Fill(&b, DefaultPacketSize))
	require.Equal(t, 10*(3+4+1), len(b.buf)-before, "three bytes for each change")
}

func TestReserveRefuses(t *testing.T) {
	o := NewOutgoing(OutgoingConfig{PacketSize: 300}, NewPool(300))
	p := onChannel(wire.Unreliable, 0)
	most := MaxPayload(300)
	_, err := o.Reserve(&p, most+1)
	require.ErrorIs(t, err, ErrTooLarge)
	p.Channel = 1
	_, err = o.Reserve(&p, most-2)
	require.ErrorIs(t, err, ErrTooLarge, "three bytes are the batch's")
	_, err = o.Reserve(&p, int(^uint(0)>>1))
	require.ErrorIs(t, err, ErrTooLarge)
	reliable := onChannel(wire.Reliable, 0)
	_, err = o.Reserve(&reliable, int(^uint(0)>>1))
	require.ErrorIs(t, err, ErrTooLarge)
	piece := o.reliable.piece()
	require.Equal(t, 300-15-3-4-2-4, piece)
	_, err = o.Reserve(&reliable, MaxFragments*piece+1)
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorIs(t, o.Push(&Post{Type: wire.MessageSnapshot, Channel: 1}, nil), ErrDelivery)
	require.ErrorIs(t, o.Push(&Post{Type: wire.MessageFragment}, nil), ErrDelivery)
	require.ErrorIs(t, o.Push(&Post{Type: wire.MessageFragment, Channel: reliable.Channel}, nil), ErrDelivery)
	for _, id := range []wire.NetworkID{{}, {Index: 1}, {Index: MaxEntityIndex, Generation: 1}} {
		require.ErrorIs(t, o.Push(&Post{Type: 16, Flags: wire.FlagEntity, Entity: id}, nil), ErrEntity)
	}
	require.Zero(t, o.Waiting())
	require.False(t, o.Pending())
	require.Equal(t, uint64(11), o.Stats().Refused)
	require.Panics(t, func() { o.Commit(0) })
	for _, bad := range []Post{{}, {Type: 255}, {Type: 16, Stage: 7}, {Type: 16, Flags: 1}, {Type: wire.MessageRefusal}} {
		require.Panics(t, func() { _ = o.Push(&bad, nil) }, "%+v", bad)
		bad.Channel = reliable.Channel
		require.Panics(t, func() { _ = o.Push(&bad, nil) }, "%+v", bad)
	}
	for _, q := range []Post{p, reliable} {
		room, err := o.Reserve(&q, 5)
		require.NoError(t, err)
		require.Len(t, room, 5)
		require.Equal(t, 5, cap(room))
		require.Panics(t, func() { o.Commit(6) })
		require.Panics(t, func() { o.Commit(-1) })
		o.Cancel()
		require.Panics(t, func() { o.Commit(0) })
	}
	require.False(t, o.Pending())
}

// TestCase06ExactFit: what exactly fits is sent, in a packet of exactly the limit.
func TestCase06ExactFit(t *testing.T) {
	for _, p := range []Post{onChannel(wire.Unreliable, 0), onChannel(wire.Unreliable, 9), onChannel(wire.Reliable, 0)} {
		for over := range 2 {
			c := NewConn(ConnConfig{Check: testCheck(), PacketSize: 200})
			for n := range uint64(40) { // an ack with four bytes of bits: the longest header
				c.received.accept(1+4*n, true)
			}
			o := NewOutgoing(OutgoingConfig{PacketSize: 200}, NewPool(200))
			n := o.unreliable.most(p.Channel) - wire.MessageHeaderSize
			if p.Channel.Delivery().Reliable() {
				n -= numberSize
			}
			err := o.Push(&p, make([]byte, n+over))
			if over == 1 && !p.Channel.Delivery().Reliable() {
				require.ErrorIs(t, err, ErrTooLarge)
				continue
			}
			require.NoError(t, err)
			b := c.Begin(make([]byte, 1000))
			require.Equal(t, over == 1, o.Fill(&b, 1000))
			packet := c.Finish(&b, 1, 0)
			require.Len(t, packet, 200)
			require.Equal(t, uint64(over)*2, o.Stats().Pieces)
		}
	}
}

func TestUnreliableQueueIsFixed(t *testing.T) {
	pool := NewPool(DefaultPacketSize)
	o, c := NewOutgoing(OutgoingConfig{UnreliableBytes: 5000}, pool), newTestConn(1, 64)
	p, taken := onChannel(wire.Unreliable, 0), 0
	for {
		err := o.Push(&p, make([]byte, 96))
		if err != nil {
			require.ErrorIs(t, err, ErrQueueFull)
			break
		}
		taken++
	}
	require.Equal(t, 4*11, taken, "four buffers of 1185 bytes, eleven messages of 100 in each")
	require.Equal(t, 3, pool.Lent())
	require.Equal(t, uint64(1), o.Stats().QueueFull)
	own := &o.unreliable.own[:1][0]
	sendOne(t, c, o, 1<<20)
	require.Equal(t, 3, pool.Lent(), "what is sent first is its own")
	sendOne(t, c, o, 1<<20)
	require.Equal(t, 2, pool.Lent())
	sendAll(t, c, o)
	require.Zero(t, pool.Lent(), "the first buffer stays, the others go back")
	require.Same(t, own, &o.unreliable.buf[:1][0])
	for range taken {
		require.NoError(t, o.Push(&p, make([]byte, 96)))
	}
	require.Equal(t, 3, pool.Lent())
	require.Len(t, pool.free, 0)
	o.Clear()
	require.Zero(t, pool.Lent())
	require.Len(t, pool.free, 3)
	require.False(t, o.Pending())
}

func TestFillKeepsToItsLimit(t *testing.T) {
	c, o := newTestConn(1, 64), NewOutgoing(OutgoingConfig{}, NewPool(DefaultPacketSize))
	for i := range 10 {
		p := onChannel(wire.Delivery(i/5*2), 0)
		require.NoError(t, o.Push(&p, []byte{'a' + byte(i)}))
	}
	require.Equal(t, "", sendOne(t, c, o, 4))
	require.Equal(t, "", sendOne(t, c, o, -1))
	require.Equal(t, "Unreliable 0 a", sendOne(t, c, o, 5))
	require.Equal(t, "Unreliable 0 b, Unreliable 0 c", sendOne(t, c, o, 14))
	require.Equal(t, "Unreliable 0 d, Unreliable 0 e", sendOne(t, c, o, 19), "not the next, whose batch takes three more")
	require.Equal(t, "Reliable 0 f", sendOne(t, c, o, 10))
	require.Equal(t, 1, len(sendAll(t, c, o)))
}

func TestLostIsSentFirstAndOldestFirst(t *testing.T) {
	c, o := newTestConn(1, 64), NewOutgoing(OutgoingConfig{}, NewPool(DefaultPacketSize))
	for i, body := range []string{"a", "b", "c"} {
		p := onChannel(wire.Reliable, i)
		require.NoError(t, o.Push(&p, []byte(body)))
		sendOne(t, c, o, 1<<20)
	}
	p := onChannel(wire.Unreliable, 0)
	require.NoError(t, o.Push(&p, []byte("new")))
	o.Lost(3)
	o.Lost(1)
	o.Acked(2)
	require.Equal(t, "Reliable 0 a, Reliable 2 c, Unreliable 0 new", sendOne(t, c, o, 1<<20))
	require.Equal(t, uint64(2), o.Stats().Resent)
	require.Equal(t, 2, o.Unconfirmed())
	o.Acked(4)
	require.Zero(t, o.Unconfirmed())
}

func TestWindowHoldsOneChannelOnly(t *testing.T) {
	c, o := newTestConn(1, 1024), NewOutgoing(OutgoingConfig{}, NewPool(DefaultPacketSize))
	a, b, u := onChannel(wire.Reliable, 1), onChannel(wire.ReliableOrdered, 2), onChannel(wire.Unreliable, 0)
	for range ReliableWindow + 1 {
		require.NoError(t, o.Push(&a, []byte("a")))
	}
	sendAll(t, c, o)
	require.Equal(t, ReliableWindow+1, o.Unconfirmed())
	require.Equal(t, 7, o.Waiting(), "one waits for the window")
	require.Zero(t, o.Blocked(0, 0))
	require.Equal(t, time.Second, o.Blocked(time.Second, 0))
	require.NoError(t, o.Push(&b, []byte("b")))
	require.NoError(t, o.Push(&u, []byte("u")))
	require.Equal(t, []string{"ReliableOrdered 2 b, Unreliable 0 u"}, sendAll(t, c, o))
	o.Acked(2)
	require.False(t, o.Pending(), "the oldest is missing")
	require.Zero(t, o.Blocked(2*time.Second, 0), "that was progress")
	o.Acked(1)
	require.Equal(t, []string{"Reliable 1 a"}, sendAll(t, c, o))
	require.Zero(t, o.Blocked(time.Hour, 0))
}

func TestLackOfCreditKeepsTheOrder(t *testing.T) {
	c, o := newTestConn(1, 1024), NewOutgoing(OutgoingConfig{}, NewPool(DefaultPacketSize))
	a, b, u := onChannel(wire.Reliable, 1), onChannel(wire.Reliable, 2), onChannel(wire.Unreliable, 0)
	spent := 0
	for ; spent+934 <= InitialCredit; spent += 934 {
		require.NoError(t, o.Push(&a, make([]byte, 900)))
	}
	sendAll(t, c, o)
	require.Equal(t, uint64(spent), o.reliable.spent)
	require.NoError(t, o.Push(&a, make([]byte, 900)))
	require.NoError(t, o.Push(&b, []byte("small")))
	require.NoError(t, o.Push(&u, []byte("u")))
	require.Equal(t, []string{"Unreliable 0 u"}, sendAll(t, c, o), "the small one would spend what the large one waits for")
	for _, low := range []uint32{0, InitialCredit, InitialCredit - 1, InitialCredit + 1<<31 + 1} {
		o.Credit(low)
		require.False(t, o.Pending(), "%d is no more than before", low)
	}
	o.Credit(InitialCredit + 2000)
	require.Len(t, sendAll(t, c, o), 1)
	o.reliable.granted = 1<<32 - 10
	o.Credit(5)
	require.Equal(t, uint64(1<<32+5), o.reliable.granted, "around the 32 bits")
}

func TestFourLargeMessagesAtOnce(t *testing.T) {
	c, o := newTestConn(1, 1024), NewOutgoing(OutgoingConfig{}, NewPool(DefaultPacketSize))
	for i := range 5 {
		p := onChannel(wire.Reliable, i)
		require.NoError(t, o.Push(&p, make([]byte, 3000)))
	}
	p := onChannel(wire.Reliable, 9)
	require.NoError(t, o.Push(&p, []byte("small")))
	packets := sendAll(t, c, o)
	require.Len(t, packets, 12)
	require.Contains(t, packets[11], "small", "it passes")
	require.Equal(t, 4, o.reliable.open)
	o.Acked(1)
	o.Acked(2)
	require.False(t, o.Pending())
	o.Acked(3)
	require.Len(t, sendAll(t, c, o), 3, "the first is whole, so the fifth begins")
}

func TestLostPacketsBeyondMemoryAreSentAgain(t *testing.T) {
	o := NewOutgoing(OutgoingConfig{SentPackets: 64}, NewPool(DefaultPacketSize))
	p := onChannel(wire.Reliable, 0)
	fill := func(seq uint64) int {
		b := Builder{buf: make([]byte, 2, 500), limit: 500, sequence: seq}
		o.Fill(&b, 500)
		return len(b.buf)
	}
	require.NoError(t, o.Push(&p, []byte("a")))
	require.Greater(t, fill(1), 2)
	require.NoError(t, o.Push(&p, []byte("b")))
	require.Greater(t, fill(64), 2)
	require.False(t, o.Pending())
	require.NoError(t, o.Push(&p, []byte("c")))
	fill(65)
	require.True(t, o.Pending(), "packet 1 is forgotten, not what it carried")
	fill(66)
	o.Acked(66)
	require.Equal(t, 2, o.Unconfirmed())
}

func TestNumbersTravel(t *testing.T) {
	c, o := newTestConn(1, 64), NewOutgoing(OutgoingConfig{}, NewPool(DefaultPacketSize))
	for n := range 3 {
		p := Post{Type: 20, Stage: tick.PreUpdate, Channel: wire.NewChannel(wire.ReliableOrdered, 1), Flags: wire.FlagTick | wire.FlagEntity | wire.FlagCall,
			Tick: 0x123456, Entity: wire.NetworkID{Index: 300, Generation: 7}, Call: 0xABCD}
		require.NoError(t, o.Push(&p, []byte{byte(n)}))
	}
	b := c.Begin(make([]byte, 200))
	o.Fill(&b, 200)
	var numbers []uint16
	b.closeBatch()
	r := readBatches(b.buf[b.first:])
	for r.Next() {
		require.Equal(t, []byte{0x56, 0x34, 241, 60, 7, 0xCD, 0xAB}, r.Payload[2:9])
		numbers = append(numbers, binary.LittleEndian.Uint16(r.Payload))
	}
	require.Equal(t, []uint16{0, 1, 2}, numbers)
}

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
		if err := judge(&f.in, r.Channel, r.Header, r.Payload); err != nil {
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
