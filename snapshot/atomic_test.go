package snapshot

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
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
	d := newDuoOf(t, format.NewSchema([]*quantize.Plan{compile[simHealth](t), compile[exactPlace](t)}), Config{Window: 16, SentPackets: 64, Payload: 300})
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

// outlookGame is a game before two clients that see, hear and acknowledge the same. To one, units with despawns are found anew for
// each packet.
type outlookGame struct {
	r      *rand.Rand
	store  *Store
	views  [2]*View
	ids    []wire.NetworkID
	flight []listFlight
	seq    uint64

	kept, torn, waited int // packets with units that were known, torn groups, packets that were more than others leave
}

func newOutlookGame(t *testing.T, seed uint64) *outlookGame {
	g := &outlookGame{r: rand.New(rand.NewPCG(seed, 21))}
	cfg := Config{Window: 16, SentPackets: 64, Payload: 64 + 40*int(seed%3)}
	g.store = NewStore(simSchema(t), cfg)
	for i := range g.views {
		g.views[i] = NewView(g.store, cfg)
	}
	g.views[0].links.anew = true
	return g
}

// both does something to both clients.
func (g *outlookGame) both(do func(v *View)) {
	do(g.views[0])
	do(g.views[1])
}

// world is a tick of the world.
func (g *outlookGame) world() {
	s := g.store
	s.Begin(s.Tick() + 1)
	for len(g.ids) < 40 {
		id := s.Spawn()
		g.ids = append(g.ids, id)
		s.Set(id, rowHealth, []uint32{g.r.Uint32() >> g.r.IntN(32)})
		s.SetGroup(id, uint32(g.r.IntN(9)))
	}
	for range g.r.IntN(30) {
		i := g.r.IntN(len(g.ids))
		switch id := g.ids[i]; g.r.IntN(10) {
		case 0:
			s.Despawn(id)
			g.ids[i] = s.Spawn()
			s.SetGroup(g.ids[i], uint32(g.r.IntN(9)))
		case 1, 2:
			s.SetGroup(id, uint32(g.r.IntN(9)))
		case 3:
			s.Set(id, rowFrozen, nil)
		case 4:
			s.Remove(id, rowPosition)
		case 5, 6:
			s.Set(id, rowHealth, []uint32{g.r.Uint32()})
		default:
			s.Set(id, rowPosition, []uint32{uint32(g.r.IntN(16)), uint32(g.r.IntN(16))})
		}
	}
	s.Commit()
}

// sight changes what the clients see of somebody.
func (g *outlookGame) sight() {
	id := g.ids[g.r.IntN(len(g.ids))]
	what, rows := g.r.IntN(12), AllRows()
	if g.r.IntN(2) == 0 {
		rows = Mask{}.With(rowPosition)
	}
	g.both(func(v *View) {
		switch what {
		case 0, 1, 2:
			v.Hide(id)
		case 3:
			v.Keep(id)
		case 4, 5:
			v.See(id, rows)
		case 6:
			v.Again(id)
		default:
			v.Show(id)
		}
	})
}

// hear tells of some of the packets that are on their way.
func (g *outlookGame) hear(loss int) {
	var left []listFlight
	for _, f := range g.flight {
		switch how := g.r.IntN(100); {
		case how < loss:
			g.both(func(v *View) { v.Lost(f.seq) })
		case how < 2*loss+30:
			g.both(func(v *View) { v.Acked(f.seq) })
		default:
			left = append(left, f)
		}
	}
	g.flight = left
}

// send writes the packets of a tick, between which something may happen.
func (g *outlookGame) send(t *testing.T) {
	for packets := g.r.IntN(12); packets > 0; packets-- {
		room := g.store.cfg.Payload
		if g.r.IntN(6) == 0 {
			room = max(MinPayload, room/2) // messages took the rest
		}
		t0 := &g.views[1].links
		known := g.views[1].links.n > 0 && t0.seen == g.views[1].unitsKey() && len(t0.due) > len(t0.placed)
		g.seq++
		var wrote [2][]byte
		for i, v := range g.views {
			buf := make([]byte, room)
			wrote[i] = buf[:v.Write(buf, g.seq)]
		}
		require.Equal(t, wrote[0], wrote[1], "tick %d", g.store.Tick())
		if len(wrote[0]) == 0 {
			return
		}
		g.flight = append(g.flight, listFlight{seq: g.seq})
		if known {
			g.kept++
		}
		if t0.tookThird {
			g.waited++
		}
		switch g.r.IntN(12) {
		case 0:
			g.hear(20)
		case 1:
			g.sight()
		case 2:
			g.both(func(v *View) { v.Repeat(g.store.Tick()) })
		}
	}
}

