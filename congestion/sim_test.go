package congestion

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const ms = time.Millisecond

// control decides the rate of a simulated sender.
type control interface {
	Sent(now time.Duration, size int, eliciting bool) uint32
	Acked(now time.Duration, position uint32, size int, eliciting bool)
	Lost(position uint32)
	Tick(now time.Duration, limited bool)
	State() State
	Rate() int
	PacketSize() int
}

// queue is a line with a rate and a drop-tail queue.
type queue struct {
	rate        int64
	most        time.Duration
	free        time.Duration
	waits       [2000]int // by ms, of the game's packets
	in, dropped int64
	bytes       int64
}

func (q *queue) enter(now time.Duration, size int) (leaves, wait time.Duration, ok bool) {
	start := max(now, q.free)
	if start-now > q.most {
		return 0, 0, false
	}
	q.free = start + time.Duration(int64(size)*int64(time.Second)/q.rate)
	q.bytes += int64(size)
	return q.free, start - now, true
}

func (q *queue) set(now time.Duration, rate int64) {
	if q.free > now {
		q.free = now + time.Duration(float64(q.free-now)*float64(q.rate)/float64(rate))
	}
	q.rate = rate
}

type event struct {
	at time.Duration
	n  int
	do func()
}

// world runs events in order of time.
type world struct {
	now    time.Duration
	events []event
	n      int
}

func (w *world) at(t time.Duration, do func()) {
	w.n++
	e := event{max(t, w.now), w.n, do}
	i, _ := slices.BinarySearchFunc(w.events, e, func(a, b event) int {
		if a.at != b.at {
			return cmp.Compare(b.at, a.at)
		}
		return b.n - a.n
	})
	w.events = slices.Insert(w.events, i, e)
}

func (w *world) run(until time.Duration) {
	for len(w.events) > 0 {
		e := w.events[len(w.events)-1]
		if e.at > until {
			break
		}
		w.events = w.events[:len(w.events)-1]
		w.now = e.at
		e.do()
	}
	w.now = until
}

type packet struct {
	position    uint32
	size        int
	seq         int
	acked, lost bool
	at          time.Duration
}

// flow is a sender with ticks, and a receiver with ticks of its own.
type flow struct {
	w                      *world
	q                      *queue
	c                      control
	interval, frame, delay time.Duration
	phase, theirs          time.Duration
	jitter                 time.Duration
	inOrder                bool   // jitter does not change the order
	up                     *queue // of acknowledgements; nil: none
	lastDue, lastAck       time.Duration
	loss                   float64 // after the line
	lossBefore             float64 // before the line
	recordBytes            int     // of a record: a packet has some whole ones; 0: any
	random                 *rand.Rand
	demand                 int64         // bytes a second; 0: all
	demandUntil            time.Duration // 0: to the end
	sent                   []packet
	oldest                 int
	newestAcked            int
	level                  float64
	got                    []int // sequences that arrived and are not acknowledged
	inbox                  []int
	delivered              int64
	record                 bool
	overflow, entered      int64
	waits                  []int
	group                  *Group // of a sender's last flow, which ticks last
}

func (f *flow) start() {
	f.waits = make([]int, 2000)
	f.w.at(f.phase, f.tick)
	f.w.at(f.theirs, f.answer)
}

// mtu is the size of the largest packet, headers that of IP, UDP and a packet's own.
const mtu, headers = 1228, 46

