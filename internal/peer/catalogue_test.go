package peer

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// The tests of this file are cases of the fault catalogue, by number, for messages; those of packets are in
// sent_packets_test.go, received_packets_test.go and wrap_test.go.

// orderedOverWraps sends one message a tick on an ordered channel, 30 % of the packets lost each way, and checks that they
// come in order. Packets and messages both go ten times around their 16 bits.
type orderedOverWraps struct {
	*flow
	t      *testing.T
	random *rand.Rand
	sent   uint64
	came   uint64
	ahead  [][]byte // packets on their way
}

func (w *orderedOverWraps) heard(m *Arrival) {
	if got := binary.LittleEndian.Uint64(m.Body); got != w.came {
		require.FailNow(w.t, "out of order", "%d, not %d", got, w.came)
	}
	w.came++
	w.in.Freed(m.Cost)
}

func (w *orderedOverWraps) turn(p *Post, speak bool) {
	w.at++
	w.now += wrapTick
	if speak {
		room, err := w.out.Reserve(p, 8)
		require.NoError(w.t, err)
		binary.LittleEndian.PutUint64(room, w.sent)
		w.out.Commit(8)
		w.sent++
	}
	w.a.DetectLost(w.now, w)
	if w.out.Pending() {
		b := w.a.Begin(w.buf)
		w.out.Fill(&b, DefaultPacketSize)
		if packet := w.a.Finish(&b, w.at, w.now); w.random.Float64() >= wrapLoss {
			w.take(packet)
		}
	}
	b := w.b.Begin(w.buf)
	if low, due := w.in.CreditDue(); due {
		b.Add(wire.MessageCredit, tick.Initialization, len(AppendCredit(b.Payload()[:0], low)))
		w.in.CreditSent(b.Sequence())
	}
	w.b.DetectLost(w.now, credited{&w.in})
	packet := w.b.Finish(&b, w.at, w.now)
	if w.random.Float64() < wrapLoss {
		return
	}
	in, err := w.a.Read(packet, w.now, w)
	require.NoError(w.t, err)
	r := in.Messages()
	for r.Next() {
		low, err := ParseCredit(r.Payload)
		require.NoError(w.t, err)
		w.out.Credit(low)
	}
	w.a.Accept(in, w.now)
}

// credited tells Arrivals what became of packets.
type credited struct{ *Arrivals }

func (c credited) Acked(seq uint64, _ tick.Tick) { c.Arrivals.Acked(seq) }

func TestCase16OrderedMessagesOverTheWraps(t *testing.T) {
	if testing.Short() {
		t.Skip("long; the race detector has nothing to find in one goroutine")
	}
	for _, first := range startSequences() {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			w := &orderedOverWraps{flow: newFlow(0), t: t, random: rand.New(rand.NewPCG(first, 2))}
			w.a, w.b = newTestConn(first, 128), newTestConn(first, 128)
			w.deliver = w.heard
			p := Post{Type: 16, Channel: wire.NewChannel(wire.ReliableOrdered, 7)}
			for n := range wrapPackets {
				w.turn(&p, true)
				if n > 1000 && n%997 == 0 {
					require.InDelta(t, wrapLoss, w.a.Loss(), 0.2)
					rtt, _ := w.a.RTT()
					require.Less(t, rtt, 2*wrapTick)
					require.Less(t, w.sent-w.came, uint64(200), "tick %d", n)
				}
			}
			for range 1000 {
				w.turn(&p, false)
			}
			require.Equal(t, uint64(wrapPackets), w.came)
			require.Zero(t, w.out.Unconfirmed())
			require.GreaterOrEqual(t, w.a.Next(), first+wrapPackets)
			require.Equal(t, w.came, uint64(w.in.channels[0].came.base))
		})
	}
}

