package congestion

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
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
	loss                   float64
	random                 *rand.Rand
	demand                 int64 // bytes a second; 0: all
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
}

func (f *flow) start() {
	f.waits = make([]int, 2000)
	f.w.at(f.phase, f.tick)
	f.w.at(f.theirs, f.answer)
}

const mtu = 1228

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
	f.level = min(f.level+share, max(2*share, 256))
	want := 1e18
	if f.demand > 0 {
		want = float64(f.demand) * f.interval.Seconds()
	}
	limited := true
	for f.level >= 96 {
		size := int(min(f.level, mtu))
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
		due := leaves + f.delay
		if f.jitter > 0 {
			due += time.Duration(f.random.Int64N(int64(f.jitter)))
		}
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
}

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
	if f.random.Float64() < f.loss {
		return
	}
	due := f.w.now + f.delay
	if f.jitter > 0 {
		due += time.Duration(f.random.Int64N(int64(f.jitter)))
	}
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

// tcp is a NewReno or Cubic flow.
type tcp struct {
	w                    *world
	q                    *queue
	delay                time.Duration
	cubic                bool
	cwnd, ssthresh       float64
	next, acked, recover int
	inRecovery           bool
	got                  map[int]bool
	expect               int
	dups                 int
	delivered            int64
	record               bool
	srtt                 time.Duration
	timer                int
	wmax                 float64
	epoch                time.Duration
	sentAt               map[int]time.Duration
}

const mss = 1500

func (t *tcp) start() {
	t.cwnd, t.ssthresh = 10, 1e9
	t.got = map[int]bool{}
	t.sentAt = map[int]time.Duration{}
	t.srtt = 200 * ms
	t.fill()
}

func (t *tcp) fill() {
	for float64(t.next-t.acked) < t.cwnd+float64(t.dups) {
		t.send(t.next)
		t.next++
	}
	t.arm()
}

func (t *tcp) arm() {
	t.timer++
	n := t.timer
	t.w.at(t.w.now+max(time.Second, 2*t.srtt), func() {
		if n != t.timer {
			return
		}
		t.ssthresh = max(t.cwnd/2, 2)
		t.wmax = t.cwnd
		t.epoch = 0
		t.cwnd = 1
		t.next = t.acked
		t.dups = 0
		t.inRecovery = false
		t.fill()
	})
}

func (t *tcp) send(n int) {
	t.sentAt[n] = t.w.now
	leaves, _, ok := t.q.enter(t.w.now, mss)
	if !ok {
		return
	}
	t.w.at(leaves+t.delay, func() {
		if !t.got[n] && n >= t.expect {
			t.got[n] = true
			if t.record {
				t.delivered += mss
			}
		}
		for t.got[t.expect] {
			delete(t.got, t.expect)
			t.expect++
		}
		e := t.expect
		t.w.at(t.w.now+t.delay, func() { t.ack(e, n) })
	})
}

func (t *tcp) ack(e, n int) {
	if at, ok := t.sentAt[n]; ok {
		t.srtt += (t.w.now - at - t.srtt) / 8
		delete(t.sentAt, n)
	}
	if e > t.acked {
		newly := e - t.acked
		t.acked = e
		t.next = max(t.next, e)
		if t.inRecovery {
			if e > t.recover {
				t.inRecovery = false
				t.dups = 0
				t.cwnd = t.ssthresh
			} else {
				t.send(e)
				t.dups = max(t.dups-newly, 0)
			}
		} else {
			t.dups = 0
			if t.cwnd < t.ssthresh {
				t.cwnd += float64(newly)
			} else if t.cubic {
				t.cubicGrow()
			} else {
				t.cwnd += float64(newly) / t.cwnd
			}
		}
	} else {
		t.dups++
		if t.dups == 3 && !t.inRecovery {
			t.inRecovery = true
			t.recover = t.next
			t.wmax = t.cwnd
			t.epoch = 0
			b := .5
			if t.cubic {
				b = .7
			}
			t.ssthresh = max(t.cwnd*b, 2)
			t.cwnd = t.ssthresh
			t.send(t.acked)
		}
	}
	t.fill()
}

