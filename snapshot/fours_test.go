package snapshot

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// crowd is a world of which each tick takes several packets, and a client that
// acknowledges what came a few ticks later.
type crowd struct {
	*duo
	r       *rand.Rand
	ids     []wire.NetworkID
	delay   tick.Tick
	loss    float64
	waiting []simPacket // whose acknowledgements are under way
}

func newCrowd(t *testing.T, seed int64, entities int) *crowd {
	type little struct{ N uint8 }
	type large struct{ Words [12]uint32 }
	cfg := Config{Window: 32, SentPackets: 256}
	c := &crowd{duo: &duo{t: t}, r: rand.New(rand.NewSource(seed)), delay: 3}
	c.store = NewStore(NewSchema([]*wire.Plan{compile[little](t), compile[large](t)}), cfg)
	c.view, c.replica = NewView(c.store, cfg), NewReplica(c.store.schema, cfg, 1)
	c.store.Begin(1)
	for range entities {
		c.ids = append(c.ids, c.store.Spawn())
		c.change(c.ids[len(c.ids)-1])
	}
	c.store.Commit()
	c.view.Observe()
	return c
}

// change makes records of some entities a few bits long, of others hundreds.
func (c *crowd) change(id wire.NetworkID) {
	c.store.Set(id, 0, []uint32{uint32(c.r.Intn(4))})
	if id.Index%7 == 3 {
		words := make([]uint32, 12)
		for i := range words {
			words[i] = c.r.Uint32()
		}
		c.store.Set(id, 1, words)
	}
}

// play plays a tick and compares every record that arrives with the store.
func (c *crowd) play(s tick.Tick) {
	c.waiting = slices.DeleteFunc(c.waiting, func(p simPacket) bool {
		heard := p.tick+c.delay <= s && (c.loss == 0 || c.r.Intn(2) == 0)
		if heard {
			c.view.Acked(p.seq)
		}
		return heard
	})
	c.store.Begin(s)
	for _, id := range c.ids {
		if c.r.Intn(8) != 0 {
			c.change(id)
		}
	}
	c.store.Commit()
	c.view.Observe()
	for p := c.write(); p != nil; p = c.write() {
		if c.r.Float64() < c.loss {
			if c.r.Intn(2) == 0 {
				c.view.Lost(p.seq)
			}
			continue
		}
		c.deliver(p)
		c.waiting = append(c.waiting, *p)
		for i, v := range c.replica.spoken() {
			for row := range 2 {
				if !slices.Equal(c.store.Row(c.ids[v], row), c.replica.Row(v, row)) {
					require.Equal(c.t, c.store.Row(c.ids[v], row), c.replica.Row(v, row), "tick %d, record %d, of %d", s, i, v)
				}
			}
		}
	}
}

// A four of which not all fits is cut short, and the packets of a tick end
// where they are full: what follows goes into the next one.
func TestListsOverSeveralPackets(t *testing.T) {
	for seed := range int64(20) {
		for _, loss := range []float64{0, .3} {
			c := newCrowd(t, seed, 100)
			for i, id := range c.ids {
				require.EqualValues(t, i, id.Index)
			}
			c.loss = loss
			for s := tick.Tick(2); s < 60; s++ {
				c.play(s)
			}
			require.Zero(t, c.replica.Stats().NoBaseline, "seed %d", seed)
			if loss == 0 {
				for _, id := range c.ids {
					require.Equal(t, c.store.Row(id, 1), c.replica.Row(id.Index, 1), "seed %d", seed)
				}
			}
		}
	}
}

