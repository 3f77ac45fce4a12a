package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// duo is one server store, one view and one replica, with the test as network.
type duo struct {
	t       *testing.T
	store   *Store
	view    *View
	replica *replica.Replica
	seq     uint64
}

func newDuo(t *testing.T) *duo {
	return newDuoOf(t, simSchema(t), Config{Window: 16, SentPackets: 32})
}

// newDuoOf is a duo of some components.
func newDuoOf(t *testing.T, schema *Schema, cfg Config) *duo {
	store := NewStore(schema, cfg)
	return &duo{t: t, store: store, view: NewView(store, cfg), replica: replica.New(schema, cfg, 1)}
}

// at plays one tick and returns the packet that came of it, nil when none did.
func (d *duo) at(s tick.Tick, game func()) *simPacket {
	d.store.Begin(s)
	if game != nil {
		game()
	}
	d.store.Commit()
	d.view.Observe()
	return d.write()
}

func (d *duo) write() *simPacket {
	buf := make([]byte, 256)
	n := d.view.Write(buf, d.seq+1)
	if n == 0 {
		return nil
	}
	d.seq++
	return &simPacket{seq: d.seq, tick: d.store.Tick(), payload: buf[:n]}
}

func (d *duo) deliver(p *simPacket) {
	d.t.Helper()
	require.NotNil(d.t, p)
	require.NoError(d.t, d.replica.Read(p.payload))
}

func (d *duo) spawn(x uint32) (id wire.NetworkID) {
	id = d.store.Spawn()
	d.move(id, x)
	d.store.Set(id, rowHealth, []uint32{100})
	return id
}

func (d *duo) move(id wire.NetworkID, x uint32) { d.store.Set(id, rowPosition, []uint32{x, 1}) }

func (d *duo) x(id wire.NetworkID) int {
	if row := d.replica.Row(id.Index, rowPosition); row != nil {
		return int(row[0])
	}
	return -1
}

func TestRule1OneRecordHoldsAllRowsOfTheTick(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.deliver(d.at(1, func() { id = d.spawn(3) }))
	d.at(2, func() { d.store.Set(id, rowHealth, []uint32{50}) }) // lost
	d.deliver(d.at(3, func() { d.move(id, 4) }))
	require.Equal(t, []uint32{50}, d.replica.Row(id.Index, rowHealth), "the record of tick 3 brings every row to tick 3")
	require.Nil(t, d.at(4, nil), "what did not change is not sent again")
}

func TestRule2AbsenceIsAVersion(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	first := d.at(1, func() { id = d.spawn(3) })
	d.deliver(first)
	d.view.Acked(first.seq)
	second := d.at(2, func() { d.store.Remove(id, rowHealth) })
	d.deliver(second)
	d.view.Acked(second.seq)
	d.deliver(d.at(3, func() { d.store.Set(id, rowHealth, []uint32{100}) }))
	require.Equal(t, []uint32{100}, d.replica.Row(id.Index, rowHealth), "absent at the baseline, so it travels whole though its value is an earlier one")
}

func TestRule2BaselineIsTheRecordAtT(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	first := d.at(1, func() { id = d.spawn(3) })
	d.deliver(first)
	d.view.Acked(first.seq)
	d.deliver(d.at(2, func() { d.move(id, 9) }))                                          // decoded, its ack never arrives
	d.deliver(d.at(3, func() { d.store.Set(id, rowHealth, []uint32{7}); d.move(id, 3) })) // against tick 1
	require.Equal(t, 3, d.x(id))
	require.Equal(t, []uint32{7}, d.replica.Row(id.Index, rowHealth))
}

func TestRule4OldPacketsAreDroppedUnread(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	old := d.at(1, func() { id = d.spawn(3) })
	d.deliver(d.at(17, func() { d.move(id, 4) }))
	require.ErrorIs(t, d.replica.Read(old.payload), replica.ErrStale, "W ticks behind")
	require.Equal(t, 4, d.x(id))
	require.EqualValues(t, 1, d.replica.Stats().Stale)
}

func TestRule4AnEntityThatSleptStillHasItsBaseline(t *testing.T) {
	d := newDuo(t)
	var id, other wire.NetworkID
	first := d.at(1, func() { id, other = d.spawn(3), d.spawn(5) })
	d.deliver(first)
	d.view.Acked(first.seq)
	for s := tick.Tick(2); s < 200; s++ {
		p := d.at(s, func() { d.move(other, uint32(s)%16) })
		d.deliver(p)
		d.view.Acked(p.seq)
	}
	d.deliver(d.at(200, func() { d.move(id, 6) }))
	require.Equal(t, 6, d.x(id))
	require.Equal(t, []uint32{100}, d.replica.Row(id.Index, rowHealth), "as it was at tick 1, in one bit")
	require.EqualValues(t, 2, d.view.Stats().Spawns, "no second absolute record")
}

