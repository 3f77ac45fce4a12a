package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type (
	authorRow   struct{ X, Y uint16 }
	authorOther struct{ X, Y uint16 }
)

func authorSchema(t testing.TB) *Schema {
	return format.NewSchema([]*quantize.Plan{compile[authorRow](t), compile[authorOther](t)})
}

// A change that a client made itself is not sent to it, over a link that loses packets. All the same the client is proved
// to have everything once nothing else is left to send. Again sends it the newest state.
func TestOwnChangesAreNotSentBack(t *testing.T) {
	schema := authorSchema(t)
	s := NewStore(schema, Config{})
	v := NewView(s, Config{})
	r := replica.New(schema, Config{}, 1)
	random := rand.New(rand.NewPCG(1, 2))
	var id wire.NetworkID
	seq, sent := uint64(0), 0
	frame := func(now tick.Tick, change func(), own bool) {
		s.Begin(now)
		change()
		s.Commit()
		if own {
			v.ObserveBut([]wire.NetworkID{id})
		}
		v.Observe()
		v.Repeat(now - 3)
		if !v.Pending() {
			return
		}
		b := make([]byte, 600)
		seq++
		n := v.Write(b, seq)
		require.Positive(t, n)
		sent++
		if random.IntN(3) == 0 {
			v.Lost(seq)
			return
		}
		require.NoError(t, r.Read(b[:n]))
		v.Acked(seq)
	}
	now := tick.Tick(1)
	frame(now, func() {
		id = s.Spawn()
		s.Set(id, 0, []uint32{1, 1})
		s.Set(id, 1, []uint32{1, 1})
	}, false)
	for !v.Synced() {
		now++
		frame(now, func() {}, false)
	}
	sent = 0
	for i := range uint32(100) {
		now++
		frame(now, func() { s.Set(id, 0, []uint32{i, 2}) }, true)
	}
	require.Zero(t, sent, "nothing echoes to its author")
	require.True(t, v.Synced())
	now++
	frame(now, func() { s.Set(id, 0, []uint32{200, 2}); s.Set(id, 1, []uint32{9, 9}) }, false)
	for i := range uint32(30) {
		now++
		frame(now, func() { s.Set(id, 0, []uint32{i, 3}) }, true)
	}
	require.True(t, v.Synced())
	require.Less(t, sent, 12)
	require.Equal(t, []uint32{9, 9}, r.Row(id.Index, 1), "what others changed came")
	v.Again(id)
	for i := 0; i < 40 && !v.Synced(); i++ {
		now++
		frame(now, func() {}, false)
	}
	require.Equal(t, []uint32{29, 3}, r.Row(id.Index, 0))
	require.Equal(t, MaskOf(0, 1), s.Mask(id))
}

// MaskOf is a mask of rows.
func MaskOf(rows ...int) (m Mask) {
	for _, row := range rows {
		m = m.With(row)
	}
	return m
}

// A mirror holds entities under the ids of another store, and an id may come back after it was given up.
func TestMirrorHoldsForeignIDs(t *testing.T) {
	schema := authorSchema(t)
	s := NewStore(schema, Config{})
	v := NewView(s, Config{})
	r := replica.New(schema, Config{}, 1)
	first, second := wire.NetworkID{Index: 70, Generation: 5}, wire.NetworkID{Index: 3, Generation: 1}
	seq := uint64(0)
	frame := func(now tick.Tick, change func()) {
		s.Begin(now)
		change()
		s.Commit()
		v.Observe()
		if v.Pending() {
			b := make([]byte, 600)
			seq++
			n := v.Write(b, seq)
			require.NoError(t, r.Read(b[:n]))
			v.Acked(seq)
		}
	}
	require.False(t, s.Mirror(first), "not outside of a capture")
	frame(1, func() {
		require.True(t, s.Mirror(first))
		require.True(t, s.Mirror(first))
		s.Set(first, 0, []uint32{1, 1})
	})
	require.True(t, r.Entity(70).Alive)
	frame(2, func() { s.Despawn(first); require.True(t, s.Mirror(second)) })
	require.False(t, r.Entity(70).Alive)
	frame(3, func() { require.True(t, s.Mirror(first)); s.Set(first, 1, []uint32{7, 7}) })
	require.Equal(t, first, r.Entity(70).ID)
	require.True(t, r.Entity(70).Alive)
	require.Equal(t, []uint32{7, 7}, r.Row(70, 1))
	require.Nil(t, r.Row(70, 0))
	next := wire.NetworkID{Index: 70, Generation: 6}
	frame(4, func() { require.True(t, s.Mirror(next)); s.Set(next, 0, []uint32{8, 8}) })
	require.Equal(t, next, r.Entity(70).ID)
	require.Equal(t, 2, s.Len())
	for now := tick.Tick(5); now < 40; now++ {
		frame(now, func() { s.Despawn(second) })
		frame(now+100, func() {})
		break
	}
	require.Zero(t, len(s.free), "nothing piles up")
	require.False(t, s.Mirror(wire.NetworkID{Index: MaxEntities, Generation: 1}))
}

