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

// A component that a client may not see changes, goes and comes: not a byte says so, then or later.
func TestHiddenRowsAreSilent(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.store.Begin(1)
	id = d.spawn(3)
	d.store.Commit()
	d.view.Observe()
	d.view.See(id, bit(rowHealth).Not())
	d.ack(d.write())
	for s := tick.Tick(2); s < 60; s++ {
		p := d.at(s, func() {
			switch s % 4 {
			case 0:
				d.store.Remove(id, rowHealth)
			case 1:
				d.store.Remove(id, rowHealth)
				d.store.Set(id, rowHealth, []uint32{uint32(s) + 100})
			default:
				d.store.Set(id, rowHealth, []uint32{uint32(s)})
			}
		})
		require.Nil(t, p, "tick %d", s)
		require.True(t, d.view.Synced(), "tick %d", s)
	}
	d.ack(d.at(60, func() { d.move(id, 4); d.store.Set(id, rowHealth, []uint32{7}) }))
	require.Equal(t, 4, d.x(id))
	require.Nil(t, d.at(61, func() { d.store.Set(id, rowHealth, []uint32{8}) }))
	d.view.See(id, AllRows())
	d.ack(d.at(62, nil))
	require.Equal(t, []uint32{8}, d.replica.Row(id.Index, rowHealth), "it is shown as it is by now")
	d.ack(d.at(63, func() { d.store.Set(id, rowHealth, []uint32{9}) }))
	require.Equal(t, []uint32{9}, d.replica.Row(id.Index, rowHealth))
	require.True(t, d.view.Synced())
}

// A hidden row changes while another row is in flight, is acknowledged late or is lost. Nothing is sent for the hidden
// row. The lost row is sent again, once.
func TestHiddenRowsAreSilentBesideALoss(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	d.view.See(id, bit(rowHealth).Not())
	d.ack(d.at(2, nil))
	hide := func() { d.store.Set(id, rowHealth, []uint32{uint32(d.store.tick)}) }
	late := d.at(3, func() { d.move(id, 4); hide() })
	require.Nil(t, d.at(4, hide))
	require.Nil(t, d.at(5, hide))
	d.ack(late)
	require.True(t, d.view.Synced(), "the client has all that it may see")
	d.view.Lost(late.seq)
	require.Nil(t, d.at(6, hide))

	lost := d.at(7, func() { d.move(id, 5) })
	require.Nil(t, d.at(8, hide))
	d.view.Lost(lost.seq)
	d.ack(d.at(9, hide))
	require.Equal(t, 5, d.x(id))
	require.Nil(t, d.at(10, hide))
	require.True(t, d.view.Synced())

	waits := d.at(11, func() { d.move(id, 6) })
	d.view.Repeat(12)
	require.True(t, d.view.Pending())
	d.ack(d.at(12, hide))
	d.view.Acked(waits.seq)
	require.Nil(t, d.at(13, hide))
	require.True(t, d.view.Synced())
}

// A component that names entities is hidden: neither that it does nor whom, nor what becomes of these.
func TestAHiddenReferenceIsSilent(t *testing.T) {
	schema := format.NewSchema([]*quantize.Plan{compile[authorRow](t), compile[follows](t)})
	number, names := 0, 1
	if schema.Refs.Has(0) {
		number, names = 1, 0
	}
	d := newDuo(t)
	d.store = NewStore(schema, d.store.cfg)
	d.view, d.replica = NewView(d.store, d.store.cfg), replica.New(schema, d.store.cfg, 1)
	var who, whom, other wire.NetworkID
	name := func(to wire.NetworkID) { d.store.Set(who, names, []uint32{to.Index, to.Generation, 1}) }
	d.store.Begin(1)
	who, whom, other = d.store.Spawn(), d.store.Spawn(), d.store.Spawn()
	d.store.Set(who, number, []uint32{1, 1})
	name(whom)
	d.store.Commit()
	d.view.Observe()
	d.view.See(who, bit(names).Not())
	d.ack(d.write())
	sent := func(index uint32) tick.Tick { return d.view.ack(index).went }
	for s := tick.Tick(2); s < 20; s++ {
		if p := d.at(s, func() {
			switch s {
			case 4:
				name(other)
			case 5:
				name(whom)
			case 12:
				d.store.Despawn(whom)
			case 14:
				whom = d.store.Spawn()
				name(whom)
			case 16:
				d.store.Remove(who, names)
			case 17:
				name(whom)
			}
		}); p != nil {
			d.ack(p)
		}
		switch s {
		case 7:
			d.view.Hide(whom)
		case 9:
			d.view.Show(whom)
		}
		require.EqualValues(t, 1, sent(who.Index), "tick %d", s)
	}
	d.view.See(who, AllRows())
	d.ack(d.at(20, nil))
	require.Equal(t, whom, refAt(d.replica.Row(who.Index, names), 0))
	d.view.Hide(whom)
	d.ack(d.at(21, nil))
	require.Zero(t, refAt(d.replica.Row(who.Index, names), 0))
	require.True(t, d.view.Synced())
}

