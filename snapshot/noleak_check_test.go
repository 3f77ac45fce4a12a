package snapshot

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// leakClient is the client under test, its network, and what of the connection both worlds share.
type leakClient struct {
	replica  *replica.Replica
	net      seqNetwork
	seq      uint64
	sent     [512]seqSent
	got      [512]bool
	ackedTo  uint64
	oldest   uint64
	newest   uint64
	down, up []seqFlight
}

// serve takes in acknowledgements and presumes losses, in both worlds alike.
func (g *leakGame) serve() {
	c := &g.client
	for _, f := range g.arrived(&c.up) {
		if f.want {
			g.both(func(v *View) { v.Resync(f.epoch, c.seq+1) })
		}
		if f.newest == 0 {
			continue
		}
		g.acked(f.newest)
		for b := range uint64(32) {
			if f.bits&(1<<b) != 0 {
				g.acked(f.newest - 1 - b)
			}
		}
	}
	wait := tick.Tick(2*c.net.delay+c.net.jitter)*5/4 + tick.Tick(c.net.jitter) + 1
	for seq := c.oldest; seq <= c.seq; seq++ {
		p := &c.sent[seq]
		newer := c.ackedTo >= seq+3 && p.tick < c.sent[c.ackedTo].tick
		if p.state == 0 && (newer || g.now-p.at > wait) {
			p.state = 2
			g.both(func(v *View) { v.Lost(seq) })
		}
		if p.state != 0 && seq == c.oldest {
			c.oldest++
		}
	}
}

func (g *leakGame) acked(seq uint64) {
	c := &g.client
	if p := &c.sent[seq]; p.state != 1 {
		p.state = 1
		c.ackedTo = max(c.ackedTo, seq)
		g.both(func(v *View) { v.Acked(seq) })
	}
}

// leakKnown has the facts that a server knows of a client.
type leakKnown struct {
	pending, synced bool
	known, unacked  int
	stats           ViewStats
}

func (v *View) leakKnown() leakKnown {
	return leakKnown{v.Pending(), v.Synced(), v.Known(), v.Unacked(), v.Stats()}
}

// leakKnownOf has the facts that a server knows of an entity at the client.
type leakKnownOf struct {
	held, sent, large bool
	life              tick.Tick
}

func (v *View) leakKnownOf(id wire.NetworkID) leakKnownOf {
	life, _ := v.Life(id)
	return leakKnownOf{v.Held(id), v.Sent(id), v.TooLarge(id), life}
}

// alike compares what the server knows of the client in both worlds.
func (g *leakGame) alike(what string) error {
	a, b := g.worlds[0].view, g.worlds[1].view
	if a.links.n > 0 {
		g.met.ties++
	}
	for _, m := range g.worlds[0].store.groups.members {
		if m.split && !a.splits(m) {
			g.met.portions++
		}
	}
	if is, other := a.leakKnown(), b.leakKnown(); is != other {
		return fmt.Errorf("%s: %+v\n      and %+v", what, is, other)
	}
	if !slices.Equal(a.Met(), b.Met()) {
		return fmt.Errorf("%s: met %v, and %v", what, a.Met(), b.Met())
	}
	for place := range leakPlaces {
		id := g.worlds[0].at(g.index(place))
		if !a.Visible(id) {
			continue
		}
		if is, other := a.leakKnownOf(id), b.leakKnownOf(id); is != other {
			return fmt.Errorf("%s: of %v %+v, and %+v", what, id, is, other)
		}
	}
	return nil
}

