package snapshot

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const (
	sequenceEntities = 8  // alive at a time
	sequenceIndexes  = 32 // that eight entities ever use
	sequenceWindow   = 16
	sequenceRing     = 16
	sequenceFaulty   = 40  // ticks with faults, at most
	sequenceSettle   = 120 // ticks without, at most
	sequenceTicks    = sequenceFaulty + sequenceSettle + 1
	sequencePackets  = 3 // a tick
	sequenceGroups   = 2
)

// sequenceLink is a component that names an entity.
type sequenceLink struct {
	To wire.NetworkID `net:"entity"`
}

// sequencePlace is wide enough that a row which moves on as it did is told from
// its two last versions (rule 3).
type sequencePlace struct {
	X, Y float32 `net:"min=-256,max=255,step=0.002"`
}

// sequenceExact is the same as it is: records of nothing else go in runs.
type sequenceExact struct{ X, Y float32 }

// The rows of a sequence, in the order of sequenceSchemas.
const (
	seqFrozen = iota
	seqHealth
	seqLink
	seqPosition
	seqRows
)

func sequenceSchemas(t testing.TB) (of [2]*Schema) {
	for i, place := range []*quantize.Plan{compile[sequencePlace](t), compile[sequenceExact](t)} {
		of[i] = format.NewSchema([]*quantize.Plan{compile[simFrozen](t), compile[simHealth](t), compile[sequenceLink](t), place})
	}
	return of
}

// sequence is one game, its server, and its clients.
type sequence struct {
	r      *rand.Rand
	store  *Store
	schema *Schema
	met    *sequenceLimits

	start, now tick.Tick // ticks are start+1 and later
	calm       bool
	mirrors    bool // the store has its ids from elsewhere
	ticks      int  // with faults
	busy       int  // chance of an operation, in percent
	alive      []wire.NetworkID
	graves     []wire.NetworkID // some that were alive once
	groups     [sequenceTicks][sequenceIndexes]uint32
	split      [sequenceGroups + 1]tick.Tick // by group: when it was last too large to be sent in one piece
	clients    [2]*seqClient
	authors    [sequenceIndexes]seqAuthor
	rights     *rand.Rand            // of correct
	did        [sequenceIndexes]Mask // what was done to rows in this tick, but for whom a row names
}

// seqClient is one client, the server's half of it, and the network between them.
type seqClient struct {
	view    *View
	replica *replica.Replica
	net     seqNetwork

	seq      uint64
	sent     [1024]seqSent // by sequence
	ackedTo  uint64
	oldest   uint64 // all before it are acknowledged or lost
	got      [1024]bool
	newest   uint64
	down, up []seqFlight
	budget   int

	sights  [sequenceIndexes]seqSight
	hideNew bool
	meant   [sequenceTicks][sequenceIndexes]seqState
	after   []seqAfter // where something was called between a tick's packets
	proven  [sequenceIndexes]seqProof
	known   [sequenceIndexes]replica.Entity
	keptAt  [sequenceIndexes]tick.Tick // since when each index was left as it was, the last time
	unsaid  [sequenceIndexes]tick.Tick // when each index was hidden and no record of it had been sent, the last time
	shown   [sequenceIndexes]tick.Tick // as of when each index was shown at the latest
	torn    tick.Tick                  // when a group was last torn, as the view says
	wrote   []wire.NetworkID           // in this tick
	own     [sequenceTicks][sequenceIndexes]Mask
	again   [sequenceTicks][sequenceIndexes]bool
}

// seqNetwork has the conditions that packets meet in both directions.
type seqNetwork struct {
	loss, upLoss, duplicate, tail int // percent
	delay, jitter, tailMax        int
	dark                          [2]tick.Tick
	deaf                          [2]tick.Tick
	lose                          int // per thousand ticks
	payload                       int
	limited                       bool // a budget, and a plan
	repeats                       bool
}

type seqSent struct {
	tick, at tick.Tick
	state    uint8 // 0 pending, 1 acknowledged, 2 lost
}

// seqFlight is a packet or an ack on its way.
type seqFlight struct {
	due     tick.Tick
	seq     uint64 // of a packet
	tick    tick.Tick
	payload []byte
	newest  uint64 // of an ack
	bits    uint32
	epoch   uint16 // of a packet: the resync that was served; of an ack: the one that is wanted
	want    bool
}

