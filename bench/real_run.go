package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// realScene describes the entities and their viewers.
type realScene struct {
	entities, clients int
	moving            float64
	exact             bool // all ten floats of each body that moves change in each tick, and travel exactly
	sight             int  // above 0: all walk on a plane, and each client sees about so many, around one of them
	counted           bool // the mean client sees as many as sight says also in a small world; else the density decides
	near              bool // only those remain that a client may come to see: the smallest world with the same sights
}

// config is that of a server's store and of its views at 60 Hz, by default but for SentPackets.
func (s realScene) config() snapshot.Config {
	return snapshot.Config{
		Window: 2 * tickHz, Entities: s.entities, Payload: peer.MaxPayload(peer.DefaultPacketSize), SentPackets: realSentPackets(s.records()),
	}
}

// records estimates the records that a client is sent in a tick.
func (s realScene) records() int {
	if s.sight > 0 {
		return s.sight
	}
	return movers(s.entities, s.moving)
}

// realSentPackets is a Config.SentPackets at which so many records in each tick are remembered for 24 ticks, of 32 in each packet, as
// snapshot counts them; the default, 1024, suffices for 1365. With less room sending stops now and then.
func realSentPackets(records int) int {
	n := peer.DefaultSentPackets
	for n < 1<<14 && n*32 < 24*records {
		n *= 2
	}
	return n
}

// realRun is a scene on one network, with everything that the server does for its clients in a tick but the sockets.
type realRun struct {
	realScene
	network  realNetwork
	game     *realGame
	interest snapshot.Interest // nil: each client sees everything
	clients  []*realClient
	now      int // ticks
	payloads [][]byte
	free     [][]byte // datagrams that are nobody's
	room     [][]byte // memory of payloads

	bytes, sent          int64     // of datagrams, headers included
	sends, captures      []float64 // ns of processor: Acked, Observe, Lost and Write of all clients, and the capture
	acks, serves, writes []float64 // ns of processor: the parts of sends
	judges               []float64 // ns of processor: the interest, for the world and for all clients
	shares               []float64 // ns of processor: what grows with the clients: sends, and the interest's part for each client
	walls                []float64 // ns on the clock: sends
	compared             int       // rows of decoders that were held against the store's
	ticks                int
	counted              realCounts // in the ticks that count
	allocations          float64
}

// realCounts are counters of the store and the views.
type realCounts struct {
	made, again, lists      uint64 // bodies encoded, and used again; lists copied
	records, resent, spawns uint64
	bytes, sent             int64
	lost, late              uint64
	full                    uint64 // times that a view, or the packet layer, had no room to remember more packets
}

// add adds what was counted between two moments.
func (k *realCounts) add(to, from realCounts) {
	k.made, k.again, k.lists = k.made+to.made-from.made, k.again+to.again-from.again, k.lists+to.lists-from.lists
	k.records, k.resent, k.spawns = k.records+to.records-from.records, k.resent+to.resent-from.resent, k.spawns+to.spawns-from.spawns
	k.bytes, k.sent = k.bytes+to.bytes-from.bytes, k.sent+to.sent-from.sent
	k.lost, k.late, k.full = k.lost+to.lost-from.lost, k.late+to.late-from.late, k.full+to.full-from.full
}

func newRealRun(s realScene, n realNetwork) *realRun {
	config := s.config()
	r := &realRun{realScene: s, network: n, game: newRealGame(s, config)}
	r.entities = len(r.game.body.entities)
	if s.sight > 0 {
		r.interest = r.game.sights(s)
	}
	packets := 1 << 14
	if s.counted {
		packets = config.SentPackets // as a server has it: its memory is measured
	}
	for i := range s.clients {
		r.clients = append(r.clients, newRealClient(i, r.game.store, config, n, packets))
	}
	return r
}

// datagram is memory for one, which goes back to free when it has been read or is lost.
func (r *realRun) datagram() []byte {
	last := len(r.free) - 1
	if last < 0 {
		return make([]byte, peer.DefaultPacketSize)
	}
	d := r.free[last]
	r.free = r.free[:last]
	return d[:cap(d)]
}

