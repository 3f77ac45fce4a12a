package snapshot

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// swapped plays the same to two stores: one replaces rows in one pass, the other a step at a time.
type swapped struct {
	t           *testing.T
	random      *rand.Rand
	quick, slow *Store
	ids         []wire.NetworkID
	most        uint32 // lanes are below it
	ways        [2]int // how often a stripe was replaced in one pass, and how often not
}

func (p *swapped) both(f func(s *Store)) { f(p.quick); f(p.slow) }

func (p *swapped) lanes(n int) []uint32 {
	lanes := make([]uint32, n)
	for i := range lanes {
		lanes[i] = p.random.Uint32N(p.most)
	}
	return lanes
}

func (p *swapped) spawn(n int) {
	for range n {
		id := p.quick.Spawn()
		require.Equal(p.t, id, p.slow.Spawn())
		p.ids = append(p.ids, id)
		for row := range p.quick.schema.Rows() {
			lanes := p.lanes(int(p.quick.schema.Widths[row]))
			p.both(func(s *Store) { s.Set(id, row, lanes) })
		}
	}
}

// replace gives one of so many entities another value of a row, and many of them the one that they have.
func (p *swapped) replace(row, of int) {
	n := int(p.quick.schema.Widths[row])
	keep := p.random.IntN(4) == 0
	for at := 0; at < len(p.ids); at += stripeRows {
		var some []wire.NetworkID
		var lanes []uint32
		same := p.random.IntN(10) == 0
		for _, id := range p.ids[at:min(at+stripeRows, len(p.ids))] {
			if p.random.IntN(of) > 0 {
				continue
			}
			some, lanes = append(some, id), append(lanes, p.lanes(n)...)
			if same || keep && p.random.IntN(2) == 0 {
				copy(lanes[len(lanes)-n:], p.quick.Row(id, row))
			}
		}
		if len(some) == 0 {
			continue
		}
		first := some[0].Index &^ (stripeRows - 1)
		page := func(s *Store) []uint32 { return s.rows.pages[row][first/pageRows][int(first%pageRows)*n:] }
		p.slow.replaceApart(some, row, page(p.slow), lanes, false)
		if p.quick.swapRows(some, row, bitsOf(some), page(p.quick), lanes) {
			p.ways[0]++
		} else {
			p.ways[1]++
			p.quick.replaceApart(some, row, page(p.quick), lanes, false)
		}
	}
}

// bitsOf returns the rows of entities in their stripe, one bit each.
func bitsOf(ids []wire.NetworkID) (rows uint64) {
	for _, id := range ids {
		rows |= 1 << (id.Index % stripeRows)
	}
	return rows
}

func (p *swapped) same() {
	a, b := p.slow, p.quick
	require.Equal(p.t, a.Changed(), b.Changed())
	require.Equal(p.t, a.changed, b.changed)
	require.Equal(p.t, a.words, b.words)
	require.Equal(p.t, a.moved, b.moved)
	require.Equal(p.t, a.still, b.still)
	require.Equal(p.t, a.rows.pages, b.rows.pages)
	h, i := &a.past, &b.past
	require.Equal(p.t, h.rows, i.rows)
	require.Equal(p.t, h.entries, i.entries)
	require.Equal(p.t, [...]uint64{h.next, h.oldest, h.lane, h.firstLane, h.evicted}, [...]uint64{i.next, i.oldest, i.lane, i.firstLane, i.evicted})
	require.Equal(p.t, []int{len(h.lanes), h.beside, int(h.horizon)}, []int{len(i.lanes), i.beside, int(i.horizon)})
	for k := h.oldest; k < h.next; k++ { // room that no row has taken yet is nobody's
		c := h.at(k)
		n := bits.OnesCount64(c.there) * (ageLanes + h.rows[c.row].width)
		if want, got := h.value(c.lane, n), i.value(c.lane, n); !slices.Equal(want, got) {
			require.Equal(p.t, want, got)
		}
	}
}

