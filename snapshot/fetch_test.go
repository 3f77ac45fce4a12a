package snapshot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// requireStore holds every row of a replica against the store's. Where the rows
// lie in one piece, that must be the same. It returns how many do.
func requireStore(t *testing.T, d *duo, ids []wire.NetworkID) (whole int) {
	for _, id := range ids {
		mask := d.store.Mask(id)
		require.Equal(t, mask, d.replica.Entity(id.Index).Mask)
		at, first, ok := d.replica.Present(id.Index, id.Generation, mask)
		if ok {
			whole++
		}
		for row := range d.store.schema.Rows() {
			want := d.store.Row(id, row)
			got := d.replica.Row(id.Index, row)
			require.Equal(t, want == nil, got == nil, "row %d of %s", row, id)
			require.True(t, slices.Equal(want, got), "row %d of %s: %v, not %v", row, id, got, want)
			if ok && mask.Has(row) {
				from, to := d.replica.Place(mask, row)
				lanes := d.replica.Lanes(at)[first:]
				require.True(t, slices.Equal(want, lanes[from:to]), "row %d of %s in one piece", row, id)
			}
		}
		_, _, other := d.replica.Present(id.Index, id.Generation+1, mask)
		require.False(t, other, "another generation")
		_, _, other = d.replica.Present(id.Index, id.Generation, mask.Differ(format.FromWords(1)))
		require.False(t, other, "other rows")
	}
	return whole
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
		play(s, func() { d.move(ids[pageRows], uint32(s)%16) })
	}
	require.Equal(t, 1, requireStore(t, d, ids), "all others have left the window")
	require.NotNil(t, d.replica.Lanes(end-1))
	require.Nil(t, d.replica.Lanes(1), "the tick has left")
	d.replica.Lose()
	require.Zero(t, requireStore(t, d, ids))
	d.replica.Lose()
	require.Zero(t, requireStore(t, d, ids))
	_, _, ok := d.replica.Present(1<<20, 1, Mask{})
	require.False(t, ok)
}
