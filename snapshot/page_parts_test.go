package snapshot

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// floatGame is entities of ten exact floats that all change in each tick, and clients that lose packets.
type floatGame struct {
	t        *testing.T
	store    *Store
	views    []*View
	replicas []*replica.Replica
	flights  [][]listFlight
	seqs     []uint64
	r        *rand.Rand
	ids      []wire.NetworkID
	loss     float64
	filled   int      // payloads that others follow in their tick, as long as there is room
	partial  int      // those that are shorter
	sent     [][]byte // all of them
}

func newFloatGame(t *testing.T, seed uint64, clients, entities, payload, history int, loss float64, apart bool) *floatGame {
	type position struct{ X, Y, Z float32 }
	type rotation struct{ Q [4]float32 }
	type velocity struct{ X, Y, Z float32 }
	schema := format.NewSchema([]*quantize.Plan{compile[position](t), compile[rotation](t), compile[velocity](t)})
	cfg := Config{Window: 64, Entities: entities, Payload: payload, HistoryBytes: history}
	g := &floatGame{t: t, store: NewStore(schema, cfg), r: rand.New(rand.NewPCG(seed, 19)), loss: loss}
	g.store.cache.plain = apart
	g.store.Count(true)
	for range clients {
		g.views, g.replicas = append(g.views, NewView(g.store, cfg)), append(g.replicas, replica.New(schema, cfg, 1))
	}
	g.flights, g.seqs = make([][]listFlight, clients), make([]uint64, clients)
	g.store.Begin(1)
	for range entities {
		g.ids = append(g.ids, g.store.Spawn())
	}
	g.store.Commit()
	for _, v := range g.views {
		v.Observe()
	}
	return g
}

// play plays a tick. Some entities rest in some ticks, so that pages have records of some of their entities.
func (g *floatGame) play(rest float64) {
	s := g.store
	s.Begin(s.Tick() + 1)
	for i, id := range g.ids {
		if g.r.Float64() < rest {
			continue
		}
		for row, n := range []int{3, 4, 3} {
			lanes := make([]uint32, n)
			for k := range lanes {
				lanes[k] = math.Float32bits(float32(10 * math.Sin(float64(i*7+row*3+k)+0.03*float64(s.Tick()))))
			}
			s.Set(id, row, lanes)
		}
	}
	s.Commit()
	for i, v := range g.views {
		g.flights[i] = slices.DeleteFunc(g.flights[i], func(f listFlight) bool {
			if f.due > s.Tick() {
				return false
			}
			if f.lost {
				v.Lost(f.seq)
			} else {
				v.Acked(f.seq)
			}
			return true
		})
		v.Observe()
		g.send(i)
	}
}

// send sends a client's packets of a tick.
func (g *floatGame) send(i int) {
	v, last := g.views[i], 0
	for v.Pending() {
		g.seqs[i]++
		buf := make([]byte, v.payload)
		n := v.Write(buf, g.seqs[i])
		if n == 0 {
			break
		}
		if g.store.Tick() > 10 && last > 0 { // before that there are whole rows
			if last < v.payload {
				g.partial++
			} else {
				g.filled++
			}
		}
		last = n
		require.NoError(g.t, compareAccounts(g.store, g.replicas[i], buf[:n]))
		g.sent = append(g.sent, buf[:n])
		f := listFlight{seq: g.seqs[i], due: g.store.Tick() + 2 + tick.Tick(i%3), lost: g.r.Float64() < g.loss}
		if !f.lost {
			require.NoError(g.t, g.replicas[i].Read(buf[:n]))
			f.lost = g.r.Float64() < g.loss // its acknowledgement is
		}
		g.flights[i] = append(g.flights[i], f)
	}
}

// Pages of exact floats are cut behind any record, and the packets that others follow are of one size, with loss and without. What
// is copied from texts is what is written record by record, and each client comes to hold all rows to the bit.
func TestPagesOfLargeRecordsAreCutBehindAnyRecord(t *testing.T) {
	needsFastPaths(t)
	for name, of := range map[string]struct {
		loss, rest              float64
		entities, payload, full int    // full: how many payloads of one size there are for each that is not
		again                   uint64 // bodies that serve one more client
		history                 int    // 0: it has room for all baselines
	}{
		"no loss":            {0, 0, 300, 1150, 1000, 20000, 0},
		"loss":               {.1, 0, 300, 1150, 50, 5000, 0},
		"some rest":          {.1, .3, 150, 1150, 0, 2000, 0},
		"small packets":      {.1, .1, 100, 300, 0, 1500, 0},
		"of a few fours":     {0, .9, 150, 200, 0, 1000, 0},
		"of a record or two": {.1, .5, 70, 120, 0, 2000, 0},
		"a short history":    {.1, .5, 150, 300, 0, 500, 60_000},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2) {
				plain := newFloatGame(t, seed, leastSharing, of.entities, of.payload, of.history, of.loss, true)
				copied := newFloatGame(t, seed, leastSharing, of.entities, of.payload, of.history, of.loss, false)
				missing := false // of a text
				for _, g := range []*floatGame{plain, copied} {
					for range 45 {
						g.play(of.rest)
						missing = missing || slices.ContainsFunc(g.store.cache.pages.texts, func(t pageText) bool { return t.none })
					}
					g.loss = 0
					for range 25 {
						g.play(1)
					}
					for i, r := range g.replicas {
						for _, id := range g.ids {
							for row := range 3 {
								require.Equal(t, g.store.Row(id, row), r.Row(id.Index, row), "client %d, %v", i, id)
							}
						}
					}
				}
				require.Equal(t, plain.sent, copied.sent)
				require.NotZero(t, copied.store.PagesShared())
				require.Equal(t, of.history > 0, missing)
				_, again := copied.store.Shared()
				require.Greater(t, again, of.again)
				if of.full > 0 {
					require.Greater(t, copied.filled, of.full*copied.partial)
				}
			}
		})
	}
}

// Of two complete ticks one behind the other, the even one is R for large records.
func TestRIsAnEvenTickForLargeRecords(t *testing.T) {
	v := &View{}
	v.growPages(1, 1)
	v.reach(0)
	g := v.pages[0]
	g.preferEven = true
	refs := func() []tick.Tick { return []tick.Tick{g.newestComplete, g.ref, g.near} }
	for now := tick.Tick(6); now < 12; now++ {
		v.noteSentRefs(0, now, 1, true)
	}
	v.noteAckedRefs(0, 7)
	require.Equal(t, []tick.Tick{7, 7, tick.None}, refs(), "there is no other")
	v.noteAckedRefs(0, 6)
	require.Equal(t, []tick.Tick{7, 6, tick.None}, refs())
	v.noteAckedRefs(0, 9)
	require.Equal(t, []tick.Tick{9, 9, 7}, refs(), "8 is not complete")
	v.noteAckedRefs(0, 8)
	require.Equal(t, []tick.Tick{9, 8, 7}, refs())
	v.noteAckedRefs(0, 10)
	require.Equal(t, []tick.Tick{10, 10, 9}, refs())
	g.preferEven = false
	v.noteAckedRefs(0, 11)
	require.Equal(t, []tick.Tick{11, 11, 10}, refs())
}
