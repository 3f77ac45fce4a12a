package congestion

import (
	"math"
	"time"
)

const (
	// startRate is the first rate where the bound allows it, in bytes a second.
	startRate = 16 << 10
	// leastRate is the lowest rate, in bytes a second.
	leastRate = 3 << 10
	// firstWindow is the bytes in flight at first (RFC 3390); each byte that arrives adds one, as in slow start.
	firstWindow = 4380
	// firstRTT stands for the round trip before there is a sample.
	firstRTT = 100 * time.Millisecond
	// segment is the step of the window in competing mode in bytes: a full packet of TCP.
	segment = 1500
	// gains is the growth of the window in segments a round trip, and keeps its percentage after a loss. TCP has 1, and 50 or (Cubic) 70:
	// but a sender of many small packets sees more losses, and checks cost it time.
	gains, keeps = 2, 85
	// mostShare is the share of the line, as far as it is known, that a window may take in per cent.
	mostShare = 60

	// leastPacket is the least of PacketSize in bytes: the headers of smaller packets would cost more than a tenth.
	leastPacket = 300
	// leastWindow is the least of that window in bytes.
	leastWindow = 300

	// mostFilter bounds filter, in Controller.least.
	mostFilter = 3

	// drainTime is the time in which a drain empties the queue, where the rate need not fall below half for that.
	drainTime = 250 * time.Millisecond
	// growth is the relative growth of the rate at growthRate, in bytes a second, in thousandths a second.
	growth, growthRate = 100, 16 << 10
	// farther is the number of round trips in which the rate grows no more than in a second: a queue shows after one.
	farther = 7
	// calm is the time above the last estimate of the line after which a rate without a queue grows faster.
	calm = 800 * time.Millisecond
	// keepBase is the age of a base delay at which a newer one replaces it, and keepFloor that of the least delay.
	keepBase, keepFloor = 10 * time.Second, 60 * time.Second
	// patience is the time that a drain must have lasted, in vain, before another sender is presumed.
	patience = 1500 * time.Millisecond
	// checkEvery is the time between two drains that try whether the other sender is gone.
	checkEvery = 6 * time.Second
	// relapse is the time after competing mode in which an estimate of the line may be that of a share.
	relapse = 4 * time.Second

	// nearer is the part of their difference by which the rates of a Group come nearer in a drain: a quarter.
	nearer = 4
)

// Reason tells why the rate is as it is.
type Reason uint8

// The reasons of a rate.
const (
	Off         Reason = iota // There is no controller: the bound alone counts.
	Start                     // No queue was seen yet: the rate doubles each round trip while there is enough to send.
	Delay                     // The rate follows the line by its queue.
	Loss                      // Acknowledgements are missing, or the queue overflowed.
	Competing                 // Another sender fills the queue: the rate follows losses, as TCP does.
	Bound                     // The bound is lower than what the line takes.
	Application               // There is less to send than the rate allows.
)

// String returns the name of a reason.
func (r Reason) String() string {
	switch r {
	case Start:
		return "start"
	case Delay:
		return "delay"
	case Loss:
		return "loss"
	case Competing:
		return "competing"
	case Bound:
		return "bound"
	case Application:
		return "application-limited"
	}
	return "off"
}

// State is the present state of a Controller.
type State struct {
	Rate   int           // Bytes a second that may be sent, with the 28 of IP and UDP for each packet; 0 where there is no controller.
	Reason Reason        // Why it is as it is.
	Queue  time.Duration // Estimate of the wait in the queue of the line, beyond that of the base delay.
	Line   int           // Newest estimate of what the line takes, in bytes a second; 0 before a queue was seen.
}

// phase tells the rule that the rate follows at present.
type phase uint8

const (
	starting phase = iota // doubles
	probing               // grows slowly around the estimate of the line
	draining              // stays below it until the queue is empty
	competing
	checking // tries in competing mode whether the queue drains
)

