package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// The client holds the first entity, which dies. The next one at its index is
// shown, which drops the despawn owed for the first, and is kept before its
// record has arrived: now nothing tells the client that the first is gone.
func TestRule7KeepBeforeARecordArrivedOwesTheDespawn(t *testing.T) {
	d := newDuo(t)
	var first, second wire.NetworkID
	d.ack(d.at(1, func() { first = d.spawn(3) }))
	d.at(2, func() { d.store.Despawn(first) })      // lost
	lost := d.at(3, func() { second = d.spawn(4) }) // lost
	require.Equal(t, first.Index, second.Index, "the same index")
	d.view.Keep(second)
	d.view.Lost(lost.seq)
	for s := tick.Tick(4); s < 20; s++ {
		if p := d.at(s, nil); p != nil {
			d.ack(p)
		}
	}
	require.NotEqual(t, first, d.replica.Entity(first.Index).ID, "the first died at tick 2")
}

// A record names a target that comes into sight after it was written, or, as
// here, after the first packet of its tick: it names nobody at that tick, and
// the target at the next.
func TestRule1AChangeBetweenThePacketsOfATickFollows(t *testing.T) {
	d := newFollowers(t)
	var other, who, whom wire.NetworkID
	d.game(1, func() {
		other, whom, who = d.store.Spawn(), d.store.Spawn(), d.store.Spawn()
		d.follow(other, wire.NetworkID{}, 1)
		d.follow(who, whom, 3)
	})
	d.view.Hide(whom)
	d.view.Hide(who)
	d.ack(d.write())
	d.game(2, func() { d.follow(other, wire.NetworkID{}, 2) })
	d.view.Show(who)
	d.view.page(who.Index).unsent &^= bitOf(who.Index) // a small packet: who goes into the second
	first := d.write()
	d.view.wait(who.Index)
	d.view.Show(whom) // from tick 3 on
	d.ack(first)
	d.ack(d.write())
	for s := tick.Tick(3); s < 6; s++ {
		if p := d.at(s, nil); p != nil {
			d.ack(p)
		}
	}
	require.Equal(t, whom, d.follows(who))
	require.True(t, d.view.Synced())
}

// The first packet is of the very tick that the client was told at the start,
// and the next comes more than a window later: what the first brought must
// still be there for a record that leans on it.
func TestRule4TheFirstTickLeavesTheWindow(t *testing.T) {
	const start = 1 << 20
	d := newDuo(t)
	d.replica = replica.New(d.store.schema, d.store.cfg, start)
	var id, other wire.NetworkID
	d.ack(d.at(start, func() { id, other = d.spawn(3), d.spawn(5) }))
	for s := tick.Tick(start + 1); s < start+40; s++ {
		d.at(s, nil)
	}
	d.ack(d.at(start+40, func() { d.move(other, 6) }))
	d.ack(d.at(start+41, func() { d.store.Set(id, rowHealth, []uint32{7}) }))
	require.Equal(t, 3, d.x(id))
}
