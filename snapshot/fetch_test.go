package snapshot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// requireStore compares every row of a replica, and those of its ranges, with the store's. It returns the number of
// entities in ranges.
func requireStore(t *testing.T, d *duo, ids []wire.NetworkID) (ranged int) {
	end := uint32(0)
	for _, id := range ids {
		mask := d.store.Mask(id)
		require.Equal(t, mask, d.replica.Entity(id.Index).Mask)
		end = max(end, id.Index+1)
		for row := range d.store.schema.Rows() {
			want := d.store.Row(id, row)
			got := d.replica.Row(id.Index, row)
			require.Equal(t, want == nil, got == nil, "row %d of %s", row, id)
			require.True(t, slices.Equal(want, got), "row %d of %s: %v, not %v", row, id, got, want)
		}
	}
	for index := uint32(0); index < end; {
		e, ok := d.replica.RangeAt(index, end-index)
		index += e.Count
		if !ok {
			continue
		}
		ranged += int(e.Count)
		for k := range e.Count {
			id := wire.NetworkID{Index: e.Index + k, Generation: e.Generation}
			require.Equal(t, d.store.Mask(id), e.Mask)
			for m := e.Mask; !m.IsZero(); m = m.Rest() {
				lanes, n := d.replica.Lanes(&e, m.Lowest())
				require.Equal(t, d.store.Row(id, m.Lowest()), lanes[int(k)*e.Width:][:n], "row %d of %s in a range", m.Lowest(), id)
			}
		}
	}
	return ranged
}

// TestNewestRows holds the newest rows against the store's while their versions
// are in the window, when they have left it, and when the past was lost.
func TestNewestRows(t *testing.T) {
	d := newDuo(t)
	var ids []wire.NetworkID
	play := func(at tick.Tick, f func()) {
		for p := d.at(at, f); p != nil; p = d.write() {
			d.deliver(p)
			d.view.Acked(p.seq)
		}
	}
	play(1, func() {
		for x := range uint32(2*pageRows + 3) {
			ids = append(ids, d.spawn(x%16))
		}
	})
	require.Equal(t, len(ids), requireStore(t, d, ids))
	end := 1 + 2*d.replica.Window() + replicaGrace + 1
	for s := tick.Tick(2); s <= end; s++ {
		play(s, func() {
			for _, id := range ids[pageRows : pageRows+4] {
				d.move(id, uint32(s)%16)
			}
		})
	}
	require.Equal(t, 4, requireStore(t, d, ids), "all others have left the window")
	e, ok := d.replica.RangeAt(ids[pageRows].Index, 4)
	require.True(t, ok)
	e.Tick = end - 1
	lanes, _ := d.replica.Lanes(&e, rowPosition)
	require.NotNil(t, lanes)
	e.Tick = 1
	lanes, _ = d.replica.Lanes(&e, rowPosition)
	require.Nil(t, lanes, "the tick has left")
	d.replica.Lose()
	require.Zero(t, requireStore(t, d, ids))
	d.replica.Lose()
	require.Zero(t, requireStore(t, d, ids))
	_, ok = d.replica.RangeAt(1<<20, 1)
	require.False(t, ok)
}
