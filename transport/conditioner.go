package transport

import (
	"math/bits"
	"slices"
	"time"
)

const (
	// MaxInFlight is the maximum number of datagrams in flight in a Conditioner. Further ones are dropped and counted.
	MaxInFlight = 16384
	// maxSources is the maximum number of senders with own state. Further senders share one state.
	maxSources = 4096
	// pullLimit is the maximum number of datagrams that one Receive takes from the inner connection.
	pullLimit = 1024
)

// LinkStats counts what a Conditioner did to datagrams. A datagram may be in several counters.
type LinkStats struct {
	Received   uint64 // taken from the inner connection
	Delivered  uint64 // returned to the caller, including duplicates
	Lost       uint64 // dropped by Loss or BurstLoss
	Duplicated uint64 // delivered twice
	Reordered  uint64 // delayed so that later ones overtake
	Corrupted  uint64 // changed or cut short
	TooLarge   uint64 // longer than the MTU or the caller's buffer
	BlackedOut uint64 // dropped while the link was down
	Overflowed uint64 // dropped because the queue of the rate, or the Conditioner, was full
}

// Conditioner is a Conn that sends received datagrams of another Conn through a simulated Link. Datagrams that it sends pass
// unchanged: to condition both directions, wrap both ends. Each sender has its own link with the same properties.
//
// The result is deterministic. The fate of a datagram depends on the seed, on the order in which senders first appeared, and on
// its number among its sender's datagrams. A datagram enters the link when it arrives at the inner connection, or when Receive
// takes it from there. All methods are called from one goroutine.
type Conditioner struct {
	inner   Conn
	link    Link
	seed    uint64
	now     func() time.Duration
	sources map[Addr]*source
	serial  uint64 // number of the newest sender
	others  source // shared by senders beyond maxSources
	flight  inFlight
	stats   LinkStats
	scratch []byte
	waited  time.Duration // result of Waited
}

// Condition wraps a connection. now is a monotonic clock with any origin.
func Condition(inner Conn, link Link, seed uint64, now func() time.Duration) *Conditioner {
	return &Conditioner{
		inner:   inner,
		link:    link.normalised(),
		seed:    seed,
		now:     now,
		sources: map[Addr]*source{},
		others:  source{seed: mix(seed)},
		scratch: make([]byte, MaxDatagram),
	}
}

// SetLink changes the link of all senders, including those of SetLinkFrom. A zero Link repairs the network. Datagrams in flight
// keep their time of arrival, so that later ones may overtake them.
func (c *Conditioner) SetLink(link Link) {
	c.link = link.normalised()
	c.others.forget()
	for _, s := range c.sources {
		s.link = nil
		s.forget()
	}
}

// SetLinkFrom changes the link of one sender until the next SetLink. It has no effect beyond 4096 senders.
func (c *Conditioner) SetLinkFrom(from Addr, link Link) {
	s := c.source(from)
	if s == &c.others {
		return
	}
	link = link.normalised()
	s.link = &link
	s.forget()
}

// Forget drops the state of a sender that sends no more. If it sends again it counts as a new sender.
func (c *Conditioner) Forget(from Addr) { delete(c.sources, from) }

// Stats returns the counters since Condition.
func (c *Conditioner) Stats() LinkStats { return c.stats }

// InFlight returns the number of datagrams in flight.
func (c *Conditioner) InFlight() int { return len(c.flight.heap) }

// Reserve allocates memory for a number of datagrams in flight, at most MaxInFlight, and in the inner connection if that has
// Reserve. A test that counts the allocations of a game then does not count those of the network.
func (c *Conditioner) Reserve(datagrams int) {
	c.flight.reserve(min(datagrams, MaxInFlight))
	if inner, ok := c.inner.(interface{ Reserve(datagrams int) }); ok {
		inner.Reserve(datagrams)
	}
}

// Send sends through the inner connection, unchanged.
func (c *Conditioner) Send(to Addr, datagram []byte) error {
	return c.inner.Send(to, datagram)
}

// LocalAddr returns the address of the inner connection.
func (c *Conditioner) LocalAddr() Addr { return c.inner.LocalAddr() }

// Secure implements Secured: it asks the inner connection.
func (c *Conditioner) Secure() bool { return IsSecure(c.inner) }

// Proved implements Prover: it asks the inner connection.
func (c *Conditioner) Proved(of Addr) (user string, data []byte, ok bool) { return proved(c.inner, of) }

// Waited implements Timed: it returns the time since the datagram left the link.
func (c *Conditioner) Waited() time.Duration { return c.waited }

// Close closes the inner connection.
func (c *Conditioner) Close() error { return c.inner.Close() }

