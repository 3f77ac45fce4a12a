package snapshot

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// When each entity changed, and when before this tick, is what a list of an entry each says: of who moves in each tick, in every other one, in turns
// with its neighbours and once; of who is touched alone and with others of its word, twice in a tick, in a tick in which nobody else is, and of who is new.
func TestWhenEntitiesMoved(t *testing.T) {
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 31))
		s := NewStore(format.NewSchema(nil), Config{})
		var last, before []tick.Tick
		touched := func(index uint32, now tick.Tick) {
			if last[index] != now {
				before[index], last[index] = last[index], now
			}
		}
		for range 150 {
			now := s.Tick() + 1 + tick.Tick(random.IntN(10)/9*5)
			s.Begin(now)
			for range min(random.IntN(20), 300-len(last)) {
				index := s.Spawn().Index
				last, before = append(last, tick.None), append(before, tick.None)
				touched(index, now)
			}
			for index := range uint32(len(last)) {
				if often := index % 7; often == 0 || often == 1 && now%2 == 0 || often == 2 && uint64(now)%5 == uint64(index)%5 || random.IntN(100) == 0 {
					s.touch(index)
					touched(index, now)
				}
			}
			if random.IntN(3) == 0 && len(last) > 0 {
				w, rows := random.Uint32N(uint32(len(last)+63)/64), random.Uint64()&random.Uint64()
				for index := range last {
					if uint32(index)>>6 == w && rows>>(index&63)&1 != 0 {
						touched(uint32(index), now)
					} else if uint32(index)>>6 == w {
						rows &^= 1 << (index & 63)
					}
				}
				if left := len(last) - int(w)*64; left < 64 {
					rows &= 1<<left - 1
				}
				if rows != 0 {
					s.touchRows(w, rows)
				}
			}
			s.Commit()
			at, was := slices.Clone(last), slices.Clone(before)
			for index := range uint32(len(last)) {
				at[index] = s.lastChanged(index)
				if was[index] = last[index]; last[index] == now {
					was[index] = before[index]
				}
				require.Equal(t, was[index], s.changedBefore(index), "seed %d, tick %d, index %d", seed, now, index)
			}
			require.Equal(t, last, at)
		}
		require.Greater(t, len(last), 200)
	}
}