// Of a group only what is to be seen goes out, and a member of which nothing is waits for nobody and is not written with
// the others.
func TestGroupDoesNotShowHiddenRows(t *testing.T) {
	d := newDuo(t)
	var a, b wire.NetworkID
	d.ack(d.at(1, func() {
		a, b = d.spawn(3), d.spawn(4)
		d.store.SetGroup(a, 1)
		d.store.SetGroup(b, 1)
	}))
	d.view.See(a, bit(rowHealth).Not())
	d.ack(d.at(2, nil))
	require.Nil(t, d.at(3, func() { d.store.Set(a, rowHealth, []uint32{1}) }))
	before := d.view.Stats()
	d.ack(d.at(4, func() { d.store.Set(a, rowHealth, []uint32{2}); d.move(b, 5) }))
	require.Equal(t, before.Updates+1, d.view.Stats().Updates, "of b alone")
	require.Nil(t, d.at(5, func() { d.store.Set(a, rowHealth, []uint32{3}); d.store.SetGroup(a, 0) }))
	require.Zero(t, d.view.links.n)
	require.True(t, d.view.Synced())
}

// A client writes one component, and another that it may not see is written beside it, comes or goes: it gets no echo of
// its own, which would tell.
func TestEchoDoesNotShowHiddenRows(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	d.view.See(id, bit(rowHealth).Not())
	d.ack(d.at(2, nil))
	for s := tick.Tick(3); s < 12; s++ {
		d.store.Begin(s)
		d.move(id, uint32(s)+1)
		switch s % 3 {
		case 0:
			d.store.Set(id, rowHealth, []uint32{uint32(s)})
		case 1:
			d.store.Remove(id, rowHealth)
		case 2:
			d.store.Set(id, rowHealth, []uint32{uint32(s)})
		}
		d.store.Commit()
		require.Equal(t, bit(rowPosition), d.view.ChangedRows(id), "tick %d", s)
		d.view.ObserveBut([]wire.NetworkID{id})
		require.False(t, d.view.Pending(), "tick %d", s)
		require.True(t, d.view.Synced(), "tick %d", s)
		require.LessOrEqual(t, d.view.changedAt(id.Index), d.view.ack(id.Index).base, "nor is there anything to be made again")
	}
	d.store.Begin(12)
	d.store.Set(id, rowHealth, []uint32{99})
	d.store.Commit()
	d.view.ObserveBut([]wire.NetworkID{id})
	require.LessOrEqual(t, d.view.changedAt(id.Index), d.view.ack(id.Index).base, "also where all that it wrote is hidden from it")
	d.ack(d.at(13, func() { d.store.Set(id, rowFrozen, nil) }))
	require.Equal(t, 12, d.x(id), "what others changed brings all of it")
	require.True(t, d.view.Synced())
}

// A rule about a component that the entity does not have changes nothing there, until it has it.
func TestHidingAMissingRowIsSilent(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	d.view.See(id, bit(rowFrozen).Not())
	require.Nil(t, d.at(2, nil))
	require.Nil(t, d.at(3, func() { d.store.Set(id, rowFrozen, nil) }))
	d.view.See(id, AllRows())
	d.ack(d.at(4, nil))
	require.True(t, d.replica.Entity(id.Index).Mask.Has(rowFrozen))
	d.ack(d.at(5, func() { d.store.Remove(id, rowFrozen) }))
	d.view.See(id, bit(rowFrozen).Not())
	require.Nil(t, d.at(6, nil))
	require.True(t, d.view.Synced())
}

