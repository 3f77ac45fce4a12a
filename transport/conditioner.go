package transport

import (
	"math/bits"
	"slices"
	"time"
)

const (
	// MaxInFlight is the largest number of datagrams in a Conditioner; more are dropped and counted.
	MaxInFlight = 16384
	// maxSources bounds what is remembered per sender. Senders beyond it share one memory.
	maxSources = 4096
	// pullLimit bounds the work of one Receive, even when datagrams come in faster than they can be conditioned.
	pullLimit = 1024
)

// LinkStats counts what a Conditioner did to the datagrams that it was given. A datagram may be in several counters.
type LinkStats struct {
	Received   uint64 // taken from the connection inside
	Delivered  uint64 // handed to the caller, duplicates included
	Lost       uint64 // by Loss and BurstLoss
	Duplicated uint64 // arrived once more
	Reordered  uint64 // held back to be overtaken
	Corrupted  uint64 // changed or cut short
	TooLarge   uint64 // longer than the MTU, or than the caller's buffer
	BlackedOut uint64 // came while the link was down
	Overflowed uint64 // found the queue of the rate, or the Conditioner itself, full
}

// Conditioner is a Conn that makes what it receives from another Conn cross a Link first; what is sent passes untouched.
// To condition both directions, wrap both ends. Each sender has a link of its own with the same properties.
//
// The fate of a datagram depends on the seed, on the order in which the senders first appeared and on its number among
// those of its sender. Time is what the clock says when Receive takes the datagram from inside. All methods are called from
// one goroutine.
type Conditioner struct {
	inner   Conn
	link    Link
	seed    uint64
	now     func() time.Duration
	sources map[Addr]*source
	serial  uint64 // of the sender that appeared last
	others  source // senders beyond maxSources
	flight  inFlight
	stats   LinkStats
	scratch []byte
	waited  time.Duration // of the datagram that Receive returned last
}

// Condition wraps a connection. The clock is monotone, with an arbitrary origin.
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

// SetLink changes the link for all senders, also for those with a link from SetLinkFrom: a zero Link heals the network.
// Datagrams on their way keep their time of arrival, later ones may overtake them.
func (c *Conditioner) SetLink(link Link) {
	c.link = link.normalised()
	c.others.forget()
	for _, s := range c.sources {
		s.link = nil
		s.forget()
	}
}

// SetLinkFrom changes the link for one sender alone, until the next SetLink. Beyond 4096 senders it has no effect.
func (c *Conditioner) SetLinkFrom(from Addr, link Link) {
	s := c.source(from)
	if s == &c.others {
		return
	}
	link = link.normalised()
	s.link = &link
	s.forget()
}

// Forget drops what is remembered of one sender, which sends no more. If it does so all the same, it is a new one.
func (c *Conditioner) Forget(from Addr) { delete(c.sources, from) }

// Stats returns the counters since the beginning.
func (c *Conditioner) Stats() LinkStats { return c.stats }

// InFlight returns how many datagrams are on their way.
func (c *Conditioner) InFlight() int { return len(c.flight.heap) }

// Reserve makes memory for so many datagrams on their way at once, at most MaxInFlight, and in the connection inside if that has a Reserve:
// with it, a test that counts what a game allocates does not count what a busier moment of the network does.
func (c *Conditioner) Reserve(datagrams int) {
	c.flight.reserve(min(datagrams, MaxInFlight))
	if inner, ok := c.inner.(interface{ Reserve(datagrams int) }); ok {
		inner.Reserve(datagrams)
	}
}

// Send sends through the connection inside, unchanged.
func (c *Conditioner) Send(to Addr, datagram []byte) error {
	return c.inner.Send(to, datagram)
}

// LocalAddr returns the address of the connection inside.
func (c *Conditioner) LocalAddr() Addr { return c.inner.LocalAddr() }

// Secure implements Secured: it is that of the connection inside.
func (c *Conditioner) Secure() bool { return IsSecure(c.inner) }

