package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A store that mirrors another one may hear of a death and of the next entity at that index in one tick: the end of the
// one is seen with what changed of its group then, however few records a packet has room for.
func TestAMirroredIndexThatDiesAndIsBornAtOnceKeepsItsTies(t *testing.T) {
	const others = 200
	d := newTight(t, 100)
	at := func(index, generation uint32) wire.NetworkID {
		return wire.NetworkID{Index: index, Generation: generation}
	}
	put := func(id wire.NetworkID, health uint32) {
		d.store.Mirror(id)
		d.setHealth(id, health)
	}
	dies, lives := at(others+1, 1), at(0, 1)
	d.game(1, func() {
		for i := range uint32(others + 2) {
			put(at(i, 1), 1)
		}
		d.store.SetGroup(dies, 7)
		d.store.SetGroup(lives, 7)
	})
	d.flush(100, nil)
	require.Zero(t, d.view.links.n)
	for s := tick.Tick(2); s < 20; s += 2 { // each time the index is another's, and what lives says how often
		next := at(dies.Index, uint32(s))
		d.game(s, func() {
			d.store.Mirror(next)
			d.setHealth(next, 1)
			for i := range uint32(others) {
				put(at(1+i, 1), uint32(s)*31+i*i)
			}
			d.setHealth(lives, uint32(s))
		})
		packets := 0
		d.flush(100, func() {
			packets++
			require.Equal(t, d.there(next), d.health(lives) == uint32(s), "tick %d, packet %d", s, packets)
		})
		require.Greater(t, packets, 1)
		require.True(t, d.there(next))
		require.Zero(t, d.view.links.n)
		d.game(s+1, func() { d.store.SetGroup(next, 7) })
		dies = next
	}
	require.Zero(t, d.view.Stats().TornGroups)

	// An entity that is born at this index is in no group, and was in none.
	d.game(20, func() { put(at(dies.Index, 20), 1); d.setHealth(lives, 20) })
	require.NotZero(t, d.view.links.n)
	d.flush(100, nil)
	d.view.Hide(at(dies.Index, 20))
	d.flush(100, nil)
	d.game(21, func() { put(at(dies.Index, 21), 1); d.store.SetGroup(at(dies.Index, 21), 7) })
	require.Zero(t, d.view.links.n, "the one before was in none")
	d.view.Hide(at(dies.Index, 21))
	d.game(22, func() { put(at(dies.Index, 22), 1); d.setHealth(lives, 22) })
	require.Zero(t, d.view.links.n, "the client has never seen the one that was in the group")
	d.flush(100, nil)
	require.True(t, d.there(at(dies.Index, 22)))
	require.True(t, d.view.Synced())
}