func (t *tcp) cubicGrow() {
	if t.epoch == 0 {
		t.epoch = t.w.now
	}
	k := cbrt(t.wmax * .3 / .4)
	x := (t.w.now - t.epoch + t.srtt).Seconds() - k
	target := .4*x*x*x + t.wmax
	// TCP-friendly region
	est := t.wmax*.7 + 3*.3/1.7*(t.w.now-t.epoch).Seconds()/t.srtt.Seconds()
	target = max(target, est)
	if target > t.cwnd {
		t.cwnd += min((target-t.cwnd)/t.cwnd, .5)
	} else {
		t.cwnd += .01 / t.cwnd
	}
}

func cbrt(x float64) float64 {
	y := 1.0
	for range 60 {
		y = (2*y + x/(y*y)) / 3
	}
	return y
}

type scene struct {
	name   string
	hz     int
	rates  []int64 // KiB/s each for `each`
	each   time.Duration
	flows  int
	tcp    string
	loss   float64
	delay  time.Duration
	jitter time.Duration
	warm   time.Duration
	demand int64
}

func (s scene) String() string { return s.name }

type outcome struct {
	goodput, tcp, overflow float64
	p50, p95               int
	shares                 []float64
	final                  State
}

func (s scene) play(seed uint64, with func(interval time.Duration) control) outcome {
	w := &world{}
	q := &queue{rate: s.rates[0] << 10, most: 200 * ms}
	r := rand.New(rand.NewPCG(seed, 1))
	interval := time.Second / time.Duration(s.hz)
	var flows []*flow
	phase := time.Duration(r.Int64N(int64(interval)))
	for range s.flows {
		f := &flow{w: w, q: q, interval: interval, frame: time.Second / 60, delay: s.delay / 2, jitter: s.jitter, loss: s.loss, random: r,
			demand: s.demand, phase: phase, theirs: time.Duration(r.Int64N(int64(interval)))}
		f.c = with(interval)
		flows = append(flows, f)
		f.start()
	}
	var t *tcp
	if s.tcp != "" {
		t = &tcp{w: w, q: q, delay: s.delay / 2, cubic: s.tcp == "cubic"}
		w.at(5*time.Second, t.start)
	}
	w.run(s.warm)
	for _, f := range flows {
		f.record = true
	}
	if t != nil {
		t.record = true
	}
	var capacity float64
	for i, rate := range s.rates {
		q.set(w.now, rate<<10)
		from := w.now
		end := from + s.each
		if i == 0 {
			end = s.each
		}
		w.run(end)
		capacity += float64(rate<<10) * (w.now - from).Seconds()
	}
	var o outcome
	var in, over int64
	waits := slices.Clone(flows[0].waits)
	clear(waits)
	for _, f := range flows {
		o.goodput += float64(f.delivered) / capacity
		o.shares = append(o.shares, float64(f.delivered)/capacity)
		in += f.entered
		over += f.overflow
		for i, n := range f.waits {
			waits[i] += n
		}
	}
	if t != nil {
		o.tcp = float64(t.delivered) / capacity
	}
	o.overflow = float64(over) / float64(max(in, 1))
	total := int64(0)
	for _, n := range waits {
		total += int64(n)
	}
	sum := int64(0)
	for i, n := range waits {
		sum += int64(n)
		if sum*2 >= total && o.p50 == 0 {
			o.p50 = i
		}
		if sum*100 >= total*95 {
			o.p95 = i
			break
		}
	}
	o.final = flows[0].c.State()
	return o
}

