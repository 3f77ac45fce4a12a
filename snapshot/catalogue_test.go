package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Catalogue case 17. An entity that nothing is sent about for 40 000 packets, and for more than all the numbers that a tick has
// on the wire, is updated as one that moved a moment ago: against what the client has held all the while.
func TestCase17UntouchedEntity(t *testing.T) {
	for _, silence := range []tick.Tick{40_000, 70_000} {
		d := newDuo(t)
		var id, other wire.NetworkID
		d.ack(d.at(1, func() { id, other = d.spawn(3), d.spawn(5) }))
		for s := tick.Tick(2); s < silence; s++ {
			d.ack(d.at(s, func() { d.move(other, uint32(s)%16) }))
		}
		before := d.view.Stats()
		d.ack(d.at(silence, func() { d.move(id, 9) }))
		require.Equal(t, 9, d.x(id))
		require.Equal(t, []uint32{100}, d.replica.Row(id.Index, rowHealth))
		require.Equal(t, before.Spawns, d.view.Stats().Spawns, "no second absolute record")
		require.Equal(t, before.Updates+1, d.view.Stats().Updates)
		require.True(t, d.view.Synced())
		require.EqualValues(t, silence, d.view.Stats().Snapshots)
	}
}

// Catalogue case 22. A packet that was presumed lost arrives after its records were sent again and have become baselines: the
// world does not go back, its acknowledgement takes no newer baseline away, and what follows is understood.
func TestCase22LateAfterNack(t *testing.T) {
	for _, acked := range []bool{false, true} { // whether the repeated one was acknowledged when the late one comes
		d := newDuo(t)
		var id wire.NetworkID
		d.ack(d.at(1, func() { id = d.spawn(3) }))
		late := d.at(2, func() { d.move(id, 4) })
		d.view.Lost(late.seq)
		require.True(t, d.view.Pending(), "it is sent again")
		again := d.at(3, func() { d.move(id, 5) })
		d.deliver(again)
		if acked {
			d.view.Acked(again.seq)
		}
		d.deliver(late)
		require.Equal(t, 5, d.x(id), "it does not go back")
		d.view.Acked(late.seq)
		d.view.Acked(again.seq)
		d.view.Lost(late.seq)
		require.EqualValues(t, 3, d.view.ack(id.Index).base)
		require.False(t, d.view.Pending(), "nothing is to be sent for it")
		before := d.view.Stats().Deltas
		d.ack(d.at(4, func() { d.move(id, 6); d.store.Set(id, rowHealth, []uint32{99}) }))
		require.Equal(t, 6, d.x(id))
		require.Equal(t, []uint32{99}, d.replica.Row(id.Index, rowHealth))
		require.Greater(t, d.view.Stats().Deltas, before)
		require.True(t, d.view.Synced())
	}
}
