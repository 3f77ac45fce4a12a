package congestion

import (
	"slices"
	"time"
)

// copa is Copa (Arun and Balakrishnan, NSDI 2018) as published, with round trips as a game measures them: to a tick. It is what ADR
// 40 compares with.
type copa struct {
	interval, now, rtt time.Duration
	window, delta      float64 // packets; packets in the queue are 1/delta
	velocity           float64
	up                 bool
	turned, halved     time.Duration
	rtts               []sampleRTT
	tenth              int
	tenths             [100]time.Duration // least round trip of each tenth of a second
	sent               map[uint32]time.Duration
	position, recovery uint32
	empty              time.Duration
	started            bool
	packet             float64 // bytes
}

type sampleRTT struct{ at, rtt time.Duration }

func newCopa(interval time.Duration) control {
	c := &copa{interval: interval, window: 10, delta: 0.5, velocity: 1, rtt: 100 * ms, sent: map[uint32]time.Duration{}, packet: 600}
	for i := range c.tenths {
		c.tenths[i] = time.Hour
	}
	return c
}

func (c *copa) Sent(now time.Duration, size int, _ bool) uint32 {
	c.position += uint32(size)
	c.packet += (float64(size) - c.packet) / 16
	c.sent[c.position] = now
	return c.position
}

func (c *copa) Acked(now time.Duration, position uint32, _ int, _ bool) {
	at, ok := c.sent[position]
	if !ok {
		return
	}
	delete(c.sent, position)
	c.rtts = append(c.rtts, sampleRTT{now, now - at})
	c.rtt += (now - at - c.rtt) / 8
	least, standing := c.least10(now, now-at), c.least(now, c.rtt/2)
	queue := (standing - least).Seconds()
	if queue < 0.1*(c.rtt-least).Seconds()+0.001 {
		c.empty = now
	}
	if now-c.empty > 5*c.rtt { // Competitive mode: 1/delta grows by one a round trip.
		c.delta = 1 / (1/c.delta + 1/c.window)
	} else {
		c.delta = 0.5
	}
	below := queue <= 0 || c.window/standing.Seconds() <= 1/(c.delta*queue)
	if !c.started && below {
		c.window++
		return
	}
	c.started = true
	if below != c.up {
		c.up, c.velocity, c.turned = below, 1, now
	} else if now-c.turned > 3*c.rtt {
		c.velocity, c.turned = min(c.velocity*2, c.window), now-2*c.rtt
	}
	step := c.velocity / (c.delta * c.window)
	if !below {
		step = -step
	}
	c.window = max(c.window+step, 1)
}

func (c *copa) least(now, span time.Duration) time.Duration {
	least := time.Hour
	for i := len(c.rtts) - 1; i >= 0 && (now-c.rtts[i].at <= span || i == len(c.rtts)-1); i-- {
		least = min(least, c.rtts[i].rtt)
	}
	if len(c.rtts) > 1<<14 {
		c.rtts = c.rtts[len(c.rtts)/2:]
	}
	return least
}

// least10 adds a round trip and returns the least of about ten seconds.
func (c *copa) least10(now, rtt time.Duration) time.Duration {
	tenth := int(now / (100 * ms))
	if tenth != c.tenth {
		for i := c.tenth + 1; i <= tenth && i <= c.tenth+len(c.tenths); i++ {
			c.tenths[i%len(c.tenths)] = time.Hour
		}
		c.tenth = tenth
	}
	c.tenths[tenth%len(c.tenths)] = min(c.tenths[tenth%len(c.tenths)], rtt)
	return slices.Min(c.tenths[:])
}

func (c *copa) Lost(position uint32) {
	delete(c.sent, position)
	if c.delta < 0.5 && int32(position-c.recovery) > 0 {
		c.recovery, c.delta = c.position, min(2*c.delta, 0.5)
	}
}

func (c *copa) Tick(now time.Duration, _ bool) { c.now = now }
func (c *copa) Rate() int                      { return int(c.window * c.packet / c.rtt.Seconds()) }
func (c *copa) PacketSize() int                { return mtu }
func (c *copa) State() State                   { return State{Rate: c.Rate()} }
