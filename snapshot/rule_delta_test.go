package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
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

// Rules 3 and 4: a row is coded against T while the first change after T is less than W ticks old. The rest before that change may be
// of any length. Later the row is sent whole.
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

// forge writes a payload of tick s with one record against tick 1, whose body
// is written by body, and the despawns of some.
func (d *duo) forge(buf []byte, s tick.Tick, id wire.NetworkID, body func(w *wire.BitWriter), dead ...wire.NetworkID) []byte {
	w := wire.NewBitWriter(buf)
	w.Write(uint64(s.Low()), 16)
	w.Bool(false) // no resync
	next := uint32(0)
	for _, id := range dead {
		w.Bool(true)
		w.Var(uint64(id.Index - next))
		w.Var(uint64(id.Generation))
		next = id.Index + 1
	}
	w.Bool(false) // no more despawns
	w.Bool(false) // no lists
	symbol, raw, n := format.GapSymbol(id.Index, true)
	d.store.schema.Codes.Gap.Write(&w, 0, symbol)
	w.Write(raw, n)
	w.Bool(true)  // against a baseline
	w.Bool(false) // of another age than the record before
	w.Var(uint64(s-1) - 1)
	w.Bool(true) // rows as at T
	body(&w)
	d.store.schema.Codes.Gap.Write(&w, 0, format.GapEnd)
	return buf[:w.Finish()]
}

// which says which of n rows changed.
func (d *duo) which(w *wire.BitWriter, n int, s tick.Tick, changed int) {
	d.store.schema.Codes.Which[n-1].Write(w, delta.WhichContext(n, 0, false, int64(s-1), 0), changed)
}

// Despawns of a payload take effect before its records. If it has both of one entity, the entity is gone, and the record is only a
// baseline for later ones.
func TestADespawnHoldsAgainstARecordBesideIt(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	buf := make([]byte, 64)
	rows := d.store.Mask(id).Minus(d.store.schema.Tags).Count()
	still := func(s tick.Tick) func(w *wire.BitWriter) {
		return func(w *wire.BitWriter) { d.which(w, rows, s, 0) }
	}
	require.NoError(t, d.replica.Read(d.forge(buf, 2, id, still(2), id)))
	require.False(t, d.replica.Entity(id.Index).Alive)
	_, base, held := d.replica.RecordAt(id.Index, 2)
	require.True(t, held, "it entered the history")
	require.EqualValues(t, 1, base)
	require.NoError(t, d.replica.Read(d.forge(buf, 3, id, still(3))))
	require.True(t, d.replica.Entity(id.Index).Alive, "a later record shows it again")
}

// A row that changed and has no lane that did is what no server writes.
func TestADeltaWithoutADifferenceIsRefused(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	buf := make([]byte, 64)
	rows := d.store.Mask(id).Minus(d.store.schema.Tags).Count()
	position := d.store.Mask(id).Minus(d.store.schema.Tags).Below(rowPosition).Count()
	require.NoError(t, d.replica.Read(d.forge(buf, 2, id, func(w *wire.BitWriter) { d.which(w, rows, 2, 0) })))
	changed := func(lanes int) func(w *wire.BitWriter) {
		return func(w *wire.BitWriter) {
			d.which(w, rows, 3, 1<<position)
			v := quantize.Baselines{Base: []uint32{3, 1}, Age: 2}
			list := d.store.schema.Codes.Deltas[rowPosition].Append(nil, []uint32{4, 1}, &v)
			if lanes == 0 {
				list = list[:1]
				list[0].Symbol = 0
			}
			delta.WriteSymbols(w, list)
		}
	}
	require.ErrorIs(t, d.replica.Read(d.forge(buf, 3, id, changed(0))), replica.ErrMalformed)
	require.NoError(t, d.replica.Read(d.forge(buf, 3, id, changed(1))))
	require.Equal(t, 4, d.x(id))
}