// Controller finds the rate of one direction of a connection. The zero value is off.
type Controller struct {
	on       bool
	phase    phase
	limited  bool // There was more to send than the rate allowed, in the last ticks.
	lossy    bool // The rate fell because of a loss, or of missing acknowledgements.
	interval time.Duration
	least    int // Newest samples that filter takes at least.
	bound    int64
	rate     int64
	line     int64 // Estimate of what the line takes; 0 before there is one.
	before   int64 // Rate before the drain began.
	share    int64 // Estimate of the line when the drain began.
	known    int64 // Estimate of the line before the drain.
	alone    int64 // Estimate of the line when nobody else used it, as far as is known; 0: unknown.
	settled  int64 // Estimate of the line when the last drain ended.
	velocity int64 // Factor of the growth, at least 1.

	path path

	ticked   time.Duration // Time of the last Tick.
	busy     time.Duration // Time of the last Tick in which the rate was the limit.
	since    time.Duration // Time at which the phase began,
	round    time.Duration // and its present round of feedback.
	above    time.Duration // Time since which the rate is above the estimate of the line; 0 while it is not.
	faster   time.Duration // Time of the last change of velocity.
	deepest  time.Duration // Longest queue in competing mode.
	window   int64         // Bytes in flight in competing mode.
	recovery uint32        // Losses of packets before this position belong to the last cut.
	rounds   int           // Rounds of this drain.
	left     time.Duration // Time at which competing mode ended.
	heard    time.Duration // Time of the last acknowledgement, or halving without one.
	pending  uint32        // Position of the newest packet that elicits an acknowledgement.
	answered bool          // There was an acknowledgement since the last Tick.
	stalled  bool          // Acknowledgements are missing.
	held     int64         // Rate before they were.
}

// New returns a controller with a bound in bytes a second, for an end that sends once each interval.
func New(bound int, interval time.Duration) Controller {
	c := Controller{on: true, interval: interval, velocity: 1, least: max(4, int(120*time.Millisecond/interval))}
	c.path.interval = interval
	c.path.reset()
	c.rate = startRate
	c.SetBound(bound)
	return c
}

// SetBound changes the bound, in bytes a second.
func (c *Controller) SetBound(bound int) {
	c.bound = max(int64(bound), leastRate)
	c.setRate(c.rate)
}

// State returns the rate, its reason and the estimates.
func (c *Controller) State() State {
	if !c.on {
		return State{}
	}
	return State{Rate: int(c.rate), Reason: c.reason(), Queue: c.path.queued, Line: int(c.line)}
}

// Rate returns the bytes a second that may be sent, -1 where the controller is off.
func (c *Controller) Rate() int {
	switch {
	case !c.on:
		return -1
	case c.phase == starting && c.path.position-c.path.newest >= firstWindow+c.path.arrivedBytes:
		return leastRate
	}
	return int(c.rate)
}

// PacketSize returns the largest packet that should be sent at this rate, in bytes with those of IP and UDP: two fit into a tick, so
// that an acknowledgement tells the delay to half of a tick. At high rates, and where the controller is off, it is no limit.
func (c *Controller) PacketSize() int {
	if !c.on {
		return math.MaxInt
	}
	return max(int(scale(c.rate/2, c.interval, time.Second)), leastPacket)
}

func (c *Controller) reason() Reason {
	switch {
	case c.lossy || c.stalled:
		return Loss
	case c.phase == competing || c.phase == checking:
		return Competing
	case !c.limited:
		return Application
	case c.rate >= c.bound:
		return Bound
	case c.phase == starting:
		return Start
	}
	return Delay
}

func (c *Controller) setRate(rate int64) { c.rate = min(max(rate, leastRate), c.bound) }

// Sent notes a packet of so many bytes, those of IP and UDP included, and returns its position: the bytes sent up to its
// end. An eliciting one will be acknowledged if it arrives.
func (c *Controller) Sent(now time.Duration, size int, eliciting bool) (position uint32) {
	if !c.on {
		return 0
	}
	position = c.path.sent(now, size)
	if eliciting {
		if c.pending == c.path.newest {
			c.heard = max(c.heard, now)
		}
		c.pending = position
	}
	return position
}

// Acked notes that a packet arrived. The calls of one acknowledgement come in rising order.
func (c *Controller) Acked(now time.Duration, position uint32, size int, eliciting bool) {
	if !c.on {
		return
	}
	c.heard, c.answered = now, true
	p := &c.path
	p.arrivedBytes += uint32(size)
	p.arrivedPackets++
	if eliciting && int32(position-p.newest) > 0 {
		p.newest, p.at, p.fresh = position, now, true
	}
}

// Lost notes that a packet is presumed lost. In competing mode that cuts the window, once each round trip. Elsewhere the share
// of the losses counts.
func (c *Controller) Lost(position uint32) {
	if !c.on || c.phase != competing || int32(position-c.recovery) <= 0 {
		return
	}
	c.recovery, c.lossy = c.path.position, true
	c.window = max(c.window*keeps/100, leastWindow)
}

// Tick ends a tick: limited says that there was more to send than the rate allowed.
func (c *Controller) Tick(now time.Duration, limited bool) {
	if !c.on {
		return
	}
	passed := min(max(now-c.ticked, 0), 4*c.interval)
	c.ticked = now
	if limited {
		c.busy = now
	}
	c.limited = now-c.busy <= c.path.rtt
	fresh := c.path.measure(now, c.rate, c.filter())
	if fresh && (c.rate <= c.line && c.path.empty() || c.phase == starting && c.path.queued < c.path.threshold()/2 && !c.path.overflows(true)) {
		c.path.learnLoss()
	}
	if fresh && c.phase <= probing {
		c.path.learnLate(c.rate)
	}
	c.stall(now)
	switch c.phase {
	case starting, probing:
		c.climb(now, passed, limited, fresh)
	case draining:
		if fresh {
			c.drain(now)
		}
	case competing:
		c.compete(now, passed, limited)
	case checking:
		c.check(now)
	}
}

