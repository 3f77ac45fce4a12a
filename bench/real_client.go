package main

import (
	"errors"
	"math/rand/v2"
	"time"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/replica"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const (
	realTick = time.Second / tickHz
	// realRepeat is the number of unconfirmed entities that a server sends again in a tick without changes, as in Server.Send.
	realRepeat = 64
)

// realNetwork is the network between a server and its clients.
type realNetwork struct {
	loss    float64 // of the datagrams, in each direction, each on its own
	jitter  int     // what the server sends a client in one tick arrives 0 to jitter ticks late, all of it together
	classes int     // of round trips: the first so many of realTrips
	seed    uint64
}

// realTrips is the round trip of each class, in ticks: 100, 33, 67 and 150 ms at 60 Hz.
func realTrips() []int { return []int{6, 2, 4, 9} }

// maxRealJitter bounds -jitter.
const maxRealJitter = 16

// realDelays is the size of a ring of ticks: more than the longest delay.
const realDelays = 32

// delayed is datagrams by the tick in which they arrive.
type delayed struct{ due [realDelays][][]byte }

func (d *delayed) addDatagram(at int, datagram []byte) {
	slot := &d.due[at%realDelays]
	*slot = append(*slot, datagram)
}

// take returns the datagrams of a tick. They are good until the next tick but realDelays-1.
func (d *delayed) take(now int) [][]byte {
	slot := &d.due[now%realDelays]
	all := *slot
	*slot = all[:0]
	return all
}

// realClient is both ends of one connection: the server's View and packet layer, and a client that decodes, or only
// acknowledges.
type realClient struct {
	view    *snapshot.View
	replica *replica.Replica // nil: it acknowledges every packet and decodes none
	server  *peer.Conn       // the server's end
	client  *peer.Conn
	trip    int
	random  *rand.Rand
	down    delayed // from the server
	up      delayed // from the client

	acked, lost []uint64 // the outcomes of a tick, for the View
	full        uint64   // ticks in which no more packets could be awaited
	awaited     int      // packets whose outcome is not known
	payloads    [][]byte // that the client has got in this tick

	world    *ecs.World    // nil: what is decoded stays in the replica
	apply    *netecs.Apply // to world
	applies  []float64     // ns of processor a record: to decode and to write it
	from, to int           // the payloads of a tick, in realRun.payloads
	received func([]byte)  // is called with each payload that arrives; nil: nothing is
}

// Acked implements peer.Outcome.
func (c *realClient) Acked(seq uint64, _ tick.Tick) { c.acked = append(c.acked, seq) }

// Lost implements peer.Outcome.
func (c *realClient) Lost(seq uint64) { c.lost = append(c.lost, seq) }

// newRealClient makes the client of a number, whose connection remembers so many packets. Two clients of each class decode.
func newRealClient(number int, store *snapshot.Store, config snapshot.Config, n realNetwork, packets int) *realClient {
	conn := peer.ConnConfig{Check: wire.NewChecksum(1, 1), SentPackets: packets, TickInterval: realTick}
	c := &realClient{
		view: snapshot.NewView(store, config), trip: realTrips()[number%n.classes], random: rand.New(rand.NewPCG(n.seed, uint64(number))),
		server: peer.NewConn(conn), client: peer.NewConn(conn),
	}
	if number < realDecoders(n) {
		c.replica = replica.New(store.Schema(), config, 1)
	}
	return c
}

// realDecoders is the number of clients that decode: two of each class.
func realDecoders(n realNetwork) int { return 2 * n.classes }

// hear reads the acknowledgements that reach the server in this tick, and finds out which packets are lost.
func (c *realClient) hear(r *realRun) error {
	c.acked, c.lost = c.acked[:0], c.lost[:0]
	now := time.Duration(r.now) * realTick
	for _, datagram := range c.up.take(r.now) {
		in, err := c.server.Read(datagram, now, c)
		switch {
		case err == nil:
			c.server.Accept(in, now)
		case !errors.Is(err, peer.ErrDuplicate) && !errors.Is(err, peer.ErrOld):
			return err
		}
		r.free = append(r.free, datagram)
	}
	c.server.DetectLost(now, c)
	return nil
}