func TestHandoversAreTold(t *testing.T) {
	s := NewStore(authorSchema(t), Config{})
	s.Begin(10)
	id := s.Spawn()
	s.Commit()
	require.True(t, s.SetOwner(id, 3))
	require.True(t, s.SetOwner(id, 3))
	require.True(t, s.SetNamed(id, 4))
	require.Equal(t, []Handover{{id, 3, false}, {id, 4, true}}, s.Handovers())
	s.ClearHandovers()
	require.Empty(t, s.Handovers())
	s.Begin(20)
	s.Commit()
	s.SetOwner(id, 5)
	s.SetNamed(id, 0)
	require.EqualValues(t, 5, s.Owner(id))
	require.Zero(t, s.Named(id))
	s.Begin(21)
	s.Despawn(id)
	s.Commit()
	s.Begin(22)
	again := s.Spawn()
	s.Commit()
	require.Equal(t, id.Index, again.Index)
	require.Zero(t, s.Owner(again))
	require.Zero(t, s.Named(again))
	require.False(t, s.SetNamed(id, 1))
}

// A payload with a record that its sender may not make is refused whole.
func TestGuardRefusesThePayload(t *testing.T) {
	schema := authorSchema(t)
	s := NewStore(schema, Config{})
	v := NewView(s, Config{})
	s.Begin(1)
	a, b := s.Spawn(), s.Spawn()
	s.Set(a, 0, []uint32{1, 1})
	s.Set(b, 0, []uint32{1, 1})
	s.Commit()
	v.Observe()
	payload := make([]byte, 600)
	payload = payload[:v.Write(payload, 1)]
	r := replica.New(schema, Config{}, 1)
	r.Guard(func(id wire.NetworkID, rows Mask) bool { return id == a && rows == MaskOf(0) })
	require.ErrorIs(t, r.Read(payload), replica.ErrGuarded)
	require.Zero(t, r.Len())
	require.EqualValues(t, 1, r.Stats().Guarded)
	r.Guard(func(wire.NetworkID, Mask) bool { return true })
	require.NoError(t, r.Read(payload))
	require.Equal(t, 2, r.Len())
}

// ownWriteBeside plays a client that writes one row of an entity in each tick, beside which the server changes whom another
// row of it names, with ObserveBut, as in package authority: the server's change has to come through.
func ownWriteBeside(t *testing.T, newborn bool) {
	t.Helper()
	schema := format.NewSchema([]*quantize.Plan{compile[authorRow](t), compile[follows](t)})
	cfg := Config{Payload: 600}
	s, r := NewStore(schema, cfg), replica.New(schema, cfg, 1)
	v := NewView(s, cfg)
	pos, ref := 0, 1
	if schema.Refs.Has(0) {
		pos, ref = 1, 0
	}
	var e, x wire.NetworkID
	seq := uint64(0)
	frame := func(now tick.Tick, change func()) {
		s.Begin(now)
		change()
		s.Commit()
		if now > 1 {
			if c := v.ChangedRows(e); !c.IsZero() && c.Within(Mask{}.With(pos)) {
				v.ObserveBut([]wire.NetworkID{e})
			}
		}
		v.Observe()
		b := make([]byte, 600)
		for v.Pending() {
			seq++
			n := v.Write(b, seq)
			require.Positive(t, n)
			require.NoError(t, r.Read(b[:n]))
			v.Acked(seq)
		}
	}
	frame(1, func() {
		e = s.Spawn()
		if !newborn {
			x = s.Spawn()
			s.Set(x, pos, []uint32{9, 9})
		}
		s.Set(e, pos, []uint32{1, 1})
		s.Set(e, ref, []uint32{x.Index, x.Generation, 3})
	})
	frame(2, func() {
		s.Set(e, pos, []uint32{2, 2}) // the client's write
		if newborn {
			x = s.Spawn()
			s.Set(x, pos, []uint32{5, 5})
			s.Set(e, ref, []uint32{x.Index, x.Generation, 3}) // the server's, in the same tick
		} else {
			s.Despawn(x) // the row that names it now reads as nobody
		}
	})
	want := x
	if !newborn {
		want = wire.NetworkID{}
	}
	for now := tick.Tick(3); now < 200; now++ {
		frame(now, func() { s.Set(e, pos, []uint32{uint32(now), 2}) }) // it goes on writing
	}
	require.True(t, v.Synced())
	require.Equal(t, want, refAt(r.Row(e.Index, ref), 0))
}

func TestOwnWriteBesideNewTarget(t *testing.T)  { ownWriteBeside(t, true) }
func TestOwnWriteBesideDeadTarget(t *testing.T) { ownWriteBeside(t, false) }

func TestOwner(t *testing.T) {
	s := NewStore(format.NewSchema(nil), Config{})
	require.False(t, s.SetOwner(wire.NetworkID{Index: 3, Generation: 1}, 1))
	s.Begin(1)
	a, b := s.Spawn(), s.Spawn()
	s.Commit()
	require.True(t, s.SetOwner(b, 7))
	require.Equal(t, wire.ClientID(0), s.Owner(a))
	require.Equal(t, wire.ClientID(7), s.Owner(b))
	require.Equal(t, wire.ClientID(0), s.Owner(wire.NetworkID{Index: b.Index, Generation: b.Generation + 1}))

	s.Begin(2)
	s.Despawn(b)
	s.Commit()
	require.Equal(t, wire.ClientID(0), s.Owner(b))
	require.False(t, s.SetOwner(b, 7))
	s.Begin(3)
	again := s.Spawn()
	s.Commit()
	require.Equal(t, b.Index, again.Index)
	require.Equal(t, wire.ClientID(0), s.Owner(again), "a new life belongs to the server")
}
