package congestion

import (
	"math"
	"time"
)

const (
	trains  = 256 // remembered, a power of two
	samples = 64  // likewise
	// enough is the number of late or lost bytes that indicate a queue: a sender of less cannot fill one.
	enough = 2048
	// noiseAge is the number of samples over which the noise of the delay decays. mostNoise limits the noise.
	noiseAge = 512
	// lateAge is the number of samples over which lateShare is averaged. chance is the probability below which a run of late
	// samples is no noise.
	lateAge, chance = 64, 0.003
	mostNoise       = 20 * time.Millisecond
)

// train is the packets that were sent at one time.
type train struct {
	at      time.Duration
	start   uint32 // position of its first byte
	arrived uint32 // bytes of it that arrived
}

// sample is the state at one acknowledgement.
type sample struct {
	at       time.Duration
	position uint32        // of the newest packet that had arrived
	arrived  uint32        // bytes that had arrived
	packets  uint32        // packets that had arrived
	low      time.Duration // age computed from the size of the train; delay.age computes it from the rate
	delay    delay
}

// path measures the delay and the rate of delivery.
//
// Packets leave in trains, one each tick, and the peer acknowledges once in its tick. A plain round trip is therefore exact to a
// tick only. But an acknowledgement also tells how much of a train has arrived. The age is the time since the newest byte that
// arrived was sent, if its train had been spread evenly over the tick. On a fully used line it is the delay of the line plus the
// wait in its queue, independent of the phases of the ticks.
type path struct {
	interval                     time.Duration  // between two ticks
	ring                         *[trains]train // nil while the controller is off
	count                        uint32         // trains so far
	position                     uint32         // bytes sent
	largest                      uint32         // size of the largest recent packet
	newest                       uint32         // position of the newest packet that arrived
	at                           time.Duration
	fresh                        bool
	arrivedBytes, arrivedPackets uint32

	samples *[samples]sample // nil while the controller is off
	taken   uint32

	rtt       time.Duration // smoothed, ticks included
	least     time.Duration // least age ever, computed from the size of the train
	first     uint32        // bytes of that train: on a slow line they took a part of the least age
	standing  time.Duration // least age of the newest samples
	stands    delay
	step      time.Duration // transmission time of the largest packet at the present rate: the precision of the delay
	queued    time.Duration // standing delay above the base
	jitter    time.Duration // smoothed difference of successive ages
	noise     time.Duration // growth of the standing delay that was no queue, but jitter or the ticks of the peer
	peak      time.Duration // longest queue in this drain
	slack     time.Duration // by which the delay may exceed the threshold: see Group
	spacing   time.Duration // smoothed time between two samples
	base      windowed
	floor     windowed
	lossShare float64 // share of bytes lost while there is no queue

	lateShare, lateBefore float64 // share of late samples while there is no queue; the same as of the newest sample that was not late
	sampled               bool
}

// delay is one sample of the delay. The newest train is the newest one with an arrived byte. raw is the time since it was
// sent. offset is its number of arrived bytes, without lost ones: those may have taken no time of the line. gap is the time over which
// the train is spread.
type delay struct {
	raw    time.Duration
	offset uint32
	gap    time.Duration
}

// age returns the delay, if the train had been sent evenly at rate bytes a second.
func (d delay) age(rate int64) time.Duration {
	return d.raw - min(d.gap, time.Duration(scale(int64(time.Second), time.Duration(d.offset), time.Duration(rate))))
}

// windowed is the minimum of the delays over a sliding window: between half of its length and all of it.
type windowed struct {
	now, last delay
	since     time.Duration
	any       bool
}

func (w *windowed) add(d delay, rate int64, now, keep time.Duration) {
	switch {
	case !w.any:
		*w = windowed{now: d, last: d, since: now, any: true}
	case now-w.since > keep/2:
		w.last, w.now, w.since = w.now, d, now
	case d.age(rate) < w.now.age(rate):
		w.now = d
	}
}

func (w *windowed) least(rate int64) time.Duration { return min(w.now.age(rate), w.last.age(rate)) }

// reset discards the delays, as after a break.
func (p *path) reset() {
	if p.rtt == 0 {
		p.rtt = firstRTT
	}
	p.base, p.floor = windowed{}, windowed{}
	p.taken, p.sampled = 0, false
	p.jitter = p.interval / 2
	p.standing, p.queued = 0, 0
}

func (p *path) sent(now time.Duration, size int) uint32 {
	last := &p.ring[(p.count-1)%trains]
	if p.count == 0 || now-last.at >= max(p.interval/2, 4*time.Millisecond) {
		p.ring[p.count%trains] = train{at: now, start: p.position}
		p.count++
	}
	p.largest = max(uint32(size), p.largest-p.largest/64)
	p.position += uint32(size)
	return p.position
}

