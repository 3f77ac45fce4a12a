package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// ack lets a packet arrive and its acknowledgement come back.
func (d *duo) ack(p *simPacket) {
	d.t.Helper()
	d.deliver(p)
	d.view.Acked(p.seq)
}

func TestKeptEntitiesStayAsTheyWere(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	d.view.Keep(id)
	require.False(t, d.view.Visible(id))
	require.Nil(t, d.at(2, func() { d.move(id, 4) }), "not a byte")
	require.True(t, d.view.Synced())
	require.Equal(t, 3, d.x(id))

	d.view.Show(id)
	d.ack(d.at(3, func() { d.move(id, 5) }))
	require.Equal(t, 5, d.x(id))
	require.EqualValues(t, 2, d.view.Stats().Spawns, "a life that begins is sent whole")
}

// An entity that was never sent is not kept: the client has nothing that could despawn.
func TestKeepBeforeAnythingWasSent(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.store.Begin(1)
	id = d.spawn(3)
	d.store.Commit()
	d.view.Keep(id)
	require.Nil(t, d.write())
	require.Nil(t, d.at(2, func() { d.store.Despawn(id) }))
}

func TestNewEntitiesAreHiddenUntilShown(t *testing.T) {
	d := newDuo(t)
	d.view.ShowNew(false)
	var id wire.NetworkID
	require.Nil(t, d.at(1, func() { id = d.spawn(3) }))
	require.Nil(t, d.at(2, func() { d.move(id, 4) }))
	d.view.Show(id)
	d.ack(d.at(3, nil))
	require.Equal(t, 4, d.x(id))
	d.view.ShowNew(true)
	var other wire.NetworkID
	d.ack(d.at(4, func() { other = d.spawn(9) }))
	require.Equal(t, 9, d.x(other))
}

func TestVisibilityByComponent(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	require.NotNil(t, d.replica.Row(id.Index, rowHealth))

	d.view.See(id, bit(rowHealth).Not())
	d.ack(d.at(2, nil))
	require.Nil(t, d.replica.Row(id.Index, rowHealth), "removed there")
	require.Equal(t, 3, d.x(id))
	require.Nil(t, d.at(3, func() { d.store.Set(id, rowHealth, []uint32{41}) }), "what is hidden does not travel, nor that it changed")
	require.True(t, d.view.Synced())

	d.view.See(id, AllRows())
	d.ack(d.at(4, nil))
	require.Equal(t, []uint32{41}, d.replica.Row(id.Index, rowHealth))
	require.True(t, d.view.Synced())
}

// Rule 2: a row counts only if this client was shown it at T, though the store
// had it then.
func TestRule2RowHiddenAtTIsSentWhole(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.game(1, func() { id = d.spawn(3) })
	d.view.See(id, bit(rowHealth).Not())
	d.ack(d.write())
	require.Nil(t, d.replica.Row(id.Index, rowHealth))
	d.view.See(id, AllRows())
	d.ack(d.at(2, nil))
	require.Equal(t, []uint32{100}, d.replica.Row(id.Index, rowHealth))
}

// Rule 1: what changes for one client after its record went out waits for the
// next tick, since a second record of a tick would be taken for the first.
func TestRule1ASecondRecordOfATickIsNotSent(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	p := d.at(1, func() { id = d.spawn(3) })
	d.view.See(id, bit(rowHealth).Not())
	require.True(t, d.view.Pending())
	require.Nil(t, d.write())
	d.ack(p)
	require.NotNil(t, d.replica.Row(id.Index, rowHealth))
	d.ack(d.at(2, nil))
	require.Nil(t, d.replica.Row(id.Index, rowHealth))
	require.True(t, d.view.Synced())
}

func TestANewLifeSeesAllComponentsAgain(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	d.view.See(id, bit(rowPosition))
	require.Equal(t, bit(rowPosition), d.view.Rows(id))
	d.view.Hide(id)
	require.Zero(t, d.view.Rows(id))
	d.view.Show(id)
	require.Equal(t, AllRows(), d.view.Rows(id))
}

