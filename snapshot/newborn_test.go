package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Somebody is born at the index of one whose despawn is on its way, and hidden before anything is sent: the despawn is not sent
// again for that, and what was sent of it counts. Lost it is sent again, and what waited goes on waiting.
func TestEntityHiddenAtItsSpawnNeedsNoDespawn(t *testing.T) {
	for _, lost := range []bool{false, true} {
		d := newDuo(t)
		var a, b wire.NetworkID
		d.ack(d.at(1, func() { a, b = d.spawn(3), d.spawn(4) }))
		gone := d.at(2, func() { d.store.Despawn(a) })
		d.store.Begin(3)
		heir := d.spawn(5)
		require.Equal(t, a.Index, heir.Index)
		d.store.Commit()
		d.view.Observe()
		require.True(t, d.view.Visible(heir))
		d.view.Hide(heir)
		require.False(t, d.view.Visible(heir))
		require.False(t, d.view.Pending())
		require.Equal(t, 1, d.view.Unacked())
		if lost {
			d.view.Lost(gone.seq)
			require.True(t, d.view.Pending())
			d.ack(d.at(4, nil))
		} else {
			d.ack(gone)
		}
		require.True(t, d.view.Synced())
		require.False(t, d.replica.Entity(a.Index).Alive)
		require.Equal(t, a, d.replica.Entity(a.Index).ID)
		d.view.Show(heir)
		d.ack(d.at(5, nil))
		require.Equal(t, 5, d.x(heir))
		require.Equal(t, 4, d.x(b))
	}
}

// A despawn that was never sent waits on when somebody is born there and hidden at once, also one that was due to come again.
func TestDespawnBeforeAHiddenSpawnStaysDue(t *testing.T) {
	d := newDuo(t)
	var a wire.NetworkID
	d.ack(d.at(1, func() { a = d.spawn(3) }))
	d.store.Begin(2)
	d.store.Despawn(a)
	d.store.Commit()
	d.view.Observe() // and there was no budget
	d.store.Begin(3)
	heir := d.spawn(5)
	d.store.Commit()
	d.view.Hide(heir)
	require.True(t, d.view.Pending())
	gone := d.write()
	d.store.Begin(4)
	d.store.Despawn(heir)
	d.store.Commit()
	d.store.Begin(5)
	heir = d.spawn(6)
	d.store.Commit()
	d.view.Observe()
	d.ack(gone) // while the heir is in sight: then nobody knows what was owed, and the end of its life is told
	d.view.Hide(heir)
	for s := tick.Tick(6); s < 9 && !d.view.Synced(); s++ {
		if p := d.at(s, nil); p != nil {
			d.ack(p)
		}
	}
	require.True(t, d.view.Synced())
	require.False(t, d.replica.Entity(a.Index).Alive)
}

// A row names whoever was hidden at birth: that is no change of it, and nothing is sent.
func TestEntityHiddenAtItsSpawnIsNotNamed(t *testing.T) {
	schema := format.NewSchema([]*quantize.Plan{compile[authorRow](t), compile[follows](t)})
	names := schema.Refs.Lowest()
	for _, hide := range []bool{true, false} {
		d := newDuo(t)
		d.store = NewStore(schema, d.store.cfg)
		d.view, d.replica = NewView(d.store, d.store.cfg), replica.New(schema, d.store.cfg, 1)
		var who, whom wire.NetworkID
		d.ack(d.at(1, func() {
			who = d.store.Spawn()
			d.store.Set(who, names, []uint32{0, 0, 1})
		}))
		d.store.Begin(2)
		whom = d.store.Spawn()
		d.store.Set(who, names, []uint32{whom.Index, whom.Generation, 1})
		d.store.Commit()
		d.view.Observe()
		if hide {
			d.view.Hide(whom)
			require.False(t, d.view.Pending())
			require.True(t, d.view.Synced())
			continue
		}
		d.ack(d.write())
		require.Equal(t, whom, refAt(d.replica.Row(who.Index, names), 0))
		require.True(t, d.view.Synced())
	}
}