// arrive records that a packet arrived.
func (p *path) arrive(position uint32, size int) {
	p.arrivedBytes += uint32(size)
	p.arrivedPackets++
	for i := uint32(1); i <= min(p.count, trains); i++ {
		if t := &p.ring[(p.count-i)%trains]; int32(position-t.start) > 0 {
			t.arrived += uint32(size)
			return
		}
	}
}

// measure takes a sample if an acknowledgement is new, and reports whether it did. filter is the number of samples for the
// standing delay.
func (p *path) measure(now time.Duration, rate int64, filter int) bool {
	if !p.fresh {
		return false
	}
	p.fresh = false
	d, whole, ok := p.locate()
	if !ok {
		return false
	}
	low := d.raw - time.Duration(scale(int64(d.gap), time.Duration(d.offset), time.Duration(whole)))
	if !p.sampled {
		p.sampled, p.rtt, p.least = true, d.raw, math.MaxInt64
	} else {
		last := p.samples[(p.taken-1)%samples].low
		p.jitter += (max(low-last, last-low) - p.jitter) / 16
		p.spacing += (min(p.at-p.samples[(p.taken-1)%samples].at, time.Second) - p.spacing) / 8
	}
	p.rtt += (d.raw - p.rtt) / 8
	if low < p.least {
		p.least, p.first = low, d.offset
	}
	p.samples[p.taken%samples] = sample{at: p.at, position: p.newest, arrived: p.arrivedBytes, packets: p.arrivedPackets, low: low, delay: d}
	p.taken++
	p.base.add(d, rate, now, keepBase)
	p.floor.add(d, rate, now, keepFloor)
	p.standing = d.raw
	for i := uint32(1); i <= min(uint32(filter), p.taken, samples); i++ {
		s := &p.samples[(p.taken-i)%samples]
		if age := min(s.low, s.delay.age(rate)); i == 1 || age < p.standing {
			p.standing, p.stands = age, s.delay
		}
	}
	p.step = min(time.Duration(scale(int64(time.Second), time.Duration(p.largest), time.Duration(rate))), p.interval)
	p.queued = p.wait(p.standing, rate)
	p.noise -= p.noise / noiseAge
	p.peak = max(p.peak, p.queued)
	return true
}

// learnLate updates the share of samples that are late although there is no queue.
func (p *path) learnLate(rate int64) {
	if p.late(rate) {
		p.lateShare += float64((1 - p.lateShare) / lateAge)
		return
	}
	p.lateShare -= float64(p.lateShare / lateAge)
	p.lateBefore = p.lateShare
}

// passed records that the last growth of the delay was not caused by a queue of this sender.
func (p *path) passed() {
	p.noise = max(p.noise, min(p.peak, mostNoise))
	p.peak = 0
}

// locate finds the newest byte that arrived: its train, the train's arrived bytes, and its size in whole.
func (p *path) locate() (d delay, whole uint32, ok bool) {
	for i := uint32(1); i <= min(p.count, trains); i++ {
		t := &p.ring[(p.count-i)%trains]
		offset := int32(p.newest - t.start)
		if offset <= 0 {
			continue
		}
		end, gap := p.position, p.interval
		if i > 1 {
			next := &p.ring[(p.count-i+1)%trains]
			end, gap = next.start, min(next.at-t.at, gap)
		}
		return delay{raw: p.at - t.at, offset: t.arrived, gap: gap}, end - t.start, true
	}
	return delay{}, 0, false
}

// threshold returns the growth of the delay that counts as a queue.
func (p *path) threshold() time.Duration {
	return 4*time.Millisecond + p.interval/4 + max(p.noise, 3*(p.jitter-p.interval/4))
}

// rises reports whether there may be a queue.
func (p *path) rises() bool { return p.taken == 0 || !p.empty() }

// late reports whether the newest packet that arrived waited in a queue.
func (p *path) late(rate int64) bool {
	if p.taken == 0 {
		return true
	}
	s := &p.samples[(p.taken-1)%samples]
	return p.wait(min(s.low, s.delay.age(rate)), rate) > p.threshold()
}

// arrivedFrom returns the bytes that arrived of the trains from a position on.
func (p *path) arrivedFrom(position uint32) (n uint32) {
	for i := uint32(1); i <= min(p.count, trains); i++ {
		t := &p.ring[(p.count-i)%trains]
		if int32(t.start-position) < 0 {
			break
		}
		n += t.arrived
	}
	return n
}

// wait returns the wait in the queue for a given age.
func (p *path) wait(age time.Duration, rate int64) time.Duration {
	return max(age-p.base.least(rate), age-p.floor.least(rate)-p.step, 0)
}