// So much changes in one tick that the history does not hold even that: what is hidden is silent all the same.
func TestHiddenRowsAreSilentBeyondTheHistory(t *testing.T) {
	schema := format.NewSchema([]*quantize.Plan{compile[authorRow](t), compile[follows](t)})
	number, names := 0, 1
	if schema.Refs.Has(0) {
		number, names = 1, 0
	}
	cfg := Config{Window: 16, SentPackets: 32, HistoryBytes: 1}
	s := NewStore(schema, cfg)
	v := NewView(s, cfg)
	v.ShowNew(false)
	var masked, names1, gone wire.NetworkID
	var crowd []wire.NetworkID
	play := func(now tick.Tick, game func()) {
		s.Begin(now)
		game()
		for i := range 5000 {
			if now == 1 {
				crowd = append(crowd, s.Spawn())
			}
			s.Set(crowd[i], number, []uint32{uint32(now), uint32(i)})
		}
		s.Commit()
	}
	name := func(to wire.NetworkID) { s.Set(names1, names, []uint32{to.Index, to.Generation, 1}) }
	play(1, func() {
		masked, names1, gone = s.Spawn(), s.Spawn(), s.Spawn()
		s.Set(masked, number, []uint32{1, 1})
		name(gone)
	})
	v.Observe()
	v.Show(masked)
	v.Show(names1)
	v.See(masked, bit(names).Not())
	b := make([]byte, 600)
	require.Positive(t, v.Write(b, 1))
	v.Acked(1)
	require.True(t, v.Synced())
	for now := tick.Tick(2); now < 10; now++ {
		play(now, func() {
			if now%2 == 0 {
				s.Set(masked, names, []uint32{1, 1, 1})
				name(crowd[now])
			} else {
				s.Remove(masked, names)
				name(crowd[now+1])
			}
		})
		require.Nil(t, s.past.rowAt(names, names1.Index, now-1, nil), "it is not held")
		require.Zero(t, v.ChangedRows(names1), "tick %d", now)
		require.Zero(t, v.ChangedRows(masked), "tick %d", now)
		v.Observe()
		require.False(t, v.Pending(), "tick %d", now)
		require.True(t, v.Synced(), "tick %d", now)
	}
}

// A client that sees only some rows costs no memory from tick to tick, whichever rows move.
func TestHiddenRowsAllocateNothing(t *testing.T) {
	schema := format.NewSchema([]*quantize.Plan{compile[authorRow](t), compile[follows](t), compile[authorOther](t)})
	names := schema.Refs.Lowest()
	hidden, seen := (names+1)%3, (names+2)%3
	s := NewStore(schema, Config{})
	v := NewView(s, Config{})
	var ids []wire.NetworkID
	b, seq, now := make([]byte, 1200), uint64(0), tick.Tick(0)
	step := func() {
		now++
		s.Begin(now)
		for i := range 200 {
			if now == 1 {
				ids = append(ids, s.Spawn())
			}
			switch {
			case now == 1 || i%3 == 0:
				s.Set(ids[i], seen, []uint32{uint32(now % 100), 1})
				fallthrough
			case i%3 == 1:
				s.Set(ids[i], hidden, []uint32{uint32(now % 100), 2})
				s.Set(ids[i], names, []uint32{ids[0].Index, ids[0].Generation, uint32(now % 100)})
			default:
				s.Remove(ids[i], hidden)
				s.Set(ids[i], hidden, []uint32{uint32(now % 100), 2})
			}
		}
		s.Commit()
		v.Observe()
		for v.Pending() {
			seq++
			v.Write(b, seq)
			v.Acked(seq)
		}
	}
	step()
	for _, id := range ids {
		v.See(id, bit(seen))
	}
	for range 500 {
		step()
	}
	before := v.Stats().Updates
	alloctest.Zero(t, 100, step)
	require.EqualValues(t, 101*67, v.Stats().Updates-before, "of those of which it may see what moved")
	require.True(t, v.Synced())
}
