package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func TestAChangedRowTravelsAsWhatDiffers(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	before := d.view.Stats()
	d.ack(d.at(2, func() { d.move(id, 4) }))
	after := d.view.Stats()
	require.Equal(t, before.Deltas+1, after.Deltas)
	require.Equal(t, before.Unchanged+1, after.Unchanged)
	require.Equal(t, before.Rows, after.Rows, "nothing whole")
	require.Equal(t, 4, d.x(id))
}

func TestWhatWentAndCameBackIsOneBit(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	d.at(2, func() { d.move(id, 4) }) // lost
	before := d.view.Stats()
	d.ack(d.at(3, func() { d.move(id, 3) }))
	require.Equal(t, before.Deltas, d.view.Stats().Deltas)
	require.Equal(t, before.Unchanged+2, d.view.Stats().Unchanged)
	require.Equal(t, 3, d.x(id))
	require.True(t, d.view.Synced())
}

// Rules 3 and 4: a row leans on T while the first change after T is less than
// W ticks old, however long it slept before; then it travels whole.
func TestRule3LeansOnTWhileBothEndsHoldIt(t *testing.T) {
	for _, test := range []struct {
		first, sent tick.Tick // of the change after the sleep, of the record
		delta       bool
	}{{500, 500, true}, {500, 515, true}, {500, 516, false}, {500, 600, false}} {
		d := newDuo(t)
		var id, other wire.NetworkID
		d.ack(d.at(1, func() { id, other = d.spawn(3), d.spawn(5) }))
		for s := tick.Tick(2); s < test.first; s++ { // the client's past moves on
			d.ack(d.at(s, func() { d.move(other, uint32(s)%16) }))
		}
		for s := test.first; s < test.sent; s++ { // changed, and every packet about it lost
			d.at(s, func() { d.move(id, uint32(4+s%5)) })
		}
		before := d.view.Stats()
		d.ack(d.at(test.sent, func() { d.move(id, 15) }))
		require.Equal(t, 15, d.x(id))
		require.Equal(t, test.delta, d.view.Stats().Rows == before.Rows, "first change at %d, record at %d", test.first, test.sent)
		require.Zero(t, d.replica.Stats().NoBaseline)
	}
}

// forge writes a payload of tick s with one record against tick 1, whose rows
// are written by row.
func forge(buf []byte, s tick.Tick, id wire.NetworkID, rows int, row func(w *wire.BitWriter)) []byte {
	w := wire.NewBitWriter(buf)
	w.Write(uint64(s.Low()), 16)
	w.Bool(false) // no resync
	w.Bool(false) // no despawn
	w.Bool(true)  // a record
	w.Var(uint64(id.Index))
	w.Bool(true)  // against a baseline
	w.Bool(false) // of another age than the record before
	w.Var(uint64(s-1) - 1)
	w.Bool(true) // rows as at T
	for range rows {
		row(&w)
	}
	w.Bool(false)
	return buf[:w.Finish()]
}

// A delta without a difference, and a delta of a row that names entities, are
// what no server writes.
func TestIllegalDeltasAreRefused(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	rows := d.store.Mask(id).Count()
	same := func(w *wire.BitWriter) { w.Bool(false) }
	nothing := func(w *wire.BitWriter) { w.Write(0b011, 3) }
	buf := make([]byte, 64)
	require.NoError(t, d.replica.Read(forge(buf, 2, id, rows, same)))
	require.ErrorIs(t, d.replica.Read(forge(buf, 3, id, rows, nothing)), ErrMalformed)

	f := newFollowers(t)
	f.ack(f.at(1, func() { id = f.store.Spawn(); f.follow(id, wire.NetworkID{}, 1) }))
	require.NoError(t, f.replica.Read(forge(buf, 2, id, 1, same)))
	faster := func(w *wire.BitWriter) {
		w.Write(0b11, 2)
		f.store.schema.plans[rowFollows].WriteNext(w, []uint32{0, 0, 1}, []uint32{0, 0, 2})
	}
	require.ErrorIs(t, f.replica.Read(forge(buf, 3, id, 1, faster)), ErrMalformed)
}
