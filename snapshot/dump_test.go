package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// LanesAt is false without a record of the tick; a row that the entity lacked is nil.
func TestLanesAtIsOfTheRecordOfATick(t *testing.T) {
	d := newDuo(t) // W is 16 ticks
	var id, other wire.NetworkID
	d.deliver(d.at(1, func() { id, other = d.spawn(3), d.spawn(5) }))
	d.at(2, func() { d.move(id, 4) }) // lost
	d.deliver(d.at(3, func() { d.move(id, 5); d.store.Remove(id, rowHealth) }))
	has := func(want []uint32, row int, s tick.Tick) {
		lanes, ok := d.replica.LanesAt(id.Index, row, s)
		require.True(t, ok)
		require.Equal(t, want, lanes)
	}
	lacks := func(index uint32, s tick.Tick, why string) {
		lanes, ok := d.replica.LanesAt(index, rowPosition, s)
		require.False(t, ok, why)
		require.Nil(t, lanes, why)
	}
	has([]uint32{3, 1}, rowPosition, 1)
	has([]uint32{5, 1}, rowPosition, 3)
	has([]uint32{100}, rowHealth, 1)
	has(nil, rowHealth, 3)
	has(nil, -1, 3)
	has(nil, d.store.Schema().Rows(), 3)
	lacks(id.Index, 2, "the packet was lost")
	lacks(other.Index, 3, "it did not change")
	lacks(99, 1, "there is no such entity")
	lacks(id.Index, 4, "the tick is still to come")
	for s := tick.Tick(4); s <= 60; s++ {
		p := d.at(s, func() { d.move(id, uint32(s)%16) })
		d.deliver(p)
		d.view.Acked(p.seq)
	}
	lacks(id.Index, 3, "the tick has left")
	lacks(id.Index, 1, "the tick has left")
	has([]uint32{60 % 16, 1}, rowPosition, 60)
}
