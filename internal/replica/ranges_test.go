package replica

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// Entities of a range have the same generation and rows, and their lanes follow each other, over loss and reordering.
func TestRangesAreTheirEntities(t *testing.T) {
	several := 0
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 3))
		cfg := format.Config{Window: 8, SentPackets: 32, Entities: runEntities}
		s := &runServer{random: random, store: snapshot.NewStore(runSchema(t), cfg)}
		s.view = snapshot.NewView(s.store, cfg)
		r := New(s.store.Schema(), cfg, 1)
		for range 40 {
			payloads := s.turn()
			if random.IntN(2) == 0 {
				random.Shuffle(len(payloads), func(i, j int) { payloads[i], payloads[j] = payloads[j], payloads[i] })
			}
			for _, p := range payloads {
				if random.IntN(8) > 0 {
					require.NoError(t, r.Read(p))
				}
			}
			var all []EntityRange
			for index := uint32(0); index < runEntities; {
				one, ok := r.RangeAt(index, runEntities-index)
				require.Equal(t, ok, one.Count >= leastRange)
				index += one.Count
				if ok {
					all = append(all, one)
					several++
				}
			}
			for _, s := range all {
				requireRange(t, r, s)
			}
			requireRecords(t, r)
		}
	}
	require.NotZero(t, several)
}

// requireRecords compares the records of each tick with the state as of it: each entity has one at most.
func requireRecords(t *testing.T, r *Replica) {
	for at := r.Tick() - r.Window() + 1; at <= r.Tick(); at++ {
		records, entities := r.Records(at), map[uint32]bool{}
		for n := 0; n < records.Len(); {
			e := records.RangeAt(n)
			require.Positive(t, e.Count)
			require.Equal(t, at, e.Tick)
			n += int(e.Count)
			for k := range e.Count {
				require.False(t, entities[e.Index+k])
				entities[e.Index+k] = true
				v, ok := r.AsOf(wire.NetworkID{Index: e.Index + k, Generation: e.Generation}, at)
				if !ok {
					continue // It has ended since.
				}
				require.Equal(t, at, v.Tick)
				require.Equal(t, e.Mask, v.Mask)
				for m := e.Mask; !m.IsZero(); m = m.Rest() {
					lanes, n := r.Lanes(&e, m.Lowest())
					require.Equal(t, v.Row(m.Lowest()), lanes[int(k)*e.Width:][:n])
				}
			}
		}
	}
}

// requireRange compares a range with its entities.
func requireRange(t *testing.T, r *Replica, s EntityRange) {
	for k := range s.Count {
		now := r.Entity(s.Index + k)
		require.True(t, now.Alive)
		require.Equal(t, s.Generation, now.ID.Generation)
		require.Equal(t, s.Mask, now.Mask)
		for m := s.Mask; !m.IsZero(); m = m.Rest() {
			row := m.Lowest()
			lanes, n := r.Lanes(&s, row)
			require.NotNil(t, lanes)
			require.Equal(t, r.Row(s.Index+k, row), lanes[int(k)*s.Width:][:n], "row %d of %d", row, s.Index+k)
		}
	}
}
func TestChangedIndexesAreListedOnce(t *testing.T) {
	const most = 400
	rapid.Check(t, func(t *rapid.T) {
		r := Replica{changed: changedIndexes{set: make([]uint64, (most+63)/64)}}
		var want []uint32
		next := uint32(0)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			index := rapid.Uint32Range(0, most-1).Draw(t, "index")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				r.ClearChanged()
				want = want[:0]
				require.False(t, slices.ContainsFunc(r.changed.set, func(w uint64) bool { return w != 0 }))
			case 1, 2, 3, 4, 5:
				index = min(next, most-1)
			}
			r.changed.add(index)
			next = index + 1
			if !slices.Contains(want, index) {
				want = append(want, index)
				slices.Sort(want)
			}
			var spelled []uint32
			for k, s := range r.ChangedRanges() {
				for i := range s.Count {
					spelled = append(spelled, s.Index+i)
				}
				require.True(t, k == 0 || r.ChangedRanges()[k-1].end() != s.Index)
			}
			require.Equal(t, want, spelled)
			require.Equal(t, slices.Contains(want, index), r.HasChanged(index))
			if rapid.Bool().Draw(t, "asked") {
				require.Equal(t, want, r.Changed())
			}
		}
	})
}

// Ranges that were one become many when a packet was lost, and that allocates nothing.
func TestMoreRangesThanBeforeAllocateNothing(t *testing.T) {
	c := changedIndexes{set: make([]uint64, 16)}
	many := 1
	alloctest.Zero(t, 6, func() {
		c.clear()
		for i := range uint32(many) {
			c.add(3 * i)
		}
		if n := len(c.spans()); n != many {
			t.Fatal(n)
		}
		many *= 2
	})
}
