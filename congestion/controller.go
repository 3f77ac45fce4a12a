package congestion

import (
	"math"
	"time"
)

const (
	// startRate is the first rate in bytes a second, unless the bound is lower.
	startRate = 16 << 10
	// leastRate is the lowest rate, in bytes a second.
	leastRate = 3 << 10
	// firstWindow is the initial limit of bytes in flight (RFC 3390). Each acknowledged byte raises the limit by one, as in slow
	// start.
	firstWindow = 4380
	// firstRTT is the assumed round trip before the first sample.
	firstRTT = 100 * time.Millisecond
	// segment is the unit of growth in competing mode, in bytes: a full packet of TCP.
	segment = 1500
	// gains is the growth of the window in segments a round trip; keeps is the percentage of the window kept after a loss. TCP
	// has 1 and 50, Cubic 70. Here both are higher: many small packets see more losses, and checks cost time.
	gains, keeps = 2, 85
	// mostShare is the largest part of the line that the window takes in competing mode, in per cent.
	mostShare = 60

	// leastPacket is the minimum of PacketSize in bytes. The headers of smaller packets would cost more than a tenth.
	leastPacket = 300
	// wholeTicks: of so many ticks, all but one may be one packet if the application is the limit.
	wholeTicks = 2
	// leastWindow is the minimum of the window in competing mode, in bytes.
	leastWindow = 300

	// mostFilter limits filter to this many times Controller.least.
	mostFilter = 3

	// drainTime is the time in which a drain empties the queue. A queue of more than half of that takes longer, because the rate
	// does not fall below half of the line.
	drainTime = 250 * time.Millisecond
	// growth is the relative growth of the rate in thousandths a second, at a rate of growthRate bytes a second.
	growth, growthRate = 100, 16 << 10
	// farther is the round trips over which the rate grows by that much, if they take longer than a second. A queue shows only
	// after one.
	farther = 7
	// calm is the time without a queue above the last estimate of the line after which growth accelerates.
	calm = 800 * time.Millisecond
	// keepBase is the time window of the base delay, keepFloor that of the floor: each is a windowed minimum.
	keepBase, keepFloor = 10 * time.Second, 60 * time.Second
	// patience is the duration of a drain without success after which another sender is presumed; longPatience, if half of the
	// queue is gone.
	patience, longPatience = 1500 * time.Millisecond, 2 * time.Second
	// checkEvery is the time between two checks for whether the other sender is gone.
	checkEvery = 6 * time.Second
	// relapse is the time after competing mode in which an estimate of the line may still be that of a share.
	relapse = 4 * time.Second

	// nearer is the divisor of the difference by which the rates of a Group approach each other in a drain: a quarter.
	nearer = 4
)

// Reason tells what determines the present rate.
type Reason uint8