func (f *flow) tick() {
	f.w.at(f.w.now+f.interval, f.tick)
	now := f.w.now
	// lost: three ticks later acked or late
	for f.oldest < len(f.sent) {
		p := &f.sent[f.oldest]
		if !p.acked {
			if f.newestAcked > f.oldest && f.sent[f.newestAcked].at > p.at || now-p.at > time.Second {
				p.lost = true
				f.c.Lost(p.position)
			} else {
				break
			}
		}
		f.oldest++
	}
	rate := int64(f.c.Rate())
	share := float64(rate) * f.interval.Seconds()
	f.level = min(f.level+share, max(2*share, 256, float64(f.recordBytes+headers)))
	want := 1e18
	if f.demand > 0 && (f.demandUntil == 0 || now < f.demandUntil) {
		want = float64(f.demand) * f.interval.Seconds()
	}
	limited := true
	for f.level >= float64(max(96, f.recordBytes+headers)) {
		size := int(min(f.level, float64(min(f.c.PacketSize(), mtu))))
		if f.recordBytes > 0 {
			size = headers + max(1, (size-headers)/f.recordBytes)*f.recordBytes
		}
		if float64(size) >= want {
			size = int(want)
			limited = false
		}
		if size < 40 {
			break
		}
		want -= float64(size)
		f.level -= float64(size)
		pos := f.c.Sent(now, size, true)
		seq := len(f.sent)
		f.sent = append(f.sent, packet{position: pos, size: size, at: now})
		if f.record {
			f.entered++
		}
		if f.lossBefore > 0 && f.random.Float64() < f.lossBefore {
			if !limited {
				break
			}
			continue
		}
		leaves, wait, ok := f.q.enter(now, size)
		if !ok {
			if f.record {
				f.overflow++
			}
			if !limited {
				break
			}
			continue
		}
		if f.record {
			f.waits[wait/ms]++
		}
		if f.random.Float64() < f.loss {
			if !limited {
				break
			}
			continue
		}
		due := f.due(leaves, &f.lastDue)
		// taken in at the next frame of the receiver
		f.w.at(due, func() {
			if f.record {
				f.delivered += int64(size)
			}
			f.inbox = append(f.inbox, seq)
		})
		if !limited {
			break
		}
	}
	f.c.Tick(now, limited)
	if f.group != nil {
		f.group.Tick(now)
	}
}

// due returns when what left the line arrives.
func (f *flow) due(left time.Duration, last *time.Duration) time.Duration {
	due := left + f.delay
	if f.jitter > 0 {
		due += time.Duration(f.random.Int64N(int64(f.jitter)))
	}
	if f.inOrder {
		due = max(due, *last)
		*last = due
	}
	return due
}

// ackSize is the size of a packet that acknowledges and has some inputs, with the headers of IP and UDP.
const ackSize = 70

func (f *flow) answer() {
	f.w.at(f.w.now+f.interval, f.answer)
	if len(f.inbox) == 0 {
		return
	}
	got := slices.Clone(f.inbox)
	// the ack covers 32 and more: keep the last 64
	f.got = append(f.got, got...)
	f.inbox = f.inbox[:0]
	if len(f.got) > 64+len(got) {
		f.got = f.got[len(f.got)-64-len(got):]
	}
	ack := slices.Clone(f.got)
	if f.random.Float64() < max(f.loss, f.lossBefore) {
		return
	}
	left := f.w.now
	if f.up != nil {
		leaves, _, ok := f.up.enter(f.w.now, ackSize)
		if !ok {
			return
		}
		left = leaves
	}
	due := f.due(left, &f.lastAck)
	// the sender takes it in at its next frame
	k := (due - f.phase + f.frame - 1) / f.frame
	f.w.at(f.phase+k*f.frame-1, func() { // before its tick
		slices.Sort(ack)
		for _, s := range ack {
			p := &f.sent[s]
			if p.acked {
				continue
			}
			p.acked = true
			f.newestAcked = max(f.newestAcked, s)
			f.c.Acked(f.w.now+1, p.position, p.size, true)
		}
	})
}

// own is the controller without a bound that counts.
func own(interval time.Duration) control {
	c := New(1<<30, interval)
	return &c
}

// Loss at random is no congestion: a line that takes far more than is sent is not sent less, whatever is lost at random.
func TestRandomLossIsNoCongestion(t *testing.T) {
	for _, hz := range []int{30, 60} {
		for _, demand := range []int64{6, 20, 50} {
			for _, loss := range []float64{0, .05, .2, .4} {
				for _, rtt := range []time.Duration{0, 100 * ms, 200 * ms} {
					s := scene{hz: hz, rates: []int64{100 << 10}, each: 60 * time.Second, flows: 1, delay: rtt, loss: loss, demand: demand << 10}
					o := s.play(1, own)
					got := o.goodput * float64(100<<20) / float64(demand<<10) / (1 - loss)
					require.Greater(t, got, .9, "%d Hz, %d KiB/s, loss %v, rtt %v: %+v", hz, demand, loss, rtt, o.final)
				}
			}
		}
	}
}

