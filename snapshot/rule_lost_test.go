package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A server that leans on what the client never had is told so, once, however
// many such packets come, and nothing that such a packet says takes effect.
func TestRule5ClientWithoutABaselineAsks(t *testing.T) {
	d := newDuo(t)
	var id, other wire.NetworkID
	d.ack(d.at(1, func() { other = d.spawn(7) }))
	d.view.Acked(d.at(2, func() { id = d.spawn(3) }).seq) // it never arrived
	for s := tick.Tick(3); s < 6; s++ {
		p := d.at(s, func() {
			d.move(id, uint32(s)+1)
			if s == 5 {
				d.store.Despawn(other)
			}
		})
		require.ErrorIs(t, d.replica.Read(p.payload), replica.ErrBaseline)
		require.False(t, d.replica.Entity(id.Index).Alive)
		require.True(t, d.replica.Entity(other.Index).Alive, "its despawn came with what could not be read")
	}
	epoch, want := d.replica.WantResync()
	require.True(t, want)
	require.EqualValues(t, 1, epoch, "once")
	require.True(t, d.view.Resync(epoch, d.seq+1))
	d.view.Lost(d.seq)
	d.ack(d.at(6, nil))
	require.Equal(t, 6, d.x(id))
	require.False(t, d.replica.Entity(other.Index).Alive)
	_, want = d.replica.WantResync()
	require.False(t, want, "served")
}

// A client that has lost its past gets a record of before. What leans on the
// newest record without saying which leans on a newer one.
func TestRule5VersionsBeforeTheLossAreNoBaselines(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	late := d.at(1, func() { id = d.spawn(3) })
	d.ack(d.at(2, func() { d.move(id, 4) }))
	d.replica.Lose()
	d.deliver(late)
	d.store.Begin(3) // for which there is no packet: with what waits for longer, no list is leaned on
	d.move(id, 5)
	d.store.Commit()
	d.view.Observe()
	d.deliverError(d.at(4, func() { d.move(id, 6) }))
	require.Equal(t, 4, d.x(id))
}

// A packet may come almost a window late, and lean on what is almost a window
// older than itself: so the client keeps two windows.
func TestRule4BaselineOfALatePacketIsThere(t *testing.T) {
	d := newDuo(t)
	window := d.replica.Window()
	var id, other wire.NetworkID
	d.ack(d.at(1, func() { id, other = d.spawn(3), d.spawn(5) }))
	d.deliver(d.at(2, func() { d.move(id, 9) })) // its ack never arrives
	late := d.at(window, func() { d.move(id, 4) })
	for s := window + 1; s < 2*window; s++ {
		d.ack(d.at(s, func() { d.move(other, uint32(s)%16) }))
	}
	require.EqualValues(t, 1, d.view.ack(id.Index).base)
	d.ack(late)
	require.Equal(t, 4, d.x(id))
	require.True(t, d.view.Synced())
}

// The client loses its past, and then a record comes that is older than what it
// had applied: it enters the history, where it is the newest that there is, and
// the rows of the entity stay what was applied. Four have moved, four have got a
// row since, and four have lost one.
func TestRule6LateAfterTheLossIsNotTheNewest(t *testing.T) {
	const each = 4 // the least number of entities in a range
	d := newDuo(t)
	var ids []wire.NetworkID
	late := d.at(1, func() {
		for k := range 3 * each {
			if k/each == 1 {
				ids = append(ids, d.store.Spawn())
				d.move(ids[k], 4)
			} else {
				ids = append(ids, d.spawn(3))
			}
		}
	})
	d.deliver(d.at(2, func() {
		for k := range each {
			d.move(ids[k], 6)
			d.store.Set(ids[each+k], rowHealth, []uint32{70})
			d.store.Remove(ids[2*each+k], rowHealth)
		}
	}))
	require.Equal(t, len(ids), requireStore(t, d, ids))
	d.replica.Lose()
	require.Zero(t, requireStore(t, d, ids), "they lie in no past")
	d.deliver(late)
	require.EqualValues(t, len(ids), d.replica.Stats().Late)
	require.Zero(t, requireStore(t, d, ids), "not in that of tick 1 either")
	for _, id := range ids {
		require.EqualValues(t, 2, d.replica.Entity(id.Index).Tick)
	}
	d.replica.Lose() // what is kept beside the past is still what was applied
	require.Zero(t, requireStore(t, d, ids))

	epoch, _ := d.replica.WantResync()
	d.view.Resync(epoch, d.seq+1)
	d.ack(d.at(3, func() { d.move(ids[each], 7) }))
	require.Equal(t, len(ids), requireStore(t, d, ids))
}

