package interest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

func TestCombinationsEqualTheirModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b, owned := NewExplicit(), NewExplicit(), NewOwnerOnly(OwnerConfig{})
		w := newWorld(t, Any(Both(a, b), owned), Despawn)
		w.join(1)
		for range rapid.IntRange(1, 20).Draw(rt, "ticks") {
			w.step(func() {
				w.churn(rt)
				for range rapid.IntRange(0, 4).Draw(rt, "calls") {
					if len(w.living) == 0 {
						return
					}
					id := rapid.SampledFrom(w.living).Draw(rt, "id")
					switch rapid.IntRange(0, 4).Draw(rt, "what") {
					case 0:
						a.Show(1, id)
					case 1:
						b.Show(1, id)
					case 2:
						a.Hide(1, id)
					case 3:
						b.Hide(1, id)
					case 4:
						w.store.SetOwner(id, wire.ClientID(rapid.IntRange(0, 1).Draw(rt, "owner")))
					}
				}
			})
			w.requireModel(1, func(id wire.NetworkID) bool {
				return a.Shown(1, id) && b.Shown(1, id) || w.store.Owner(id) == 1
			})
		}
		w.leave(1)
		require.Empty(rt, a.clients)
	})
}

// A client is blind where one of two grids follows an entity that has no position there: that grid never shows it anything.
func TestAnyOfAGridThatFollowsNothing(t *testing.T) {
	nowhere := func(*snapshot.Store, wire.NetworkID) (x, y, z float32, ok bool) { return 0, 0, 0, false }
	here, other := NewGrid(GridConfig{Position: positions(), Enter: 10}), NewGrid(GridConfig{Position: nowhere, Enter: 10})
	w := newWorld(t, Any(here, other), Despawn)
	w.join(1)
	w.step(func() { here.Follow(1, w.spawnAt(0, 0, 0)) })
	require.False(t, w.applied.Blind(1), "the other grid was never told of the client")
	other.Follow(1, w.living[0])
	w.step(nil)
	require.True(t, w.applied.Blind(1))
	other.Look(1, 0, 0, 0)
	w.step(nil)
	require.False(t, w.applied.Blind(1))
}

// Why names each policy that shows an entity, and looks into those that are around others.
func TestWhyAnEntityIsSeen(t *testing.T) {
	a, b, owned, teams := NewExplicit(), NewExplicit(), NewOwnerOnly(OwnerConfig{}), NewTeams(NewExplicit())
	w := newWorld(t, NewRows(Any(Both(a, b), owned, teams), OwnerRows(snapshot.Mask{})), Despawn)
	w.join(1)
	var mine, both, one wire.NetworkID
	w.step(func() { mine, both, one = w.spawn(), w.spawn(), w.spawn() })
	w.step(func() {
		w.store.SetOwner(mine, 1)
		a.Show(1, mine)
		a.Show(1, both)
		b.Show(1, both)
		a.Show(1, one)
		teams.parts[0].(*Explicit).Show(1, one)
	})
	require.Equal(t, []string{"Explicit", "OwnerOnly"}, w.applied.Why(1, mine))
	require.Equal(t, []string{"Explicit", "Explicit"}, w.applied.Why(1, both))
	require.Equal(t, []string{"Explicit", "Explicit"}, w.applied.Why(1, one), "the one in the team's policy is named, and not the team")
	require.Empty(t, w.applied.Why(2, mine))
}

