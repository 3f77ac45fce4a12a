package snapshot

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
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
	rests   float64     // how likely a page rests in a tick
	waiting []simPacket // whose acknowledgements are under way
}

func newCrowd(t *testing.T, seed int64, entities int) *crowd {
	type little struct{ N uint8 }
	type large struct{ Words [12]uint32 }
	cfg := Config{Window: 32, SentPackets: 256}
	c := &crowd{duo: &duo{t: t}, r: rand.New(rand.NewSource(seed)), delay: 3}
	c.store = NewStore(format.NewSchema([]*quantize.Plan{compile[little](t), compile[large](t)}), cfg)
	c.view, c.replica = NewView(c.store, cfg), replica.New(c.store.schema, cfg, 1)
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
	rests := false
	for i, id := range c.ids {
		if i%format.PageEntities == 0 && c.rests > 0 {
			rests = c.r.Float64() < c.rests
		}
		if !rests && c.r.Intn(8) != 0 {
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
		for i, v := range recordsAt(c.replica, s) {
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

// Of a tick of which the client may hold a part nobody can say what it does not hold: no record is coded against it.
func TestACompleteTickIsOneOfWhichAllIsAcknowledged(t *testing.T) {
	v := &View{}
	v.growPages(1, 1)
	v.reach(0)
	g := v.pages[0]
	refs := func() []tick.Tick { return []tick.Tick{g.ref, g.near} }
	v.noteSentRefs(0, 6, 16, true)
	v.noteSentRefs(0, 7, 1, true)
	v.noteSentRefs(0, 8, 2, true)
	v.noteSentRefs(0, 8, 4, true)
	v.noteSentRefs(0, 9, 8, true)
	require.Equal(t, []tick.Tick{tick.None, tick.None}, refs(), "nothing is acknowledged")
	v.noteAckedRefs(0, 7)
	require.Equal(t, []tick.Tick{7, tick.None}, refs())
	v.noteAckedRefs(0, 8)
	require.Equal(t, []tick.Tick{7, tick.None}, refs(), "a part of 8 is there")
	v.noteAckedRefs(0, 9)
	require.Equal(t, []tick.Tick{9, 7}, refs(), "8 is passed over")
	require.Equal(t, []uint64{8, 1}, []uint64{g.refOf, g.nearOf})
	v.noteAckedRefs(0, 8)
	require.Equal(t, []tick.Tick{9, 8}, refs())
	require.Equal(t, []uint64{8, 6}, []uint64{g.refOf, g.nearOf})
	v.noteAckedRefs(0, 6)
	require.Equal(t, []tick.Tick{9, 8}, refs(), "6 is older")
	for s := tick.Tick(10); s < 20; s++ {
		v.noteSentRefs(0, s, 1, true)
		v.noteAckedRefs(0, s)
		require.Equal(t, []tick.Tick{s, s - 1}, refs())
	}
	v.noteSentRefs(0, 20+format.MaxNear, 1, true)
	v.noteAckedRefs(0, 20+format.MaxNear)
	require.Equal(t, []tick.Tick{20 + format.MaxNear, tick.None}, refs(), "19 is too far back")
	v.noteSentRefs(0, 20+format.MaxNear, 2, true)
	require.Equal(t, []tick.Tick{19, 18}, refs(), "more of that tick is under way")
	g.forget(20 + format.MaxNear)
	require.Equal(t, []tick.Tick{tick.None, tick.None}, refs())
	v.noteSentRefs(0, 20+format.MaxNear, 4, true)
	v.noteAckedRefs(0, 20+format.MaxNear)
	v.noteAckedRefs(0, 20+format.MaxNear)
	require.Equal(t, []tick.Tick{tick.None, tick.None}, refs(), "of this tick the client has more, from before it was forgotten")
}

// TestAPageRemembersTicksInBoundedMemory: however long nothing is acknowledged, and after that the newest ticks serve.
func TestAPageRemembersTicksInBoundedMemory(t *testing.T) {
	v := &View{}
	v.growPages(1, 1)
	v.reach(0)
	g := v.pages[0]
	for s := tick.Tick(1); s < 5000; s++ {
		v.noteSentRefs(0, s, 1, true)
		require.LessOrEqual(t, len(v.recent), mostTicks)
		if s > 4000 {
			v.recent.late(60)
			v.noteAckedRefs(0, s-60)
		}
		if s > 4100 {
			require.Equal(t, []tick.Tick{s - 60, s - 61}, []tick.Tick{g.ref, g.near})
		}
	}
}

// Rule 3: where the packet names a tick N of which the client holds a record of the entity, that one is T'.
func TestRule3TheTickThatIsNamedIsTheSecondBaseline(t *testing.T) {
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
		if s > 4+2 {
			require.True(t, d.named(id), "tick %d", s)
			require.Equal(t, s != 8+3+1, d.named(other), "tick %d: it has no record of tick 8", s)
		}
	}
	require.Zero(t, d.replica.Stats().NoBaseline)
}

// named is whether N was the second baseline of the newest record of an entity, if it was in a list.
func (d *duo) named(id wire.NetworkID) bool {
	g := d.view.pages[id.Index/format.PageEntities]
	return g.near != tick.None && g.nearOf>>(id.Index%format.PageEntities)&1 != 0
}

// A record that does not say what it leans on leans on the newest that the
// client holds. Where one may be under way, or lost, it says.
func TestRecordNamesItsBaselineIfUnclear(t *testing.T) {
	d := newDuo(t)
	var id, other wire.NetworkID
	d.ack(d.at(1, func() { id, other = d.spawn(3), d.spawn(4) }))
	d.deliver(d.at(5, func() { d.move(id, 4) }))
	require.Equal(t, 4, d.x(id))
	d.ack(d.at(6, func() { d.move(other, 5) }))
	p := d.at(7, func() { d.move(id, 5) }) // the server does not know that 5 arrived
	q := d.view.ack(id.Index)
	require.Equal(t, tick.Tick(1), q.base)
	require.False(t, q.newestUpTo(7))
	require.Contains(t, string(d.replica.AppendDump(nil, p.payload)), "entity at 0, against tick 1")
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
	require.ErrorIs(t, d.replica.Read(late.payload), replica.ErrBaseline)
	epoch, want := d.replica.WantResync()
	require.True(t, want)
	require.True(t, d.view.Resync(epoch, d.seq+1))
	d.ack(d.at(5, nil))
	d.ack(d.at(6, func() { d.move(id, 7) }))
	require.Equal(t, 7, d.x(id))
}

func (d *duo) deliverError(p *simPacket) {
	require.ErrorIs(d.t, d.replica.Read(p.payload), replica.ErrBaseline)
}

// Under a short budget a page whose first record is too large is left out, and the pages behind it keep their places in the list.
func TestAPageWithoutRoomKeepsItsPlaceInTheList(t *testing.T) {
	type little struct{ N uint8 }
	type large struct{ Words [40]uint32 }
	cfg := Config{Window: 32, Entities: 3 * format.PageEntities}
	b := &busy{store: NewStore(format.NewSchema([]*quantize.Plan{compile[little](t), compile[large](t)}), cfg)}
	b.view, b.replica = NewView(b.store, cfg), replica.New(b.store.schema, cfg, 1)
	for range 3 * format.PageEntities {
		b.ids = append(b.ids, wire.NetworkID{})
	}
	first := uint32(format.PageEntities) // its record is larger than the room
	change := func(s tick.Tick) {
		b.store.Begin(s)
		for i := range b.ids {
			if s == 1 {
				b.ids[i] = b.store.Spawn()
			}
			b.store.Set(b.ids[i], 0, []uint32{uint32(s)})
		}
		words := make([]uint32, 40)
		for i := range words {
			words[i] = uint32(s) * uint32(i+1) * 0x9E3779B9
		}
		b.store.Set(b.ids[first], 1, words)
		b.store.Commit()
		b.view.Observe()
	}
	send := func(room int) {
		b.seq++
		n := b.view.WriteWithin(&b.store.cache, b.buf[:], room, false, b.seq)
		require.NotZero(t, n)
		require.NoError(t, b.replica.Read(b.buf[:n]))
		b.view.Acked(b.seq)
	}
	for s := range tick.Tick(3) {
		for change(s + 1); b.view.Pending(); {
			send(len(b.buf))
		}
	}
	for _, index := range []uint32{first, 2 * first} {
		b.store.SetPriority(b.ids[index], 8*NormalWeight)
	}
	change(4)
	b.view.Plan(300)
	send(100)
	got := recordsAt(b.replica, 4)
	require.Contains(t, got, 2*first)
	require.NotContains(t, got, first)
	for _, index := range got {
		require.Equal(t, b.store.Row(b.ids[index], 0), b.replica.Row(index, 0), index)
	}
}

// Clients whose packets differ mostly cut a page at the same place. Under a short budget a packet is filled.
func TestAPageIsCutAtACoarsePlace(t *testing.T) {
	type word struct{ N uint32 }
	for _, short := range []bool{false, true} {
		cfg := Config{Window: 32, Entities: format.PageEntities}
		b := &busy{store: NewStore(format.NewSchema([]*quantize.Plan{compile[word](t)}), cfg)}
		b.view = NewView(b.store, cfg)
		var ids []wire.NetworkID
		first := 0
		for s := range tick.Tick(4) {
			b.store.Begin(s + 1)
			for i := range uint32(format.PageEntities) {
				if s == 0 {
					ids = append(ids, b.store.Spawn())
				}
				b.store.Set(ids[i], 0, []uint32{(uint32(s)*61 + i) * 0x9E3779B9})
			}
			b.store.Commit()
			b.view.Observe()
			const room = 160 // 768 bits are 96 bytes, and a nibble of four records takes 20
			dst := b.buf[:room]
			if short {
				dst = b.buf[:2*room]
			}
			for first = 0; b.view.Pending(); first = max(first, 1) {
				b.seq++
				n := b.view.WriteWithin(&b.store.cache, dst, room, false, b.seq)
				require.NotZero(t, n)
				if b.view.Acked(b.seq); first == 0 {
					first = n
				}
			}
		}
		if short {
			require.Greater(t, first, 140)
		} else {
			require.Greater(t, first, 96)
			require.Less(t, first, 125)
		}
	}
}
