package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// exactPlace is a row of exact floats, as in runs.
type exactPlace struct{ X, Y, Z float32 }

// Where more members died than a packet has room for beside the others, that is
// counted, and they go in several.
func TestCase28TooLargeUnitIsSplit(t *testing.T) {
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
	require.Zero(t, d.view.links.n)
}

// Groups that change and lose a member in every tick, one of which takes more than
// a third of a packet, despawns of others, and another group that changes: there is
// room for half of it, and each comes again and again.
func TestLinkedEntitiesNeitherStarveNorAreStarved(t *testing.T) {
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
func TestLinkedEntitiesTakeTurns(t *testing.T) {
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
func TestUnitWithoutRoomBesideMessagesIsSplit(t *testing.T) {
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

// A group loses a member and gets eight whose rows go as a run, while many others
// die: where the run begins in the packet, and so how many zeros are in front of it,
// is not known before these are written, which take all the room that is left.
func TestTheRoomOfARunIsKeptBesideDespawns(t *testing.T) {
	for _, n := range []int{70, 140, 280} {
		for size := 115; size < 150; size++ {
			runBesideDespawns(t, n, size)
		}
	}
}

func runBesideDespawns(t *testing.T, n, size int) {
	cfg := Config{Window: 16, SentPackets: 64, Payload: 300}
	d := &duo{t: t, store: NewStore(format.NewSchema([]*quantize.Plan{compile[simHealth](t), compile[exactPlace](t)}), cfg)}
	d.view, d.replica = NewView(d.store, cfg), replica.New(d.store.schema, cfg, 1)
	var others, eight []wire.NetworkID
	d.game(1, func() {
		for range n {
			id := d.store.Spawn()
			d.store.Set(id, 0, []uint32{1})
			others = append(others, id)
		}
		d.store.SetGroup(others[0], 5)
	})
	d.flush(300, nil)
	d.game(30, func() { // no list is in the window
		for i := range 8 {
			id := d.store.Spawn()
			d.store.Set(id, 1, []uint32{uint32(size), uint32(i), 1})
			d.store.SetGroup(id, 5)
			eight = append(eight, id)
		}
		for _, id := range others {
			d.store.Despawn(id)
		}
	})
	d.ack(d.packet(size))
	require.False(t, d.there(others[0]))
	for _, id := range eight {
		require.True(t, d.there(id), "%d bytes", size)
	}
	require.Zero(t, d.view.Stats().TornGroups, "%d bytes", size)
	require.Greater(t, d.view.Stats().Despawns, uint64(5), "the rest is despawns")
}

// A group that is not too large in the worst case, but for what differs of floats
// that have nothing in common with those before: it is torn, its members take turns,
// and so it is while something else is tied.
func TestUnitThatFitsNoPacketIsSplitBesideLinks(t *testing.T) {
	g := newHungerGame(t, 2, 228)
	g.game(2, func() {
		for _, id := range g.others {
			g.store.SetGroup(id, 9)
		}
	})
	g.flush(228, nil)
	var seen [2]int
	for s := tick.Tick(3); s < 3+hungerTicks; s++ {
		g.game(s, func() {
			g.store.Despawn(g.others[0]) // never acknowledged
			for _, id := range g.pair {
				lanes := make([]uint32, 24)
				for i := range lanes {
					lanes[i] = g.r.Uint32() &^ (1 << 30)
				}
				g.store.Set(id, 1, lanes)
			}
		})
		p := g.packet(228)
		require.NotNil(t, p)
		g.deliver(p)
		require.Equal(t, 1, g.view.links.n)
		for i, id := range g.pair {
			if g.replica.Entity(id.Index).Tick == s {
				seen[i]++
			}
		}
	}
	require.Greater(t, g.view.Stats().TornGroups, uint64(hungerTicks/6))
	require.InDelta(t, seen[0], seen[1], 4)
}

// A group that takes most of a packet and has always lost a member leaves every
// second packet to what is in none.
func TestLinkedEntitiesLeaveEverySecondPacketToOthers(t *testing.T) {
	g := newHungerGame(t, 1, hungerPayload)
	var single wire.NetworkID
	g.game(2, func() {
		g.store.SetGroup(g.others[0], 5)
		single = g.store.Spawn()
	})
	g.flush(hungerPayload, nil)
	pair, others := 0, 0
	for s := tick.Tick(3); s < 3+hungerTicks; s++ {
		g.game(s, func() {
			g.store.Despawn(g.others[0]) // never acknowledged
			g.change()
			g.changeRow(single)
		})
		g.view.Lost(g.seq)
		p := g.packet(hungerPayload)
		require.NotNil(t, p)
		if g.deliver(p); g.seen(s) {
			pair++
		}
		if g.replica.Entity(single.Index).Tick == s {
			others++
		}
	}
	require.Greater(t, pair, hungerTicks/3)
	require.Greater(t, others, hungerTicks/3)
}
