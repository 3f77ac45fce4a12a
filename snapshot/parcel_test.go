package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Where more members died than a packet has room for beside the others, that is
// counted, and they go in several.
func TestCase28WhatWasTiedAndIsTooLargeIsTorn(t *testing.T) {
	d := newTight(t, 64)
	var stay [2]wire.NetworkID
	var ids []wire.NetworkID
	d.game(1, func() {
		for i := range stay {
			stay[i] = d.spawn(1)
			d.store.SetGroup(stay[i], 5)
		}
		for range 40 {
			ids = append(ids, d.spawn(2))
		}
	})
	d.flush(64, nil)
	for i, id := range ids {
		d.game(tick.Tick(2+i), func() {
			if i > 0 {
				d.store.Despawn(ids[i-1])
			}
			d.store.SetGroup(id, 5)
			d.move(stay[0], uint32(i)%16)
		})
		d.packet(64) // lost
		require.Empty(t, d.store.LargeGroups())
	}
	for seq := uint64(1); seq <= d.seq; seq++ {
		d.view.Lost(seq)
	}
	d.game(50, func() {})
	d.flush(64, nil)
	require.NotZero(t, d.view.Stats().TornGroups)
	require.True(t, d.view.Synced(), "never stuck")
	require.Equal(t, 3, d.replica.Len())
	require.Zero(t, d.view.ties.n)
}

// Groups that change and lose a member in every tick, one of which takes more than
// a third of a packet, despawns of others, and another group that changes: there is
// room for half of it, and each comes again and again.
func TestWhatIsTiedNeitherStarvesNorIsStarved(t *testing.T) {
	d := newTight(t, 64)
	const groups, ticks = 12, 80
	var movers, items, plain, large []wire.NetworkID
	var bags [groups]wire.NetworkID
	d.game(1, func() {
		for i := range bags {
			bags[i] = d.spawn(1)
			d.store.SetGroup(bags[i], uint32(1+i))
		}
		for range 3 {
			movers = append(movers, d.spawn(1))
			large = append(large, d.spawn(1))
		}
		for i, id := range large[1:] {
			d.store.SetGroup(id, 1)
			d.store.SetGroup(movers[i], 1+groups)
		}
		d.store.SetGroup(movers[2], 1+groups)
		for range groups * ticks {
			items = append(items, d.spawn(1))
		}
		for range 2 * ticks {
			plain = append(plain, d.spawn(1))
		}
	})
	require.Empty(t, d.store.LargeGroups())
	d.flush(64, nil)
	moved, seen, fresh := map[wire.NetworkID]int{}, map[wire.NetworkID]int{}, map[wire.NetworkID]uint32{}
	for s := tick.Tick(2); s < 2+ticks; s++ {
		d.game(s, func() {
			for i, id := range bags {
				if n := groups*int(s-2) + i; n >= groups {
					d.store.Despawn(items[n-groups])
				}
				d.store.SetGroup(items[groups*int(s-2)+i], uint32(1+i))
				d.setHealth(id, uint32(s))
			}
			for i, id := range large[1:] {
				d.setHealth(id, uint32(s)*(2654435769+uint32(i)))
			}
			for i := range movers {
				d.setHealth(movers[i], uint32(s)*(1640531527+uint32(i)))
				d.store.Despawn(plain[2*int(s-2)+i%2])
			}
		})
		d.ack(d.packet(64))
		for _, id := range movers {
			if d.replica.Entity(id.Index).Tick == s {
				moved[id]++
			}
		}
		for _, id := range bags {
			if n := d.health(id); n != fresh[id] {
				seen[id], fresh[id] = seen[id]+1, n
			}
		}
	}
	for _, id := range movers {
		require.Greater(t, moved[id], ticks/4)
	}
	for i, id := range bags {
		require.Greater(t, seen[id], ticks/16, "group %d", i+1)
	}
	for _, id := range plain[:ticks] {
		require.False(t, d.there(id), "despawns of others get through")
	}
	require.Zero(t, d.view.Stats().TornGroups)
}

// Many groups have lost a member, and no acknowledgement comes: there is room for a
// few of these, and it is not always the first.
func TestWhatIsTiedTakesTurns(t *testing.T) {
	d := newTight(t, 64)
	const groups, ticks = 30, 90
	var bags, items [groups]wire.NetworkID
	d.game(1, func() {
		for i := range bags {
			bags[i], items[i] = d.spawn(1), d.spawn(1)
			d.store.SetGroup(bags[i], uint32(1+i))
			d.store.SetGroup(items[i], uint32(1+i))
		}
	})
	d.flush(64, nil)
	var seen, fresh [groups]uint32
	for s := tick.Tick(2); s < 2+ticks; s++ {
		d.game(s, func() {
			for _, id := range bags {
				d.setHealth(id, uint32(s))
			}
		})
		for _, id := range items {
			d.view.Hide(id)
		}
		d.view.Lost(d.seq)
		d.deliver(d.packet(64))
		for i, id := range bags {
			if n := d.health(id); n != fresh[i] {
				seen[i], fresh[i] = seen[i]+1, n
			}
		}
	}
	for i := range seen {
		require.Greater(t, seen[i], uint32(ticks/groups), "group %d", i+1)
	}
}

// Where messages leave no packet the room, what is tied waits for a window and is
// then torn: it is never stuck.
func TestWhatFindsNoRoomBesideMessagesIsTorn(t *testing.T) {
	d := newTight(t, 200)
	var ids []wire.NetworkID
	d.game(1, func() {
		for i := range 15 {
			ids = append(ids, d.spawn(uint32(i)))
			d.store.SetGroup(ids[i], 5)
		}
	})
	require.Empty(t, d.store.LargeGroups())
	d.flush(200, nil)
	require.True(t, d.view.Resync(1, d.seq+1), "all of it is to be sent whole")
	d.replica.Lose()
	d.game(2, func() { d.store.Despawn(ids[0]) })
	gone := tick.None
	for s := tick.Tick(3); s < 40 && gone == tick.None; s++ {
		d.game(s, func() {})
		for range 3 {
			if p := d.packet(64); p != nil {
				d.ack(p)
			}
		}
		if !d.there(ids[0]) {
			gone = s
		}
	}
	require.Equal(t, tick.Tick(3+16), gone)
	require.Equal(t, uint64(1), d.view.Stats().TornGroups)
}
