package interest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

func TestExplicitRefusesEntitiesThatNeverLived(t *testing.T) {
	e := NewExplicit()
	w := newWorld(t, e, Despawn)
	var id wire.NetworkID
	w.step(func() { id = w.spawn() })
	require.False(t, e.Show(1, wire.NetworkID{}))
	require.False(t, e.Show(1, wire.NetworkID{Index: snapshot.MaxEntities, Generation: 1}))
	require.False(t, e.Hide(1, id))
	require.False(t, e.Shown(1, wire.NetworkID{Index: 77, Generation: 1}))
	w.step(func() { w.kill(id) })
	require.False(t, e.Show(1, id), "it is dead")
	w.step(func() { w.spawn() })
	require.False(t, e.Show(1, id), "somebody else is there")
	require.True(t, e.Show(1, w.living[0]))
	require.False(t, e.Show(1, id))
	require.True(t, e.Shown(1, w.living[0]))
}

// Random calls on random worlds come to what a map of calls says, at two clients of which one comes and goes.
func TestExplicitEqualsItsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := NewExplicit()
		w := newWorld(t, e, Leaving(rapid.IntRange(0, 1).Draw(rt, "leaving")))
		type pair struct {
			client wire.ClientID
			id     wire.NetworkID
		}
		shown := map[pair]bool{}
		w.join(1)
		for range rapid.IntRange(1, 30).Draw(rt, "ticks") {
			calls := func() {
				for range rapid.IntRange(0, 3).Draw(rt, "calls") {
					if len(w.living) == 0 {
						return
					}
					p := pair{wire.ClientID(rapid.IntRange(1, 2).Draw(rt, "client")), rapid.SampledFrom(w.living).Draw(rt, "id")}
					if rapid.Bool().Draw(rt, "show") {
						require.True(rt, e.Show(p.client, p.id))
						shown[p] = true
					} else {
						require.Equal(rt, shown[p], e.Hide(p.client, p.id))
						delete(shown, p)
					}
				}
			}
			w.step(func() {
				w.churn(rt)
				calls() // as hooks of the capture do, of entities that the policy has not met
			})
			calls()
			w.step(nil)
			switch here := w.views[2] != nil; {
			case !here && rapid.IntRange(0, 3).Draw(rt, "join") == 0:
				w.join(2)
				w.step(nil)
			case here && rapid.IntRange(0, 3).Draw(rt, "leave") == 0:
				w.leave(2)
				for p := range shown {
					if p.client == 2 {
						delete(shown, p)
					}
				}
			}
			for _, client := range w.clients {
				w.requireModel(client, func(id wire.NetworkID) bool { return shown[pair{client, id}] })
			}
		}
	})
}

// Game code that knows an id before its capture may speak of it, but not while another lives at that index.
func TestExplicitShowsEntitiesToCome(t *testing.T) {
	e := NewExplicit()
	w := newWorld(t, e, Despawn)
	w.join(1)
	var first wire.NetworkID
	w.step(func() { first = w.spawn(); e.Show(1, first) })
	coming := wire.NetworkID{Index: first.Index, Generation: first.Generation + 1}
	require.True(t, e.Show(1, coming))
	w.step(nil)
	w.requireSees(1, first)
	require.True(t, e.Shown(1, coming))
	w.step(func() { w.kill(first) })
	require.False(t, e.Show(1, first), "it is dead")
	w.step(func() { require.Equal(t, coming, w.spawn()) })
	w.requireSees(1, coming)
}