func newSequence(schema *Schema, seed uint64, met *sequenceLimits) *sequence {
	s := &sequence{r: rand.New(rand.NewPCG(seed, 0)), rights: rand.New(rand.NewPCG(seed, 2)), schema: schema, met: met}
	s.start = []tick.Tick{0, 65500, 1<<31 - 20}[s.r.IntN(3)]
	s.now = s.start
	s.ticks = 12 + s.r.IntN(sequenceFaulty-12)
	s.mirrors = seed%8 > 5
	s.busy = []int{25, 60, 90}[s.r.IntN(3)]
	payload := []int{MinPayload, 100, 170}[s.r.IntN(3)]
	cfg := Config{Window: sequenceWindow, SentPackets: sequenceRing, Payload: payload, Entities: sequenceEntities}
	s.store = NewStore(schema, cfg)
	s.store.Count(true)
	began := s.start + 1 // the tick of the first packet
	for i := range s.clients {
		c := &seqClient{view: NewView(s.store, cfg), replica: replica.New(schema, cfg, began), oldest: 1}
		c.net = s.network(payload)
		s.clients[i] = c
	}
	return s
}

func (s *sequence) network(payload int) seqNetwork {
	pick := func(of ...int) int { return of[s.r.IntN(len(of))] }
	n := seqNetwork{
		loss: pick(0, 10, 30, 60), upLoss: pick(0, 10, 30, 60), duplicate: pick(0, 10, 40), tail: pick(0, 5, 20),
		delay: pick(0, 1, 3, 7), jitter: pick(0, 2), tailMax: pick(6, 24), lose: pick(0, 0, 0, 15),
		payload: payload, limited: s.chance(30), repeats: s.chance(50),
	}
	for _, span := range []*[2]tick.Tick{&n.dark, &n.deaf} {
		if s.chance(20) {
			span[0] = s.start + tick.Tick(s.r.IntN(s.ticks))
			span[1] = span[0] + tick.Tick(5+s.r.IntN(25))
		}
	}
	return n
}

func (s *sequence) chance(percent int) bool { return s.r.IntN(100) < percent }

// run plays the faulty part, heals the network and waits for both clients.
func (s *sequence) run() error {
	for range s.ticks {
		if err := s.step(); err != nil {
			return err
		}
	}
	s.calm = true
	for range sequenceSettle {
		if err := s.step(); err != nil {
			return err
		}
		if s.settled() {
			s.met.add(s)
			return s.equal()
		}
	}
	return fmt.Errorf("%d ticks after the faults a client still lacks something", sequenceSettle)
}

// settled reports whether nothing is on its way and nothing is lacking.
func (s *sequence) settled() bool {
	for _, c := range s.clients {
		if len(c.down) > 0 || len(c.up) > 0 || !c.view.Synced() {
			return false
		}
		if _, want := c.replica.WantResync(); want {
			return false
		}
	}
	return true
}

func (s *sequence) step() error {
	s.now++
	for _, c := range s.clients {
		s.serve(c)
	}
	s.play()
	for _, c := range s.clients {
		if err := s.observe(c); err != nil {
			return err
		}
	}
	s.handOver()
	s.correct()
	for _, c := range s.clients {
		s.watch(c)
		if err := s.mean(c, &c.meant[s.now-s.start]); err != nil {
			return err
		}
		if err := s.send(c); err != nil {
			return err
		}
		if err := s.listen(c); err != nil {
			return fmt.Errorf("tick %d: %w", s.now-s.start, err)
		}
	}
	return nil
}

// serve takes in acks and presumes losses (rule 8).
func (s *sequence) serve(c *seqClient) {
	for _, f := range s.arrived(&c.up) {
		if f.want {
			c.view.Resync(f.epoch, c.seq+1)
		}
		if f.newest == 0 {
			continue
		}
		s.acked(c, f.newest)
		for b := range uint64(32) {
			if f.bits&(1<<b) != 0 {
				s.acked(c, f.newest-1-b)
			}
		}
	}
	wait := tick.Tick(2*c.net.delay+c.net.jitter)*5/4 + tick.Tick(c.net.jitter) + 1
	for seq := c.oldest; seq <= c.seq; seq++ {
		p := &c.sent[seq]
		newer := c.ackedTo >= seq+3 && p.tick < c.sent[c.ackedTo].tick
		if p.state == 0 && (newer || s.now-p.at > wait) {
			p.state = 2
			c.view.Lost(seq)
		}
		if p.state != 0 && seq == c.oldest {
			c.oldest++
		}
	}
}

func (s *sequence) acked(c *seqClient, seq uint64) {
	if p := &c.sent[seq]; p.state != 1 {
		p.state = 1
		c.view.Acked(seq)
		c.ackedTo = max(c.ackedTo, seq)
	}
}

