package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Bodies that are made together are those that are made one by one, of entities that move in every tick, at times or not at
// all, against any two ticks, with rows of every kind and with a history that does not reach back everywhere.
func TestBodiesMadeTogetherAreThoseMadeApart(t *testing.T) {
	type (
		lone   struct{ Value uint16 }
		marked struct{}
	)
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](t), compile[benchRotation](t), compile[benchVelocity](t), compile[lone](t), compile[marked](t)})
	random := rand.New(rand.NewPCG(11, 3))
	for round := range 4 {
		cfg := Config{Window: 16, Entities: 300, HistoryBytes: 1 << 20}
		if round%2 == 0 {
			cfg.HistoryBytes = 1 << 17
		}
		store := NewStore(schema, cfg)
		store.Begin(1)
		var ids []wire.NetworkID
		for range 300 {
			ids = append(ids, store.Spawn())
		}
		rows := circles(format.NewSchema([]*quantize.Plan{schema.Plan(0), schema.Plan(1), schema.Plan(2)}), 300, 64)
		made, missing, long := 0, 0, 0
		for now := tick.Tick(2); now < 60; now++ {
			store.Commit()
			store.Begin(now)
			for i, id := range ids {
				for row := range schema.Rows() {
					switch how := random.IntN(100); {
					case how == 0:
						store.Remove(id, row)
					case how < 10: // as it is
					default:
						if i%3 > 0 || random.IntN(9) == 0 {
							lanes := []uint32{random.Uint32N(1 << 16)}[:schema.Plan(row).Lanes()&1]
							if n := schema.Plan(row).Lanes(); n > 1 {
								lanes = rows[int(now)%64][row][i*n:][:n]
							}
							store.Set(id, row, lanes)
						}
					}
				}
			}
			store.Commit()
			m, none, l := requireMadeAlike(t, store, random)
			made, missing, long = made+m, missing+none, long+l
		}
		require.Greater(t, made, 1000)
		require.NotZero(t, missing)
		require.NotZero(t, long)
	}
}

// Where the way leads behind the changes of the tick it is to lead to, there may be a later change of the same row: what was so
// before that one is not what was so at T.
func TestBodiesMadeTogetherKeepToTheTick(t *testing.T) {
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](t)})
	store := NewStore(schema, Config{Window: 16, Entities: 4})
	moves := [][]int{{0, 1}, {0, 1}, {1}, {1}, {0, 1}} // who moves, by tick and in this order: in the third and fourth the second comes first
	var ids []wire.NetworkID
	for k, who := range moves {
		store.Begin(tick.Tick(k + 1))
		for len(ids) < 2 {
			ids = append(ids, store.Spawn())
		}
		for _, i := range who {
			store.Set(ids[i], 0, []uint32{uint32(100 + k*k), uint32(i), 7})
		}
		store.Commit()
	}
	of := &store.cache.batch
	of.index[0], of.n, of.mask, of.t, of.previous = ids[1].Index, 1, format.FromWords(1), 2, 1
	store.cache.begin()
	store.cache.deltas.addAll(store, of)
	got := &store.cache.deltas.entries[store.cache.deltas.find(ids[1].Index, format.FromWords(1), 2, 1)]
	var alone deltaCache
	alone.reset(store)
	want := &alone.entries[alone.encode(store, ids[1].Index, format.FromWords(1), 2, 1, Mask{})]
	require.Equal(t, []uint64{uint64(want.bits), want.word}, []uint64{uint64(got.bits), got.word})
}

// requireMadeAlike makes bodies of some entities together and apart.
func requireMadeAlike(t *testing.T, s *Store, random *rand.Rand) (made, missing, long int) {
	s.cache.deltas.reset(s)
	of, used := &s.cache.batch, 0
	for index := 0; index < 300; index += delta.MaxStreams {
		mask := s.rows.masks[index]
		if !together(s.schema, mask.Minus(s.schema.Tags)) {
			continue
		}
		base := s.tick - 1 - tick.Tick(random.IntN(6))
		before := max(base-1-tick.Tick(random.IntN(3)), tick.None)
		if base <= 1 || random.IntN(5) == 0 {
			base, before = max(base, 1), tick.None
		}
		of.n = 0
		for k := index; k < min(index+delta.MaxStreams, 300); k++ {
			if mask.Within(s.rows.masks[k]) {
				of.index[of.n] = uint32(k)
				of.n++
			}
		}
		of.mask, of.t, of.previous = mask, base, before
		s.cache.deltas.addAll(s, of)
		var alone deltaCache
		alone.reset(s)
		for k, at := range of.index[:of.n] {
			want := &alone.entries[alone.encode(s, at, mask, base, before, Mask{})]
			require.Equal(t, want.none, of.missing[k])
			if used++; want.none {
				missing++
				continue
			}
			number := s.cache.deltas.find(at, mask, base, before)
			require.NotZero(t, number)
			got := &s.cache.deltas.entries[number]
			require.Equal(t, want.bits, got.bits)
			require.Equal(t, want.word, got.word)
			require.Equal(t, [2]uint8{want.deltas, want.same}, [2]uint8{got.deltas, got.same})
			if want.bits > 64 {
				long++
				n := (want.bits + 63) / 64
				require.Equal(t, alone.words(want)[:n], s.cache.deltas.words(got)[:n])
			}
			made++
		}
	}
	return made, missing, long
}
