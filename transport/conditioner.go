package transport

import (
	"net/netip"
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
	sources map[netip.AddrPort]*source
	serial  uint64 // of the sender that appeared last
	others  source // senders beyond maxSources
	flight  flight
	stats   LinkStats
	scratch []byte
}

// Condition wraps a connection. The clock is monotone, with an arbitrary origin.
func Condition(inner Conn, link Link, seed uint64, now func() time.Duration) *Conditioner {
	return &Conditioner{
		inner:   inner,
		link:    link.normalised(),
		seed:    seed,
		now:     now,
		sources: map[netip.AddrPort]*source{},
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
func (c *Conditioner) SetLinkFrom(from netip.AddrPort, link Link) {
	s := c.source(from)
	if s == &c.others {
		return
	}
	link = link.normalised()
	s.link = &link
	s.forget()
}

// Forget drops what is remembered of one sender, which sends no more. If it does so all the same, it is a new one.
func (c *Conditioner) Forget(from netip.AddrPort) { delete(c.sources, from) }

// Stats returns the counters since the beginning.
func (c *Conditioner) Stats() LinkStats { return c.stats }

// InFlight returns how many datagrams are on their way.
func (c *Conditioner) InFlight() int { return len(c.flight.heap) }

// Reserve makes memory for so many datagrams on their way at once, at most MaxInFlight: with it, a test that counts what a
// game allocates does not count what a busier moment of the network does.
func (c *Conditioner) Reserve(datagrams int) { c.flight.reserve(min(datagrams, MaxInFlight)) }

// Send sends through the connection inside, unchanged.
func (c *Conditioner) Send(to netip.AddrPort, datagram []byte) error {
	return c.inner.Send(to, datagram)
}

// LocalAddr returns the address of the connection inside.
func (c *Conditioner) LocalAddr() netip.AddrPort { return c.inner.LocalAddr() }

// Close closes the connection inside.
func (c *Conditioner) Close() error { return c.inner.Close() }

// Receive takes in all that waits inside and returns the next datagram that has crossed the link by now.
func (c *Conditioner) Receive(buf []byte) (n int, from netip.AddrPort, err error) {
	now := c.now()
	if err := c.pull(now); err != nil {
		return 0, netip.AddrPort{}, err
	}
	if !c.flight.ready(now) {
		return 0, netip.AddrPort{}, nil
	}
	n, from = c.flight.pop(buf)
	if n > len(buf) {
		c.stats.TooLarge++
		return 0, netip.AddrPort{}, ErrTooLarge
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
		c.enter(from, c.scratch[:n], now)
	}
	return nil
}

// enter decides about one datagram.
func (c *Conditioner) enter(from netip.AddrPort, datagram []byte, now time.Duration) {
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

func (c *Conditioner) fly(due time.Duration, from netip.AddrPort, datagram []byte) {
	if len(c.flight.heap) >= MaxInFlight {
		c.stats.Overflowed++
		return
	}
	c.flight.push(due, from, datagram)
}

func (c *Conditioner) source(from netip.AddrPort) *source {
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