// Proved implements Prover: it is that of the connection inside.
func (c *Conditioner) Proved(of Addr) (user string, data []byte, ok bool) { return proved(c.inner, of) }

// Moved implements Mover: it is that of the connection inside.
func (c *Conditioner) Moved() (m Move, ok bool) { return moved(c.inner) }

// Overhead implements Overheader: it is that of the connection inside.
func (c *Conditioner) Overhead() int { return OverheadOf(c.inner) }

// Waited implements Timed: it is the time since the datagram has crossed the link.
func (c *Conditioner) Waited() time.Duration { return c.waited }

// Close closes the connection inside.
func (c *Conditioner) Close() error { return c.inner.Close() }

// Receive takes in all that waits inside and returns the next datagram that has crossed the link by now.
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

// Poll takes in all that waits inside, without handing anything out: its way across the link begins now and not at the
// next Receive. A simulation that steps one end after the other calls it when all of them have sent.
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
		c.enter(from, c.scratch[:n], now-WaitedOf(c.inner)) // Its way began when it came.
	}
	return nil
}

// enter decides about one datagram.
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

// defaultReorderDelay is longer than three frames at 30 Hz, so that a datagram held back is really overtaken.
const defaultReorderDelay = 100 * time.Millisecond

// Link describes the network that datagrams cross on their way into a Conditioner. The zero value is a perfect link.
// Probabilities are per datagram, from 0 to 1; what lies outside counts as 0 or 1, NaN as 0.
type Link struct {
	Delay        time.Duration  // one way; half of the round trip when both ends are conditioned alike
	Jitter       time.Duration  // spread around Delay, even between -Jitter and +Jitter; it does not change the order
	Loss         float64        // probability that a datagram is lost, each on its own
	BurstLoss    GilbertElliott // losses that come in rows, on top of Loss
	Duplicate    float64        // probability that a datagram arrives twice
	Reorder      float64        // probability that a datagram is held back while later ones overtake it
	ReorderDelay time.Duration  // longest time that it is held back, at least half of it; 0 means 100 ms
	Corrupt      float64        // probability that bytes change; one in eight of these is cut short instead
	MTU          int            // datagrams longer than this many bytes are dropped; 0 means no limit
	Rate         int            // bytes per second and sender, headers included, with a queue of 250 ms; 0 means no limit
	Line         *Line          // a bottleneck that several senders and Conditioners may share, in place of Rate; nil means none
	Down         bool           // nothing enters
	Blackouts    []Interval     // times at which nothing enters, on the clock of the Conditioner
}

// GilbertElliott is the loss model of Gilbert and Elliott in its simple form: in the good state nothing is lost, in the bad state
// everything is. The loss it causes is Enter*Length / (1 + Enter*Length) of all datagrams.
type GilbertElliott struct {
	Enter  float64 // probability per datagram that a burst begins with it; 0 means no bursts
	Length float64 // mean number of datagrams lost in one burst; less than 1 counts as 1
}

// Interval is a span of time on the clock of a Conditioner: From belongs to it, Until does not.
type Interval struct {
	From, Until time.Duration // since the clock's beginning
}

// normalised returns a copy of the link that later changes of the caller's slice do not reach and whose times make sense.
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

// dark reports whether nothing enters the link at this time.
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

// bufferSize is the least size of a buffer: any datagram that crosses an Ethernet unfragmented.
const bufferSize = 1536

// flying is one datagram on its way.
type flying struct {
	due    time.Duration
	serial uint64 // order of entry: datagrams due at the same time keep it
	from   Addr
	data   []byte
}

func (a *flying) before(b *flying) bool {
	return a.due < b.due || a.due == b.due && a.serial < b.serial
}

// inFlight holds the datagrams on their way as a binary heap, the next one first. The buffer of one that has landed serves
// a later one, the last first, so that as many exist as were ever on their way at once.
type inFlight struct {
	heap   []flying
	free   [][]byte
	serial uint64
}

// push copies the datagram in.
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

// reserve makes buffers for so many datagrams on their way at once.
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