// Of a tick of which the client may hold a part nobody can say what it does not
// hold: no record leans on it.
func TestNearIsATickThatIsKnownWhole(t *testing.T) {
	a := newAnswers(16)
	a.sent(7)
	a.sent(8)
	a.sent(8)
	a.sent(9)
	require.Zero(t, a.near(10), "nothing is acknowledged")
	a.acked(7)
	require.EqualValues(t, 3, a.near(10), "nothing is known of 8 and 9")
	a.acked(8)
	require.Zero(t, a.near(10), "a part of 8 is there")
	a.acked(8)
	require.EqualValues(t, 2, a.near(10))
	a.acked(9)
	require.EqualValues(t, 1, a.near(10))
	require.EqualValues(t, mostNear, a.near(9+mostNear))
	require.Zero(t, a.near(10+mostNear), "too far back")
	a.sent(9 + tick.Tick(len(a.ticks)))
	require.EqualValues(t, 2, a.near(10), "its place was taken")
	a.forget()
	require.Zero(t, a.near(10))
}

// Rule 3: of two versions before T that both ends hold, the nearer one tells
// how the entity moves. It takes effect where the packet names its tick.
func TestRule3LeansOnTheNearerRecord(t *testing.T) {
	d := newDuo(t)
	var id, other wire.NetworkID
	sent := []*simPacket{nil, d.at(1, func() { id, other = d.spawn(3), d.spawn(4) })}
	for s := tick.Tick(2); s <= 12; s++ {
		if s > 4 { // what was sent at s-3 is acknowledged
			d.view.Acked(sent[s-3].seq)
		}
		sent = append(sent, d.at(s, func() {
			d.move(id, uint32(s))
			if s != 8 {
				d.move(other, uint32(s)%4)
			}
		}))
		d.deliver(sent[s])
		require.Equal(t, int(s), d.x(id))
		if s > 8 {
			require.True(t, d.nearer(id), "tick %d", s)
			require.Equal(t, s != 8+3+1, d.nearer(other), "tick %d: it has no record of tick 8", s)
		}
	}
	require.Zero(t, d.replica.Stats().NoBaseline)
}

// nearer is whether the server leant on a nearer record last.
func (d *duo) nearer(id wire.NetworkID) bool {
	q := d.view.slot(id.Index, new(slot))
	p := packetWriter{v: d.view, s: d.store.tick, listed: q.base, near: d.view.answers.near(q.base)}
	return q.lean != 0 && p.before(q) > q.base-tick.Tick(q.lean)
}

// A record that does not say what it leans on leans on the newest that the
// client holds. Where one may be under way, or lost, it says.
func TestARecordSaysWhatItLeansOnWhereThatIsInDoubt(t *testing.T) {
	d := newDuo(t)
	var id, other wire.NetworkID
	d.ack(d.at(1, func() { id, other = d.spawn(3), d.spawn(4) }))
	quiet := d.at(5, func() { d.move(id, 4) })
	unsaid := len(quiet.payload)
	d.deliver(quiet)
	require.Equal(t, 4, d.x(id))
	d.ack(d.at(6, func() { d.move(other, 5) }))
	p := d.at(7, func() { d.move(id, 5) }) // the server has not heard of 5
	require.Equal(t, tick.Tick(1), d.view.slot(id.Index, new(slot)).base)
	require.Greater(t, len(p.payload), unsaid)
	d.ack(p)
	require.Equal(t, 5, d.x(id))
	require.Zero(t, d.replica.Stats().NoBaseline)
	require.True(t, d.view.Synced())
}

// A client that has lost its past cannot tell what there was of: it asks.
func TestNothingOfBeforeALossIsGuessed(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	late := d.at(2, func() { d.move(id, 4) })
	d.ack(d.at(3, func() { d.move(id, 5) }))
	d.replica.Lose()
	d.deliverError(d.at(4, func() { d.move(id, 6) }))
	require.ErrorIs(t, d.replica.Read(late.payload), ErrBaseline)
	epoch, want := d.replica.WantResync()
	require.True(t, want)
	require.True(t, d.view.Resync(epoch, d.seq+1))
	d.ack(d.at(5, nil))
	d.ack(d.at(6, func() { d.move(id, 7) }))
	require.Equal(t, 7, d.x(id))
}

func (d *duo) deliverError(p *simPacket) {
	require.ErrorIs(d.t, d.replica.Read(p.payload), ErrBaseline)
}