func (g *outlookGame) play(t *testing.T) {
	for range 60 {
		g.world()
		for range g.r.IntN(4) {
			g.sight()
		}
		g.hear(10)
		if g.r.IntN(40) == 0 {
			g.both(func(v *View) { v.Resync(v.epoch+1, g.seq+1) })
		}
		g.both((*View).Observe)
		for range g.r.IntN(16) {
			g.sight()
		}
		if bytes := g.r.IntN(600); bytes > 200 {
			g.both(func(v *View) { v.Plan(bytes) })
		} else {
			g.both(func(v *View) { v.Plan(-1) })
		}
		g.send(t)
		require.Equal(t, g.views[0].stats, g.views[1].stats)
		require.Equal(t, g.views[0].links.n, g.views[1].links.n)
	}
	g.torn += int(g.views[1].stats.TornGroups)
}

// Whether units with despawns are found anew for each packet, or those of the packet before are gone on with, no bit is another.
func TestUnitsThatAreKeptAreThoseThatAreFound(t *testing.T) {
	games := 150
	if testing.Short() {
		games = 20
	}
	var kept, torn, waited int
	for seed := range uint64(games) {
		g := newOutlookGame(t, seed)
		if t.Run("", g.play); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		kept, torn, waited = kept+g.kept, torn+g.torn, waited+g.waited
	}
	t.Logf("%d packets went on with units, %d units torn, %d packets were more than others leave", kept, torn, waited)
	require.NotZero(t, kept)
	require.NotZero(t, torn)
	require.NotZero(t, waited)
}

// pairs makes a duo with n groups of two entities, and one entity without a group. In each group one entity has moved and one was hidden.
func pairs(t *testing.T, n int) (d *duo, ids []wire.NetworkID) {
	cfg := Config{Window: 64, SentPackets: 1024, Payload: 300}
	d = &duo{t: t, store: NewStore(simSchema(t), cfg)}
	d.view, d.replica = NewView(d.store, cfg), replica.New(d.store.schema, cfg, 1)
	d.game(1, func() {
		for i := range 2*n + 1 {
			ids = append(ids, d.spawn(uint32(i%16)))
			if i < 2*n {
				d.store.SetGroup(ids[i], uint32(1+i/2))
			}
		}
	})
	d.flush(300, nil)
	d.game(2, func() {
		for i := 0; i < 2*n; i += 2 {
			d.move(ids[i], uint32(i/2+1)%16)
		}
	})
	for i := 1; i < 2*n; i += 2 {
		d.view.Hide(ids[i])
	}
	return d, ids
}

// The cost of a packet depends on the entities that go with it, and not on other tied entities.
func TestUnitsAreFoundOnceInATick(t *testing.T) {
	const n = 1000
	d, _ := pairs(t, n)
	packets := 0
	for p := d.packet(300); p != nil; p = d.packet(300) {
		packets++
	}
	require.Greater(t, packets, 15)
	require.Less(t, d.view.links.looked, 6*n, "%d packets", packets)
}

// A loss that is told while packets are written goes with the next one.
func TestAUnitThatIsLostBetweenPacketsGoesAtOnce(t *testing.T) {
	d, ids := pairs(t, 1)
	lost := d.packet(300)
	require.NotNil(t, lost)
	d.game(3, func() { d.move(ids[2], 9) })
	require.NotNil(t, d.packet(300))
	require.Nil(t, d.packet(300))
	d.view.Lost(lost.seq)
	p := d.packet(300)
	require.NotNil(t, p)
	d.ack(p)
	require.False(t, d.there(ids[1]))
	require.EqualValues(t, 1, d.x(ids[0]))
}

// Records of a unit go by index, and not in the order in which they were tied: that would tell of what else was captured.
func TestAtomicUnitIsWrittenByIndex(t *testing.T) {
	d := newTight(t, 300)
	var ids [3]wire.NetworkID
	d.game(1, func() {
		for i := range ids {
			ids[i] = d.spawn(1)
			d.store.SetGroup(ids[i], 5)
		}
	})
	d.flush(300, nil)
	d.game(2, func() {
		d.store.SetGroup(ids[0], 0) // it left, and is found behind those that are in the group
		d.move(ids[0], 2)
		d.move(ids[1], 3)
		d.store.Despawn(ids[2])
	})
	p := d.packet(300)
	require.NotNil(t, p)
	dump := string(d.replica.AppendDump(nil, p.payload))
	first, second := strings.Index(dump, "entity at 0,"), strings.Index(dump, "entity at 1,")
	require.True(t, first >= 0 && first < second, dump)
	d.ack(p)
	require.False(t, d.there(ids[2]))
}
