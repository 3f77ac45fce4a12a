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

// A record that leans on T brings every row to its own tick, also those whose
// change went out in a packet that was lost.
func TestRule1ADeltaBringsEveryRowToItsTick(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	d.at(2, func() { d.store.Set(id, rowHealth, []uint32{50}) }) // lost
	d.at(3, func() { d.store.Set(id, rowFrozen, nil) })          // lost
	before := d.view.Stats()
	d.ack(d.at(4, func() { d.move(id, 4) }))
	require.Equal(t, 4, d.x(id))
	require.Equal(t, []uint32{50}, d.replica.Row(id.Index, rowHealth))
	require.NotNil(t, d.replica.Row(id.Index, rowFrozen))
	require.Equal(t, before.Updates+1, d.view.Stats().Updates, "one record")
	require.Greater(t, d.view.Stats().Deltas, before.Deltas, "and it leans on tick 1")
	require.True(t, d.view.Synced())
}

// The client has decoded a newer record than the one that the next leans on,
// in which the row was another: what differs counts from the row at T.
func TestRule2ADeltaCountsFromTheRowAtT(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	d.deliver(d.at(2, func() { d.move(id, 9); d.store.Set(id, rowHealth, []uint32{1}) })) // its ack never arrives
	before := d.view.Stats()
	d.deliver(d.at(3, func() { d.move(id, 4); d.store.Set(id, rowHealth, []uint32{100}) }))
	require.Greater(t, d.view.Stats().Deltas, before.Deltas)
	require.Equal(t, 4, d.x(id))
	require.Equal(t, []uint32{100}, d.replica.Row(id.Index, rowHealth), "as it was at tick 1, whatever it was at 2")
}

// The record of T is against that of tick 1. A record against T is against both while S - 1 < W, and against T alone from
// then on: at each S both ends decide alike, for otherwise the row would come out another. With T = 9 a list names tick 1 as N.
// T = 20 is too far from it: the record is against what that of T was against.
func TestRule3BothEndsDecideAlikeAboutTheSecondVersion(t *testing.T) {
	for _, c := range []struct{ window, base tick.Tick }{{16, 9}, {32, 20}} {
		schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](t)})
		cfg := Config{Window: c.window, SentPackets: 64}
		var sizes [2]int // bytes with the second version, and without
		for s := c.base + 1; s < c.window+8; s++ {
			for miss := range uint32(15) {
				x := 3000 + 1000*uint32(s-c.base)/uint32(c.base-1) + miss // as it moved from tick 1 to T, and a little more
				d := &duo{t: t, store: NewStore(schema, cfg), replica: replica.New(schema, cfg, 1)}
				d.view = NewView(d.store, cfg)
				var id wire.NetworkID
				set := func(x uint32) { d.store.Set(id, 0, []uint32{x, 1000 + x, 7}) }
				d.ack(d.at(1, func() { id = d.store.Spawn(); set(2000) }))
				d.ack(d.at(c.base, func() { set(3000) }))
				require.Equal(t, uint16(c.base-1), d.view.ack(id.Index).span)
				require.Equal(t, c.base-1 <= format.MaxNear, d.view.pages[0].near != tick.None)
				for between := c.base + 1; between < s; between++ {
					d.at(between, nil)
				}
				p := d.at(s, func() { set(x) })
				d.ack(p)
				require.Equal(t, []uint32{x, 1000 + x, 7}, d.replica.Row(id.Index, 0), "at tick %d", s)
				require.True(t, d.view.Synced())
				if s <= c.window {
					sizes[0] += len(p.payload)
				} else {
					sizes[1] += len(p.payload)
				}
			}
		}
		ticks := int(c.window - c.base) // in the window; 7 lie behind it
		require.Less(t, 7*sizes[0], ticks*sizes[1], "what moves on as it did costs less while the movement is known")
	}
}