// Rows that are replaced in one pass leave a store and its history bit for bit what they are a step at a time: rows of one lane to five, all over the
// store or near one another, of entities that are new, that changed in this tick already, or that have the value; with room in the history and without.
func TestRowsInOnePassAreRowsStepByStep(t *testing.T) {
	type (
		one  struct{ N int32 }
		two  struct{ A, B float32 }
		wide struct{ A, B, C, D, E float32 }
	)
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](t), compile[benchRotation](t), compile[wide](t), compile[one](t), compile[two](t)})
	for seed := range uint64(8) {
		cfg := Config{Window: 8}
		if seed%2 > 0 {
			cfg.HistoryBytes = 120_000
		}
		random := rand.New(rand.NewPCG(seed, 9))
		p := &swapped{t: t, random: random, quick: NewStore(schema, cfg), slow: NewStore(schema, cfg), most: 2 + uint32(seed/2*seed)}
		for range 60 {
			now := p.quick.Tick() + 1
			p.both(func(s *Store) { s.Begin(now) })
			if len(p.ids) < 600 {
				p.spawn(random.IntN(150))
			}
			for range 1 + random.IntN(8) {
				p.replace(random.IntN(schema.Rows()), []int{1, 2, 10, 30}[random.IntN(4)])
			}
			p.both(func(s *Store) { s.Commit() })
			p.same()
		}
		require.Positive(t, p.ways[0], "seed %d", seed)
		require.Positive(t, p.ways[1], "seed %d", seed)
		require.Equal(t, seed%2 > 0, p.quick.HistoryEvicted() > 0, "seed %d", seed)
	}
}

// Where a ring of the history is full, or the lanes of a stripe would not lie in one piece, rows are not replaced in one pass, and nothing is done: what is
// forgotten for them is another's business.
func TestRowsInOnePassNeedRoom(t *testing.T) {
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](t), compile[benchRotation](t)})
	const many = 4 * pageRows
	for name, full := range map[string]func(h *history){
		"nothing is full": func(*history) {},
		"changes":         func(h *history) { h.oldest = h.next - uint64(len(h.entries)) },
		"lanes":           func(h *history) { h.firstLane = h.lane + stripeRows*5 - 1 - uint64(len(h.lanes)) },
		"in one piece":    func(h *history) { h.lane += -h.lane&uint64(len(h.lanes)-1) - stripeRows*4 + 1; h.firstLane = h.lane },
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStore(schema, Config{Window: 8, Entities: many})
			var ids []wire.NetworkID
			for range 4 { // so that the rings have gone some way
				s.Begin(s.tick + 1)
				for i := range many {
					if s.tick == 1 {
						ids = append(ids, s.Spawn())
					}
					for row, n := range schema.Widths {
						s.Set(ids[i], row, []uint32{uint32(s.tick), 2, 3, 4}[:n])
					}
				}
				s.Commit()
			}
			s.Begin(s.tick + 1)
			h := &s.past
			full(h)
			for row, n := range schema.Widths {
				at := [...]uint64{h.next, h.oldest, h.lane, h.firstLane}
				changed, lanes, some := s.Changed(), []uint32(nil), []wire.NetworkID{ids[3], ids[7], ids[60]}
				for range some {
					lanes = append(lanes, []uint32{9, 9, 9, 9}[:n]...)
				}
				page := s.rows.pages[row][0]
				room := name == "nothing is full" || name == "lanes" && n == 3
				require.Equal(t, room, s.swapRows(some, row, 1<<3|1<<7|1<<60, page, lanes), "%d lanes", n)
				if !room {
					require.Equal(t, at, [...]uint64{h.next, h.oldest, h.lane, h.firstLane})
					require.Equal(t, changed, s.Changed())
					require.Equal(t, []uint32{4, 2, 3, 4}[:n], s.Row(ids[3], row))
				}
			}
		})
	}
}

// ReplaceRows of a large store changes each named row and no other, in whatever order they come and over however many pages.
func TestReplaceRowsOfALargeStore(t *testing.T) {
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](t)})
	s := NewStore(schema, Config{})
	s.Begin(1)
	var ids []wire.NetworkID
	for range 4800 {
		ids = append(ids, s.Spawn())
		s.Set(ids[len(ids)-1], 0, []uint32{1, 2, uint32(len(ids))})
	}
	want := make([]uint32, len(ids))
	for k := range ids {
		want[k] = uint32(k + 1)
	}
	random := rand.New(rand.NewPCG(4, 1))
	for round := range 40 {
		some := random.Perm(len(ids))[:random.IntN(len(ids)/(1+round))]
		if round%3 > 0 {
			slices.Sort(some)
		}
		var whose []wire.NetworkID
		var lanes []uint32
		for _, k := range some {
			want[k] += uint32(random.IntN(3))
			whose, lanes = append(whose, ids[k]), append(lanes, 1, 2, want[k])
		}
		s.Commit()
		s.Begin(s.Tick() + 1)
		s.ReplaceRows(whose, 0, lanes)
		for k, id := range ids {
			require.Equal(t, want[k], s.Row(id, 0)[2])
		}
	}
}