// One who asks why does not change what is seen: an entity that came within Enter between two ticks is not in the set.
func TestWhyChangesNothing(t *testing.T) {
	for name, around := range map[string]func(Policy) Policy{
		"alone":    func(p Policy) Policy { return p },
		"combined": func(p Policy) Policy { return Any(NewExplicit(), p) },
		"within": func(p Policy) Policy {
			return NewTeams(NewChildren(Both(p, p), func(*snapshot.Store, wire.NetworkID) (wire.NetworkID, bool) { return wire.NetworkID{}, false }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGrid(GridConfig{Position: positions(), Enter: 10, Leave: 20})
			w := newWorld(t, around(g), Despawn)
			w.join(1)
			var near, far wire.NetworkID
			w.step(func() {
				near, far = w.spawnAt(0, 0, 0), w.spawnAt(30, 0, 0)
				g.Look(1, 0, 0, 0)
			})
			w.requireSees(1, near)
			g.Look(1, 25, 0, 0)
			require.Contains(t, w.applied.Why(1, near), "Grid")
			require.Empty(t, w.applied.Why(1, far))
			g.Look(1, 15, 0, 0)
			w.step(nil)
			w.requireSees(1, near)
		})
	}
}

func TestNothingToCombine(t *testing.T) {
	require.Panics(t, func() { Any() })
	require.Panics(t, func() { Both() })
}

// Components are judged for each client: when an entity comes into sight, when its owner changes, and when asked.
func TestOwnerRows(t *testing.T) {
	schema := testSchema()
	require.Equal(t, rowSecret, RowOf[secret](schema))
	require.Panics(t, func() { RowOf[int](schema) })
	explicit := NewExplicit()
	w := newWorld(t, NewRows(explicit, OwnerRows(MaskOf[secret](schema))), Despawn)
	w.join(1)
	w.join(2)
	everything, public := snapshot.AllRows(), snapshot.AllRows().Without(rowSecret)
	var id wire.NetworkID
	w.step(func() {
		id = w.spawn()
		w.store.SetOwner(id, 1)
		explicit.Show(1, id)
		explicit.Show(2, id)
	})
	rows := func(one, two snapshot.Mask) {
		t.Helper()
		require.Equal(t, []snapshot.Mask{one, two}, []snapshot.Mask{w.views[1].Rows(id), w.views[2].Rows(id)})
	}
	rows(everything, public)
	w.store.SetOwner(id, 2)
	w.step(nil)
	rows(public, everything)
	explicit.Hide(1, id)
	w.step(nil)
	rows(snapshot.Mask{}, everything)
	explicit.Show(1, id)
	w.step(nil)
	rows(public, everything)
	w.store.SetOwner(id, 0)
	w.step(nil)
	rows(public, public)
}

// A policy's masks are joined: of two that show an entity each adds what it shows, and none of them takes away.
func TestMasksAreJoined(t *testing.T) {
	some := func(m snapshot.Mask) Policy {
		return NewRows(All(), func(*snapshot.Store, wire.ClientID, wire.NetworkID) snapshot.Mask { return m })
	}
	one, two := format.FromWords(1), format.FromWords(2)
	for want, policy := range map[snapshot.Mask]Policy{
		format.FromWords(3): Any(some(one), some(two)), one: Both(some(one), All()), {}: Both(some(one), some(two)),
		snapshot.AllRows(): Any(some(one), All()), two: NewTeams(Both(All(), some(two))),
	} {
		w := newWorld(t, policy, Despawn)
		v := w.join(1)
		w.step(func() { w.spawn() })
		require.Equal(t, want, v.Rows(w.living[0]))
		require.Equal(t, !want.IsZero(), v.Visible(w.living[0]), "none is hidden")
	}
}

// The game says when the result of its function has changed.
func TestRowsAreAskedAgain(t *testing.T) {
	rows := snapshot.Mask{}
	w := newWorld(t, NewRows(All(), func(*snapshot.Store, wire.ClientID, wire.NetworkID) snapshot.Mask { return rows }), Despawn)
	w.applied.Refresh(wire.NetworkID{Index: 0, Generation: 1})
	w.join(1)
	w.step(func() { w.spawn() })
	id := w.living[0]
	require.False(t, w.views[1].Visible(id))
	rows = snapshot.AllRows()
	w.step(nil)
	require.False(t, w.views[1].Visible(id))
	w.applied.Refresh(id)
	w.applied.Refresh(wire.NetworkID{Index: 99, Generation: 1})
	require.Equal(t, rows, w.views[1].Rows(id))
	rows = format.FromWords(2)
	w.applied.Refresh(id)
	require.Equal(t, rows, w.views[1].Rows(id))
	rows = snapshot.Mask{}
	w.applied.Refresh(id)
	require.False(t, w.views[1].Visible(id))
}