// send writes the tick's packets and puts them on their way.
func (s *sequence) send(c *seqClient) error {
	if c.net.repeats && !c.view.Pending() {
		c.view.Repeat(s.now - tick.Tick(max(1, c.net.delay)))
	}
	packets := sequencePackets
	if c.net.limited && !s.calm {
		packets = s.r.IntN(3)
		c.view.Plan(packets * c.net.payload)
	} else {
		c.view.Plan(-1)
	}
	for range packets {
		size := c.net.payload
		if !s.calm && s.chance(10) {
			size = max(MinPayload, size-s.r.IntN(40)) // messages took the rest
		}
		buf := make([]byte, size)
		torn := c.view.Stats().TornGroups
		n := c.view.Write(buf, c.seq+1)
		if c.view.Stats().TornGroups != torn {
			c.torn = s.now - s.start
		}
		if n == 0 {
			break
		}
		if err := s.accounted(c, buf[:n]); err != nil {
			return err
		}
		c.seq++
		c.sent[c.seq] = seqSent{tick: s.store.Tick(), at: s.now}
		f := seqFlight{seq: c.seq, tick: s.store.Tick(), payload: buf[:n], epoch: c.view.epoch}
		if s.calm || !s.chance(c.net.loss) && !within16(s.now, c.net.dark) {
			s.launch(c, &c.down, f)
		}
		if !s.calm && s.chance(c.net.duplicate) {
			s.launch(c, &c.down, f)
		}
		if !s.calm && s.chance(10) { // too late for this tick, but for what has not gone out yet
			s.watch(c)
			c.after = append(c.after, seqAfter{tick: s.now - s.start})
			if err := s.mean(c, &c.after[len(c.after)-1].meant); err != nil {
				return err
			}
		}
	}
	if c.view.Pending() {
		s.met.bounded++
	}
	if !s.calm && s.chance(10) { // too late for this tick, if anything of it went out
		s.watch(c)
		if c.view.next() == s.now {
			c.meant[s.now-s.start] = [sequenceIndexes]seqState{}
			return s.mean(c, &c.meant[s.now-s.start])
		}
	}
	return nil
}

func within16(now tick.Tick, span [2]tick.Tick) bool { return now >= span[0] && now < span[1] }

func (s *sequence) launch(c *seqClient, q *[]seqFlight, f seqFlight) {
	f.due = s.now + tick.Tick(c.net.delay)
	if !s.calm {
		if c.net.jitter > 0 {
			f.due += tick.Tick(s.r.IntN(c.net.jitter + 1))
		}
		if s.chance(c.net.tail) {
			f.due += tick.Tick(s.r.IntN(c.net.tailMax))
		}
	}
	*q = append(*q, f)
}

// arrived takes what is due, in any order.
func (s *sequence) arrived(q *[]seqFlight) []seqFlight {
	n := 0
	all := *q
	for i := range all {
		if all[i].due <= s.now {
			all[n], all[i] = all[i], all[n]
			n++
		}
	}
	if n == 0 {
		return nil
	}
	out := append([]seqFlight(nil), all[:n]...)
	*q = append(all[:0], all[n:]...)
	s.r.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// listen reads what arrived, checks it, and acknowledges.
func (s *sequence) listen(c *seqClient) error {
	if !s.calm && c.net.lose > 0 && s.r.IntN(1000) < c.net.lose {
		c.replica.Lose()
	}
	came := s.arrived(&c.down)
	for _, f := range came {
		if c.got[f.seq] {
			continue // what the connection does with duplicates of what was acknowledged
		}
		wanted, _ := c.replica.WantResync()
		if err := c.replica.Read(f.payload); err != nil {
			// Only what was sent before the client's loss was heard of may lean on what it lost (rule 5).
			if err == replica.ErrMalformed || err == replica.ErrBaseline && f.epoch == wanted {
				return fmt.Errorf("packet of %d: %w", f.tick-s.start, err)
			}
			continue
		}
		c.got[f.seq] = true
		c.newest = max(c.newest, f.seq)
		if err := s.check(c, f.tick); err != nil {
			return fmt.Errorf("client %d, packet of %d: %w", s.number(c), f.tick-s.start, err)
		}
	}
	ack := seqFlight{newest: c.newest}
	for b := range uint64(32) {
		if c.newest > b+1 && c.got[c.newest-1-b] {
			ack.bits |= 1 << b
		}
	}
	ack.epoch, ack.want = c.replica.WantResync()
	if s.calm && len(came) == 0 && c.view.Synced() && !ack.want {
		return nil // without an answer to what came the server would ask again
	}
	if s.calm || !s.chance(c.net.upLoss) && !within16(s.now, c.net.deaf) {
		s.launch(c, &c.up, ack)
	}
	return nil
}

func (s *sequence) number(c *seqClient) int {
	if c == s.clients[0] {
		return 0
	}
	return 1
}