// send writes the tick's packets in both worlds and compares them.
func (g *leakGame) send() error {
	c := &g.client
	packets, plan := 3, -1
	if c.net.limited {
		packets = g.below(3)
		plan = packets * c.net.payload
	}
	repeat := c.net.repeats && !g.worlds[0].view.Pending()
	for _, w := range g.worlds {
		w.each(func(v *View) {
			if repeat {
				v.Repeat(g.now - tick.Tick(max(1, c.net.delay)))
			}
			v.Plan(plan)
		})
		if g.chance(50) {
			g.writeOthers(w)
		}
	}
	if g.worlds[0].view.plan.active {
		g.met.planned++
	}
	for range packets {
		size := c.net.payload
		if g.chance(10) {
			size = max(MinPayload, size-g.below(40)) // messages took the rest
		}
		n, err := g.write(size)
		if err != nil || n == 0 {
			return err
		}
		if g.chance(10) {
			g.met.late++
			g.watch()
		}
	}
	for _, w := range g.worlds {
		if g.chance(30) {
			g.writeOthers(w)
		}
	}
	if g.chance(10) {
		g.watch()
	}
	return nil
}

// write writes one packet in both worlds.
func (g *leakGame) write(size int) (int, error) {
	c := &g.client
	var payloads [2][]byte
	for i, w := range g.worlds {
		if w.twin != nil {
			w.twin.Write(make([]byte, size), c.seq+1)
		}
		payloads[i] = make([]byte, size)
		payloads[i] = payloads[i][:w.view.Write(payloads[i], c.seq+1)]
	}
	if !bytes.Equal(payloads[0], payloads[1]) {
		dumps := [2][]byte{}
		for i := range payloads {
			dumps[i] = c.replica.AppendDump(nil, payloads[i])
		}
		return 0, fmt.Errorf("packet %d: %d bytes\n%s\nand %d bytes\n%s", c.seq+1, len(payloads[0]), dumps[0], len(payloads[1]), dumps[1])
	}
	if err := g.alike("what was sent"); err != nil {
		return 0, err
	}
	n := len(payloads[0])
	if n == 0 {
		return 0, nil
	}
	c.seq++
	g.met.packets++
	g.met.bytes += n
	c.sent[c.seq] = seqSent{tick: g.worlds[0].store.Tick(), at: g.now}
	f := seqFlight{seq: c.seq, tick: g.worlds[0].store.Tick(), payload: payloads[0], epoch: g.worlds[0].view.epoch}
	if !g.chance(c.net.loss) {
		g.launch(&c.down, f)
	}
	if g.chance(c.net.duplicate) {
		g.launch(&c.down, f)
	}
	return n, nil
}

func (g *leakGame) launch(q *[]seqFlight, f seqFlight) {
	f.due = g.now + tick.Tick(g.client.net.delay+g.below(g.client.net.jitter+1))
	if g.chance(g.client.net.tail) {
		f.due += tick.Tick(g.below(g.client.net.tailMax))
	}
	*q = append(*q, f)
}

// arrived takes what is due, in any order.
func (g *leakGame) arrived(q *[]seqFlight) (out []seqFlight) {
	*q = slices.DeleteFunc(*q, func(f seqFlight) bool {
		if f.due <= g.now {
			out = slices.Insert(out, g.below(len(out)+1), f)
		}
		return f.due <= g.now
	})
	return out
}

// listen reads what arrived and acknowledges it.
func (g *leakGame) listen() error {
	c := &g.client
	if c.net.lose > 0 && g.below(1000) >= 1000-c.net.lose {
		c.replica.Lose()
	}
	for _, f := range g.arrived(&c.down) {
		if c.got[f.seq] {
			continue
		}
		if err := c.replica.Read(f.payload); err == replica.ErrMalformed {
			return fmt.Errorf("packet %d: %w", f.seq, err)
		} else if err != nil {
			continue
		}
		c.got[f.seq] = true
		c.newest = max(c.newest, f.seq)
	}
	ack := seqFlight{newest: c.newest}
	for b := range uint64(32) {
		if c.newest > b+1 && c.got[c.newest-1-b] {
			ack.bits |= 1 << b
		}
	}
	ack.epoch, ack.want = c.replica.WantResync()
	if !g.chance(c.net.upLoss) && !within16(g.now, c.net.deaf) {
		g.launch(&c.up, ack)
	}
	return nil
}
