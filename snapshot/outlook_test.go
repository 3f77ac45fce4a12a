package snapshot

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/wire"
)

// outlookGame is a game before two clients that see, hear and acknowledge the same. To one, units with despawns are found anew for
// each packet.
type outlookGame struct {
	r      *rand.Rand
	store  *Store
	views  [2]*View
	caches [2]*EncodeCache
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
		g.views[i], g.caches[i] = NewView(g.store, cfg), g.store.NewEncodeCache()
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
			v.SetRows(id, rows)
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
			wrote[i] = buf[:v.WriteAt(g.caches[i], buf, g.seq)]
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

// pairs is a duo of so many groups of two, of each of which one has moved and one was hidden, and one that is in none.
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
