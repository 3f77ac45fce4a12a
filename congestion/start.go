package congestion

import "time"

// The start finds the rate of an unknown line without a long queue. The rate alternates: a pulse above it, then a trough below it
// that lets the queue of the pulse drain. Bytes of a pulse that arrive show how fast the line is at least (packet trains,
// Dovrolis 2001), which becomes the rate: by the time between two acknowledgements, or by the delay of the pulse's last train. If
// pulses show no more, the rate is near that of the line.

const (
	// pulseTime is the length of a pulse, rounded to ticks.
	pulseTime = 50 * time.Millisecond
	// startQueue is the longest wait behind a pulse, if the line has the present rate. The packets of a tick wait for each other too.
	startQueue = 58 * time.Millisecond
	// leastExcess is the least queue of a pulse, for slow ticks.
	leastExcess = 20 * time.Millisecond
)

// pulses reports whether the rate alternates: not if there is little to send, or if the bound is reached.
func (c *Controller) pulses() bool {
	return c.phase == starting && c.limited && c.rate < c.bound && c.path.taken > 0
}

// pulseTicks returns the length of a pulse in ticks.
func (c *Controller) pulseTicks() int { return max(2, int((pulseTime+c.interval/2)/c.interval)) }

// troughTicks returns the length of a trough in ticks. A pulse begins when the acknowledgements of the last one have come.
func (c *Controller) troughTicks() int {
	return max(c.pulseTicks(), int((c.path.rtt+c.interval/2)/c.interval))
}

// pulsed returns the rate of this tick.
func (c *Controller) pulsed() int64 {
	high, low := time.Duration(c.pulseTicks()), time.Duration(c.troughTicks())
	excess := min(max(startQueue-c.interval, leastExcess)/high, c.interval*3/4) // of a tick
	if c.turn < c.pulseTicks() {
		return c.rate + scale(c.rate, excess, c.interval)
	}
	return c.rate - scale(c.rate, excess*high/low, c.interval)
}

// search raises the rate to what the line took. It ends if pulses show no more for three periods.
func (c *Controller) search(now, passed time.Duration) {
	ticks := time.Duration(c.pulseTicks())
	if took := max(c.path.took(ticks*c.interval), c.passed(ticks*c.interval)); took > c.rate {
		if took > c.rate+c.rate/16 {
			c.grown = now
		}
		c.setRate(took)
	}
	if scale(c.rate, startQueue, time.Second) < 4*int64(c.path.largest) { // Pulses of so few packets show nothing.
		c.setRate(c.rate + scale(c.rate/2, passed, time.Second))
		c.grown = now
	}
	if period := (ticks + time.Duration(c.troughTicks())) * max(c.path.spacing, c.interval); now-c.grown > 2*c.path.rtt+3*period {
		if c.line == 0 {
			c.line = c.rate
		}
		c.begin(now, probing)
	}
}

// pulse holds the beginning of a pulse.
type pulse struct {
	at       time.Duration // of its first train
	position uint32
}

// passed returns the least rate at which the line took the newest pulse, once the pulse's last train has arrived: its bytes over the time
// since the pulse began, less the least delay ever. Usual losses count as taken. It returns 0 unless that train is the newest that arrived.
func (c *Controller) passed(length time.Duration) int64 {
	s := &c.path.samples[(c.path.taken-1)%samples]
	for _, p := range c.pulse {
		if late := c.path.newestSent() - p.at - length; -c.interval*3/2 < late && late < -c.interval/2 {
			arrived := int64(float64(c.path.arrivedFrom(p.position)) / (1 - c.path.lossShare))
			return scale(min(arrived, int64(s.position-p.position))-int64(c.path.first/2), time.Second, max(s.at-p.at-c.path.least, length/2))
		}
	}
	return 0
}