// An entity is shown and hidden in one tick, of which nothing is sent: it matters nothing which group it was in meanwhile.
func TestEntityShownForNoPacketLinksNothing(t *testing.T) {
	d := newDuo(t)
	var a, b wire.NetworkID
	d.ack(d.at(1, func() { a, b = d.spawn(3), d.spawn(4) }))
	d.view.Hide(a)
	d.at(2, nil)
	d.at(3, func() {
		d.store.SetGroup(a, 1)
		d.store.SetGroup(b, 1)
	})
	d.store.Begin(4)
	d.move(b, 7)
	d.store.Commit()
	d.view.Show(a)
	d.view.Hide(a)
	require.Zero(t, d.view.links.n)
	d.ack(d.write())
	require.Equal(t, 7, d.x(b))
	require.True(t, d.view.Synced())
}

// An entity is shown for no packet, and then it is hidden for good. Its despawn goes together with the changes of the
// group until then. The client has seen the entity all the same, whether it was in sight until then or was kept.
func TestEntityLeftAndShownForNoPacketIsLinked(t *testing.T) {
	for _, before := range []tick.Tick{3, 2} {
		d := newDuo(t)
		var a, b wire.NetworkID
		d.ack(d.at(1, func() {
			a, b = d.spawn(3), d.spawn(4)
			d.store.SetGroup(a, 1)
			d.store.SetGroup(b, 1)
		}))
		if before == 2 {
			d.at(2, nil)
			d.view.Keep(a)
			require.Nil(t, d.write())
		}
		d.game(3, func() { d.move(b, 7) })
		if before == 3 {
			d.view.Keep(a)
		}
		d.view.Show(a)
		d.view.Hide(a)
		require.Equal(t, 1, d.view.links.n)
		d.ack(d.write())
		require.False(t, d.replica.Entity(a.Index).Alive)
		require.Equal(t, 7, d.x(b))
		require.True(t, d.view.Synced())
	}
}

// Many are born that the client does not see, and room is made for them: in which order it is told of what goes together
// does not depend on that.
func TestRoomForOthersChangesNoOrder(t *testing.T) {
	told := func(others int) []byte {
		d := newDuo(t)
		var ids []wire.NetworkID
		d.ack(d.at(1, func() {
			for i := range uint32(6) {
				ids = append(ids, d.spawn(i))
				d.store.SetGroup(ids[i], 1)
			}
		}))
		d.at(2, func() { // and it is lost
			for _, i := range []int{4, 1, 3} {
				d.move(ids[i], 9)
				d.store.SetGroup(ids[i], 0)
			}
		})
		d.view.ShowNew(false)
		d.store.Begin(3)
		for range others {
			d.spawn(1)
		}
		d.store.SetGroup(ids[0], 0)
		d.store.Commit()
		d.view.Hide(ids[0])
		d.view.Lost(2)
		return d.write().payload
	}
	require.Equal(t, told(0), told(1000))
}

// Which of two entities leaves their group first within a tick is a matter of what else the world has them do, hidden components
// included: in which order they are told of does not depend on it.
func TestLeavingAGroupFirstChangesNoOrder(t *testing.T) {
	told := func(order ...int) []byte {
		d := newDuo(t)
		var ids []wire.NetworkID
		d.ack(d.at(1, func() {
			for i := range uint32(5) {
				ids = append(ids, d.spawn(i))
				d.store.SetGroup(ids[i], 1)
			}
		}))
		return d.at(2, func() {
			for i := range ids {
				d.move(ids[i], 9)
			}
			for _, i := range order {
				d.store.SetGroup(ids[i], 0)
			}
		}).payload
	}
	require.Equal(t, told(1, 2, 3), told(3, 1, 2))
}