// feedback is the time after which a change of the rate shows in the standing delay.
func (c *Controller) feedback() time.Duration {
	return c.path.rtt + time.Duration(c.filter()/2)*max(c.path.spacing-c.interval, 0) + c.slower()
}

// slower is the time by which a longer filter than the least delays feedback.
func (c *Controller) slower() time.Duration {
	return time.Duration(c.filter()-c.least) * c.path.spacing
}

// filter returns the number of newest samples. The standing delay is the least of them: so many that all are late by noise alone once in a
// hundred runs.
func (c *Controller) filter() int {
	n, most := 1, c.least*mostFilter
	for by := c.path.lateShare; by > chance && n < most; by *= c.path.lateShare {
		n++
	}
	return max(c.least, n)
}

// stall halves the rate again and again while no acknowledgement comes (RFC 8085 §3.1.1).
func (c *Controller) stall(now time.Duration) {
	if c.answered || c.pending == c.path.newest {
		c.answered = false
		if c.stalled {
			c.stalled = false
			c.resume(now)
		}
		return
	}
	wait := max(c.path.rtt, 100*time.Millisecond)
	if !c.stalled {
		wait = 3 * wait
	}
	if now-c.heard > wait {
		if !c.stalled {
			c.held = c.rate
		}
		c.heard, c.stalled = now, true
		c.setRate(c.rate / 2)
		c.window = max(c.window/2, leastWindow)
	}
}

// resume ends a stall. If the packet that arrived now was not late, no queue held it up: the halvings are undone, as RFC 4015
// undoes a spurious timeout.
func (c *Controller) resume(now time.Duration) {
	if c.path.late(c.rate) {
		c.begin(now, starting)
		return
	}
	c.setRate(c.held)
}

// begin begins a phase.
func (c *Controller) begin(now time.Duration, p phase) {
	c.phase, c.since, c.round, c.rounds = p, now, now, 0
	c.velocity, c.above, c.lossy = 1, 0, false
}

// climb grows while there is no queue.
func (c *Controller) climb(now, passed time.Duration, limited, fresh bool) {
	if fresh && c.path.queued > c.path.threshold()+c.path.slack && (c.limited || c.path.lags(now)) {
		c.startDrain(now)
		return
	}
	if fresh && c.limited && now-c.since > c.path.rtt+500*time.Millisecond && c.path.overflows(c.phase == starting) {
		c.startDrain(now)
		c.lossy = true
		c.setDrainRate()
		return
	}
	if !limited || c.rate >= c.bound || c.path.taken < 2 || now-c.path.at > c.feedback()+c.interval {
		return
	}
	if c.phase == starting {
		most := int64(math.MaxInt64)
		if line, ok := c.path.delivered(100 * time.Millisecond); ok {
			most = max(c.rate, 2*line)
		}
		c.setRate(min(c.rate+scale(c.rate*7/10, passed, c.feedback()), most))
		return
	}
	switch {
	case c.rate <= c.line+c.line/50:
		c.above, c.velocity = 0, 1
	case c.above == 0:
		c.above, c.faster = now, now
	case now-c.above > calm+c.feedback()+c.interval && now-c.faster > c.path.rtt+c.slower():
		c.velocity, c.faster = c.velocity*2, now
	}
	step := scale(c.rate*c.perMille()/1000, passed, max(time.Second, farther*c.path.rtt)) * c.velocity
	c.setRate(c.rate + min(max(step, 1), scale(c.rate/4, passed, c.feedback())+1))
}

// perMille is the relative growth in thousandths a second: less for higher rates, so that flows that share a line come to
// equal rates.
func (c *Controller) perMille() int64 {
	return int64(growth * math.Sqrt(math.Sqrt(float64(growthRate)/float64(c.rate))))
}

// startDrain estimates the line and stays below it until the queue is empty.
func (c *Controller) startDrain(now time.Duration) {
	c.before, c.known = c.rate, c.line
	c.line = c.estimate()
	c.share = c.line
	c.begin(now, draining)
	c.path.peak = c.path.queued
	c.setDrainRate()
}

// drainsSince reports whether a drain began at a time.
func (c *Controller) drainsSince(now time.Duration) bool {
	return c.phase == draining && c.since == now
}