func TestRule5AfterAResyncEarlierAcksMakeNoBaseline(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	first := d.at(1, func() { id = d.spawn(3) })
	d.deliver(first)
	d.view.Acked(first.seq)
	second := d.at(2, func() { d.move(id, 4) })
	d.deliver(second)
	d.replica.Lose()
	third := d.at(3, func() { d.move(id, 5) })
	require.ErrorIs(t, d.replica.Read(third.payload), replica.ErrBaseline)
	epoch, want := d.replica.WantResync()
	require.True(t, want)
	d.view.Resync(epoch, d.seq+1)
	d.view.Acked(second.seq) // of before the resync
	fourth := d.at(4, nil)
	d.deliver(fourth)
	require.Equal(t, 5, d.x(id))
	_, want = d.replica.WantResync()
	require.False(t, want, "served")
	d.view.Acked(fourth.seq)
	d.view.Resync(epoch, d.seq+1)
	require.EqualValues(t, 1, d.view.Stats().Resyncs, "an epoch is served once")
}

func TestRule6LateIsNotUseless(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	first := d.at(1, func() { id = d.spawn(3) })
	second := d.at(2, func() { d.move(id, 4) })
	d.deliver(second)
	d.deliver(first)
	require.Equal(t, 4, d.x(id), "a late record changes nothing in the world")
	d.view.Acked(first.seq) // the only acknowledgement that arrives
	d.deliver(d.at(3, func() { d.store.Set(id, rowHealth, []uint32{7}) }))
	require.Equal(t, 4, d.x(id), "but it is in the history, and can be leant on")
}

func TestRule6AnOlderAckDoesNotReplaceANewerBaseline(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	first := d.at(1, func() { id = d.spawn(3) })
	second := d.at(2, func() { d.move(id, 4) })
	d.view.Acked(second.seq)
	d.view.Acked(first.seq)
	require.EqualValues(t, 2, d.view.ack(id.Index).base)
}

func TestRule7AcksOfAnEarlierLifeMakeNoBaseline(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	first := d.at(1, func() { id = d.spawn(3) })
	d.deliver(first)
	d.view.Hide(id)
	d.view.Show(id)
	d.view.Acked(first.seq)
	require.Zero(t, d.view.Known(), "the record is of the life before")
	d.deliver(d.at(2, nil))
	require.EqualValues(t, 2, d.view.Stats().Spawns, "a life begins whole")
	require.Equal(t, 3, d.x(id))
}

func TestRule7ADespawnIsOwedForAnyRecordSent(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	first := d.at(1, func() { id = d.spawn(3) }) // never acknowledged
	gone := d.at(2, func() { d.store.Despawn(id) })
	require.NotNil(t, gone)
	d.deliver(gone)
	d.deliver(first)
	require.False(t, d.replica.Entity(id.Index).Alive, "the tombstone holds against the late spawn")
	require.Empty(t, d.replica.Row(id.Index, rowPosition))
}

func TestRule7NothingIsOwedWhereNothingWasSent(t *testing.T) {
	d := newDuo(t)
	require.Nil(t, d.at(1, func() { d.store.Despawn(d.spawn(3)) }), "spawned and despawned within one tick")
	d.store.Begin(2)
	id := d.spawn(3)
	d.store.Commit()
	d.view.Observe()
	d.view.Hide(id)
	require.Nil(t, d.write(), "hidden before anything was sent")
	require.Nil(t, d.at(3, func() { d.move(id, 9) }), "hidden entities produce no byte")

	d.store.Begin(4)
	late := d.spawn(5)
	d.store.Commit()
	d.view.Observe()
	d.store.Begin(5)
	d.store.Commit()
	d.view.Observe()
	d.view.Hide(late)
	require.Nil(t, d.write(), "hidden a tick later, when no packet had gone")
}

func TestRule7OnlyADespawnOfTheLatestEndSettles(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	first := d.at(1, func() { id = d.spawn(3) })
	d.view.Hide(id)
	hidden := d.at(2, nil)
	d.view.Show(id)
	shown := d.at(3, nil)
	d.view.Hide(id)
	d.view.Acked(hidden.seq) // of the end before the last
	for _, p := range []*simPacket{first, hidden, shown} {
		d.deliver(p)
	}
	require.False(t, d.view.Synced())
	again := d.at(4, nil)
	d.deliver(again)
	require.False(t, d.replica.Entity(id.Index).Alive)
	d.view.Acked(again.seq)
	require.True(t, d.view.Synced())
}

