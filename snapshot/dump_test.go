package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A replica's past tells what it does not know from what was not there, as the store's does.
func TestLanesAtSaysWhyThereAreNone(t *testing.T) {
	d := newDuo(t) // W is 16 ticks
	var id, other wire.NetworkID
	d.deliver(d.at(1, func() { id, other = d.spawn(3), d.spawn(5) }))
	d.at(2, func() { d.move(id, 4) }) // lost
	d.deliver(d.at(3, func() { d.move(id, 5); d.store.Remove(id, rowHealth) }))
	at := func(id wire.NetworkID, row int, s tick.Tick) any {
		lanes, err := d.replica.LanesAt(id.Index, row, s)
		if err != nil {
			require.Nil(t, lanes)
			return err
		}
		return lanes
	}
	require.Equal(t, []uint32{3, 1}, at(id, rowPosition, 1))
	require.Equal(t, []uint32{5, 1}, at(id, rowPosition, 3))
	require.Equal(t, []uint32{100}, at(id, rowHealth, 1))
	require.Equal(t, []uint32(nil), at(id, rowHealth, 3), "the record of that tick says that it was gone")
	require.Equal(t, ErrNoRecord, at(id, rowPosition, 2), "it was lost")
	require.Equal(t, ErrNoRecord, at(other, rowPosition, 3), "it had nothing to say")
	require.Equal(t, ErrNoRecord, at(wire.NetworkID{Index: 99, Generation: 1}, rowPosition, 1), "it was never heard of")
	require.Equal(t, ErrNotYet, at(id, rowPosition, 4))
	for _, row := range []int{-1, d.store.Schema().Rows()} {
		require.Equal(t, ErrNoRow, at(id, row, 3))
	}
	for s := tick.Tick(4); s <= 60; s++ {
		p := d.at(s, func() { d.move(id, uint32(s)%16) })
		d.deliver(p)
		d.view.Acked(p.seq)
	}
	require.Equal(t, ErrEvicted, at(id, rowPosition, 3))
	require.Equal(t, ErrEvicted, at(id, rowHealth, 1))
	require.Equal(t, []uint32{60 % 16, 1}, at(id, rowPosition, 60))
}
