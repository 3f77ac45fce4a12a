package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

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
	d.view.SetRows(ids[0], bit(rowHealth).Not())
	require.True(t, may(moved), "the component has not changed, so the packet does not have it")
	d.view.SetRows(ids[1], bit(rowHealth).Not())
	require.False(t, may(health))
	d.view.Hide(ids[0])
	require.False(t, may(moved))
	d.view.Show(ids[0])
	require.False(t, may(moved), "it is another life")
	require.True(t, may(d.at(4, func() { d.move(ids[0], 9) })))
	require.False(t, d.view.MayRepeat(1000))
}
