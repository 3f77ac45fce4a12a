package snapshot

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// requireUnseen fails if the state of entities that a client never saw was changed.
func requireUnseen(t require.TestingT, v *View) {
	require.Equal(t, ackPage{}, v.nothing)
	require.Equal(t, ackRecord{}, v.noAck)
	require.Equal(t, seenLife{}, v.noLife)
	require.Equal(t, v.count, v.seen.count())
	for w, g := range v.pages {
		require.Equal(t, g != &v.nothing, v.seen.has(uint32(w)))
		require.Len(t, g.acks, bits.OnesCount64(g.held))
		require.Len(t, g.lives, len(g.acks))
		require.Zero(t, (g.visible|g.unsent|g.unacked|g.despawnOwed|g.retained|g.oversize|g.vacant)&^g.held)
	}
}

// stateBytes returns the memory of a view, without the store's.
func (v *View) stateBytes() int { return alloctest.GraphBytes([]any{v}, &Store{}, &Schema{}) }

// A client that sees 50 of 30 000 entities, now these and now those, has memory for about 50, and no more with time. All of them come and go right.
func TestAClientCostsWhatItSees(t *testing.T) {
	const all, sees, lag = 30000, 50, 6
	d := newDuoOf(t, simSchema(t), Config{Window: 32})
	d.view.ShowNew(false)
	var ids []wire.NetworkID
	var sent []*simPacket
	first := 0
	step := func() {
		s := d.store.Tick() + 1
		d.store.Begin(s)
		for len(ids) < all {
			ids = append(ids, d.spawn(1))
		}
		at := func(i int) wire.NetworkID { return ids[i*577%all] }
		for i := range sees {
			d.move(at(first+i), uint32(s)%16)
		}
		d.store.Commit()
		d.view.Observe()
		if s%4 == 0 {
			d.view.Hide(at(first))
			first++
		}
		for i := range sees {
			d.view.Show(at(first + i))
		}
		buf := [1200]byte{}
		for n := d.view.Write(buf[:], d.seq+1); n > 0; n = d.view.Write(buf[:], d.seq+1) {
			d.seq++
			p := &simPacket{seq: d.seq, tick: s, payload: append([]byte(nil), buf[:n]...)}
			if sent = append(sent, p); d.seq%20 == 0 {
				d.view.Lost(p.seq)
				continue
			}
			d.deliver(p)
		}
		for len(sent) > 0 && sent[0].tick < s-lag {
			if sent[0].seq%20 != 0 {
				d.view.Acked(sent[0].seq)
			}
			sent = sent[1:]
		}
	}
	for range 300 {
		step()
	}
	most := d.view.stateBytes()
	require.Less(t, most, 78_000+10_000*format.MaskWords, "with 11 kB of the connection and 1 kB of the interest a client takes less than 100 kB")
	for range 300 {
		step()
	}
	require.LessOrEqual(t, d.view.stateBytes(), most*5/4)
	requireUnseen(t, d.view)
	for d.store.Tick()%4 != 3 {
		step()
	}
	n := 0
	for i := range sees {
		if id := ids[(first+i)*577%all]; d.replica.Entity(id.Index).ID == id {
			n++
		}
	}
	require.InDelta(t, sees, n, 2)
}

// A page without visible entities is forgotten after W, and not while a packet with them is remembered. Its entities come back as new ones.
func TestAVacantPageIsForgottenAfterTheWindow(t *testing.T) {
	d := newDuoOf(t, simSchema(t), Config{Window: 16, SentPackets: 256})
	var ids []wire.NetworkID
	for p := d.at(1, func() {
		for range 2 * format.PageEntities {
			ids = append(ids, d.spawn(3))
		}
	}); p != nil; p = d.write() {
		d.ack(p)
	}
	late := d.at(2, func() { d.move(ids[100], 5) })
	for _, id := range ids[format.PageEntities:] {
		d.view.Hide(id)
	}
	gone := tick.Tick(0)
	for s := tick.Tick(3); s < 100 && gone == 0; s++ {
		if s == 60 {
			require.False(t, d.view.MayRepeat(late.seq), "it has what was hidden, however long ago")
			d.view.Lost(late.seq)
		}
		for p := d.at(s, func() { d.move(ids[1], uint32(s)%16) }); p != nil; p = d.write() {
			d.ack(p)
		}
		if d.view.pages[1] == &d.view.nothing {
			gone = s
		}
		saw, known := d.view.SawAt(ids[100], s-10)
		require.True(t, known, "tick %d", s)
		require.Equal(t, s-10 >= 1 && s-10 < 3, saw, "tick %d", s)
	}
	require.Greater(t, gone, tick.Tick(60))
	require.Equal(t, format.PageEntities, d.replica.Len())
	requireUnseen(t, d.view)
	d.view.Show(ids[100])
	d.ack(d.at(gone+1, nil))
	d.view.Acked(late.seq)
	require.Equal(t, 5, d.x(ids[100]))
	require.True(t, d.view.Synced())
}

// Nothing is allocated where entities come and go all the time.
func TestComingAndGoingAllocatesNothing(t *testing.T) {
	d := newDuo(t)
	var ids []wire.NetworkID
	buf := [256]byte{}
	first, s := 0, tick.Tick(0)
	step := func() {
		s++
		d.store.Begin(s)
		for len(ids) < 1000 {
			ids = append(ids, d.spawn(1))
		}
		d.store.Commit()
		d.view.Observe()
		d.view.Hide(ids[first*67%1000])
		first++
		d.view.Show(ids[(first+10)*67%1000])
		for d.view.Write(buf[:], d.seq+1) > 0 {
			d.seq++
			d.view.Acked(d.seq)
		}
	}
	d.view.ShowNew(false)
	for range 300 {
		step()
	}
	alloctest.Zero(t, 100, step)
}

// A page that takes the slot of a forgotten one has none of its records.
func TestAPageThatTakesASlotHasNoRecords(t *testing.T) {
	d := newDuo(t)
	var ids []wire.NetworkID
	d.ack(d.at(1, func() {
		for range 3 * format.PageEntities {
			ids = append(ids, d.store.Spawn())
		}
	}))
	for _, id := range ids {
		d.view.Hide(id)
	}
	d.view.Show(ids[1])
	for s := tick.Tick(2); d.view.count > 1; s++ {
		if p := d.at(s, nil); p != nil {
			d.ack(p)
		}
		require.Less(t, s, tick.Tick(300))
	}
	d.view.Show(ids[100])
	d.view.reach(ids[150].Index)
	d.view.takeSlot(d.view.pages[2])
	for s := range d.store.Tick() {
		require.Zero(t, d.view.recent.of(s, d.view.pages[2].slot))
	}
}
