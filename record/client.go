package record

import (
	"fmt"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// client is one that acknowledges what came to it after a time.
type client struct {
	view    *snapshot.View
	delay   tick.Tick
	lossy   bool // half of the packets are lost, and one in unheard of the times that acknowledgements come
	random  dice
	seq     uint64
	pending []sent
	buffer  []byte
	large   []byte // made when something did not fit into the other
}

type sent struct {
	seq  uint64
	tick tick.Tick
	lost bool
}

// unheard is the inverse frequency of ticks without an acknowledgement over a lossy link, on which each is sent four times.
const unheard = 16

// A packet of a training is as large as those of a game usually are, and as large as a game can make them for what needs it.
const (
	usualPacket   = 1200
	largestPacket = 8192 // netcode.MaxPacketSize
)

// join adds a client at a round trip in ticks.
func (t *Training) join(trip int, lossy bool) error {
	if trip < 1 || trip >= trainWindow {
		return fmt.Errorf("record: a round trip of %d ticks: it must be 1 to %d", trip, trainWindow-1)
	}
	config := trainConfig()
	config.Payload = largestPacket // what does not fit into a usual packet waits for writeLarge and is not stepped over
	t.clients = append(t.clients, client{
		view: snapshot.NewView(t.Store, config), delay: tick.Tick(trip), lossy: lossy, random: dice(len(t.clients)),
		buffer: make([]byte, usualPacket),
	})
	return nil
}

// JoinLossy adds a client at a round trip in ticks, whose link loses half of all packets.
func (t *Training) JoinLossy(trip int) error { return t.join(trip, true) }

// dice is a generator of numbers: splitmix64.
type dice uint64

// below returns a whole number from 0 to n-1.
func (d *dice) below(n int) int {
	*d += 0x9E3779B97F4A7C15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return int(((z ^ z>>31) >> 33) % uint64(n))
}

func (c *client) send(now tick.Tick) error {
	if !c.lossy || c.random.below(unheard) > 0 {
		c.hear(now)
	}
	c.view.Observe()
	c.view.Plan(-1)
	for c.view.Pending() {
		if c.view.Write(c.buffer, c.seq+1) == 0 && c.writeLarge() == 0 {
			return fmt.Errorf("record: tick %d does not fit into packets of %d bytes", now, largestPacket)
		}
		c.seq++
		c.pending = append(c.pending, sent{c.seq, now, c.lossy && c.random.below(2) == 0})
	}
	return nil
}

// writeLarge writes what does not fit into a packet of the usual size, as a game with a larger Config.PacketSize sends it.
func (c *client) writeLarge() int {
	if c.large == nil {
		c.large = make([]byte, largestPacket)
	}
	return c.view.Write(c.large, c.seq+1)
}

// hear takes in an acknowledgement: of what was sent before the newest that it names, the rest is lost.
func (c *client) hear(now tick.Tick) {
	known := 0
	for i, p := range c.pending {
		if p.tick+c.delay > now {
			break
		}
		if !p.lost {
			known = i + 1
		}
	}
	for _, p := range c.pending[:known] {
		if p.lost {
			c.view.Lost(p.seq)
		} else {
			c.view.Acked(p.seq)
		}
	}
	c.pending = c.pending[:copy(c.pending, c.pending[known:])]
}