// TestCase17UntouchedChannel uses channels of every mode once, then not for 40,000 packets, then again.
func TestCase17UntouchedChannel(t *testing.T) {
	for _, first := range startSequences() {
		f := newFlow(3)
		f.a, f.b = newTestConn(first, 64), newTestConn(first, 64)
		got := map[wire.Channel]int{}
		f.deliver = func(m *Arrival) { got[m.Channel]++; f.in.Freed(m.Cost) }
		once := func() {
			for mode := wire.UnreliableSequenced; mode.Valid(); mode++ {
				for range 3 { // of the unreliable ones at least one arrives
					require.NoError(t, f.out.Push(&Post{Type: 16, Channel: wire.NewChannel(mode, 5)}, f.body[:]))
					f.turn(&Post{Type: 16}, 0)
				}
			}
		}
		once()
		busy := Post{Type: 16, Channel: wire.NewChannel(wire.ReliableOrdered, 6)}
		for range 40000 {
			f.turn(&busy, 1)
		}
		require.GreaterOrEqual(t, got[busy.Channel], 39900)
		before := got[wire.NewChannel(wire.UnreliableSequenced, 5)]
		once()
		for range 100 {
			f.turn(&busy, 0)
		}
		require.Greater(t, got[wire.NewChannel(wire.UnreliableSequenced, 5)], before)
		require.Equal(t, 6, got[wire.NewChannel(wire.Reliable, 5)])
		require.Equal(t, 6, got[wire.NewChannel(wire.ReliableOrdered, 5)])
	}
}

// TestCase21AckWorkBomb: whatever an ack names, it touches at most 33 packets, and of each message once.
func TestCase21AckWorkBomb(t *testing.T) {
	f := newFlow(0)
	p := Post{Type: 16, Channel: wire.NewChannel(wire.Reliable, 0)}
	messages := uint64(0)
	for line := range 64 { // as much in flight as the credit lets out, in many channels at once
		p.Channel = wire.NewChannel(wire.Reliable, line)
		for range 40 {
			if f.out.Push(&p, nil) == nil {
				messages++
			}
		}
	}
	var packets int
	for f.out.Pending() {
		f.at++
		b := f.a.Begin(f.buf)
		f.out.Fill(&b, 100)
		require.NotNil(t, f.a.Finish(&b, f.at, f.now))
		packets++
	}
	require.Greater(t, packets, 100)
	first, told := uint64(1), 0
	worst := uint64(0)
	var out quiet
	for n := range uint64(3 * packets) { // every mask, newest first and last, over and over
		ack := uint64(packets) - n%uint64(packets)
		before := f.out.Stats().Confirmed
		bits := uint32(1<<32 - 1)
		if ack <= 32 {
			bits = 1<<(ack-1) - 1
		}
		acks := out.acked
		require.NoError(t, readAck(f.a, first, ack, bits, 0, both{f, &out}))
		f.a.received.accept(first, false)
		first++
		require.LessOrEqual(t, out.acked-acks, AckReach+1)
		worst = max(worst, f.out.Stats().Confirmed-before)
		told = out.acked
	}
	require.Equal(t, packets, told, "each packet once, whatever is repeated")
	casebook.Injected(t, 3*packets, "acknowledgements with the worst mask")
	require.Equal(t, messages, f.out.Stats().Confirmed)
	require.LessOrEqual(t, worst, uint64(33*100/(wire.MessageHeaderSize+numberSize)))
	require.Zero(t, f.out.Unconfirmed())
}

// both tells two.
type both struct {
	*flow
	second Outcome
}

func (b both) Acked(seq uint64, at tick.Tick) { b.flow.Acked(seq, at); b.second.Acked(seq, at) }
func (b both) Lost(seq uint64)                { b.flow.Lost(seq); b.second.Lost(seq) }

// oneWay returns a flow and a function that sends what waits in one packet, which it returns with its number.
func oneWay(t *testing.T) (f *flow, send func() ([]byte, uint64)) {
	f = newFlow(0)
	return f, func() ([]byte, uint64) {
		f.at++
		b := f.a.Begin(make([]byte, DefaultPacketSize))
		f.out.Fill(&b, DefaultPacketSize)
		seq := b.Sequence()
		packet := f.a.Finish(&b, f.at, f.now)
		require.NotNil(t, packet)
		return packet, seq
	}
}