// SawAt knows at which ticks a client was shown an entity, for the lifetime that it sees and for
// the one before, also if the entity died. It knows nothing of entities that the client was never
// shown, nor of an earlier entity at an index that is used again.
func TestSawAt(t *testing.T) {
	d := newDuo(t)
	var id, other, busy wire.NetworkID
	saw := func(id wire.NetworkID, at tick.Tick) bool {
		t.Helper()
		saw, known := d.view.SawAt(id, at)
		require.True(t, known)
		return saw
	}
	d.ack(d.at(1, func() { other, busy = d.spawn(1), d.spawn(2) }))
	d.ack(d.at(3, func() { id = d.spawn(3) }))
	for s := tick.Tick(4); s < 20; s++ {
		switch s {
		case 6, 12:
			d.view.Hide(id)
		case 9:
			d.view.Show(id)
		}
		d.at(s, func() {
			d.move(busy, uint32(s)%16) // a tick of which nothing went out may still be changed
			if s == 15 {
				d.store.Despawn(other)
			}
		})
		for at := max(1, s-3); at <= s; at++ {
			require.Equal(t, at >= 3 && at < 6 || at >= 9 && at < 12, saw(id, at), "tick %d, as of %d", at, s)
		}
		require.Equal(t, s < 15, saw(other, s))
	}
	require.True(t, saw(other, 14))
	require.False(t, saw(id, 4), "two lives ago")
	_, known := d.view.SawAt(wire.NetworkID{Index: 99, Generation: 1}, 1)
	require.False(t, known)
	d.at(20, func() { require.Equal(t, other.Index, d.spawn(5).Index) })
	_, known = d.view.SawAt(other, 10)
	require.False(t, known, "its place is another's")
}

func TestShowAllIsAsAtFirst(t *testing.T) {
	d := newDuo(t)
	var hidden, kept, seen wire.NetworkID
	d.ack(d.at(1, func() { hidden, kept, seen = d.spawn(1), d.spawn(2), d.spawn(3) }))
	d.view.ShowNew(false)
	d.view.Hide(hidden)
	d.view.Keep(kept)
	d.view.See(seen, noComponent)
	d.view.SetWeight(seen, 7)
	var late wire.NetworkID
	d.ack(d.at(2, func() { late = d.spawn(4) }))
	d.view.ShowAll()
	var last wire.NetworkID
	d.ack(d.at(3, func() { last = d.spawn(5); d.move(kept, 6) }))
	for id, x := range map[wire.NetworkID]int{hidden: 1, kept: 6, seen: 3, late: 4, last: 5} {
		require.Equal(t, x, d.x(id))
		require.Equal(t, AllRows(), d.view.Rows(id))
		require.EqualValues(t, NormalWeight, d.view.weightOf(id.Index))
	}
	require.True(t, d.view.Synced())
}

// Interest makes a call about sight for each entity, in each tick.
func TestCallsAboutSightAllocateNothing(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	for name, call := range map[string]func(){
		"Show":      func() { d.view.Show(id) },
		"See":       func() { d.view.See(id, noComponent); d.view.See(id, AllRows()) },
		"SetSight":  func() { d.view.SetSight(id, AllRows()) },
		"SetWeight": func() { d.view.SetWeight(id, 2*NormalWeight) },
		"Again":     func() { d.view.Again(id) },
		"Keep":      func() { d.view.Keep(id); d.view.Show(id) },
		"Hide":      func() { d.view.Hide(id); d.view.Show(id) },
	} {
		alloctest.Zero(t, 100, call, name)
	}
}

// An entity that is shown again, or whose index has a new life, is no longer kept.
func TestAShownEntityIsNotKept(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	d.view.Keep(id)
	require.True(t, d.view.Keeps(id))
	d.view.Show(id)
	require.False(t, d.view.Keeps(id))
	d.ack(d.at(2, func() { d.move(id, 4) }))
	require.Equal(t, 4, d.x(id))
	require.True(t, d.view.Synced())
}