// playTick plays one tick; keep says whether its times count.
func (r *realRun) playTick(keep bool) error {
	r.now++
	r.game.move()
	for _, c := range r.clients {
		if err := c.hear(r); err != nil {
			return fmt.Errorf("the server: %w", err)
		}
	}
	acks, acksWall := used(r.takeAcks)
	capture, _ := used(r.capture)
	look, lookWall := used(r.observe)
	prepare, _ := used(r.prepareInterest)
	judge, _ := used(r.judge)
	serve, serveWall := used(r.serve)
	write, writeWall := used(r.write)
	if serve, serveWall = serve+look, serveWall+lookWall; keep {
		r.ticks++
		r.acks, r.captures, r.serves, r.writes = append(r.acks, acks), append(r.captures, capture), append(r.serves, serve), append(r.writes, write)
		r.judges, r.shares = append(r.judges, prepare+judge), append(r.shares, acks+serve+judge+write)
		r.sends, r.walls = append(r.sends, acks+serve+write), append(r.walls, acksWall+serveWall+writeWall)
	}
	return r.deliver()
}

// used is the processor's time that f takes in this process, and the time on the clock, in ns. Where the system does not tell
// the first, both are of the clock.
func used(f func()) (cpu, wall float64) {
	before := cpuTime()
	wall = timed(f)
	if cpu = cpuTime() - before; before == 0 {
		cpu = wall
	}
	return cpu, wall
}

// takeAcks gives the views the acknowledgements of this tick.
func (r *realRun) takeAcks() {
	for _, c := range r.clients {
		for _, seq := range c.acked {
			c.view.Acked(seq)
		}
	}
}

// capture takes the world into the store.
func (r *realRun) capture() { r.game.capture.Run(r.game.store.Tick() + 1) }

// observe has all views take in the tick.
func (r *realRun) observe() {
	for _, c := range r.clients {
		c.view.Observe()
	}
}

// prepareInterest has the interest follow the world, as Server.Send does it.
func (r *realRun) prepareInterest() {
	if r.interest != nil {
		r.interest.Prepare(r.game.store)
	}
}

// judge decides what each client may see, as Server.Send does it.
func (r *realRun) judge() {
	if r.interest == nil {
		return
	}
	for i, c := range r.clients {
		r.interest.Update(wire.ClientID(i+1), c.view)
	}
}

// serve has all views take in what was lost.
func (r *realRun) serve() {
	newest := r.game.store.Tick()
	for _, c := range r.clients {
		c.serve(newest)
	}
}

// write writes the payloads of all clients.
func (r *realRun) write() {
	r.payloads = r.payloads[:0]
	for _, c := range r.clients {
		c.from = len(r.payloads)
		most := realSentPackets(r.records())*3/4 - c.awaited // as peer.Conn.CanSend has it
		for seq, left := c.server.Next(), most; left > 0 && c.view.Pending(); seq, left = seq+1, left-1 {
			n := c.view.Write(r.payloadRoom(), seq)
			if n == 0 {
				break
			}
			r.payloads = append(r.payloads, r.room[len(r.payloads)][:n])
		}
		if c.to = len(r.payloads); c.to-c.from >= most {
			c.full++
		}
	}
}

// payloadRoom returns the room for the next payload.
func (r *realRun) payloadRoom() []byte {
	if len(r.payloads) == len(r.room) {
		r.room = append(r.room, make([]byte, peer.MaxPayload(peer.DefaultPacketSize)))
	}
	return r.room[len(r.payloads)]
}

// deliver sends what was written, and plays the clients.
func (r *realRun) deliver() error {
	for i, c := range r.clients {
		c.sendPayloads(r)
		if err := c.playClient(r); err != nil {
			return fmt.Errorf("client %d, tick %d: %w", i, r.now, err)
		}
	}
	return nil
}