// Values of Reason.
const (
	Off         Reason = iota // There is no controller: only the bound limits the rate.
	Start                     // The line is unknown: the rate grows each round trip while there is enough to send.
	Delay                     // The queue of the line determines the rate.
	Loss                      // Acknowledgements are missing, or the queue overflowed.
	Competing                 // Another sender fills the queue: losses determine the rate, as in TCP.
	Bound                     // The bound is lower than the rate of the line.
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

// State is the current rate and the estimates behind it.
type State struct {
	Rate   int           // Bytes a second that may be sent, including 28 bytes of IP and UDP headers per packet; 0 without a controller.
	Reason Reason        // Reason for the rate.
	Queue  time.Duration // Estimate of the wait in the queue of the line, above the base delay.
	Line   int           // Newest estimate of the line's rate in bytes a second; 0 before the start found one.
}

// phase selects the rule that sets the rate.
type phase uint8

const (
	starting phase = iota // pulses find the line: see start.go
	probing               // grows slowly around the estimate of the line
	draining              // stays below the estimate until the queue is empty
	competing
	checking // a short drain in competing mode: does the queue empty?
)

// Controller sets the send rate of one direction of a connection. The zero value is off and sets no limit. Of two copies only one may be used.
type Controller struct {
	on       bool
	phase    phase
	limited  bool  // The rate was the limit in the last round trip.
	ticks    uint8 // Modulo 256.
	lossy    bool  // The rate fell because of a loss or of missing acknowledgements.
	interval time.Duration
	least    int // Minimum of filter, in samples.
	bound    int64
	rate     int64
	line     int64 // Estimate of the line in bytes a second; 0 before there is one.
	before   int64 // Rate before the drain or the check.
	share    int64 // Estimate of the line when the drain began.
	known    int64 // Estimate of the line before the drain.
	alone    int64 // Estimate of the line without other senders; 0: unknown.
	settled  int64 // Estimate of the line when the last drain ended.
	velocity int64 // Factor of the growth, at least 1.
	turn     int   // Tick of the pulse or of the trough after it.
	searched bool  // Pulses found no more since the rate rose above the estimate of the line.

	path path

	ticked   time.Duration // Time of the last Tick.
	busy     time.Duration // Time of the last Tick in which the rate was the limit.
	since    time.Duration // Start of the phase,
	round    time.Duration // and of its present round of feedback.
	above    time.Duration // Start of the time above the estimate of the line; 0 if below.
	faster   time.Duration // Time of the last change of velocity.
	pulse    [2]pulse      // The last pulse and the one before.
	grown    time.Duration // Time of the last growth by pulses.
	deepest  time.Duration // Longest queue in competing mode.
	window   int64         // Bytes in flight in competing mode.
	recovery uint32        // Losses of packets up to this position belong to the last cut of the window.
	rounds   int           // Rounds of this drain.
	left     time.Duration // End of competing mode; 0: never.
	heard    time.Duration // Time of the last acknowledgement, or of the last halving without one.
	pending  uint32        // Position of the newest packet that elicits an acknowledgement.
	answered bool          // An acknowledgement came since the last Tick.
	stalled  bool          // Acknowledgements are missing.
	held     int64         // Rate before the stall.
	slept    bool          // The other end told that it stood still: the stall shows nothing about the line.
}

// New returns a controller. bound is the maximal rate in bytes a second, interval the time between two ticks.
func New(bound int, interval time.Duration) Controller {
	c := Controller{on: true, interval: interval, velocity: 1, least: max(4, int(120*time.Millisecond/interval))}
	c.path.interval, c.path.ring, c.path.samples = interval, new([trains]train), new([samples]sample)
	c.path.reset()
	c.rate = startRate
	c.SetBound(bound)
	return c
}

// SetBound changes the maximal rate, in bytes a second.
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

// Rate returns the bytes a second that may be sent, -1 if the controller is off.
func (c *Controller) Rate() int {
	switch {
	case !c.on:
		return -1
	case c.phase == starting && c.path.position-c.path.newest >= firstWindow+c.path.arrivedBytes:
		return leastRate
	case c.pulses():
		return int(c.pulsed())
	}
	return int(c.rate)
}

// PacketSize returns the largest size of a packet at this rate, in bytes with IP and UDP headers. Two such packets fit into a
// tick, so that an acknowledgement measures the delay to half a tick. One does in every second tick if the application is the limit: a queue is then
// still found, and a game of 20 kB/s saves a fortieth in headers. The limit has no effect at high rates or if the controller is off.
func (c *Controller) PacketSize() int {
	if !c.on {
		return math.MaxInt
	}
	if c.phase == starting && !c.stalled && c.rate < c.bound && (c.limited || c.path.taken == 0) { // Pulses count packets. In a stall there are none, and groups need room.
		return max(int(scale(c.rate/6, c.interval, time.Second)), leastPacket/2)
	}
	size := c.rate / 2
	if !c.limited && c.ticks%wholeTicks != 0 {
		size = c.rate
	}
	return max(int(scale(size, c.interval, time.Second)), leastPacket)
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

// Sent records a sent packet. size includes the headers of IP and UDP. eliciting means that the peer acknowledges the packet if
// it arrives. It returns the packet's position: the bytes sent up to its end, modulo 2^32.
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

// Acked records that a packet arrived. The packets of one acknowledgement are reported in rising order of position.
func (c *Controller) Acked(now time.Duration, position uint32, size int, eliciting bool) {
	if !c.on {
		return
	}
	c.heard, c.answered = now, true
	p := &c.path
	p.arrive(position, size)
	if eliciting && int32(position-p.newest) > 0 {
		p.newest, p.at, p.fresh = position, now, true
	}
}

// Lost records that a packet is presumed lost. In competing mode this cuts the window, once each round trip. In other phases only
// the share of lost bytes counts, which the acknowledgements tell.
func (c *Controller) Lost(position uint32) {
	if !c.on || c.phase != competing || int32(position-c.recovery) <= 0 {
		return
	}
	c.recovery, c.lossy = c.path.position, true
	c.window = max(c.window*keeps/100, leastWindow)
}

// Tick ends a tick. limited means that there was more to send than the rate allowed.
func (c *Controller) Tick(now time.Duration, limited bool) {
	c.ticks++
	if !c.on {
		return
	}
	passed := min(max(now-c.ticked, 0), 4*c.interval)
	c.ticked = now
	if limited {
		c.busy = now
	}
	c.limited = now-c.busy <= c.path.rtt
	if c.turn = (c.turn + 1) % (c.pulseTicks() + c.troughTicks()); c.turn == 0 {
		c.pulse[0], c.pulse[1] = pulse{now + c.interval, c.path.position}, c.pulse[0]
	}
	fresh := c.path.measure(now, c.rate, c.filter())
	if c.phase == starting && c.path.taken < 2 { // The start begins with the first sample, however long the clock has run.
		c.begin(now, starting)
	}
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

// feedback returns the time after which a change of the rate is visible in the standing delay.
func (c *Controller) feedback() time.Duration {
	return c.path.rtt + time.Duration(c.filter()/2)*max(c.path.spacing-c.interval, 0) + c.slower()
}

// slower returns the delay of feedback that a filter longer than the minimum adds.
func (c *Controller) slower() time.Duration {
	return time.Duration(c.filter()-c.least) * c.path.spacing
}

// filter returns the number of newest samples whose minimum is the standing delay. Noise alone makes all of them late three times in a
// thousand runs.
func (c *Controller) filter() int {
	n, most := 1, c.least*mostFilter
	for by := c.path.lateShare; by > chance && n < most; by *= c.path.lateShare {
		n++
	}
	return max(c.least, n)
}

// stall halves the rate repeatedly while no acknowledgement comes (RFC 8085, section 3.1.1).
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

// Slept records that the other end told that it stood still: no queue caused the present stall, or the last one.
func (c *Controller) Slept() {
	if c.slept = c.stalled; !c.stalled && c.phase == starting {
		c.setRate(max(c.rate, c.held))
	}
}

// resume ends a stall. If the newest packet was not late, no queue caused the stall, and the halvings are undone, as RFC 4015
// undoes a spurious timeout.
func (c *Controller) resume(now time.Duration) {
	slept := c.slept
	if c.slept = false; c.path.late(c.rate) && !slept {
		c.begin(now, starting)
		return
	}
	c.setRate(c.held)
}

// begin enters a phase.
func (c *Controller) begin(now time.Duration, p phase) {
	if p != starting {
		c.held = 0
	}
	c.phase, c.since, c.round, c.rounds = p, now, now, 0
	c.above, c.velocity, c.lossy, c.grown = 0, 1, false, now
}

// climb raises the rate while there is no queue, and starts a drain when there is one.
func (c *Controller) climb(now, passed time.Duration, limited, fresh bool) {
	slack := c.path.slack
	if c.line == 0 { // A queue that is none would end the start too soon. Pulses make no long one.
		slack = c.interval
	}
	if fresh && c.path.queued > c.path.threshold()+slack && (c.limited || c.path.lags(now)) {
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
		c.search(now, passed)
		return
	}
	switch {
	case c.rate <= c.line+c.line/50:
		c.above, c.velocity, c.searched = 0, 1, false
	case c.above == 0:
		c.above, c.faster = now, now
	case now-c.above > calm+c.feedback()+c.interval && !c.searched:
		c.begin(now, starting)
		c.searched = true
		return
	case now-c.above > calm+c.feedback()+c.interval && now-c.faster > c.path.rtt+c.slower():
		c.velocity, c.faster = min(c.velocity*2, 64), now
	}
	step := scale(c.rate*c.perMille()/1000, passed, max(time.Second, farther*c.path.rtt)) * c.velocity
	c.setRate(c.rate + min(max(step, 1), scale(c.rate/4, passed, c.feedback())+1))
}

// perMille returns the relative growth in thousandths a second. It is smaller at higher rates, so that flows that share a line
// approach equal rates.
func (c *Controller) perMille() int64 {
	return int64(growth * math.Sqrt(math.Sqrt(float64(growthRate)/float64(c.rate))))
}

// startDrain estimates the line and lowers the rate below the estimate until the queue is empty.
func (c *Controller) startDrain(now time.Duration) {
	c.before, c.known = c.rate, c.line
	c.line = c.estimate()
	c.share = c.line
	c.begin(now, draining)
	c.searched = false
	c.path.peak = c.path.queued
	c.setDrainRate()
}

// drainsSince reports whether a drain began at time now.
func (c *Controller) drainsSince(now time.Duration) bool {
	return c.phase == draining && c.since == now
}

// estimate returns the rate at which the line delivered while there was a queue. If the queue grew slowly it also looks at longer
// spans.
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
	if c.lossy { // The queue may have been full from the first packet on: then the base delay includes it.
		queue = max(queue, drainTime/4)
	}
	c.setRate(c.line - scale(c.line, queue, drainTime))
}

// drain ends when the queue is empty. It is undone if the queue vanished before the lower rate can have emptied it. If the queue
// stays, another sender fills it, at least in part.
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
	long := c.path.queued > max(25*time.Millisecond, c.interval+c.interval/8) // Jitter may add a tick.
	if line, ok := c.path.delivered(250 * time.Millisecond); ok && long && c.limited {
		c.line = min(c.line, line)
	}
	if falls := c.path.queued <= c.path.peak/2; long && (now-c.since >= patience && !falls || now-c.since >= longPatience) {
		c.startCompeting(now)
		return
	}
	if !long && c.rounds >= 3 {
		if c.path.queued >= c.path.peak*3/4 { // It did not fall with the rate.
			c.path.passed()
			c.giveBack(now)
			return
		}
		c.settle(now)
		return
	}
	c.setDrainRate()
}

// settle continues just below the estimate of the line. The queue is empty, so the present delay becomes the base.
func (c *Controller) settle(now time.Duration) {
	c.path.lateShare = c.path.lateBefore // The samples before the drain were late because of the queue.
	c.path.rebase(now, c.line < c.settled*3/4)
	c.settled = c.line
	if c.left == 0 || now-c.left > relapse {
		c.alone = max(c.line, c.alone-(c.alone-c.line)/8)
	}
	c.setRate(c.line - c.line/16)
	c.begin(now, probing)
}

// giveBack undoes a drain that was not caused by this sender's queue.
func (c *Controller) giveBack(now time.Duration) {
	c.line = c.known
	if c.line == 0 {
		c.begin(now, starting)
	} else {
		c.begin(now, probing)
	}
	c.setRate(c.before)
}

// startCompeting enters competing mode with the estimate of the line from the start of the drain.
func (c *Controller) startCompeting(now time.Duration) {
	c.begin(now, competing)
	c.window = max(scale(c.share, c.path.rtt, time.Second), leastWindow)
	c.deepest = c.path.queued
	c.recovery = c.path.position
	c.setRate(scale(c.window, time.Second, c.path.rtt))
}

// compete grows the window by some segments each round trip, up to a share of the line. Lost cuts it.
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

// check ends competing mode if the queue drains at a quarter of the delivered rate: then no other sender fills it.
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

// scale returns v·part/whole. A whole of zero, such as the round trip without delay, counts as a millisecond: conversion of
// infinity differs between processors.
func scale(v int64, part, whole time.Duration) int64 {
	if whole <= 0 {
		whole = time.Millisecond
	}
	return int64(float64(v) * (float64(part) / float64(whole)))
}