// estimate returns what the line takes, from what it took while there was a queue: the newest times, and longer ones where it
// grew slowly.
func (c *Controller) estimate() int64 {
	line, ok := c.path.delivered(250 * time.Millisecond)
	if !ok {
		return c.rate * 7 / 10
	}
	if c.path.queued < 60*time.Millisecond {
		for _, span := range [...]time.Duration{500 * time.Millisecond, time.Second} {
			longer, _ := c.path.delivered(span)
			line = max(line, longer)
		}
	}
	return min(line, c.rate)
}

func (c *Controller) setDrainRate() {
	queue := min(c.path.queued, drainTime/2)
	if c.lossy { // The queue may have been full from the first packet on, so that its delay looks like that of the line.
		queue = max(queue, drainTime/4)
	}
	c.setRate(c.line - scale(c.line, queue, drainTime))
}

// drain ends when the queue is empty. If a packet found it empty that was sent before the lower rate can have emptied it, it was none: the
// drain is undone. If it stays it is not, or not only, that of this sender.
func (c *Controller) drain(now time.Duration) {
	if c.path.empty() && !c.lossy && c.path.newestSent()-c.since < drainTime/4 {
		c.path.passed()
		c.giveBack(now)
		return
	}
	if now-c.since < c.path.rtt+c.interval || c.lossy && now-c.since < c.path.rtt+2*drainTime {
		return
	}
	if c.path.empty() {
		c.settle(now)
		return
	}
	if line, ok := c.path.delivered(400 * time.Millisecond); ok {
		c.line = max(c.line, min(line, c.before))
	}
	if now-c.round < c.path.rtt+2*c.interval {
		return
	}
	c.round = now
	c.rounds++
	long := c.path.queued > max(25*time.Millisecond, c.interval)
	if line, ok := c.path.delivered(250 * time.Millisecond); ok && long && c.limited {
		c.line = min(c.line, line)
	}
	if long && now-c.since >= patience {
		c.startCompeting(now)
		return
	}
	if !long && c.rounds >= 3 {
		c.settle(now)
		return
	}
	c.setDrainRate()
}

// settle goes on just below the estimate of the line. The queue is empty: its delay is the base.
func (c *Controller) settle(now time.Duration) {
	c.path.lateShare = c.path.lateBefore // The samples that made it drain were late by the queue.
	c.path.rebase(now, c.line < c.settled*3/4)
	c.settled = c.line
	if c.left == 0 || now-c.left > relapse {
		c.alone = max(c.line, c.alone-(c.alone-c.line)/8)
	}
	c.setRate(c.line - c.line/16)
	c.begin(now, probing)
}

// giveBack undoes a drain that said nothing about the line: it limited nothing.
func (c *Controller) giveBack(now time.Duration) {
	c.line = c.known
	if c.line == 0 {
		c.begin(now, starting)
	} else {
		c.begin(now, probing)
	}
	c.setRate(c.before)
}

// startCompeting begins with what the line took when the drain began.
func (c *Controller) startCompeting(now time.Duration) {
	c.begin(now, competing)
	c.window = max(scale(c.share, c.path.rtt, time.Second), leastWindow)
	c.deepest = c.path.queued
	c.recovery = c.path.position
	c.setRate(scale(c.window, time.Second, c.path.rtt))
}

// compete grows by some segments each round trip, to its share of the line; Lost cuts.
func (c *Controller) compete(now, passed time.Duration, limited bool) {
	c.deepest = max(c.deepest, c.path.queued)
	if limited && c.rate < c.bound && !c.stalled {
		c.window += scale(min(gains*segment, c.window/2), passed, c.path.rtt)
		if c.alone > 0 {
			c.window = min(c.window, scale(c.alone*mostShare/100, c.path.rtt, time.Second))
		}
	}
	c.setRate(scale(c.window, time.Second, c.path.rtt))
	if now/checkEvery != (now-passed)/checkEvery {
		c.before = c.rate
		g, _ := c.path.progress(time.Second)
		c.line = scale(int64(g.arrived), time.Second, g.took)
		c.begin(now, checking)
		c.setRate(c.line / 4)
	}
}

// check ends competing mode when the queue drains at a quarter of what arrived: nobody else fills it.
func (c *Controller) check(now time.Duration) {
	if c.path.empty() {
		c.left = now
		c.settle(now)
		return
	}
	if now-c.since > 3*c.deepest/2+c.path.rtt+2*c.interval {
		c.begin(now, competing)
		c.deepest = c.path.queued
		c.setRate(c.before)
	}
}

// scale returns v·part/whole. A whole of zero, as the round trip of a network without delay, counts as a millisecond: a conversion of
// infinity is not the same on all processors.
func scale(v int64, part, whole time.Duration) int64 {
	if whole <= 0 {
		whole = time.Millisecond
	}
	return int64(float64(v) * (float64(part) / float64(whole)))
}
