package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// A client that joined while packets were lost, in whatever order the others came, reads as one that lost none once all of it has
// arrived: as many covers stand for its lives, and as many payloads go the short way.
func TestWhoJoinedWithLossComesToTheShortWay(t *testing.T) {
	schema := runSchema(t)
	for seed := range uint64(30) {
		cfg := Config{Window: 8, SentPackets: 256, Entities: sequelEntities}
		s, random := newSequelServer(schema, cfg, seed), rand.New(rand.NewPCG(seed, 77))
		twins, other := newRunTwins(schema, cfg), newRunTwins(schema, cfg)
		shortly := func(w *runTwins, payload []byte) int {
			before := w.sequels + w.firsts
			require.True(t, w.read(t, payload))
			return w.sequels + w.firsts - before
		}
		sequels := 0
		for turn := range 40 {
			payloads := s.turn(false)
			want, short := 0, 0
			for _, p := range payloads {
				want += shortly(&other, p)
			}
			if turn < 8 {
				random.Shuffle(len(payloads), func(i, j int) { payloads[i], payloads[j] = payloads[j], payloads[i] })
			}
			for _, p := range payloads {
				if turn < 8 && random.IntN(2) == 0 {
					continue
				}
				short += shortly(&twins, p)
			}
			twins.alike(t)
			if turn >= 30 {
				require.Equal(t, want, short, "seed %d", seed)
				require.Equal(t, len(other.fast.covers.list), len(twins.fast.covers.list), "seed %d", seed)
				sequels += short
			}
		}
		require.Greater(t, sequels, 20)
		twins.same(t, sequelEntities)
	}
}

// Where no life can go where it should there is still one for it, each has one of its own, and those that are free are used again: of
// indexes as far apart as anybody may say, and of such as come and go.
func TestLivesAreBounded(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 5))
		r := NewReplica(runSchema(t), Config{Window: 8}, 1)
		most := []uint32{40, 3000, MaxEntities}[seed%3]
		var living []wire.NetworkID
		for range 3000 {
			if len(living) < 100 && random.IntN(5) > 0 {
				id := wire.NetworkID{Index: random.Uint32N(most), Generation: 1 + random.Uint32N(1<<20)}
				if r.find(id.Index, id.Generation) < 0 {
					r.ensure(id.Index, id.Generation)
					living = append(living, id)
				}
			} else if len(living) > 0 {
				k := random.IntN(len(living))
				n := r.find(living[k].Index, living[k].Generation)
				require.GreaterOrEqual(t, n, int32(0))
				r.unlink(n)
				r.freeLife(n)
				living[k] = living[len(living)-1]
				living = living[:len(living)-1]
			}
			require.Equal(t, len(living), r.numbers.used)
			require.LessOrEqual(t, len(r.lives), 2*100+spareLives+1)
			require.Len(t, r.olds.heads, len(r.lives))
		}
		numbers := map[int32]bool{}
		for _, id := range living {
			n := r.find(id.Index, id.Generation)
			require.False(t, numbers[n], "each has one of its own")
			numbers[n] = true
			require.Equal(t, id, wire.NetworkID{Index: r.lives[n].index, Generation: r.lives[n].generation})
		}
		listed := 0
		for n := r.numbers.free; n >= 0; n = r.lives[n].lower {
			require.False(t, numbers[n])
			require.Zero(t, r.lives[n].generation)
			listed++
		}
		require.LessOrEqual(t, len(living)+listed, len(r.lives))
	}
}