// Whatever comes in whatever order, the rate stays between the least one and the bound, and nothing breaks.
func TestAnyCallsKeepTheRateInItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.IntRange(1, 1<<30).Draw(t, "bound")
		c := New(bound, rapid.SampledFrom([]time.Duration{ms, 16 * ms, 33 * ms, time.Second}).Draw(t, "interval"))
		var now time.Duration
		var sent []packet
		for range rapid.IntRange(1, 300).Draw(t, "calls") {
			now += time.Duration(rapid.Int64Range(0, int64(200*ms)).Draw(t, "passed"))
			switch rapid.IntRange(0, 4).Draw(t, "call") {
			case 0, 1:
				size := rapid.IntRange(1, 65535).Draw(t, "size")
				sent = append(sent, packet{position: c.Sent(now, size, true), size: size})
			case 2:
				if len(sent) > 0 {
					p := rapid.SampledFrom(sent).Draw(t, "acked")
					c.Acked(now, p.position, p.size, rapid.Bool().Draw(t, "eliciting"))
				}
			case 3:
				if len(sent) > 0 {
					c.Lost(rapid.SampledFrom(sent).Draw(t, "lost").position)
				}
			case 4:
				c.Tick(now, rapid.Bool().Draw(t, "limited"))
			}
			state := c.State()
			if state.Rate < leastRate || state.Rate > max(bound, leastRate) || state.Queue < 0 || state.Line < 0 {
				t.Fatalf("%+v with a bound of %d", state, bound)
			}
		}
	})
}

// The zero value is off.
func TestWithoutABoundThereIsNoController(t *testing.T) {
	var c Controller
	require.Zero(t, c.Sent(0, 100, true))
	c.Acked(time.Second, 5, 100, true)
	c.Lost(5)
	c.Tick(time.Second, true)
	require.Equal(t, -1, c.Rate())
	require.Equal(t, State{}, c.State())
	require.Equal(t, "off", c.State().Reason.String())
}

// A bound is kept, and told as the reason.
func TestTheBoundIsTheReason(t *testing.T) {
	s := scene{hz: 60, rates: []int64{1024}, each: 10 * time.Second, flows: 1, delay: 60 * ms}
	o := s.play(1, func(interval time.Duration) control { c := New(32<<10, interval); return &c })
	require.Equal(t, 32<<10, o.final.Rate)
	require.Equal(t, Bound, o.final.Reason)
	s.demand = 5 << 10
	require.Equal(t, Application, s.play(1, own).final.Reason)
	s.demand, s.rates = 0, []int64{16}
	o = s.play(1, own)
	require.Equal(t, Delay, o.final.Reason)
	require.InDelta(t, 16<<10, o.final.Line, 3<<10)
}

// Without any acknowledgement the rate falls again and again.
func TestSilenceLowersTheRate(t *testing.T) {
	c := New(1<<20, 33*ms)
	for now := time.Duration(0); now < 5*time.Second; now += 33 * ms {
		c.Sent(now, 1000, true)
		c.Tick(now, true)
	}
	require.Equal(t, leastRate, c.State().Rate)
	require.Equal(t, Loss, c.State().Reason)
}

func TestNothingIsAllocated(t *testing.T) {
	c := New(1<<20, 33*ms)
	var now time.Duration
	alloctest.Zero(t, 1000, func() {
		now += 33 * ms
		position := c.Sent(now, 1000, true)
		c.Acked(now, position, 1000, true)
		c.Lost(position)
		c.Tick(now, true)
	})
}

// A stall whose end shows no queue is undone: the rate is what it was. One after which packets come late is not. Acknowledgements come in
// frames, which need not be ticks.
func TestAStallWithoutAQueueIsUndone(t *testing.T) {
	for _, at := range []struct {
		late  bool
		frame time.Duration
	}{{false, 0}, {true, 0}, {false, 16 * ms}, {true, 16 * ms}} {
		late := at.late
		c := New(1<<20, 33*ms)
		full, delay, acked := 0, 3, 0
		var sent []uint32
		for i := range 60 {
			now := time.Duration(i) * 33 * ms
			sent = append(sent, c.Sent(now, 1000, true))
			if i == 55 && late {
				delay = 20
			}
			for ; acked <= i-delay && (i < 30 || i >= 55); acked++ {
				c.Acked(now-at.frame, sent[acked], 1000, true)
			}
			c.Tick(now, i < 30)
			switch i {
			case 29:
				full = c.State().Rate
			case 54:
				require.Equal(t, Loss, c.State().Reason)
				require.Less(t, c.State().Rate, full/4)
			}
		}
		if late {
			require.Less(t, c.State().Rate, full/4)
		} else {
			require.Equal(t, full, c.State().Rate)
		}
	}
}