// newestSent returns the send time of the newest packet that arrived.
func (p *path) newestSent() time.Duration {
	s := &p.samples[(p.taken-1)%samples]
	return s.at - s.delay.raw
}

// empty reports whether the queue is empty.
func (p *path) empty() bool { return p.queued < p.threshold()/3 }

// rebase makes the present delay the base. If the line became slower it also becomes the floor: a packet takes longer there.
func (p *path) rebase(now time.Duration, slower bool) {
	p.base = windowed{now: p.stands, last: p.stands, since: now, any: true}
	if slower {
		p.floor = p.base
	}
}

// learnLoss updates the share of bytes that is lost without a queue: fast upwards, slowly downwards.
func (p *path) learnLoss() {
	g, ok := p.progress(time.Second)
	if !ok {
		return
	}
	by := 1.0 / 128
	if g.lost > p.lossShare {
		by = 1.0 / 8
	}
	p.lossShare += float64((min(g.lost, 0.5) - p.lossShare) * by)
}

// gain counts packets and bytes over a span of time.
type gain struct {
	took          time.Duration
	sent, arrived uint32  // bytes
	packets       float64 // sent
	lost          float64 // share of the bytes
}

// progress returns the gain over a span up to the newest sample.
func (p *path) progress(span time.Duration) (g gain, ok bool) {
	if p.taken < 3 {
		return gain{}, false
	}
	end := &p.samples[(p.taken-1)%samples]
	from := &p.samples[(p.taken-2)%samples]
	for i := uint32(2); i <= min(p.taken, samples); i++ {
		s := &p.samples[(p.taken-i)%samples]
		if i > 3 && end.at-s.at > span {
			break
		}
		from = s
	}
	g = gain{took: end.at - from.at, sent: end.position - from.position, arrived: end.arrived - from.arrived}
	if g.took <= 0 || g.sent == 0 {
		return gain{}, false
	}
	g.lost = max(1-float64(g.arrived)/float64(g.sent), 0)
	g.packets = float64(end.packets-from.packets) / max(1-g.lost, 0.05)
	return g, true
}

// took returns the rate at which the line took bytes over a span, at least. The line may have begun with the first packet before
// the span.
func (p *path) took(span time.Duration) int64 {
	g, ok := p.progress(span)
	if !ok {
		return 0
	}
	longer, _ := p.progress(time.Second)
	bytes := max(float64(g.arrived)-float64(p.largest), 0) / (1 - min(p.lossShare, longer.lost))
	return scale(int64(bytes), time.Second, g.took)
}

// excess reports whether the loss is above the usual one without a queue, by more than chance.
func (p *path) excess(g gain) bool {
	usual := max(p.lossShare, 0.05)
	return g.sent-min(g.arrived, g.sent) > enough && g.lost > p.lossShare+0.05+2*math.Sqrt(usual*(1-usual)/max(g.packets, 1))
}

// overflows reports whether the loss in the last half second exceeds the usual one by a fifth, over enough packets. At the start
// no usual loss is known: more than half must be lost.
func (p *path) overflows(start bool) bool {
	usual := p.lossShare
	if start {
		usual = max(usual, 0.4)
	}
	g, ok := p.progress(500 * time.Millisecond)
	return ok && g.sent >= 4*p.largest && g.lost > usual+0.2+math.Sqrt(usual*(1-usual)/max(g.packets, 1)) && p.excess(g)
}

// delivered returns the rate at which the line took packets over a span. Packets lost at random used the line and count; packets
// that overflowed the queue do not.
func (p *path) delivered(span time.Duration) (rate int64, ok bool) {
	g, ok := p.progress(span)
	if !ok {
		return 0, false
	}
	bytes := int64(g.sent)
	if p.excess(g) {
		bytes = int64(float64(g.arrived) / (1 - p.lossShare))
	}
	return scale(bytes, time.Second, g.took), true
}

// lags reports whether less arrives than was sent a round trip before. It finds a line that is slow for a sender whose rate is
// not the limit.
func (p *path) lags(now time.Duration) bool {
	g, ok := p.progress(500 * time.Millisecond)
	if !ok {
		return false
	}
	until := p.samples[(p.taken-1)%samples].at - p.rtt
	sent := p.sentBetween(until-g.took, until)
	return float64(g.sent) < float64(sent)*0.9 && sent > g.sent+enough
}

// sentBetween returns the bytes of the trains that were sent from time from to before time until.
func (p *path) sentBetween(from, until time.Duration) uint32 {
	end, start := p.position, p.position
	for i := uint32(1); i <= min(p.count, trains); i++ {
		t := &p.ring[(p.count-i)%trains]
		if t.at >= until {
			end = t.start
		}
		if t.at < from {
			break
		}
		start = t.start
	}
	return end - min(start, end)
}
