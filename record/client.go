package record

import (
	"fmt"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// client receives packets and acknowledges them after a round trip.
type client struct {
	view    *snapshot.View
	delay   tick.Tick
	lossy   bool // half of the packets are lost; acknowledgements are missing in one of unheard ticks
	random  dice
	seq     uint64
	pending []sent
	buffer  []byte
	large   []byte // allocated for the first record that does not fit the usual packet
}

type sent struct {
	seq  uint64
	tick tick.Tick
	lost bool
}

// unheard is the inverse probability of a tick without an acknowledgement on a lossy link, where each is sent four
// times.
const unheard = 16

// Packet sizes in a training: the usual one of a game, and the maximum for records that need it.
const (
	usualPacket   = 1200
	largestPacket = 8192 // wire.MaxPacketSize
)

// join adds a client with a round trip in ticks.
func (t *Training) join(trip int, lossy bool) error {
	if trip < 1 || trip >= trainWindow {
		return fmt.Errorf("record: a round trip of %d ticks: it must be 1 to %d", trip, trainWindow-1)
	}
	config := trainConfig()
	config.Payload = largestPacket // larger records wait for writeLarge and are not skipped
	t.clients = append(t.clients, client{
		view: snapshot.NewView(t.Store, config), delay: tick.Tick(trip), lossy: lossy, random: dice(len(t.clients)),
		buffer: make([]byte, usualPacket),
	})
	return nil
}

// JoinLossy adds a client with a round trip in ticks, whose link loses half of all packets.
func (t *Training) JoinLossy(trip int) error { return t.join(trip, true) }

// dice is a random number generator: splitmix64.
type dice uint64

// below returns an integer from 0 to n-1.
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

// writeLarge writes a packet of the maximum size, as a game with a larger Config.PacketSize does.
func (c *client) writeLarge() int {
	if c.large == nil {
		c.large = make([]byte, largestPacket)
	}
	return c.view.Write(c.large, c.seq+1)
}

// hear processes the acknowledgements that have arrived. Unacknowledged packets before the newest acknowledged one are
// lost.
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
