package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

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
