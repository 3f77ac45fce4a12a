package interest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// A change that game code makes to sight counts at once after a refresh, for the client that is named or for all.
func TestRefreshDecidesAtOnce(t *testing.T) {
	explicit := NewExplicit()
	w := newWorld(t, explicit, Despawn)
	w.join(1)
	w.join(2)
	var id wire.NetworkID
	w.step(func() { id = w.spawn() })
	explicit.Show(1, id)
	explicit.Show(2, id)
	w.requireSees(1)
	require.True(t, w.applied.RefreshClient(1))
	w.requireSees(1, id)
	w.requireSees(2)
	w.applied.RefreshAll()
	w.requireSees(2, id)
	require.False(t, w.applied.RefreshClient(3), "nobody has asked about it")
	require.NotContains(t, w.applied.clients, wire.ClientID(3))
}

// An entity that came into sight with its birth is hidden in the same tick.
func TestRefreshInTheTickOfABirthHides(t *testing.T) {
	for _, leaving := range []Leaving{Despawn, Keep} {
		explicit := NewExplicit()
		w := newWorld(t, explicit, leaving)
		w.join(1)
		w.step(nil)
		var id wire.NetworkID
		w.step(func() { id = w.spawn(); explicit.Show(1, id) })
		w.requireSees(1, id)
		explicit.Hide(1, id)
		w.applied.RefreshClient(1)
		w.requireSees(1)
		w.step(nil)
		w.requireSees(1)
	}
}

// Each policy asks the functions of the game again, also as a part of others.
func TestRefreshAsksAgain(t *testing.T) {
	open, child, at := false, wire.NetworkID{}, float32(100)
	var first wire.NetworkID
	grid := NewGrid(GridConfig{Enter: 10, Position: func(_ *snapshot.Store, id wire.NetworkID) (x, y, z float32, ok bool) {
		return at, 0, 0, id == first
	}})
	children := NewChildren(grid, func(_ *snapshot.Store, id wire.NetworkID) (wire.NetworkID, bool) { return first, id == child })
	rows := NewRows(children, func(*snapshot.Store, wire.ClientID, wire.NetworkID) snapshot.Mask {
		if open {
			return snapshot.AllRows()
		}
		return format.FromWords(1)
	})
	w := newWorld(t, Any(Both(NewTeams(rows), All())), Despawn)
	w.applied.RefreshAll() // before the first tick there is nothing to ask about
	w.join(1)
	w.join(2)
	grid.Look(1, 0, 0, 0)
	grid.Look(2, 0, 0, 0)
	var second wire.NetworkID
	w.step(func() { first, second = w.spawn(), w.spawn() })
	w.requireSees(1)
	at, child = 5, second
	w.step(nil)
	w.requireSees(1) // nothing has changed in the world
	w.applied.RefreshAll()
	w.requireSees(1, first, second)
	w.requireSees(2, first, second)
	require.Equal(t, format.FromWords(1), w.views[1].Rows(first))
	w.step(nil)
	w.step(nil)
	open = true
	w.applied.RefreshClient(1)
	require.Equal(t, snapshot.AllRows(), w.views[1].Rows(first))
	require.Equal(t, format.FromWords(1), w.views[2].Rows(first))
	w.step(nil)
	require.Equal(t, format.FromWords(1), w.views[2].Rows(first))
	w.applied.RefreshAll()
	require.Equal(t, snapshot.AllRows(), w.views[2].Rows(second))
}