// pop takes the next datagram out, copies it into buf and returns its whole length: more than len(buf) if it did not fit.
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
	// overhead is the size of the IPv4 and UDP headers of each datagram, in bytes.
	overhead = 28
	// rateQueue is the longest wait of a datagram for a link with a rate; then it is dropped at the tail.
	rateQueue = 250 * time.Millisecond
)

// Each decision about a datagram has a draw of its own. So the luck of one datagram does not depend on the link's other
// settings, nor on the traffic of other senders, and a failing run can be narrowed down without turning into another one.
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
	drawCorruptAt // the last one: it counts on from here
)

// Line is a bottleneck: a rate and a queue that drops at its tail. All that enters it must come in order of time. It belongs to one
// goroutine, with the Conditioners that use it.
type Line struct {
	// Seen, where it is not nil, is told of each datagram of a Conditioner: its bytes with those of IP and UDP, its wait in the
	// queue, and whether the queue had room for it.
	Seen func(size int, wait time.Duration, kept bool)

	rate  int           // bytes a second
	queue time.Duration // the longest wait
	free  time.Duration // when it has sent all it has
}

// NewLine returns a line of so many bytes a second, at least 1, whose queue drops what would wait for longer.
func NewLine(rate int, queue time.Duration) *Line {
	return &Line{rate: max(rate, 1), queue: max(queue, 0)}
}

// SetRate changes the rate. The bytes that wait stay, and take longer or less long.
func (l *Line) SetRate(now time.Duration, rate int) {
	rate = max(rate, 1)
	if l.free > now {
		l.free = now + time.Duration(float64(l.free-now)*(float64(l.rate)/float64(rate)))
	}
	l.rate = rate
}

// Enter queues so many bytes and returns when the last of them leaves and how long the first waits; not ok: the queue is full.
func (l *Line) Enter(now time.Duration, size int) (left, wait time.Duration, ok bool) {
	start := max(now, l.free)
	if wait = start - now; wait > l.queue {
		return 0, wait, false
	}
	l.free = start + time.Duration(int64(size)*int64(time.Second)/int64(l.rate))
	return l.free, wait, true
}

// source is the state of a Conditioner about one sender: state that is shared by all would make a burst on a server's
// link strike its clients in turn, one datagram each.
type source struct {
	link   *Link         // set by SetLinkFrom; nil means the link of the Conditioner
	seed   uint64        // stirred from the Conditioner's seed and the sender's number
	serial uint64        // datagrams seen from this sender
	burst  bool          // in the bad state of the burst loss
	last   time.Duration // when the newest datagram in order is due
	free   time.Duration // when a link with a rate has sent all it has
}

// forget drops what binds later datagrams to earlier ones, so that a link that has changed behaves so at once.
func (s *source) forget() {
	s.burst, s.last, s.free = false, 0, 0
}

// draw returns 64 random bits that depend on the seed, the sender, the datagram and the purpose alone.
func (s *source) draw(purpose uint64) uint64 {
	return mix(s.seed + mix(s.serial<<8|purpose))
}

// chance is true with probability p.
func (s *source) chance(purpose uint64, p float64) bool {
	return p > 0 && float64(s.draw(purpose)>>11)*0x1p-53 < p
}

// below returns an even number from 0 to n-1; n is at least 1. Integers, so that every platform draws alike.
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

// depart returns when a datagram of this size has left its sender, and whether the queue there had room for it.
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

// arrive returns when a datagram that left at this time is due, and whether it was held back to be overtaken.
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

// damage changes the datagram for certain and returns what is left of it: at least one byte.
func (s *source) damage(datagram []byte) []byte {
	size := uint64(len(datagram))
	if size > 1 && s.below(drawCorruptKind, 8) == 0 {
		return datagram[:1+s.below(drawCorruptAt, size-1)]
	}
	first := s.below(drawCorruptAt, size)
	datagram[first] ^= byte(1 + s.below(drawCorruptAt+1, 255))
	for i := range s.below(drawCorruptAt+2, 4) {
		// Another place than the first, so that the changes cannot cancel each other.
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
