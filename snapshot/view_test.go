package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A call to a view while a tick is open takes effect with the commit. The client gets all of the tick, and it does not
// get entities that were hidden meanwhile.
func TestAnOpenTickIsNotObserved(t *testing.T) {
	d := newDuo(t)
	var moved, shown, hidden, secret, late wire.NetworkID
	d.deliver(d.at(1, func() { moved, shown, hidden = d.spawn(1), d.spawn(1), d.spawn(1) }))
	d.view.Lost(d.seq) // so that something waits
	d.deliver(d.at(2, func() {
		require.True(t, d.view.Pending())
		d.view.Observe()
		d.move(moved, 7) // after the view was asked
		secret = d.spawn(1)
		d.view.Hide(secret)
		d.view.Hide(hidden)
		late = d.spawn(9)
		require.Zero(t, d.view.Write(make([]byte, 300), 1000), "what is said as of a tick has to be all of it")
	}))
	require.Equal(t, 7, d.x(moved))
	require.Equal(t, 9, d.x(late))
	require.Equal(t, -1, d.x(hidden))
	require.Equal(t, -1, d.x(secret))
	require.Zero(t, d.replica.Entity(secret.Index).ID, "not even that it is there")
	require.Equal(t, 1, d.x(shown))
}

// Each call takes effect after the commit, in the order of the calls.
func TestOrdersOfAnOpenTickAreObeyed(t *testing.T) {
	d := newDuo(t)
	var a, b, c, e wire.NetworkID
	d.deliver(d.at(1, func() {
		a, b, c = d.spawn(1), d.spawn(2), d.spawn(3)
		for _, id := range []wire.NetworkID{a, b, c} {
			d.setHealth(id, 5)
		}
	}))
	d.view.Acked(d.seq)
	d.deliver(d.at(2, func() {
		d.view.Hide(a)
		d.view.Show(a)
		d.view.See(a, Mask{}.With(rowPosition))
		d.view.SetWeight(b, 3*NormalWeight)
		d.view.Keep(c)
		d.setHealth(b, 6)
		d.move(c, 8)
		d.view.ShowNew(false)
		e = d.spawn(4)
	}))
	require.Equal(t, 1, d.x(a))
	require.True(t, d.view.Visible(a))
	require.Equal(t, Mask{}.With(rowPosition), d.view.Rows(a))
	require.EqualValues(t, 6, d.health(b))
	require.EqualValues(t, 3*NormalWeight, d.view.weightOf(b.Index))
	require.True(t, d.view.Keeps(c))
	require.Equal(t, 3, d.x(c), "it stays as it was")
	require.Equal(t, -1, d.x(e))
	d.deliver(d.at(3, func() {
		d.view.ShowAll()
		d.move(c, 9)
		b = d.spawn(5)
	}))
	for id, want := range map[wire.NetworkID]int{a: 1, b: 5, c: 9, e: 4} {
		require.Equal(t, want, d.x(id))
	}
	require.Equal(t, AllRows(), d.view.Rows(a))
}

// Of what is said of all that comes, the last holds: what waits for the commit does not take back what was said after it.
func TestLastCallForANewEntityCounts(t *testing.T) {
	for name, c := range map[string]struct {
		say      func(v *View)
		now, new bool // who is born in the open tick is seen, and who is born in the next one
	}{
		"nothing":         {func(*View) {}, true, true},
		"no":              {func(v *View) { v.ShowNew(false) }, false, false},
		"yes, no":         {func(v *View) { v.ShowNew(true); v.ShowNew(false) }, false, false},
		"no, yes":         {func(v *View) { v.ShowNew(false); v.ShowNew(true) }, false, true},
		"all, no":         {func(v *View) { v.ShowAll(); v.ShowNew(false) }, true, false},
		"no, all":         {func(v *View) { v.ShowNew(false); v.ShowAll() }, true, true},
		"no, all, no, no": {func(v *View) { v.ShowNew(false); v.ShowAll(); v.ShowNew(false); v.ShowNew(false) }, true, false},
	} {
		d := newDuo(t)
		var first, now, next wire.NetworkID
		d.deliver(d.at(1, func() { first = d.spawn(1) }))
		d.deliver(d.at(2, func() {
			d.move(first, 2)
			c.say(d.view)
			now = d.spawn(1)
		}))
		require.Equal(t, c.now, d.view.Visible(now), name)
		require.Equal(t, c.now, d.x(now) == 1, name)
		d.deliver(d.at(3, func() {
			d.move(first, 3)
			next = d.spawn(1)
		}))
		require.Equal(t, c.new, d.view.Visible(next), name)
		require.Equal(t, c.new, d.x(next) == 1, name)
	}
}

// A view that is made while a tick is open sees all of it.
func TestAViewOfAnOpenTick(t *testing.T) {
	d := newDuo(t)
	var first, moved, late wire.NetworkID
	d.at(1, func() { moved = d.spawn(1) })
	d.deliver(d.at(2, func() {
		first = d.spawn(1)
		d.view = NewView(d.store, Config{Window: 16, SentPackets: 32})
		late = d.spawn(2)
		d.move(moved, 3)
	}))
	for id, want := range map[wire.NetworkID]int{first: 1, late: 2, moved: 3} {
		require.Equal(t, want, d.x(id))
	}
}

// A payload may be sent again until something that it has is hidden.
func TestMayRepeat(t *testing.T) {
	d := newDuo(t)
	var ids [3]wire.NetworkID
	born := d.at(1, func() {
		for i := range ids {
			ids[i] = d.spawn(uint32(i))
			d.setHealth(ids[i], 1)
		}
	})
	d.ack(born)
	moved := d.at(2, func() { d.move(ids[0], 7) })
	health := d.at(3, func() { d.setHealth(ids[1], 2); d.move(ids[2], 8) })
	may := func(p *simPacket) bool { return d.view.MayRepeat(p.seq) }
	require.True(t, may(moved) && may(health))
	d.view.See(ids[0], bit(rowHealth).Not())
	require.True(t, may(moved), "the component has not changed, so the packet does not have it")
	d.view.See(ids[1], bit(rowHealth).Not())
	require.False(t, may(health))
	d.view.Hide(ids[0])
	require.False(t, may(moved))
	d.view.Show(ids[0])
	require.False(t, may(moved), "it is another life")
	require.True(t, may(d.at(4, func() { d.move(ids[0], 9) })))
	require.False(t, d.view.MayRepeat(1000))
}

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
	d.game(5, func() { heir = d.spawn(6) })
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
		d.game(2, func() {
			whom = d.store.Spawn()
			d.store.Set(who, names, []uint32{whom.Index, whom.Generation, 1})
		})
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
