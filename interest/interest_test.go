package interest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

func TestAllShowsEverything(t *testing.T) {
	w := newWorld(t, All(), Despawn)
	w.step(func() { w.spawn() })
	w.join(1)
	w.step(func() { w.spawn() })
	w.join(2)
	w.step(func() { w.kill(w.living[0]); w.spawn() })
	w.step(func() { w.spawn() }) // at the index of the one that died
	w.requireSees(1, w.living...)
	w.requireSees(2, w.living...)
}

// What is new and not visible was never shown: nothing about it may be said, not even a despawn.
func TestWhatIsHiddenFromTheStartIsNeverShown(t *testing.T) {
	explicit := NewExplicit()
	for _, leaving := range []Leaving{Despawn, Keep} {
		w := newWorld(t, explicit, leaving)
		w.step(func() { w.spawn() })
		w.join(1)
		w.step(func() { w.spawn() })
		w.step(func() { w.spawn(); w.kill(w.living[0]) })
		w.step(func() { w.kill(w.living[0]) })
		w.requireSees(1)
		require.True(t, w.views[1].Synced())
		require.Zero(t, w.views[1].Write(make([]byte, 1000), 1))
	}
}

func TestLeavingSight(t *testing.T) {
	for _, leaving := range []Leaving{Despawn, Keep} {
		explicit := NewExplicit()
		w := newWorld(t, explicit, leaving)
		v := w.join(1)
		var id wire.NetworkID
		w.step(func() { id = w.spawn(); explicit.Show(1, id) })
		w.requireSees(1, id)
		require.NotZero(t, v.Write(make([]byte, 1000), 1))
		v.Acked(1) // what never arrived would not be kept
		require.True(t, explicit.Hide(1, id))
		w.step(nil)
		w.requireSees(1)
		require.Equal(t, leaving == Keep, v.kept[id])
		require.Equal(t, leaving == Despawn, v.Pending(), "a despawn is owed")
		require.True(t, explicit.Show(1, id))
		w.step(nil)
		w.requireSees(1, id)
		require.True(t, v.Pending(), "full state")
	}
}

// A client that leaves is forgotten: the same number, were it to come again, begins anew.
func TestClientsLeave(t *testing.T) {
	explicit := NewExplicit()
	w := newWorld(t, explicit, Despawn)
	w.join(1)
	w.step(func() { explicit.Show(1, w.spawn()) })
	w.leave(1)
	w.step(func() { w.spawn() })
	w.join(1)
	w.step(nil)
	w.requireSees(1)
	require.Len(t, w.applied.clients.of, 1)
	w.leave(1)
	require.Empty(t, w.applied.clients.of)
}

// A view that is new although its client has not left begins anew as well.
func TestNewViewOfAClient(t *testing.T) {
	explicit := NewExplicit()
	w := newWorld(t, explicit, Despawn)
	w.join(1)
	w.step(func() { explicit.Show(1, w.spawn()); w.spawn() })
	w.clients = nil
	w.join(1)
	w.step(nil)
	w.requireSees(1, w.living[0])
}

// Each call to a view is for a change: a world at rest costs none.
func TestNothingIsToldTwice(t *testing.T) {
	w := newWorld(t, NewRows(All(), OwnerRows(1)), Despawn)
	v := w.join(1)
	w.step(func() { w.spawn(); w.spawn() })
	require.Equal(t, 4, v.calls, "shown, with their rows")
	w.step(nil)
	w.judge() // the same tick once more
	require.Equal(t, 4, v.calls)
}

// The set of lives equals that of a dumb model, at any rate of prepares to captures.
func TestLivesFollowTheStore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, All(), Despawn)
		var l lives
		before := map[uint32]wire.NetworkID{}
		for range rapid.IntRange(1, 30).Draw(rt, "prepares") {
			for range rapid.IntRange(0, 3).Draw(rt, "captures") {
				w.capture(func() { w.churn(rt) })
			}
			again := w.store.Tick() == l.tick
			require.Equal(rt, !again, l.follow(w.store))
			if again {
				continue
			}
			now := map[uint32]wire.NetworkID{}
			for _, id := range w.living {
				now[id.Index] = id
				require.True(rt, l.is(id))
			}
			require.Equal(rt, len(now), l.alive.Len())
			for index := range uint32(64) {
				require.Equal(rt, now[index] != before[index], l.renewed.Has(index))
			}
			before = now
		}
	})
}

// churn spawns and despawns a few.
func (w *world) churn(t *rapid.T) {
	for range rapid.IntRange(0, 2).Draw(t, "spawns") {
		w.spawn()
	}
	for range rapid.IntRange(0, 2).Draw(t, "despawns") {
		if len(w.living) > 0 {
			w.kill(rapid.SampledFrom(w.living).Draw(t, "victim"))
		}
	}
}

func TestSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Set
		model := map[uint32]bool{}
		for range rapid.IntRange(0, 50).Draw(t, "steps") {
			index := rapid.Uint32Range(0, 200).Draw(t, "index")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				s.add(index)
				model[index] = true
			case 2:
				s.remove(index)
				delete(model, index)
			case 3:
				var other Set
				other.add(index)
				other.add(3)
				if index%2 == 0 {
					s.removeAll(other)
					delete(model, index)
					delete(model, 3)
				} else {
					s.addAll(other)
					model[index], model[3] = true, true
				}
			}
			require.Equal(t, len(model), s.Len())
			last := -1
			for index := range s.All {
				require.True(t, model[index] && s.Has(index) && int(index) > last)
				last = int(index)
			}
			require.False(t, s.Has(100_000))
		}
		s.reset(2)
		require.Zero(t, s.Len())
		require.Len(t, s, 2)
	})
}

var _ snapshot.Interest = (*applied)(nil)

var _ View = (*snapshot.View)(nil)

// A server may capture more often than it asks. Who is at an index now is shown and hidden all the same.
func TestInterestThatMissesCaptures(t *testing.T) {
	explicit := NewExplicit()
	w := newWorld(t, explicit, Despawn)
	w.join(1)
	w.step(func() { explicit.Show(1, w.spawn()); w.spawn() })
	w.requireSees(1, w.living[0])
	w.capture(func() { w.kill(w.living[1]); w.kill(w.living[0]) })
	w.capture(func() { w.spawn(); explicit.Show(1, w.spawn()) })
	w.views[1].Observe()
	w.step(nil)
	require.Zero(t, w.living[1].Index, "the index that was visible before is visible again")
	w.requireSees(1, w.living[1])
}
