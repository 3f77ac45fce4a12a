package main

import (
	"fmt"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/errs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// toServer marks words sent to the server, in keys of said and heard.
const toServer netcode.ClientID = 1 << 31

// Limits on the disturbance of honest clients, in ticks. The link has a round trip of 80 ms.
const (
	emptyTicks = ticksASecond + 5    // connected without any entity: 2 RTT + 1 s
	staleTicks = 2*ticksASecond + 10 // without new state: 2 s + 4 RTT
	queueBytes = 320 << 10           // messages that wait for one client
)

// checks checks the invariants of a run.
type checks struct {
	*soak
	count map[string]int // number of checks by invariant
	said  map[netcode.ClientID]uint32
	heard map[netcode.ClientID]uint32
	shown map[netcode.ClientID]map[netcode.NetworkID]bool // entities that a session was ever allowed to see
	liars map[netcode.ClientID]bool
	heaps []int                    // heap at the end of each phase
	over  map[netcode.ClientID]int // tick in which a session ended
	out   int                      // bytes sent to addresses without a session
}

// session is the state of an honest client's session.
type session struct {
	id    netcode.ClientID
	tick  netcode.Tick
	fresh int // tick in which new state arrived last
	empty int // tick in which it began, or had entities last
}

func newChecks(s *soak) checks {
	return checks{
		soak: s, count: map[string]int{}, said: map[netcode.ClientID]uint32{}, heard: map[netcode.ClientID]uint32{},
		shown: map[netcode.ClientID]map[netcode.NetworkID]bool{}, liars: map[netcode.ClientID]bool{}, over: map[netcode.ClientID]int{},
	}
}

// broken reports a violation and ends the run.
func (c *checks) broken(invariant, format string, args ...any) {
	c.h.Errorf("%s: %s", invariant, fmt.Sprintf(format, args...))
}

// say sends the next numbered word to one end.
func (c *checks) say(key netcode.ClientID, send func(m *word) error) {
	if send(&word{N: c.said[key] + 1}) == nil {
		c.said[key]++
	}
}

// hear handles words. It checks that each arrives once and in order.
func (c *checks) hear(ctx *netcode.Context, m *word) {
	key := ctx.Sender | toServer
	if ctx.Sender == 0 {
		client := netcode.ClientOf(ctx.End)
		if client == nil {
			return
		}
		key = client.ID()
	} else if c.isLiar(ctx.Sender) {
		return
	}
	if c.o.breaks == "I7" && m.N == 5 {
		panic("I7")
	}
	c.count["I3 Order"]++
	if c.heard[key]++; m.N != c.heard[key] {
		c.broken("I3 Order", "word %d after %d in session %d", m.N, c.heard[key]-1, key)
	}
}

// sent checks each datagram: no more bytes go to addresses without a session than came from there.
func (c *checks) sent(from, to transport.Addr, datagram []byte) {
	if from == c.net.Address() && !to.IP.Addr().IsLoopback() {
		c.out += len(datagram)
		c.count["I8 NoAmp"]++
		if c.out > c.stranger.Bytes() || c.o.breaks == "I8" {
			c.broken("I8 NoAmp", "%d bytes to strangers, who have sent %d", c.out, c.stranger.Bytes())
		}
	}
}

// ended checks the reason for the end of a session: honest clients never cause one.
func (c *checks) ended(id netcode.ClientID, reason *netcode.CloseError) {
	c.count["I6 Reasoned"]++
	c.over[id] = c.tick
	switch {
	case reason == nil || reason.Reason == errs.ReasonNone:
		c.broken("I6 Reasoned", "session %d ended without a reason", id)
	case reason.Reason == errs.ReasonHandlerPanic:
		c.broken("I7 Alive", "session %d ended: %v", id, reason)
	case c.isLiar(id):
	case reason.Reason == errs.ReasonClosed, reason.Reason == errs.ReasonKicked, reason.Reason == errs.ReasonTimeout, reason.Reason == errs.ReasonReplaced, reason.Reason == errs.ReasonTakenOver:
	case reason.Reason == errs.ReasonQueueOverflow: // A sleeping client receives no reliable messages.
	default:
		for _, l := range c.soak.liars {
			if l.ID() == id {
				return
			}
		}
		c.broken("I5 Isolated", "session %d of an honest client ended: %v", id, reason)
	}
}

// began drops the state of an earlier session with the same client ID: a client with an identity has returned.
func (c *checks) began(id netcode.ClientID) {
	delete(c.over, id)
	for _, key := range []netcode.ClientID{id, id | toServer} {
		delete(c.said, key)
		delete(c.heard, key)
	}
}

// server checks the server after its frame.
func (c *checks) server() {
	server := c.net.Server
	for _, l := range c.soak.liars {
		c.liars[l.ID()] = true
	}
	if n := server.Stats().HandlerPanics; n > 0 {
		c.broken("I7 Alive", "%d handlers panicked", n)
	}
	c.count["I7 Alive"]++
	for id, at := range c.over { // A client that slept notices the end late.
		if c.tick-at > c.o.phase.ticks {
			c.began(id)
			delete(c.shown, id)
		}
	}
	for _, t := range c.world.all {
		if owner := c.world.ownerOf(t); !t.id.IsZero() && uint32(server.Owner(t.id)) != owner {
			c.broken("I10 Gate", "%v belongs to %d, and the world gives it to %d", t.id, server.Owner(t.id), owner)
		}
	}
	for id := range server.Clients {
		stats, _ := server.ClientStats(id)
		c.count["I4 Bounded"]++
		if stats.Waiting > queueBytes {
			c.broken("I4 Bounded", "%d bytes wait for session %d", stats.Waiting, id)
		}
		if c.shown[id] == nil {
			c.shown[id] = map[netcode.NetworkID]bool{}
		}
		for e := range server.Store().All {
			if server.Visible(id, e) {
				c.shown[id][e] = true
			}
		}
	}
}

// writes checks the writes of clients, after the server received them and before its game changes owners. Only values of the
// owner are accepted. Liars write random values to the same entities.
func (c *checks) writes() {
	for _, t := range c.world.all {
		owner, before := c.world.ownerOf(t), t.owner
		if t.owner = owner; owner != before && has[secret](c.world, t.Entity) { // the owner changed
			c.world.secrets.Get(t.Entity).Of = owner
		}
		if !has[mine](c.world, t.Entity) {
			continue
		}
		m := *c.world.mines.Get(t.Entity)
		if m == t.wrote {
			continue
		}
		c.count["I10 Gate"]++
		if m.By == 0 || m.By != owner && m.By != before { // the writer may have disconnected and lost ownership in this frame
			c.broken("I10 Gate", "%v was written by %d, and its owner is %d", t.id, m.By, owner)
		}
		t.wrote = m
	}
}

// clients checks each honest client after its frame.
func (c *checks) clients() {
	for _, client := range c.net.Clients {
		p := c.players[client]
		if _, over := c.over[client.ID()]; over || p.asleep > 0 || client.State() != netcode.Connected {
			p.id = 0
			continue
		}
		if p.id != client.ID() {
			p.session = session{id: client.ID(), fresh: c.tick, empty: c.tick}
		}
		c.alive(client, p)
		c.look(client, p)
	}
}

// alive checks that a client has entities and new state soon after it connected and after each fault.
func (c *checks) alive(client *nettest.Client, p *player) {
	r := client.Replica()
	since := max(p.calm, p.dark, c.calm, c.darkAll, c.stopped)
	if r.Tick() != p.tick {
		p.tick, p.fresh = r.Tick(), c.tick
	}
	if r.Len() > 0 || len(c.shown[p.id]) == 0 {
		p.empty = c.tick
	}
	c.count["I5 Isolated"]++
	stale := staleTicks
	if c.o.Loss >= .5 {
		stale *= 2 // In bursts of loss, five of six packets are lost for some seconds.
	}
	if c.playing && c.tick-max(p.fresh, since) > stale { // During the rest there is no new state.
		c.broken("I5 Isolated", "session %d had no new state for %d ticks", p.id, c.tick-p.fresh)
	}
	if c.tick-max(p.empty, since) > emptyTicks+stale-ticksASecond {
		c.broken("I5 Isolated", "session %d is connected and empty for %d ticks", p.id, c.tick-p.empty)
	}
}

// look checks the world of a client: secrets, hidden entities, groups.
func (c *checks) look(client *nettest.Client, p *player) {
	w := client.World
	stamps := map[uint32]uint32{}
	mapper := generic.NewMap2[components.Group, stamp](w)
	secrets, group, stamped := ecs.ComponentID[secret](w), ecs.ComponentID[components.Group](w), ecs.ComponentID[stamp](w)
	replica := client.Replica()
	// A group that was too large with its departures was sent apart (components.Group), and this client may see it so for as long as it lags.
	stats, _ := c.net.Server.Server.ClientStats(netcode.ClientID(p.id))
	torn := stats.Snapshot.TornGroups > 0
	if torn {
		c.count["sent apart"]++
	}
	for e, id := range netecs.Entities(w) {
		if at := replica.Entity(id.Index); !at.Alive || at.ID != id {
			continue // of the previous session
		}
		c.count["I9 Secret"]++
		if !c.shown[p.id][id] {
			c.broken("I9 Secret", "session %d has %v, which it could never see", p.id, id)
		}
		if ecs.Has(w, e, secrets) {
			if s := (*secret)(ecs.Get(w, e, secrets)); s.Of != uint32(p.id) {
				c.broken("I9 Secret", "session %d has the secret of %d in %v", p.id, s.Of, id)
			}
		}
		if ecs.Has(w, e, group) && ecs.Has(w, e, stamped) {
			g, s := mapper.Get(e)
			if was, ok := stamps[g.ID]; ok && was != s.V && !torn {
				c.broken("I3 Order", "session %d sees stamps %d and %d in group %d", p.id, was, s.V, g.ID)
			}
			stamps[g.ID] = s.V
		}
	}
}

// flatFrom is the number of phases until the heap has its final size. Before, the worlds meet new sets of components, and Arche
// keeps a table for each.
const flatFrom = 6

// flat checks the heap at the end of a phase, when only permanent clients are connected. It may exceed the heap after half of the
// phases (at least six) by an eighth and two megabytes, whatever number of sessions ended since. Liars fill the socket of a
// stopped server, and memory.Conn and Conditioner keep those buffers, so newSoak reserves them.
func (c *checks) flat() {
	c.heaps = append(c.heaps, used())
	n := len(c.heaps)
	if n <= flatFrom {
		return
	}
	c.count["I4 Bounded"]++
	half := max(n/2, flatFrom)
	if now, was := c.heaps[n-1], c.heaps[half-1]; now > was+was/8+2<<20 {
		c.broken("I4 Bounded", "%d bytes of heap after %d phases, %d after %d", now, n, was, half)
	}
}

// compare checks that each client's world equals the server's, bit for bit.
func (c *checks) compare() {
	c.count["I1 Converge"]++
	for i, client := range c.net.Clients {
		if client.State() != netcode.Connected {
			c.broken("I1 Converge", "client %d is not connected: %v", i, client.Err())
			return
		}
	}
	if c.o.breaks == "I1" {
		c.loseAnEntity()
	}
	if err := c.net.CheckConverge(); err != nil {
		c.broken("I1 Converge", "%v", err)
	}
	c.flat()
	c.count["I2 NoGhostRef"] = c.net.Frame() // nettest checks it in each frame, and I3 for entities
}
