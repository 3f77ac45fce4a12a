package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// What is attended to is told of once when the client has it, and once when it is gone; all else never.
func TestAttendedLives(t *testing.T) {
	store := NewStore(NewSchema(nil), Config{})
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