// The spawn of an entity comes when its despawn has long been heard of, and much
// else since: as long as it is not too old to be read at all, it wakes nobody.
func TestRule7ATombstoneStaysAsLongAsARecordMayCome(t *testing.T) {
	d := newDuo(t)
	var id, other wire.NetworkID
	late := d.at(1, func() { id = d.spawn(3) })
	d.deliver(d.at(2, func() { d.store.Despawn(id); other = d.spawn(1) }))
	for s := tick.Tick(3); s < 1+d.replica.Window(); s++ {
		d.deliver(d.at(s, func() { d.move(other, uint32(s)%16) }))
		d.deliver(late)
		require.False(t, d.replica.Entity(id.Index).Alive, "at tick %d", s)
	}
}

// The next entity at an index is there before anything was heard of the one
// before it: a record of that one comes too late, and so does its despawn.
func TestRule7ARecordOfALowerGenerationIsLate(t *testing.T) {
	d := newDuo(t)
	var old, id wire.NetworkID
	first := d.at(1, func() { old = d.spawn(3) })
	gone := d.at(2, func() { d.store.Despawn(old) })
	d.deliver(d.at(3, func() { id = d.spawn(8) }))
	require.Equal(t, old.Index, id.Index)
	for _, p := range []*simPacket{first, gone} {
		d.deliver(p)
		require.Equal(t, id, d.replica.Entity(id.Index).ID)
		require.Equal(t, 8, d.x(id))
		require.Equal(t, 1, d.replica.Len())
	}
}

// An entity that the client held goes out of sight and comes back: what it held
// is of the life before, and nothing leans on it.
func TestRule7ALifeBeginsWhole(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	d.view.Hide(id)
	d.ack(d.at(2, nil))
	d.view.Show(id)
	before := d.view.Stats()
	d.ack(d.at(3, func() { d.move(id, 4) }))
	require.Equal(t, before.Spawns+1, d.view.Stats().Spawns)
	require.Equal(t, before.Updates, d.view.Stats().Updates)
	require.Equal(t, 4, d.x(id))
	require.Equal(t, []uint32{100}, d.replica.Row(id.Index, rowHealth))
	require.True(t, d.view.Synced())
}

// Among many, where what changed is looked through in another way.
func TestHiddenEntitiesAreSilentAmongMany(t *testing.T) {
	b := newBusy(t, 1000)
	b.step(1)
	hidden := b.ids[777]
	b.view.Hide(hidden)
	b.step(len(b.ids))
	require.True(t, b.view.Synced())
	b.store.Begin(b.store.Tick() + 1)
	b.store.Set(hidden, rowHealth, []uint32{4})
	b.store.Commit()
	require.Less(t, len(b.store.words), len(b.store.changed)/4, "few words of many")
	b.view.Observe()
	require.False(t, b.view.Pending())
	require.Zero(t, b.view.Write(b.buf[:], b.seq+1), "not a byte")
}

// A record is repeated, and only the first is acknowledged. When that one leaves the
// client's past it has been followed and nothing of it remains: what is leaned on is
// the one that followed, while that is there, and then what remains of that.
func TestRule4SupersededVersionIsABaseline(t *testing.T) {
	keep := 2*newDuo(t).replica.Window() + replicaGrace
	for _, at := range []tick.Tick{20, keep + 1, keep + 2, keep + 3, keep + 4, 3 * keep} {
		d := newDuo(t)
		var id, other wire.NetworkID
		first := d.at(1, func() { id, other = d.spawn(3), d.spawn(5) })
		d.deliver(first)
		require.Nil(t, d.at(2, nil))
		d.view.Repeat(2)
		d.deliver(d.write())
		d.view.Acked(first.seq)
		for s := tick.Tick(3); s < at; s++ {
			d.ack(d.at(s, func() { d.move(other, uint32(s)%16) }))
		}
		_, _, spawned := d.replica.RecordAt(id.Index, 1)
		_, _, repeated := d.replica.RecordAt(id.Index, 2)
		require.Equal(t, at > keep+1, !spawned, "at %d the record of tick 1 has left", at)
		require.Equal(t, at > keep+2, !repeated)
		d.deliver(d.at(at, func() { d.store.Set(id, rowHealth, []uint32{50}) }))
		require.Equal(t, []uint32{50}, d.replica.Row(id.Index, rowHealth))
		require.Equal(t, 3, d.x(id), "as it was at tick 1, in one bit")
		require.EqualValues(t, 4, d.view.Stats().Spawns, "leaned on at %d, and nothing whole but what was repeated", at)
	}
}