// beside returns a controller in competing mode whose packets of 1000 bytes arrive after 3 ticks, and a function that plays ticks.
func beside(window int64) (c *Controller, play func(ticks int, acked, limited bool)) {
	one := New(8<<20, 33*ms)
	c = &one
	var now time.Duration
	var sent []uint32
	play = func(ticks int, acked, limited bool) {
		for range ticks {
			now += 33 * ms
			sent = append(sent, c.Sent(now, 1000, true))
			if n := len(sent) - 4; n >= 0 && acked {
				c.Acked(now, sent[n], 1000, true)
			}
			c.Tick(now, limited)
		}
	}
	play(10, true, true)
	c.startCompeting(now)
	c.window = window
	return c, play
}

// In competing mode the window grows while packets arrive. Without acknowledgements it does not: it is halved.
func TestSilenceStopsTheWindow(t *testing.T) {
	c, play := beside(8000)
	play(20, true, true)
	require.Greater(t, c.window, int64(10_000))
	play(10, false, true)
	require.True(t, c.stalled)
	for range 100 {
		before := c.window
		play(1, false, true)
		require.LessOrEqual(t, c.window, before)
	}
	require.Equal(t, int64(leastWindow), c.window)
}

// A window that is not used does not grow (RFC 7661).
func TestWhatIsNotSentStopsTheWindow(t *testing.T) {
	c, play := beside(8000)
	play(20, true, false)
	require.Equal(t, int64(8000), c.window)
}

// The window takes no more than mostShare of a line whose estimate without other senders is known. Otherwise it grows on.
func TestTheWindowTakesNoMoreThanItsShare(t *testing.T) {
	const alone = 128 << 10
	c, play := beside(8000)
	c.alone = alone
	play(200, true, true)
	require.Equal(t, scale(alone*mostShare/100, c.path.rtt, time.Second), c.window)
	c, play = beside(8000)
	play(200, true, true)
	require.Greater(t, c.window, scale(alone, c.path.rtt, time.Second))
}

// A loss that stays at a lower rate is no congestion: it lowers the rate once.
func TestALossThatStaysIsNoCongestion(t *testing.T) {
	c := New(1<<20, 33*ms)
	c.setRate(256 << 10)
	c.phase, c.line = probing, 256<<10
	var sent []uint32
	acked, least := 0, c.rate
	for i := range 400 {
		now := time.Duration(i) * 33 * ms
		for range 4 {
			sent = append(sent, c.Sent(now, 1000, true))
		}
		for ; i >= 3 && acked < 4*(i-3); acked++ {
			if acked < 80 || acked%5 > 1 {
				c.Acked(now, sent[acked], 1000, true)
			}
		}
		c.Tick(now, true)
		least = min(least, c.rate)
	}
	require.Less(t, least, int64(200<<10), "it may have been one")
	require.Greater(t, c.State().Rate, 200<<10)
}

// A sender whose rate is no limit finds out that the line became too slow for it.
func TestALineBecomesTooSlowForAModestSender(t *testing.T) {
	s := scene{hz: 60, rates: []int64{64, 16}, each: 60 * time.Second, flows: 1, delay: 60 * ms, demand: 20 << 10}
	o := s.play(1, own)
	require.Less(t, o.overflow, 0.01)
	require.Less(t, o.p95, 50)
	require.NotEqual(t, Application, o.final.Reason)
}

// Jitter is no queue of a sender that sends little: its rate stays where more would fit.
func TestJitterIsNoQueueOfAModestSender(t *testing.T) {
	for _, hz := range []int{30, 60} {
		for _, inOrder := range []bool{false, true} {
			s := scene{hz: hz, rates: []int64{100}, each: 60 * time.Second, flows: 1, delay: 60 * ms, demand: 12 << 10, jitter: 20 * ms, inOrder: inOrder}
			o := s.play(1, own)
			require.GreaterOrEqual(t, o.final.Rate, 14<<10, "%d Hz: %+v", hz, o.final)
			require.InDelta(t, .12, o.goodput, .005)
		}
	}
}

// A window begins beside a TCP download, and ends when that is over: the queue gets short again.
func TestADownloadEnds(t *testing.T) {
	for _, kind := range []string{"reno", "cubic"} {
		s := scene{hz: 60, rates: []int64{256}, each: 60 * time.Second, flows: 1, delay: 60 * ms, tcp: kind, tcpUntil: 30 * time.Second, warm: 40 * time.Second}
		o := s.play(1, own)
		require.Greater(t, o.goodput, 0.3, "a third of the 60 s are measured")
		require.LessOrEqual(t, o.p95, 50, "%s: %+v", kind, o.final)
		require.NotEqual(t, Competing, o.final.Reason)
	}
}
