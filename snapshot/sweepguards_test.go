package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// sweptGame is entities that all move in each tick, and a client that acknowledges each at once.
type sweptGame struct {
	*Store
	view *View
	ids  []wire.NetworkID
	buf  []byte
	seq  uint64
}

func newSweptGame(schema *Schema, rests, moves int) *sweptGame {
	cfg := Config{Window: 16, SentPackets: 64, Payload: 1200}
	g := &sweptGame{Store: NewStore(schema, cfg), buf: make([]byte, 1200)}
	g.view = NewView(g.Store, cfg)
	g.Begin(1)
	for range rests + moves {
		g.ids = append(g.ids, g.Spawn())
	}
	g.Commit()
	g.send()
	return g
}

// begin begins a tick in which the entities from one on move.
func (g *sweptGame) begin(from int) {
	g.Begin(g.tick + 1)
	for i, id := range g.ids[from:] {
		for row, n := range g.schema.widths {
			lanes := make([]uint32, n)
			for k := range lanes {
				lanes[k] = (uint32(g.tick) + uint32(i+k*row)) % 8
			}
			g.Set(id, row, lanes)
		}
	}
}

// send ends the tick and sends all of it.
func (g *sweptGame) send() {
	g.Commit()
	g.view.Observe()
	for g.view.Pending() && g.write() > 0 {
		g.view.Acked(g.seq)
	}
}

func (g *sweptGame) write() int {
	g.seq++
	return g.view.Write(g.buf, g.seq)
}

// play is so many ticks in which the entities from one on move.
func (g *sweptGame) play(ticks, from int) {
	for range ticks {
		g.begin(from)
		g.send()
	}
}

// The first of those that are alike leans on the list's tick and has not gone out, and the rows that it had there can go together: where one
// thing is otherwise, each is asked by itself.
func TestTheFirstOfASweepIsAsItsList(t *testing.T) {
	g := newSweptGame(simSchema(t), 0, 128)
	g.play(7, 0)
	g.begin(0)
	g.Commit()
	g.view.Observe()
	v, s, h := g.view, sweep{}, &g.desk.swath
	list := v.refer(0)
	p := packetWriter{v: v, desk: &g.desk, s: g.tick, listed: list.tick, near: v.answers.near(list.tick), upTo: list.tick}
	require.Equal(t, ahead, h.take(v.sent.following(list, 0)[:ahead]))
	index := h.index[0]
	c := v.cohorts.find(index)
	holds := func(want bool, what string) {
		t.Helper()
		if got := s.first(&p, h, index); want {
			require.Same(t, c, got, what)
		} else {
			require.Nil(t, got, what)
		}
	}
	holds(true, "all is as usual")
	c.base--
	holds(false, "another T than the list's")
	c.base, c.went = c.base+1, p.s
	holds(false, "it went out in this tick")
	c.went = list.tick
	holds(true, "as before")
	g.schema.widths[rowPosition] = wire.MaxStrandLanes + 1
	holds(false, "rows that cannot go together")
	g.schema.widths[rowPosition] = 2
	v.alone(index)
	holds(false, "a member of no cohort")
	index = h.index[1]
	holds(true, "as before")
}

// What went out in this tick and is taken for lost waits for the next, also where all of it would be swept (rule 1).
func TestWhatIsLostOfAListInItsOwnTickWaitsForTheNext(t *testing.T) {
	g := newSweptGame(simSchema(t), 0, 128)
	g.play(7, 0)
	before := g.desk.alike
	g.begin(0)
	g.Commit()
	g.view.Observe()
	require.NotZero(t, g.write())
	require.EqualValues(t, 128, g.desk.alike-before, "the test shows nothing")
	g.view.Lost(g.seq)
	require.True(t, g.view.Pending())
	require.Zero(t, g.write(), "all of it went out in this tick")
}

// Of whom a despawn is owed nothing else is asked: those beside it are alike all the same. That shows where the despawns find no room before the list.
func TestWhoIsOwedADespawnIsLeftOutOfASweep(t *testing.T) {
	const rests, moves = 3000, 128
	for _, c := range []struct{ dies, alone, alike int }{{-1, -1, moves}, {rests + 40, -1, moves}, {rests, -1, moves}, {rests + 40, rests + 50, moves - ahead}} {
		g := newSweptGame(simSchema(t), rests, moves)
		g.play(7, rests)
		require.True(t, g.view.Synced())
		before, swept := g.desk.alike, g.desk.swept
		g.begin(rests)
		for _, id := range g.ids[:rests] {
			g.Despawn(id)
		}
		if c.dies >= 0 {
			g.Despawn(g.ids[c.dies])
		}
		g.Commit()
		g.view.Observe()
		if c.alone >= 0 { // then they are asked one by one
			g.view.alone(uint32(c.alone))
		}
		require.NotZero(t, g.write())
		require.Equal(t, c.dies >= 0, c.dies >= 0 && g.view.owed.has(uint32(c.dies)), "its despawn found room: the test shows nothing")
		require.EqualValues(t, moves, g.desk.swept-swept, "%+v", c)
		require.EqualValues(t, c.alike, g.desk.alike-before, "%+v", c)
		require.Equal(t, c.dies >= 0, c.dies >= 0 && g.view.unsent.has(uint32(c.dies)))
	}
}

// Entities with more rows than are made together, or with a row of more lanes, are swept by nobody, whichever way they are asked; those that
// have just as many are.
func TestWhatHasMoreRowsOrLanesThanGoTogetherIsNotSwept(t *testing.T) {
	type (
		one   struct{ A uint8 }
		two   struct{ A, B uint8 }
		four  struct{ A, B, C, D uint8 }
		five  struct{ A, B, C, D, E uint8 }
		again struct{ A, B uint8 }
		other struct{ A uint8 }
	)
	a, b, c, d, e, f := compile[one](t), compile[two](t), compile[four](t), compile[five](t), compile[again](t), compile[other](t)
	require.Equal(t, []int{4, 4}, []int{wire.MaxStrandRows, wire.MaxStrandLanes})
	for name, test := range map[string]struct {
		plans []*wire.Plan
		swept bool
	}{
		"as many rows and lanes": {[]*wire.Plan{a, b, c, e}, true},
		"one row more":           {[]*wire.Plan{a, b, c, e, f}, false},
		"one lane more":          {[]*wire.Plan{a, d}, false},
		"both":                   {[]*wire.Plan{a, b, c, d, e, f}, false},
	} {
		t.Run(name, func(t *testing.T) {
			play := func(apart bool) (*sweptGame, [][]byte) {
				g := newSweptGame(NewSchema(test.plans), 0, 40)
				g.desk.apart = apart
				var payloads [][]byte
				for now := range tick.Tick(12) {
					g.begin(0)
					g.Commit()
					g.view.Observe()
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
			require.Equal(t, test.swept, g.desk.swept > 0)
			require.Equal(t, test.swept, g.desk.alike > 0)
		})
	}
}

// Which bodies there are is forgotten with each tick, also of the last indexes where these are no whole 64.
func TestWhatIsKnownOfBodiesByWordsIsOfTheTick(t *testing.T) {
	for _, many := range []int{64, 65, 100, 128, 130} {
		g := newSweptGame(simSchema(t), 0, many)
		g.play(7, 0)
		require.Equal(t, many, g.desk.bodies.any.count())
		g.ids = g.ids[:40] // the others rest from now on
		g.play(1, 0)
		require.EqualValues(t, 40, g.desk.bodies.arenas[0].made)
		require.Equal(t, 40, g.desk.bodies.any.count(), "of %d", many)
	}
}