func TestRule7TheHigherGenerationWins(t *testing.T) {
	d := newDuo(t)
	var old, id wire.NetworkID
	first := d.at(1, func() { old = d.spawn(3) })
	gone := d.at(2, func() { d.store.Despawn(old) })
	second := d.at(3, func() { id = d.spawn(8) })
	require.Equal(t, old.Index, id.Index)
	require.Equal(t, old.Generation+1, id.Generation)
	d.deliver(second)
	d.deliver(gone)
	d.deliver(first)
	require.Equal(t, id, d.replica.Entity(id.Index).ID)
	require.Equal(t, 8, d.x(id))
	require.Equal(t, 1, d.replica.Len())
}

func TestRule7TombstonesLeaveByTickOnly(t *testing.T) {
	d := newDuo(t)
	var id, other wire.NetworkID
	d.at(1, func() { id = d.spawn(3) })
	d.deliver(d.at(2, func() { d.store.Despawn(id) }))
	_, ended := d.replica.Latest(id)
	require.NotZero(t, ended)
	for s := tick.Tick(3); s < 40; s++ {
		d.deliver(d.at(s, func() {
			if other.IsZero() {
				other = d.spawn(1)
				other = d.spawn(1)
			}
			d.move(other, uint32(s)%16)
		}))
	}
	_, ended = d.replica.Latest(id)
	require.Zero(t, ended, "after the window nothing can speak of it any more")
}

func TestRule8LostEntityIsSentInItsNewestState(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	first := d.at(1, func() { id = d.spawn(3) })
	require.Nil(t, d.at(2, nil), "neither acknowledged nor lost is not sent again")
	d.view.Lost(first.seq)
	again := d.at(3, nil)
	d.deliver(again)
	require.Equal(t, 3, d.x(id))
	d.view.Lost(first.seq)
	require.Nil(t, d.at(4, nil), "lost once is lost once")
	newer := d.at(5, func() { d.move(id, 5) })
	d.view.Lost(again.seq)
	require.Nil(t, d.at(6, nil), "a newer record is on its way")
	d.view.Acked(again.seq) // late, after it was presumed lost
	require.EqualValues(t, 3, d.view.ack(id.Index).base)
	d.deliver(newer)
}

func TestRule8APacketOverwrittenWhilePendingIsLost(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.at(1, func() { id = d.spawn(3) })
	d.at(2, func() { d.spawn(4) })
	var last []*simPacket
	for s := tick.Tick(3); s < 60; s++ {
		last = append(last, d.at(s, func() { d.spawn(5) }))
	}
	require.NotZero(t, d.view.Stats().Overwritten)
	require.NotZero(t, d.view.Stats().Resent)
	for _, p := range last[20:] {
		d.deliver(p)
	}
	require.Equal(t, 3, d.x(id), "its packet of tick 1 fell out of the ring, so it went out again")
}

func TestHiddenFromBirthIsNeverShown(t *testing.T) {
	d := newDuo(t)
	d.at(1, func() { d.spawn(1) })
	d.store.Begin(2)
	id := d.spawn(3)
	d.store.Commit()
	d.view.Hide(id) // before the view has looked at the capture
	d.view.Observe()
	require.False(t, d.view.Visible(id))
	require.Nil(t, d.write())
	require.Nil(t, d.at(3, func() { d.move(id, 4) }))
	d.view.Show(id)
	d.deliver(d.write())
	require.Equal(t, 4, d.x(id))
}

func TestATagIsARow(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.deliver(d.at(1, func() { id = d.store.Spawn(); d.store.Set(id, rowFrozen, nil) }))
	require.NotNil(t, d.store.Row(id, rowFrozen))
	require.NotNil(t, d.replica.Row(id.Index, rowFrozen))
	d.deliver(d.at(2, func() { d.store.Remove(id, rowFrozen) }))
	require.Nil(t, d.store.Row(id, rowFrozen))
	require.Nil(t, d.replica.Row(id.Index, rowFrozen))
}

func TestRule8SpareBudgetMayRepeat(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	first := d.at(1, func() { id = d.spawn(3) })
	d.view.Repeat(1)
	require.False(t, d.view.Pending(), "not what was sent at that tick")
	require.Nil(t, d.at(2, nil))
	d.view.Repeat(2)
	again := d.write()
	d.deliver(again)
	require.Equal(t, 3, d.x(id))
	d.view.Acked(first.seq)
	require.True(t, d.view.Synced(), "nothing has changed since the first, so its acknowledgement is enough")
	d.view.Lost(again.seq)
	require.True(t, d.view.Synced(), "and the loss of the second is none")
}

