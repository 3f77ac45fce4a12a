package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// pageGame is entities that all move in each tick, and a client that acknowledges each packet at once.
type pageGame struct {
	*Store
	view *View
	ids  []wire.NetworkID
	buf  []byte
	seq  uint64
}

func newPageGame(schema *Schema, entities, payload int) *pageGame {
	cfg := Config{Window: 16, SentPackets: 64, Payload: payload}
	g := &pageGame{Store: NewStore(schema, cfg), buf: make([]byte, payload)}
	g.view = NewView(g.Store, cfg)
	g.Begin(1)
	for range entities {
		g.ids = append(g.ids, g.Spawn())
	}
	g.Commit()
	g.send()
	return g
}

// move plays the game of a tick: everything moves.
func (g *pageGame) move() {
	g.Begin(g.tick + 1)
	for i, id := range g.ids {
		for row, n := range g.schema.Widths {
			if n == 0 {
				continue
			}
			lanes := make([]uint32, n)
			for k := range lanes {
				lanes[k] = (uint32(g.tick) + uint32(i+k*row)) % 8
			}
			g.Set(id, row, lanes)
		}
	}
	g.Commit()
	g.view.Observe()
}

// send sends all that there is.
func (g *pageGame) send() {
	for g.view.Observe(); g.view.Pending() && g.write() > 0; {
		g.view.Acked(g.seq)
	}
}

func (g *pageGame) write() int {
	g.seq++
	return g.view.Write(g.buf, g.seq)
}

// Rule 1: a record that is presumed lost in the tick in which it was sent waits for the next tick, also where the text of its
// page is there already.
func TestRule1ARecordOfAPageThatIsLostInItsOwnTickWaits(t *testing.T) {
	needsFastPaths(t)
	g := newPageGame(simSchema(t), 128, 1200)
	for range 7 {
		g.move()
		g.send()
	}
	g.move()
	require.NotZero(t, g.write())
	require.NotZero(t, len(g.cache.pages.texts), "no text was made: the test shows nothing")
	require.Equal(t, 128, g.view.sent.get(g.seq).records)
	g.view.Lost(g.seq)
	require.True(t, g.view.Pending())
	require.Zero(t, g.write(), "all of it was sent in this tick")
	g.move()
	require.NotZero(t, g.write())
	require.Equal(t, 128, g.view.sent.get(g.seq).records)
}

// Rows of entities with more rows than are encoded together, or with a row of more lanes, are encoded one by one: the bytes are
// the same.
func TestRowsThatAreNotEncodedTogetherAreInPages(t *testing.T) {
	needsFastPaths(t)
	type (
		one   struct{ A uint8 }
		two   struct{ A, B uint8 }
		four  struct{ A, B, C, D uint8 }
		five  struct{ A, B, C, D, E uint8 }
		again struct{ A, B uint8 }
		other struct{ A uint8 }
	)
	a, b, c, d, e, f := compile[one](t), compile[two](t), compile[four](t), compile[five](t), compile[again](t), compile[other](t)
	require.Equal(t, []int{4, 4}, []int{delta.MaxStreamRows, delta.MaxStreamLanes})
	for name, test := range map[string]struct {
		plans    []*quantize.Plan
		together bool
	}{
		"as many rows and lanes": {[]*quantize.Plan{a, b, c, e}, true},
		"one row more":           {[]*quantize.Plan{a, b, c, e, f}, false},
		"one lane more":          {[]*quantize.Plan{a, d}, false},
		"both":                   {[]*quantize.Plan{a, b, c, d, e, f}, false},
	} {
		t.Run(name, func(t *testing.T) {
			schema := format.NewSchema(test.plans)
			require.Equal(t, test.together, together(schema, AllRows().Below(len(test.plans))))
			play := func(apart bool) (*pageGame, [][]byte) {
				g := newPageGame(schema, 40, 1200)
				g.cache.plain = apart
				var payloads [][]byte
				for now := range tick.Tick(12) {
					g.move()
					for g.view.Pending() {
						n := g.write()
						require.NotZero(t, n)
						payloads = append(payloads, append([]byte(nil), g.buf[:n]...))
						if now%3 != 1 || len(payloads)%2 == 0 {
							g.view.Acked(g.seq)
						}
					}
				}
				return g, payloads
			}
			_, want := play(true)
			g, got := play(false)
			require.Equal(t, want, got)
			require.NotZero(t, len(g.cache.pages.texts), "no text was made: the test shows nothing")
		})
	}
}