// Receive takes all waiting datagrams from the inner connection and returns the next one that has crossed the link.
func (c *Conditioner) Receive(buf []byte) (n int, from Addr, err error) {
	now := c.now()
	if err := c.pull(now); err != nil {
		return 0, Addr{}, err
	}
	if !c.flight.ready(now) {
		return 0, Addr{}, nil
	}
	c.waited = now - c.flight.heap[0].due
	n, from = c.flight.pop(buf)
	if n > len(buf) {
		c.stats.TooLarge++
		return 0, Addr{}, ErrTooLarge
	}
	c.stats.Delivered++
	return n, from, nil
}

// Poll takes all waiting datagrams from the inner connection without returning any. They enter the link now instead of at the
// next Receive. A simulation that steps one end after the other calls it when all ends have sent.
func (c *Conditioner) Poll() error { return c.pull(c.now()) }

func (c *Conditioner) pull(now time.Duration) error {
	for range pullLimit {
		n, from, err := c.inner.Receive(c.scratch)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		c.stats.Received++
		c.enter(from, c.scratch[:n], now-WaitedOf(c.inner)) // It entered the link when it arrived.
	}
	return nil
}

// enter decides the fate of one datagram.
func (c *Conditioner) enter(from Addr, datagram []byte, now time.Duration) {
	s := c.source(from)
	s.serial++
	link := &c.link
	if s.link != nil {
		link = s.link
	}
	switch {
	case link.dark(now):
		c.stats.BlackedOut++
		return
	case link.MTU > 0 && len(datagram) > link.MTU:
		c.stats.TooLarge++
		return
	case s.lose(link):
		c.stats.Lost++
		return
	}
	left, ok := s.depart(link, len(datagram), now)
	if !ok {
		c.stats.Overflowed++
		return
	}
	if s.chance(drawCorrupt, link.Corrupt) {
		c.stats.Corrupted++
		datagram = s.damage(datagram)
	}
	due, held := s.arrive(link, left)
	if held {
		c.stats.Reordered++
	}
	c.fly(due, from, datagram)
	if s.chance(drawDuplicate, link.Duplicate) {
		c.stats.Duplicated++
		apart := s.below(drawDuplicateDelay, uint64(link.ReorderDelay)+1)
		c.fly(due+time.Duration(apart), from, datagram)
	}
}

func (c *Conditioner) fly(due time.Duration, from Addr, datagram []byte) {
	if len(c.flight.heap) >= MaxInFlight {
		c.stats.Overflowed++
		return
	}
	c.flight.push(due, from, datagram)
}

func (c *Conditioner) source(from Addr) *source {
	if s := c.sources[from]; s != nil {
		return s
	}
	if len(c.sources) >= maxSources {
		return &c.others
	}
	c.serial++
	s := &source{seed: mix(c.seed + mix(c.serial))}
	c.sources[from] = s
	return s
}

// defaultReorderDelay is longer than three frames at 30 Hz, so that later datagrams really overtake.
const defaultReorderDelay = 100 * time.Millisecond

// Link describes a simulated network. The zero value is a perfect link. Probabilities are per datagram, from 0 to 1; values
// outside are clamped, NaN counts as 0.
type Link struct {
	Delay        time.Duration  // one way; half of the round trip if both ends are conditioned alike
	Jitter       time.Duration  // uniform deviation from Delay, ±Jitter; it does not change the order
	Loss         float64        // probability that a datagram is lost, independently
	BurstLoss    GilbertElliott // bursts of losses, in addition to Loss
	Duplicate    float64        // probability that a datagram arrives twice
	Reorder      float64        // probability that a datagram is delayed so that later ones overtake it
	ReorderDelay time.Duration  // maximum of that delay, the minimum is half; 0 means 100 ms
	Corrupt      float64        // probability that bytes change; one in eight of these is cut short instead
	MTU          int            // datagrams longer than this many bytes are dropped; 0 means no limit
	Rate         int            // bytes per second and sender, including headers, with a queue of 250 ms; 0 means no limit
	Line         *Line          // a bottleneck shared by several senders and Conditioners, instead of Rate; nil means none
	Down         bool           // all datagrams are dropped
	Blackouts    []Interval     // times when all datagrams are dropped, on the clock of the Conditioner
}

// GilbertElliott is the loss model of Gilbert and Elliott in its simple form: no loss in the good state, total loss in the bad
// state. Its loss rate is Enter*Length / (1 + Enter*Length).
type GilbertElliott struct {
	Enter  float64 // probability per datagram that a burst begins; 0 means no bursts
	Length float64 // mean number of datagrams in a burst; less than 1 counts as 1
}

