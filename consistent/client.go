package consistent

import (
	"errors"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/tick"
)

const (
	// packetsKept is the number of packets that a client remembers as received. It exceeds the reach of a claim plus the
	// reordering of the network.
	packetsKept = 4 * maxBack
	// claimsKept is the maximum number of claims that wait for packets.
	claimsKept = 64
	// maxTicks is the maximum span of ticks that are held back: the low bits of a tick identify it.
	maxTicks = 1 << 12
)

// Stats tells how a client shows whole ticks. Counters cover all connections of the client.
type Stats struct {
	On    bool         // The client shows whole ticks only: see Enable.
	Shown netcode.Tick // The newest complete tick. tick.None: none yet.
	// Behind is the number of ticks from the shown one to the newest received state, at the start of the frame. It is 0 while all
	// received state is shown.
	Behind     netcode.Tick
	MeanBehind float64      // Mean of Behind over the frames of this connection.
	MaxBehind  netcode.Tick // Maximum of Behind in this connection.

	Held      int    // Bytes of received state that wait for their tick.
	Complete  uint64 // Ticks that were shown.
	Skipped   uint64 // Ticks with state that were not shown, because a later one was complete first.
	Repaired  uint64 // Lost packets whose state was received as a repair.
	Overflows uint64 // Times that MaxHeld was reached. Then the world stands still until the next complete tick.
}

// client is the feature's state on a client.
type client struct {
	end    *netcode.Client
	config Config
	off    bool
	opened bool
	start  netcode.Tick // First tick of the connection.

	newest uint64              // The newest packet with state, plus 1.
	got    [packetsKept]uint64 // Received packets with state, plus 1; index is the packet modulo packetsKept.
	claims []waiting           // Sorted by tick.
	held   []payload
	bytes  []byte       // The payloads in held, one after the other.
	floor  netcode.Tick // State up to this tick was shown early because of an overflow; tick.None: none.

	stats          Stats
	frames, behind uint64
}

// waiting is a claim that waits for packets.
type waiting struct {
	tick   netcode.Tick
	packet uint64
	needed [neededWords]uint64
}

// payload is received state that is held back.
type payload struct {
	tick     netcode.Tick
	from, to int // Range in client.bytes.
}

// Client implements extend.ClientSide.
func (f *feature) Client(with extend.Client) extend.ClientHooks {
	end := netcode.ClientOf(with)
	c := &client{end: end, config: f.config, claims: make([]waiting, 0, claimsKept)}
	return extend.ClientHooks{
		State:      c,
		Opened:     c.open,
		HoldState:  c.take,
		Closed:     func() { c.opened = false },
		BeginFrame: c.beginFrame,
		Section: &extend.ClientSection{
			Check: check,
			Take:  c.takeSection,
		},
	}
}

// open resets the state for a new connection.
func (c *client) open() {
	c.newest, c.floor, c.frames, c.behind = 0, tick.None, 0, 0
	clear(c.got[:])
	c.claims, c.held, c.bytes = c.claims[:0], c.held[:0], c.bytes[:0]
	c.stats.Shown, c.stats.Behind, c.stats.MeanBehind, c.stats.MaxBehind, c.stats.Held = tick.None, 0, 0, 0, 0
	extend.OfClient(c.end).Suspend(false)
	if c.opened = c.end.Replica() != nil; c.opened {
		c.start = c.end.Replica().Tick()
	}
}

// take handles the state of a packet: it holds it back, or shows it if its tick was shown already.
func (c *client) take(state []byte, packet uint64) {
	c.got[packet%packetsKept], c.newest = packet+1, max(c.newest, packet+1)
	t := replica.PayloadTick(state, extend.OfClient(c.end).Newest().Tick())
	if c.off || t <= c.stats.Shown {
		extend.OfClient(c.end).ShowState(state)
		c.judge()
		return
	}
	if len(c.bytes)+len(state) > c.config.MaxHeld || len(c.held) > 0 && t-c.held[0].tick > maxTicks {
		c.overflow()
	}
	c.held = append(c.held, payload{t, len(c.bytes), len(c.bytes) + len(state)})
	c.bytes = append(c.bytes, state...)
	c.judge()
}

// takeSection handles a section: a repair, a claim, or both.
func (c *client) takeSection(_ uint64, payload []byte) {
	var s section
	if s.parse(payload) != nil || !c.opened {
		return
	}
	packet := near(s.packet, c.newest)
	if len(s.state) > 0 && !c.repaired(s.state, packet) {
		return
	}
	w := waiting{tick: tick.Near(s.tick, extend.OfClient(c.end).Newest().Tick()), packet: packet, needed: s.needed}
	if !s.claimed || w.tick <= c.stats.Shown || w.packet > c.newest+packetsKept {
		return
	}
	if len(c.claims) == claimsKept {
		c.claims = slices.Delete(c.claims, 0, 1)
	}
	c.claims = append(c.claims, w)
	c.judge()
}