func TestCase22LateAfterPresumedLost(t *testing.T) {
	p := Post{Type: 16, Channel: wire.NewChannel(wire.Reliable, 0)}
	t.Run("before it was sent again", func(t *testing.T) {
		f, send := oneWay(t)
		require.NoError(t, f.out.Push(&p, []byte("a")))
		_, seq := send()
		f.out.Lost(seq)
		f.out.Lost(seq)
		require.True(t, f.out.Pending())
		f.out.Acked(seq)
		require.False(t, f.out.Pending(), "the one that was to be sent again is not")
		require.Zero(t, f.out.Unconfirmed())
		require.Zero(t, f.out.Waiting())
		require.Equal(t, uint64(1), f.out.Stats().LateAcks)
		casebook.Injected(t, f.out.Stats().LateAcks, "packets that arrive after they counted as lost")
		require.Zero(t, f.out.Stats().Resent)
	})
	t.Run("after it was sent again", func(t *testing.T) {
		f, send := oneWay(t)
		require.NoError(t, f.out.Push(&p, []byte("a")))
		one, seq := send()
		f.out.Lost(seq)
		two, again := send()
		f.take(two)
		f.take(one)
		require.Equal(t, 1, f.got, "delivered once")
		require.Equal(t, uint64(1), f.in.Stats().Duplicates)
		f.out.Acked(seq)
		require.Zero(t, f.out.Unconfirmed())
		f.out.Lost(again)
		require.False(t, f.out.Pending(), "what arrived is not sent a third time")
		f.out.Acked(again)
		require.Equal(t, uint64(1), f.out.Stats().Confirmed)
	})
	t.Run("the older packet does not speak for the newer", func(t *testing.T) {
		f, send := oneWay(t)
		require.NoError(t, f.out.Push(&p, []byte("a")))
		_, seq := send()
		f.out.Lost(seq)
		_, again := send()
		f.out.Lost(seq)
		require.False(t, f.out.Pending())
		f.out.Lost(again)
		require.True(t, f.out.Pending())
	})
}

// TestCase33ReliableIntoAFullQueue: the sender is told, and whatever was taken arrives; nothing is acknowledged and dropped.
func TestCase33ReliableIntoAFullQueue(t *testing.T) {
	f := newFlow(4)
	var came []uint64
	owed := 0
	f.deliver = func(m *Arrival) { came = append(came, binary.LittleEndian.Uint64(m.Body)); owed += m.Cost }
	p := Post{Type: 16, Channel: wire.NewChannel(wire.ReliableOrdered, 0)}
	taken, refused := uint64(0), 0
	body := make([]byte, 500)
	push := func() {
		for range 50 {
			binary.LittleEndian.PutUint64(body, taken)
			if err := f.out.Push(&p, body); err != nil {
				require.ErrorIs(t, err, ErrBackPressure)
				refused++
				continue
			}
			taken++
		}
	}
	for range 100 { // the receiver handles nothing
		push()
		f.turn(&p, 0)
		require.LessOrEqual(t, f.in.Waiting(), InitialCredit)
		require.LessOrEqual(t, f.out.reliable.held, f.out.reliable.limit)
	}
	require.NotZero(t, refused)
	require.Equal(t, uint64(refused), f.out.Stats().BackPressure)
	require.Less(t, uint64(len(came)), taken)
	require.Zero(t, f.out.Blocked(f.now, 0), "the first call that sees it")
	require.Equal(t, time.Second, f.out.Blocked(f.now+time.Second, 0), "the caller closes with QueueOverflow when this goes on")
	require.False(t, f.out.Pending())
	for range 500 { // now it does
		f.in.Freed(owed)
		owed = 0
		f.turn(&p, 0)
	}
	require.Zero(t, f.out.Blocked(f.now+time.Hour, 0))
	require.Zero(t, f.out.Unconfirmed())
	require.Len(t, came, int(taken), "every one that was taken")
	for i, n := range came {
		require.Equal(t, uint64(i), n)
	}
}

func TestCase33SenderBeyondItsCredit(t *testing.T) {
	var a Arrivals
	payload := make([]byte, 1000)
	ch := wire.NewChannel(wire.Reliable, 0)
	h := wire.MessageHeader{Type: 16, Size: 1000}
	taken := 0
	for n := uint16(0); ; n++ {
		binary.LittleEndian.PutUint16(payload, n)
		err := judge(&a, ch, h, payload)
		if taken+1032 > InitialCredit {
			require.ErrorIs(t, err, ErrOverCredit)
			require.Equal(t, errs.ReasonQueueOverflow, CloseReason(err))
			require.ErrorIs(t, a.Take(1, ch, h, payload, func(*Arrival) { t.Fatal("delivered") }), ErrOverCredit)
			break
		}
		require.NoError(t, err)
		require.NoError(t, a.Take(1, ch, h, payload, func(m *Arrival) { taken += m.Cost }))
	}
	require.Equal(t, InitialCredit/1032*1032, taken)
	require.Equal(t, taken, a.Waiting())
	a.Freed(taken)
	require.ErrorIs(t, judge(&a, ch, h, payload), ErrOverCredit, "what was freed is not granted before it was told")
	_, due := a.CreditDue()
	require.True(t, due)
	a.CreditSent(5)
	require.NoError(t, judge(&a, ch, h, payload))
}
