package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// An attended entity is reported once when the client has it, and once when it is gone. Other entities
// are never reported.
func TestAttendedLives(t *testing.T) {
	store := NewStore(format.NewSchema(nil), Config{})
	view := NewView(store, Config{})
	store.Begin(1)
	watched, other := store.Spawn(), store.Spawn()
	store.Commit()
	store.Attend(watched)
	var buf [512]byte
	seq := uint64(0)
	send := func() {
		view.Observe()
		seq++
		require.Positive(t, view.Write(buf[:], seq))
	}
	send()
	_, visible := view.Life(watched)
	require.True(t, visible)
	require.False(t, view.Held(watched), "sent, and nothing heard of it")
	require.Empty(t, view.Met())
	view.Acked(seq)
	require.True(t, view.Held(watched))
	require.True(t, view.Held(other))
	require.Equal(t, []wire.NetworkID{watched}, view.Met())
	view.ClearMet()

	first, _ := view.Life(watched)
	sights := view.Sights()
	view.Hide(watched)
	require.NotEqual(t, sights, view.Sights())
	require.False(t, view.Held(watched))
	_, visible = view.Life(watched)
	require.False(t, visible)
	view.Show(watched)
	again, visible := view.Life(watched)
	require.True(t, visible)
	require.NotEqual(t, first, again, "another life")
	require.False(t, view.Held(watched))
	store.Begin(2)
	store.Commit()
	send()
	require.Empty(t, view.Met())
	view.Acked(seq)
	require.Equal(t, []wire.NetworkID{watched}, view.Met())

	store.Begin(3)
	store.Despawn(watched)
	store.Despawn(other)
	store.Commit()
	require.Equal(t, []wire.NetworkID{watched}, store.Ended())
	view.Observe()
	require.False(t, view.Held(watched))
	store.ClearEnded()
	store.Begin(4)
	next := store.Spawn()
	store.Despawn(next)
	store.Commit()
	require.Empty(t, store.Ended(), "attending ends with the life")

	reserved := store.Reserve()
	store.Attend(reserved)
	store.Begin(5)
	store.Adopt(reserved)
	store.Despawn(reserved)
	store.Commit()
	require.Equal(t, []wire.NetworkID{reserved}, store.Ended(), "also one that nobody ever saw")
}

// Needs and Proved depend on what the client acknowledged. A change that the client may not see does not count. If the
// client was never sent a state of the entity in its lifetime, it needs the state from the beginning of that lifetime.
func TestNeedsAndProved(t *testing.T) {
	store := NewStore(authorSchema(t), Config{})
	view := NewView(store, Config{})
	var one, other wire.NetworkID
	commit := func(at tick.Tick, f func()) {
		store.Begin(at)
		f()
		store.Commit()
		view.Observe()
	}
	var buf [512]byte
	send := func(seq uint64) { require.Positive(t, view.Write(buf[:], seq)) }
	set := func(id wire.NetworkID, row int, v uint32) { store.Set(id, row, []uint32{v, 0}) }
	commit(1, func() { one, other = store.Spawn(), store.Spawn(); set(one, 0, 1); set(other, 0, 1) })
	require.EqualValues(t, 1, view.Needs(one, 1))
	require.EqualValues(t, 0, view.Proved())
	send(1)
	require.EqualValues(t, 1, view.Needs(one, 9), "it was sent, and nothing heard of it")
	view.Acked(1)
	require.Equal(t, tick.None, view.Needs(one, 9))
	require.EqualValues(t, 1, view.Proved())

	commit(2, func() { set(one, 0, 2) })
	send(2)
	commit(3, func() { set(one, 0, 3); set(other, 0, 3) })
	require.EqualValues(t, 2, view.Needs(one, 2), "a later record does too")
	require.EqualValues(t, 3, view.Needs(one, 3))
	require.EqualValues(t, 3, view.Needs(one, 9))
	require.EqualValues(t, 1, view.Proved())
	view.Acked(2)
	require.Equal(t, tick.None, view.Needs(one, 2))
	require.EqualValues(t, 1, view.Proved(), "of the other nothing was sent since")
	send(3)
	view.Acked(3)
	require.EqualValues(t, 3, view.Proved())

	view.See(one, AllRows().Minus(Mask{}.With(1)))
	commit(4, func() { set(one, 1, 4) })
	require.Equal(t, tick.None, view.Needs(one, 4), "what changed is hidden")
	require.EqualValues(t, 4, view.Proved())
	commit(5, func() {})
	view.Hide(other)
	commit(6, func() {})
	require.Less(t, view.Proved(), tick.Tick(6), "it is not known to be gone")
	view.Show(other)
	commit(7, func() {})
	require.EqualValues(t, view.life(other.Index).firstTick, view.Needs(other, 7), "of the life that it sees")
	send(4)
	view.Acked(4)
	require.EqualValues(t, 7, view.Proved())
	commit(8, func() { store.Despawn(one) })
	require.EqualValues(t, 7, view.Proved())
	require.Equal(t, tick.None, view.Needs(one, 8))
	send(5)
	view.Acked(5)
	require.EqualValues(t, 8, view.Proved())
}

// An urged entity is sent once before entities that have the same weight and have waited for
// longer.
func TestUrge(t *testing.T) {
	store := NewStore(authorSchema(t), Config{})
	view := NewView(store, Config{})
	var ids []wire.NetworkID
	at := tick.Tick(0)
	commit := func() {
		at++
		store.Begin(at)
		for len(ids) < 1000 {
			ids = append(ids, store.Spawn())
		}
		for _, id := range ids {
			store.Set(id, 0, []uint32{uint32(at) * 777 % 60000, 5})
		}
		store.Commit()
		view.Observe()
	}
	var buf [300]byte
	went := func(id wire.NetworkID) tick.Tick { return view.ack(id.Index).went }
	tickOf := func() {
		view.Plan(len(buf))
		require.Positive(t, view.Write(buf[:], uint64(at)))
		view.Acked(uint64(at))
	}
	for range 100 {
		commit()
		tickOf()
	}
	last := ids[0]
	for _, id := range ids {
		if went(id) > went(last) {
			last = id
		}
	}
	for range 3 { // each of them counts, though nothing was ranked between the record of the one and the next call
		commit()
		view.Urge(last, at)
		require.Less(t, went(last), at)
		tickOf()
		require.Equal(t, at, went(last))
	}
	commit()
	tickOf()
	require.Less(t, went(last), at, "it waits for its turn again")
	require.Empty(t, view.urged)
	view.Hide(last)
	view.Urge(last, at)
	require.Empty(t, view.urged, "of what the client may not see nothing is sent")
}