// repaired handles the repair of a lost packet. It reports whether the client has the packet's state now.
func (c *client) repaired(state []byte, packet uint64) bool {
	if c.got[packet%packetsKept] == packet+1 {
		return true
	}
	if packet+packetsKept <= c.newest || packet > c.newest {
		return false
	}
	switch err := extend.OfClient(c.end).Newest().Read(state); {
	case err == nil:
		c.stats.Repaired++
		c.take(state, packet)
		return true
	case errors.Is(err, replica.ErrMalformed):
		extend.OfClient(c.end).End(&netcode.CloseError{Reason: errs.ReasonMalformed, Detail: err.Error()})
	}
	return false // It came too late.
}

// judge shows the newest complete tick, if it is newer than the shown one.
func (c *client) judge() {
	shown := c.stats.Shown
	for i := range c.claims {
		if w := &c.claims[i]; w.tick > shown && w.tick >= c.floor && c.has(w) {
			shown = w.tick
		}
	}
	if shown > c.stats.Shown {
		c.show(shown)
	}
}

// has reports whether all packets of a claim were received.
func (c *client) has(w *waiting) bool {
	for i, word := range w.needed {
		for at := uint64(i) * 64; word != 0; word >>= 1 {
			at++
			if word&1 == 0 {
				continue
			}
			if at > w.packet || c.got[(w.packet-at)%packetsKept] != w.packet-at+1 {
				return false
			}
		}
	}
	return true
}

// show shows a complete tick.
func (c *client) show(t netcode.Tick) {
	before := tick.None
	for _, p := range c.held {
		if p.tick > t {
			continue
		}
		if extend.OfClient(c.end).ShowState(c.bytes[p.from:p.to]); p.tick > before && p.tick != t {
			before = p.tick
			c.stats.Skipped++
		}
	}
	c.stats.Shown, c.stats.Complete = t, c.stats.Complete+1
	c.claims = slices.DeleteFunc(c.claims, func(w waiting) bool { return w.tick <= t })
	c.keepAfter(t)
	extend.OfClient(c.end).ShownUpTo(t, true)
	c.floor = tick.None
	extend.OfClient(c.end).Suspend(false)
}

// keepAfter drops the held payloads up to tick t.
func (c *client) keepAfter(t netcode.Tick) {
	held, size := c.held[:0], 0
	for _, p := range c.held {
		if p.tick <= t {
			continue
		}
		n := copy(c.bytes[size:], c.bytes[p.from:p.to])
		held = append(held, payload{p.tick, size, size + n})
		size += n
	}
	c.held, c.bytes = held, c.bytes[:size]
}

// overflow releases the older half of the held state. The world is suspended until a complete tick includes all of it.
func (c *client) overflow() {
	c.stats.Overflows++
	for _, p := range c.held {
		if c.floor = max(c.floor, p.tick); p.to > len(c.bytes)/2 {
			break
		}
	}
	for _, p := range c.held {
		if p.tick <= c.floor {
			extend.OfClient(c.end).ShowState(c.bytes[p.from:p.to])
		}
	}
	c.keepAfter(c.floor)
	extend.OfClient(c.end).Suspend(true)
}

// giveAway releases all held state to the Replica.
func (c *client) giveAway() {
	for _, p := range c.held {
		extend.OfClient(c.end).ShowState(c.bytes[p.from:p.to])
	}
	c.held, c.bytes = c.held[:0], c.bytes[:0]
}

// enable switches the feature on or off.
func (c *client) enable(on bool) {
	if c.off == !on || !c.opened {
		c.off = !on
		return
	}
	c.off, c.floor = !on, tick.None
	if c.giveAway(); on {
		c.floor = c.end.Replica().Tick()
	}
	extend.OfClient(c.end).Suspend(on && c.floor > c.stats.Shown)
}

// beginFrame updates the statistics.
func (c *client) beginFrame() {
	if !c.opened {
		return
	}
	if len(c.held) == 0 && c.floor == tick.None { // All received state is shown.
		extend.OfClient(c.end).ShownUpTo(extend.OfClient(c.end).Newest().NewestKnown(), false)
	}
	c.stats.Behind = 0
	if newest := extend.OfClient(c.end).Newest().Tick(); len(c.held) > 0 || c.floor != tick.None {
		c.stats.Behind = newest - max(c.stats.Shown, c.start)
	}
	c.frames, c.behind = c.frames+1, c.behind+uint64(c.stats.Behind)
	c.stats.MeanBehind, c.stats.MaxBehind = float64(c.behind)/float64(c.frames), max(c.stats.MaxBehind, c.stats.Behind)
}
