package snapshot

import (
	"encoding/binary"
	"math/rand"
	"reflect"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// The components of the simulation. Few values, so that rows come back to
// earlier ones often.
type simPosition struct {
	X int16 `net:"min=-8,max=7"`
	Y int16 `net:"min=0,max=3"`
}
type simHealth struct{ Points uint32 }
type simFrozen struct{}

// replicaGrace is by how many ticks a Replica keeps versions longer than two windows.
const replicaGrace = 4

// bit returns the mask of one row.
func bit(row int) Mask { return format.Bit(row) }

func compile[T any](t testing.TB) *quantize.Plan {
	t.Helper()
	p, err := quantize.Compile(reflect.TypeFor[T](), reflect.TypeFor[T]().Name())
	require.NoError(t, err)
	return p
}

func simSchema(t testing.TB) *Schema {
	return format.NewSchema([]*quantize.Plan{compile[simFrozen](t), compile[simHealth](t), compile[simPosition](t)})
}

const (
	rowFrozen = iota
	rowHealth
	rowPosition
)

// simConfig is one kind of bad network and busy world.
type simConfig struct {
	Window, Ring, Ticks, Entities, Clients int
	PacketsPerTick, Payload                int
	Loss, UpLoss, Duplicate, Tail          float64
	Delay, Jitter, TailMax                 int
	Mutate, Respawn, Flap, Reshape, Lose   float64
	Slow                                   int // an entity that changed rests this long
	DownDead, UpDead                       [2]int
	Repeat                                 bool // spare budget resends early
}

func usual() simConfig {
	return simConfig{
		Window: 16, Ring: 64, Ticks: 600, Entities: 12, Clients: 2, PacketsPerTick: 2, Payload: 64,
		Loss: .2, UpLoss: .2, Duplicate: .1, Tail: .02, Delay: 2, Jitter: 2, TailMax: 12,
		Mutate: .2, Respawn: .01, Flap: .01, Reshape: .02,
	}
}

// state is one entity as an oracle remembers it.
type state struct {
	mask  Mask
	lanes string
}

type simPacket struct {
	seq     uint64
	tick    tick.Tick
	payload []byte
}

type simAck struct {
	newest uint64
	bits   uint32
	epoch  uint16
	want   bool
}

type simFlight struct {
	due int
	pkt *simPacket
	ack *simAck
}

type simSent struct {
	tick  tick.Tick
	at    int
	state int // 0 pending, 1 acked, 2 lost
}

// simClient is one client with both of its links, and the server's half.
type simClient struct {
	view     *View
	replica  *replica.Replica
	seq      uint64
	sent     map[uint64]*simSent
	ackedTo  uint64
	down, up []simFlight
	got      map[uint64]bool
	newest   uint64
	hidden   map[wire.NetworkID]bool
	meant    map[tick.Tick]map[wire.NetworkID]state // what the server meant at each tick
	ticks    map[wire.NetworkID]tick.Tick           // applied so far, for order
	resynced int
}

type sim struct {
	t       testing.TB
	c       simConfig
	r       *rand.Rand
	now     int
	calm    bool
	store   *Store
	alive   []wire.NetworkID
	states  map[wire.NetworkID]state // of this tick
	rest    map[wire.NetworkID]int
	clients []*simClient
	spawned int
}

func newSim(t testing.TB, c simConfig, seed int64) *sim {
	s := &sim{t: t, c: c, r: rand.New(rand.NewSource(seed)), rest: map[wire.NetworkID]int{}}
	cfg := Config{Window: tick.Tick(c.Window), SentPackets: c.Ring}
	schema := simSchema(t)
	s.store = NewStore(schema, cfg)
	for range c.Clients {
		s.clients = append(s.clients, &simClient{
			view: NewView(s.store, cfg), replica: replica.New(schema, cfg, 1),
			sent: map[uint64]*simSent{}, got: map[uint64]bool{}, hidden: map[wire.NetworkID]bool{},
			meant: map[tick.Tick]map[wire.NetworkID]state{}, ticks: map[wire.NetworkID]tick.Tick{},
		})
	}
	return s
}

func (s *sim) chance(p float64) bool { return !s.calm && s.r.Float64() < p }

// mutate plays the game for one tick.
func (s *sim) mutate() {
	s.store.Begin(tick.Tick(s.now))
	for len(s.alive) < s.c.Entities && (s.now < 3 || s.chance(.5)) {
		id := s.store.Spawn()
		s.store.Set(id, rowPosition, []uint32{uint32(s.r.Intn(16)), uint32(s.r.Intn(4))})
		if s.r.Intn(2) == 0 {
			s.store.Set(id, rowHealth, []uint32{uint32(s.r.Intn(50))})
		}
		s.alive = append(s.alive, id)
		s.spawned++
	}
	for i := 0; i < len(s.alive); i++ {
		id := s.alive[i]
		if s.rest[id] > 0 {
			s.rest[id]--
		} else if s.chance(s.c.Mutate) {
			s.store.Set(id, rowPosition, []uint32{uint32(s.r.Intn(4)), uint32(s.r.Intn(2))})
			s.rest[id] = s.c.Slow
		}
		for _, row := range []int{rowFrozen, rowHealth} {
			if !s.chance(s.c.Reshape) {
				continue
			}
			if s.store.Mask(id).Has(row) {
				s.store.Remove(id, row)
			} else if row == rowHealth {
				s.store.Set(id, row, []uint32{uint32(s.r.Intn(50))})
			} else {
				s.store.Set(id, row, nil)
			}
		}
		if s.chance(s.c.Respawn) {
			s.store.Despawn(id)
			s.alive = append(s.alive[:i], s.alive[i+1:]...)
			i--
		}
	}
	s.store.Commit()
	s.states = map[wire.NetworkID]state{}
	for _, id := range s.alive {
		s.states[id] = s.stateOf(id)
	}
	for _, c := range s.clients {
		c.view.Observe()
		s.flap(c)
		s.mean(c)
	}
}

// flap shows and hides entities.
func (s *sim) flap(c *simClient) {
	for _, id := range s.alive {
		if !s.chance(s.c.Flap) {
			continue
		}
		if c.view.Visible(id) {
			c.view.Hide(id)
			c.hidden[id] = true
		} else {
			c.view.Show(id)
			delete(c.hidden, id)
		}
	}
}

// mean remembers what the server means to tell this client at this tick.
func (s *sim) mean(c *simClient) {
	m := map[wire.NetworkID]state{}
	for _, id := range s.alive {
		if !c.hidden[id] {
			m[id] = s.states[id]
		}
	}
	delete(c.meant, s.store.Tick()-300) // nothing that old can still arrive and be read
	c.meant[s.store.Tick()] = m
}

func (s *sim) stateOf(id wire.NetworkID) state {
	mask := s.store.Mask(id)
	var lanes []uint32
	for m := mask; !m.IsZero(); m = m.Rest() {
		lanes = append(lanes, s.store.Row(id, m.Lowest())...)
	}
	return state{mask, key(lanes)}
}

// key makes lanes comparable.
func key(lanes []uint32) string {
	b := make([]byte, 0, 64)
	for _, lane := range lanes {
		b = binary.LittleEndian.AppendUint32(b, lane)
	}
	return string(b)
}

// serve runs the server's half of a tick for one client.
func (s *sim) serve(c *simClient) {
	for _, f := range s.take(&c.up) {
		s.acks(c, f.ack)
	}
	s.losses(c)
}

func (s *sim) acks(c *simClient, a *simAck) {
	if a.want {
		before := c.view.Stats().Resyncs
		c.view.Resync(a.epoch, c.seq+1)
		c.resynced += int(c.view.Stats().Resyncs - before)
	}
	if a.newest == 0 {
		return
	}
	ack := func(seq uint64) {
		if p := c.sent[seq]; p != nil && p.state != 1 {
			p.state = 1
			c.view.Acked(seq)
			c.ackedTo = max(c.ackedTo, seq)
		}
	}
	ack(a.newest)
	for b := range uint64(32) {
		if a.bits&(1<<b) != 0 {
			ack(a.newest - 1 - b)
		}
	}
}

// losses is rule 8.
func (s *sim) losses(c *simClient) {
	rtt := float64(2*s.c.Delay + s.c.Jitter)
	var seqs []uint64
	for seq, p := range c.sent {
		if p.state == 0 {
			seqs = append(seqs, seq)
		} else if s.now-p.at > 400 {
			delete(c.sent, seq)
		}
	}
	sort.Slice(seqs, func(i, j int) bool { return seqs[i] < seqs[j] })
	for _, seq := range seqs {
		p := c.sent[seq]
		newer := c.sent[c.ackedTo] != nil && seq+3 <= c.ackedTo && p.tick < c.sent[c.ackedTo].tick
		if newer || float64(s.now-p.at) > 1.25*rtt+float64(s.c.Jitter)+1 {
			p.state = 2
			c.view.Lost(seq)
		}
	}
}

func (s *sim) send(c *simClient) {
	if s.c.Repeat && !c.view.Pending() {
		c.view.Repeat(s.store.Tick() - 1)
	}
	for range s.c.PacketsPerTick {
		buf := make([]byte, s.c.Payload)
		n := c.view.Write(buf, c.seq+1)
		if n == 0 {
			return
		}
		c.seq++
		c.sent[c.seq] = &simSent{tick: s.store.Tick(), at: s.now}
		p := &simPacket{seq: c.seq, tick: s.store.Tick(), payload: buf[:n]}
		if s.calm || !(s.chance(s.c.Loss) || within(s.now, s.c.DownDead)) {
			c.down = append(c.down, simFlight{due: s.due(), pkt: p})
		}
		if s.chance(s.c.Duplicate) {
			c.down = append(c.down, simFlight{due: s.due(), pkt: p})
		}
	}
}

func within(now int, span [2]int) bool { return now >= span[0] && now < span[1] }

func (s *sim) due() int {
	d := s.now + s.c.Delay
	if s.calm {
		return d
	}
	if s.c.Jitter > 0 {
		d += s.r.Intn(s.c.Jitter + 1)
	}
	if s.chance(s.c.Tail) {
		d += s.r.Intn(s.c.TailMax)
	}
	return d
}

// take removes what has arrived, in any order.
func (s *sim) take(q *[]simFlight) (out []simFlight) {
	keep := (*q)[:0:0]
	for _, f := range *q {
		if f.due <= s.now {
			out = append(out, f)
		} else {
			keep = append(keep, f)
		}
	}
	*q = keep
	s.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// listen runs the client's half of a tick.
func (s *sim) listen(c *simClient) {
	if s.chance(s.c.Lose) {
		c.replica.Lose()
	}
	for _, f := range s.take(&c.down) {
		if c.got[f.pkt.seq] {
			continue
		}
		err := c.replica.Read(f.pkt.payload)
		if err != nil {
			if s.c.Lose == 0 {
				require.NotErrorIs(s.t, err, replica.ErrBaseline, "tick %d, packet of %d", s.now, f.pkt.tick)
			}
			require.NotErrorIs(s.t, err, replica.ErrMalformed)
			continue
		}
		c.got[f.pkt.seq] = true
		c.newest = max(c.newest, f.pkt.seq)
		s.check(c, f.pkt)
	}
	a := &simAck{newest: c.newest}
	for b := range uint64(32) {
		if c.newest > b+1 && c.got[c.newest-1-b] {
			a.bits |= 1 << b
		}
	}
	a.epoch, a.want = c.replica.WantResync()
	if s.calm || !(s.chance(s.c.UpLoss) || within(s.now, s.c.UpDead)) {
		c.up = append(c.up, simFlight{due: s.due(), ack: a})
	}
}

// decodedRecord is a record that a replica decoded.
type decodedRecord struct {
	index uint32
	mask  Mask
	base  tick.Tick
	lanes []uint32
}

// recordsAt returns the indexes that have records of a tick, sorted.
func recordsAt(r *replica.Replica, t tick.Tick) (indexes []uint32) {
	for all, i := r.Records(t), 0; i < all.Len(); i++ {
		indexes = append(indexes, all.Range(i).Index)
	}
	slices.Sort(indexes)
	return indexes
}

// decodedAt returns the records of a tick that a replica decoded, by index.
func decodedAt(r *replica.Replica, t tick.Tick) (list []decodedRecord) {
	for _, index := range recordsAt(r, t) {
		rec := decodedRecord{index: index}
		rec.mask, rec.base, _ = r.RecordAt(index, t)
		for m := rec.mask; !m.IsZero(); m = m.Rest() {
			lanes, _ := r.LanesAt(index, m.Lowest(), t)
			rec.lanes = append(rec.lanes, lanes...)
		}
		list = append(list, rec)
	}
	return list
}

// meantAt returns what the server meant at a tick about the entity of an index.
func (c *simClient) meantAt(t tick.Tick, index uint32) (wire.NetworkID, state, bool) {
	for id, want := range c.meant[t] {
		if id.Index == index {
			return id, want, true
		}
	}
	return wire.NetworkID{}, state{}, false
}

// check holds each decoded record against what the server meant, and the order
// of what was applied.
func (s *sim) check(c *simClient, p *simPacket) {
	for _, rec := range decodedAt(c.replica, p.tick) {
		id, want, ok := c.meantAt(p.tick, rec.index)
		got := state{rec.mask, key(rec.lanes)}
		if want == got && ok {
			continue
		}
		require.True(s.t, ok, "tick %d: %d was not to be seen at %d", s.now, rec.index, p.tick)
		require.Equal(s.t, want, got, "tick %d: %v as of %d against %d", s.now, id, p.tick, rec.base)
	}
	for _, index := range c.replica.Changed() {
		e := c.replica.Entity(index)
		if e.Tick < c.ticks[e.ID] {
			require.Fail(s.t, "went back in time", "%v from %d to %d", e.ID, c.ticks[e.ID], e.Tick)
		}
		c.ticks[e.ID] = e.Tick
	}
	c.replica.ClearChanged()
}

func (s *sim) step() {
	s.now++
	for _, c := range s.clients {
		s.serve(c)
	}
	s.mutate()
	for _, c := range s.clients {
		s.send(c)
		s.listen(c)
	}
}

// run plays the whole length, heals the network and asks for equality.
func (s *sim) run() {
	for range s.c.Ticks {
		s.step()
	}
	s.calm = true
	for range 40 + 8*s.c.Delay + 2*s.c.TailMax {
		s.step()
	}
	for i, c := range s.clients {
		require.Equal(s.t, s.wanted(c), s.held(c), "client %d", i)
		require.True(s.t, c.view.Synced(), "client %d still lacks something", i)
		require.Equal(s.t, len(s.wanted(c)), c.view.Known())
		require.Equal(s.t, len(s.wanted(c)), c.replica.Len())
	}
}

func (s *sim) wanted(c *simClient) map[wire.NetworkID]state { return c.meant[s.store.Tick()] }

func (s *sim) held(c *simClient) map[wire.NetworkID]state {
	m := map[wire.NetworkID]state{}
	for e := range c.replica.All {
		var lanes []uint32
		for mask := e.Mask; !mask.IsZero(); mask = mask.Rest() {
			lanes = append(lanes, c.replica.Row(e.ID.Index, mask.Lowest())...)
		}
		m[e.ID] = state{e.Mask, key(lanes)}
	}
	return m
}