// scenes are lines on which the figures of ADR 40 were taken.
func scenes() []scene {
	var all []scene
	for _, hz := range []int{30, 60} {
		for _, k := range []int64{16, 32, 128, 1024} {
			base := scene{hz: hz, rates: []int64{k}, each: 60 * time.Second, flows: 1, delay: 60 * ms}
			add := func(name string, change func(*scene)) {
				s := base
				s.name = fmt.Sprintf("%dHz/%d/%s", hz, k, name)
				change(&s)
				all = append(all, s)
			}
			add("alone", func(*scene) {})
			add("loss10", func(s *scene) { s.loss = .1 })
			add("four", func(s *scene) { s.flows = 4 })
			add("loss40", func(s *scene) { s.loss = .4 })
			add("jitter", func(s *scene) { s.jitter = 20 * ms })
			add("far", func(s *scene) { s.delay = 200 * ms })
			add("reno", func(s *scene) { s.tcp = "reno"; s.each = 120 * time.Second })
			add("cubic", func(s *scene) { s.tcp = "cubic"; s.each = 120 * time.Second })
		}
		all = append(all, scene{name: fmt.Sprintf("%dHz/steps", hz), hz: hz, rates: []int64{16, 32, 128, 1024, 128, 32, 16}, each: 30 * time.Second, flows: 1, delay: 60 * ms})
		all = append(all, scene{name: fmt.Sprintf("%dHz/drop", hz), hz: hz, rates: []int64{1024, 16, 1024, 16}, each: 30 * time.Second, flows: 1, delay: 60 * ms})
	}
	return all
}

// own is the controller without a bound that counts.
func own(interval time.Duration) control {
	c := New(1<<30, interval)
	return &c
}

// A sender that has always more to send uses a line, keeps its queue short and overflows it rarely, alone, beside loss, beside its
// like and where the line changes. Beside TCP neither gets less than a third.
func TestLinesAreUsedAndNotFilled(t *testing.T) {
	unmet := map[string]bool{ // ADR 40 says why.
		"30Hz/16/alone":    true,
		"30Hz/16/four":     true,
		"30Hz/16/jitter":   true,
		"30Hz/16/far":      true,
		"30Hz/32/four":     true,
		"30Hz/32/jitter":   true,
		"30Hz/32/reno":     true,
		"30Hz/128/cubic":   true,
		"30Hz/1024/cubic":  true,
		"30Hz/steps":       true,
		"30Hz/drop":        true,
		"60Hz/16/four":     true,
		"60Hz/16/cubic":    true,
		"60Hz/32/four":     true,
		"60Hz/128/jitter":  true,
		"60Hz/1024/jitter": true,
		"60Hz/1024/cubic":  true,
		"60Hz/drop":        true,
	}
	for _, s := range scenes() {
		if testing.Short() && (s.rates[0] == 1024 || len(s.rates) > 1) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			o := s.play(1, own)
			t.Logf("goodput %.3f, TCP %.3f, queue %d ms half of the time and %d ms 95 %%, overflow %.4f, shares %.2f", o.goodput, o.tcp, o.p50, o.p95, o.overflow, o.shares)
			if s.tcp != "" {
				if unmet[s.name] {
					require.Greater(t, min(o.goodput, o.tcp), 0.15)
				} else {
					require.Greater(t, min(o.goodput, o.tcp), 1./3)
				}
				return
			}
			if unmet[s.name] || s.loss > .1 {
				require.Greater(t, o.goodput, 0.25*(1-s.loss))
				require.Less(t, o.overflow, 0.06)
				return
			}
			require.Greater(t, o.goodput, 0.9*(1-s.loss))
			require.LessOrEqual(t, o.overflow, 0.01)
			require.LessOrEqual(t, o.p95, 50)
		})
	}
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

// A stall whose end shows no queue is undone: the rate is what it was. One after which packets come late is not.
func TestAStallWithoutAQueueIsUndone(t *testing.T) {
	for _, late := range []bool{false, true} {
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
				c.Acked(now, sent[acked], 1000, true)
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

// Without acknowledgements the rate falls in competing mode too: its window does not grow.
func TestSilenceLowersTheRateBesideOthers(t *testing.T) {
	c := New(1<<20, 33*ms)
	c.startCompeting(0)
	for now := time.Duration(0); now < 5*time.Second; now += 33 * ms {
		c.Sent(now, 1000, true)
		c.Tick(now, true)
	}
	require.LessOrEqual(t, c.State().Rate, 2*leastRate)
}

// A loss that stays at a lower rate does not lower it for long: the rate is given back.
func TestALossThatStaysGivesTheRateBack(t *testing.T) {
	c := New(1<<20, 33*ms)
	c.setRate(256 << 10)
	var sent []uint32
	acked := 0
	for i := range 90 {
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
	}
	require.Greater(t, c.State().Rate, 200<<10)
}