// settled counts packets whose outcome is known for the first time.
func (c *realClient) settled() {
	stats := c.server.Stats()
	c.awaited = int(stats.Sent) - int(stats.Acked+stats.Lost-stats.LateAcks)
}

// serve prepares a client that has observed the tick for its packets, as Server.Send does.
func (c *realClient) serve(newest tick.Tick) {
	for _, seq := range c.lost {
		c.view.Lost(seq)
	}
	if !c.view.Pending() && c.view.Unacked() <= realRepeat {
		rtt, _ := c.server.RTT()
		c.view.Repeat(newest - max(1, tick.Tick(rtt/2/realTick)))
	}
	c.view.Plan(-1)
}

// sendPayloads puts a tick's payloads into packets and these onto the network.
func (c *realClient) sendPayloads(r *realRun) {
	late := c.random.IntN(r.network.jitter + 1)
	now := time.Duration(r.now) * realTick
	for _, payload := range r.payloads[c.from:c.to] {
		room := r.datagram()
		b := c.server.Begin(room)
		b.Add(wire.MessageSnapshot, tick.Initialization, copy(b.Payload(), payload))
		packet := c.server.Finish(&b, r.game.store.Tick(), now)
		r.bytes, r.sent = r.bytes+int64(len(packet)), r.sent+1
		if c.random.Float64() < r.network.loss {
			r.free = append(r.free, room)
			continue
		}
		c.down.addDatagram(r.now+c.trip/2+late, packet)
	}
	c.settled()
}

// playClient is the client's frame: it reads what has arrived and acknowledges, as Client.Send does it.
func (c *realClient) playClient(r *realRun) error {
	now := time.Duration(r.now) * realTick
	first := c.client.Next()
	arrived := c.down.take(r.now)
	c.payloads = c.payloads[:0]
	for _, datagram := range arrived {
		if err := c.read(datagram, now); err != nil {
			return err
		}
		if c.client.AckNow() {
			c.acknowledge(r)
		}
	}
	if c.replica != nil {
		if err := c.decode(); err != nil {
			return err
		}
	}
	r.free = append(r.free, arrived...)
	c.client.DetectLost(now, nil)
	switch {
	case c.client.AckDue():
		c.acknowledge(r)
	case c.client.Next() == first && c.client.RepeatAck(now):
		c.again(r)
	}
	for range c.client.AckRepeats(now) {
		c.again(r)
	}
	return nil
}

// read accepts a packet and keeps its payloads for decode. One that comes too late for the packet layer is dropped.
func (c *realClient) read(datagram []byte, now time.Duration) error {
	in, err := c.client.Read(datagram, now, nil)
	if errors.Is(err, peer.ErrOld) {
		return nil
	}
	if err != nil {
		return err
	}
	messages := in.Messages()
	for messages.Next() {
		c.payloads = append(c.payloads, messages.Payload)
		if c.received != nil {
			c.received(messages.Payload)
		}
	}
	c.client.Accept(in, now)
	return messages.Err()
}

// decode reads the payloads of a tick, and writes what they say into the client's world where there is one.
func (c *realClient) decode() (err error) {
	before := c.replica.Stats().Records
	took, _ := used(func() {
		for _, p := range c.payloads {
			if fault := c.replica.Read(p); fault != nil {
				err = fault
			}
		}
		if c.apply != nil {
			c.apply.Run()
		}
	})
	if records := c.replica.Stats().Records - before; records > 0 && c.apply != nil {
		c.applies = append(c.applies, took/float64(records))
	}
	return err
}

// acknowledge sends a packet that only acknowledges.
func (c *realClient) acknowledge(r *realRun) {
	b := c.client.Begin(r.datagram())
	c.reply(r, c.client.Finish(&b, r.game.store.Tick(), time.Duration(r.now)*realTick))
}

// again sends the newest acknowledgement once more.
func (c *realClient) again(r *realRun) {
	room := r.datagram()
	if n := c.client.Again(room); n > 0 {
		c.reply(r, room[:n])
		return
	}
	r.free = append(r.free, room)
	c.acknowledge(r)
}

// reply puts a datagram of the client's onto the network.
func (c *realClient) reply(r *realRun, datagram []byte) {
	if c.random.Float64() < r.network.loss {
		r.free = append(r.free, datagram)
		return
	}
	c.up.addDatagram(r.now+c.trip-c.trip/2, datagram)
}