// counts returns the counters so far.
func (r *realRun) counts() realCounts {
	k := realCounts{lists: r.game.store.PagesShared(), bytes: r.bytes, sent: r.sent}
	k.made, k.again = r.game.store.Shared()
	for _, c := range r.clients {
		s, p := c.view.Stats(), c.server.Stats()
		k.records += s.Spawns + s.Updates
		k.spawns, k.resent = k.spawns+s.Spawns, k.resent+s.Resent
		k.lost, k.late, k.full = k.lost+p.Lost, k.late+p.LateAcks, k.full+s.RingFull+c.full
	}
	return k
}

// playTicks plays ticks that count or do not.
func (r *realRun) playTicks(ticks int, keep bool) error {
	for range ticks {
		if err := r.playTick(keep); err != nil {
			return err
		}
	}
	return nil
}

// measureTicks plays ticks that count.
func (r *realRun) measureTicks(ticks int) error {
	before := r.counts()
	err := r.playTicks(ticks, true)
	r.counted.add(r.counts(), before)
	return err
}

// countAllocations counts what the server allocates in a tick. Other goroutines of the process count too.
func (r *realRun) countAllocations() error {
	const ticks = 16
	var before, after runtime.MemStats
	total := uint64(0)
	err := r.countTicks(ticks, func(step func()) {
		runtime.ReadMemStats(&before)
		step()
		runtime.ReadMemStats(&after)
		total += after.Mallocs - before.Mallocs
	})
	r.allocations = float64(total) / ticks
	return err
}

// countTicks plays ticks. count runs the server's part of each.
func (r *realRun) countTicks(ticks int, count func(step func())) error {
	step := func() {
		r.takeAcks()
		r.capture()
		r.observe()
		r.prepareInterest()
		r.judge()
		r.serve()
		r.write()
	}
	for range ticks {
		r.now++
		r.game.move()
		for _, c := range r.clients {
			if err := c.hear(r); err != nil {
				return err
			}
		}
		count(step)
		if err := r.deliver(); err != nil {
			return err
		}
	}
	return nil
}

// realHeals is the largest number of ticks without loss, jitter and motion until each client has everything.
const realHeals = 240

// seen returns the mean number of entities that a client sees.
func (r *realRun) seen() float64 {
	n := 0
	for _, c := range r.clients {
		for id := range r.game.store.All {
			if c.view.Visible(id) {
				n++
			}
		}
	}
	return float64(n) / float64(len(r.clients))
}

var errNotHealed = errors.New("a client lacks something though nothing moves and nothing is lost")

// heal stops the game and the loss, and compares all that the decoders hold.
func (r *realRun) heal() error {
	r.game.stopped, r.network.loss, r.network.jitter = true, 0, 0
	synced := func() bool {
		return !slices.ContainsFunc(r.clients, func(c *realClient) bool { return !c.view.Synced() })
	}
	for n := 0; n < maxRealJitter || !synced(); n++ {
		if n == realHeals {
			return errNotHealed
		}
		if err := r.playTick(false); err != nil {
			return err
		}
	}
	for i, c := range r.clients {
		if c.replica == nil {
			continue
		}
		if err := r.compareClient(c); err != nil {
			return fmt.Errorf("client %d: %w", i, err)
		}
	}
	return nil
}

// compareClient holds what a client has decoded against the store: the same entities, and each row.
func (r *realRun) compareClient(c *realClient) error {
	store, seen := r.game.store, 0
	for id := range store.All {
		if !c.view.Visible(id) {
			continue
		}
		seen++
		if e := c.replica.Entity(id.Index); !e.Alive || e.ID != id {
			return fmt.Errorf("it lacks entity %v", id)
		}
		for row := range store.Schema().Rows() {
			if got, want := c.replica.Row(id.Index, row), store.Row(id, row); !slices.Equal(got, want) {
				return fmt.Errorf("entity %v, row %d: it holds %v, the server %v", id, row, got, want)
			}
			r.compared++
		}
	}
	if c.replica.Len() != seen {
		return fmt.Errorf("it has %d entities and may see %d", c.replica.Len(), seen)
	}
	return nil
}