// Interval is a span of time: from From to before Until.
type Interval struct {
	From, Until time.Duration // on the clock of the Conditioner
}

// normalised returns a copy of the link with valid times, independent of the caller's slice.
func (l Link) normalised() Link {
	l.Delay = max(l.Delay, 0)
	l.Jitter = max(l.Jitter, 0)
	if l.ReorderDelay <= 0 {
		l.ReorderDelay = defaultReorderDelay
	}
	l.BurstLoss.Length = max(l.BurstLoss.Length, 1)
	l.Blackouts = slices.Clone(l.Blackouts)
	return l
}

// dark reports whether all datagrams are dropped at this time.
func (l *Link) dark(now time.Duration) bool {
	if l.Down {
		return true
	}
	for _, b := range l.Blackouts {
		if now >= b.From && now < b.Until {
			return true
		}
	}
	return false
}

// bufferSize is the minimum size of a buffer in bytes: any datagram that fits an Ethernet frame.
const bufferSize = 1536

// flying is a datagram in flight.
type flying struct {
	due    time.Duration
	serial uint64 // order of entry, for datagrams due at the same time
	from   Addr
	data   []byte
}

func (a *flying) before(b *flying) bool {
	return a.due < b.due || a.due == b.due && a.serial < b.serial
}

// inFlight is a binary heap of the datagrams in flight, the next due first. Buffers are reused, the newest free one first.
type inFlight struct {
	heap   []flying
	free   [][]byte
	serial uint64
}

// push adds a copy of the datagram.
func (f *inFlight) push(due time.Duration, from Addr, datagram []byte) {
	var buffer []byte
	if last := len(f.free) - 1; last >= 0 {
		buffer, f.free = f.free[last], f.free[:last]
	} else {
		buffer = make([]byte, 0, max(bufferSize, len(datagram)))
	}
	f.serial++
	f.heap = append(f.heap, flying{due: due, serial: f.serial, from: from, data: append(buffer[:0], datagram...)})
	for i := len(f.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !f.heap[i].before(&f.heap[parent]) {
			break
		}
		f.heap[i], f.heap[parent] = f.heap[parent], f.heap[i]
		i = parent
	}
}

// reserve allocates buffers for n datagrams in flight.
func (f *inFlight) reserve(n int) {
	for len(f.heap)+len(f.free) < n {
		f.free = append(f.free, make([]byte, 0, bufferSize))
	}
	f.heap = slices.Grow(f.heap, max(n-len(f.heap), 0))
}

// ready reports whether a datagram is due.
func (f *inFlight) ready(now time.Duration) bool {
	return len(f.heap) > 0 && f.heap[0].due <= now
}

// pop removes the next datagram, copies it into buf and returns its size, which exceeds len(buf) if it did not fit.
func (f *inFlight) pop(buf []byte) (int, Addr) {
	next := f.heap[0]
	last := len(f.heap) - 1
	f.heap[0] = f.heap[last]
	f.heap[last] = flying{}
	f.heap = f.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && f.heap[child+1].before(&f.heap[child]) {
			child++
		}
		if !f.heap[child].before(&f.heap[i]) {
			break
		}
		f.heap[i], f.heap[child] = f.heap[child], f.heap[i]
		i = child
	}
	copy(buf, next.data)
	f.free = append(f.free, next.data)
	return len(next.data), next.from
}

const (
	// overhead is the size of IPv4 and UDP headers in bytes.
	overhead = 28
	// rateQueue is the longest wait in the queue of a link with a rate. Datagrams that would wait longer are dropped.
	rateQueue = 250 * time.Millisecond
)

// Each decision about a datagram has its own random draw. The fate of a datagram thus depends neither on other settings of the
// link nor on other senders. A failing run can be narrowed down without becoming another one.
const (
	drawLoss uint64 = iota
	drawBurst
	drawJitter
	drawReorder
	drawHold
	drawDuplicate
	drawDuplicateDelay
	drawCorrupt
	drawCorruptKind
	drawCorruptAt // The last one: damage uses the following numbers too.
)

// Line is a bottleneck: a rate and a tail-drop queue. Datagrams must enter it in order of time. It belongs to one goroutine, with
// the Conditioners that use it.
type Line struct {
	// Seen, if not nil, is called for each datagram of a Conditioner: with its size including IP and UDP headers, its wait in the
	// queue, and whether the queue accepted it.
	Seen func(size int, wait time.Duration, kept bool)

	rate  int           // bytes per second
	queue time.Duration // maximum wait
	free  time.Duration // time at which the queue is empty
}