// A packet remembers its records in groups, of which it has no more than the ring has room for: also where each entity of a
// page has other rows than its neighbours, so that each record is a group.
func TestAPacketHasNoMoreGroupsOfPagesThanThereIsRoomFor(t *testing.T) {
	needsFastPaths(t)
	plans := []*quantize.Plan{compile[simPosition](t)}
	for range 6 {
		plans = append(plans, compile[simFrozen](t))
	}
	g := newPageGame(format.NewSchema(plans), 2*maxRecords, 8000)
	g.Begin(2)
	for i, id := range g.ids {
		for bit := range 6 {
			if i>>bit&1 != 0 {
				g.Set(id, 1+bit, nil)
			}
		}
	}
	g.Commit()
	g.send()
	most := 0
	for range 6 {
		g.move()
		for g.view.Pending() {
			require.NotZero(t, g.write())
			n := g.view.sent.get(g.seq).n
			require.LessOrEqual(t, n, maxRecords)
			most = max(most, n)
			g.view.Acked(g.seq)
		}
	}
	require.Greater(t, most, maxRecords-64, "no packet is full of groups: the test shows nothing")
	require.NotZero(t, len(g.cache.pages.texts), "no text was made: the test shows nothing")
}

// A list may only be continued over a page of which the server knows whether the client has records of R: else the client takes
// the code of a later page for its own. So many pages rest in each tick, and packets are lost.
func TestListsOverPagesThatRest(t *testing.T) {
	for seed := range int64(10) {
		c := newCrowd(t, seed, 320)
		c.loss, c.rests = .3, .5
		for s := tick.Tick(2); s < 80; s++ {
			c.play(s)
		}
		require.Zero(t, c.replica.Stats().NoBaseline, "seed %d", seed)
	}
}

// Rule 6, for an entity that is no member of its page.
func TestRule6AnOlderAckDoesNotReplaceANewerBaselineOfOne(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	first := d.at(1, func() { id = d.spawn(3) })
	second := d.at(2, func() { d.move(id, 4) })
	d.view.Acked(second.seq)
	d.view.leavePage(id.Index)
	d.view.Acked(first.seq)
	require.EqualValues(t, 2, d.view.ack(id.Index).base)
}

// Rule 3: an entity that lost a row after N and got it again before R has records of the same rows at both, and the client could
// not tell that the server does not use the one of N. So it is in no list.
func TestRowsThatCameBackBetweenNAndR(t *testing.T) {
	for x := range uint32(16) {
		d := newDuo(t)
		var id wire.NetworkID
		d.ack(d.at(1, func() { id = d.spawn(3) }))
		d.ack(d.at(2, func() { d.move(id, 4) }))
		d.at(3, func() { d.store.Remove(id, rowHealth) }) // lost
		d.ack(d.at(4, func() { d.move(id, 5); d.store.Set(id, rowHealth, []uint32{50}) }))
		g := d.view.pages[0]
		require.Equal(t, []tick.Tick{4, 2}, []tick.Tick{g.ref, g.near})
		d.ack(d.at(5, func() { d.move(id, x); d.store.Set(id, rowHealth, []uint32{50 + x}) }))
		require.Equal(t, int(x), d.x(id))
		require.Equal(t, []uint32{50 + x}, d.replica.Row(id.Index, rowHealth))
	}
}

// A page that moves on forgets old ticks, of which the client may have records: no list of such a tick is continued over it.
func TestAListEndsBeforeAPageThatForgotR(t *testing.T) {
	d := newDuoOf(t, simSchema(t), Config{Window: 64, SentPackets: 256})
	var ids []wire.NetworkID
	play := func(s tick.Tick, pages ...int) {
		d.game(s, func() {
			for len(ids) < 3*format.PageEntities {
				ids = append(ids, d.spawn(1))
			}
			for _, w := range pages {
				d.moveAll(ids[w*format.PageEntities:][:format.PageEntities], s)
			}
		})
		d.flush(1000, nil)
	}
	for s := tick.Tick(1); s <= 10; s++ {
		play(s, 0, 1, 2)
	}
	for s := tick.Tick(11); s <= 50; s++ {
		play(s, 1)
	}
	require.Equal(t, tick.Tick(10), d.view.pages[0].ref)
	require.False(t, d.view.recent.has(10), "nothing is forgotten: the test shows nothing")
	play(51, 0, 2)
	require.Equal(t, tick.Tick(51), d.view.pages[2].ref)
	for i, id := range ids {
		require.Equal(t, d.store.Row(id, rowPosition), d.replica.Row(id.Index, rowPosition), "entity %d", i)
	}
}