func TestRule5AResyncIsAnsweredWhereNothingIsToBeSeen(t *testing.T) {
	d := newDuo(t)
	d.at(1, nil)
	d.replica.Lose()
	epoch, want := d.replica.WantResync()
	require.True(t, want)
	require.True(t, d.view.Resync(epoch, d.seq+1))
	require.False(t, d.view.Resync(epoch, d.seq+1), "once")
	lost := d.at(2, nil)
	require.NotNil(t, lost, "an empty snapshot that says so")
	require.Nil(t, d.at(3, nil), "it is on its way")
	d.view.Lost(lost.seq)
	again := d.at(4, nil)
	d.deliver(again)
	_, want = d.replica.WantResync()
	require.False(t, want)
	d.view.Acked(again.seq)
	d.view.Lost(again.seq)
	require.True(t, d.view.Synced())
	require.Nil(t, d.at(5, nil))
}

func TestRule4AWorldThatRestsForAnHourIsUnderstoodAfterwards(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	first := d.at(1, func() { id = d.spawn(3) })
	d.deliver(first)
	d.view.Acked(first.seq)
	beats := 0
	for s := tick.Tick(2); s < 150_000; s++ { // the low 16 bits go around twice
		p := d.at(s, nil)
		if p == nil {
			continue
		}
		beats++
		if beats%3 == 0 {
			d.view.Lost(p.seq) // and is repeated
			continue
		}
		d.deliver(p)
		d.view.Acked(p.seq)
	}
	require.Greater(t, beats, 30)
	require.Less(t, beats, 100)
	d.deliver(d.at(150_001, func() { d.move(id, 9) }))
	require.Equal(t, 9, d.x(id))
	require.EqualValues(t, 150_001, d.replica.Tick())
}

func TestShownAfterThePacketsOfATickTravelsWithTheNext(t *testing.T) {
	d := newDuo(t)
	var id, other wire.NetworkID
	d.deliver(d.at(1, func() { id, other = d.spawn(3), d.spawn(4) }))
	d.view.Hide(id)
	d.deliver(d.at(2, func() { d.move(other, 5) }))
	d.view.Show(id) // tick 2 is out
	require.Nil(t, d.write())
	p := d.at(3, nil)
	d.deliver(p)
	require.Equal(t, 3, d.x(id))
	d.view.Acked(p.seq)
	require.Equal(t, 1, d.view.Known())
	d.view.Hide(id)
	require.Nil(t, d.write())
	d.deliver(d.at(4, nil))
	require.False(t, d.replica.Entity(id.Index).Alive)
}

func TestARingThatIsFullWithinATickStopsSending(t *testing.T) {
	b := newBusy(t, 40_000)
	b.view = NewView(b.store, Config{Window: 64, SentPackets: 64})
	sent := 0
	for n := b.view.Write(b.buf[:], b.seq+1); n > 0; n = b.view.Write(b.buf[:], b.seq+1) {
		b.seq++
		sent++
		require.LessOrEqual(t, sent, 64, "never the same again in one tick")
	}
	st := b.view.Stats()
	require.Zero(t, st.Overwritten)
	require.Less(t, st.Spawns, uint64(40_000))
	require.True(t, b.view.Pending(), "the rest waits for acknowledgements")
}

func TestAHighIndexTakesLittleMemory(t *testing.T) {
	type wide struct{ Words [64]uint32 }
	schema := format.NewSchema([]*quantize.Plan{compile[wide](t)})
	r := replica.New(schema, Config{Window: 16}, 1)
	buf := make([]byte, 400)
	w := wire.NewBitWriter(buf)
	w.Write(2, 16)
	w.Bool(false)
	w.Bool(false)
	w.Bool(false)
	symbol, raw, n := format.GapSymbol(MaxEntities-1, true)
	schema.Codes.Gap.Write(&w, 0, symbol)
	w.Write(raw, n)
	w.Bool(false)
	w.Var(1)
	w.Write(1, 1)
	schema.Plan(0).WriteRow(&w, make([]uint32, 64))
	schema.Codes.Gap.Write(&w, 0, format.GapEnd)
	allocated := alloctest.Bytes(t, func() { require.NoError(t, r.Read(buf[:w.Finish()])) })
	require.True(t, r.Entity(MaxEntities-1).Alive)
	require.Less(t, allocated, uint64(64<<20), "the tables by index, and one page of the column")
}