// NewLine returns a line with a rate in bytes per second, at least 1. Its queue drops datagrams that would wait longer than
// queue.
func NewLine(rate int, queue time.Duration) *Line {
	return &Line{rate: max(rate, 1), queue: max(queue, 0)}
}

// SetRate changes the rate. Queued bytes stay and leave at the new rate.
func (l *Line) SetRate(now time.Duration, rate int) {
	rate = max(rate, 1)
	if l.free > now {
		l.free = now + time.Duration(float64(l.free-now)*(float64(l.rate)/float64(rate)))
	}
	l.rate = rate
}

// Enter queues a datagram. left is the time at which its last byte leaves, wait the time in the queue. ok is false if the queue
// is full.
func (l *Line) Enter(now time.Duration, size int) (left, wait time.Duration, ok bool) {
	start := max(now, l.free)
	if wait = start - now; wait > l.queue {
		return 0, wait, false
	}
	l.free = start + time.Duration(int64(size)*int64(time.Second)/int64(l.rate))
	return l.free, wait, true
}

// source is the state of one sender. Shared state would be wrong: a burst on a server's link would hit its clients in turn, one
// datagram each.
type source struct {
	link   *Link         // set by SetLinkFrom; nil means the link of the Conditioner
	seed   uint64        // mixed from the Conditioner's seed and the number of the sender
	serial uint64        // number of datagrams from this sender
	burst  bool          // in the bad state of the burst loss
	last   time.Duration // due time of the newest datagram in order
	free   time.Duration // time at which the queue of the rate is empty
}

// forget drops the state that links later datagrams to earlier ones, so that a new link takes effect at once.
func (s *source) forget() {
	s.burst, s.last, s.free = false, 0, 0
}

// draw returns 64 random bits that depend only on seed, sender, datagram and purpose.
func (s *source) draw(purpose uint64) uint64 {
	return mix(s.seed + mix(s.serial<<8|purpose))
}

// chance returns true with probability p.
func (s *source) chance(purpose uint64, p float64) bool {
	return p > 0 && float64(s.draw(purpose)>>11)*0x1p-53 < p
}

// below returns a uniform random integer below n >= 1. It uses integers only, so that every platform draws alike.
func (s *source) below(purpose uint64, n uint64) uint64 {
	high, _ := bits.Mul64(s.draw(purpose), n)
	return high
}

// lose steps the loss models and reports whether this datagram is lost.
func (s *source) lose(l *Link) bool {
	if s.burst {
		s.burst = !s.chance(drawBurst, 1/l.BurstLoss.Length)
	} else {
		s.burst = s.chance(drawBurst, l.BurstLoss.Enter)
	}
	return s.burst || s.chance(drawLoss, l.Loss)
}

// depart returns when a datagram of size bytes leaves the queue of its sender, and whether the queue accepted it.
func (s *source) depart(l *Link, size int, now time.Duration) (time.Duration, bool) {
	if l.Line != nil {
		left, wait, ok := l.Line.Enter(now, size+overhead)
		if l.Line.Seen != nil {
			l.Line.Seen(size+overhead, wait, ok)
		}
		return left, ok
	}
	if l.Rate <= 0 {
		return now, true
	}
	start := max(now, s.free)
	if start-now > rateQueue {
		return 0, false
	}
	s.free = start + time.Duration(int64(size+overhead)*int64(time.Second)/int64(l.Rate))
	return s.free, true
}

// arrive returns when a datagram that left the queue is due, and whether it was delayed to be overtaken.
func (s *source) arrive(l *Link, left time.Duration) (due time.Duration, held bool) {
	spread := time.Duration(s.below(drawJitter, uint64(2*l.Jitter)+1)) - l.Jitter
	due = max(left+max(l.Delay+spread, 0), s.last)
	if s.chance(drawReorder, l.Reorder) {
		half := l.ReorderDelay / 2
		return due + l.ReorderDelay - time.Duration(s.below(drawHold, uint64(half)+1)), true
	}
	s.last = due
	return due, false
}

// damage changes the datagram, always, and returns the rest of it: at least one byte.
func (s *source) damage(datagram []byte) []byte {
	size := uint64(len(datagram))
	if size > 1 && s.below(drawCorruptKind, 8) == 0 {
		return datagram[:1+s.below(drawCorruptAt, size-1)]
	}
	first := s.below(drawCorruptAt, size)
	datagram[first] ^= byte(1 + s.below(drawCorruptAt+1, 255))
	for i := range s.below(drawCorruptAt+2, 4) {
		// Never the place of the first change: the changes could cancel each other.
		if at := s.below(drawCorruptAt+3+2*i, size); at != first {
			datagram[at] ^= byte(s.draw(drawCorruptAt + 4 + 2*i))
		}
	}
	return datagram
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
