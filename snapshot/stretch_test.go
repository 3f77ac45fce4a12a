package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Entities of a range have the same generation and rows, and their lanes follow each other, over loss and reordering.
func TestStretchesAreTheirEntities(t *testing.T) {
	several := 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 3))
		cfg := Config{Window: 8, SentPackets: 32, Entities: runEntities}
		s := &runServer{random: random, store: NewStore(runSchema(t), cfg)}
		s.view = NewView(s.store, cfg)
		r := NewReplica(s.store.schema, cfg, 1)
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
			var all []Stretch
			for index := uint32(0); index < runEntities; {
				one, ok := r.Stretch(index, runEntities-index)
				require.Equal(t, ok, one.Count >= leastRange)
				index += one.Count
				if ok {
					all = append(all, one)
					several++
				}
			}
			for _, s := range all {
				requireStretch(t, r, s)
			}
		}
	}
	require.NotZero(t, several)
}

// requireStretch compares a range with its entities.
func requireStretch(t *testing.T, r *Replica, s Stretch) {
	lanes := r.Lanes(s.Tick)
	require.NotNil(t, lanes)
	for k := range s.Count {
		now := r.Entity(s.Index + k)
		require.True(t, now.Alive)
		require.Equal(t, s.Generation, now.ID.Generation)
		require.Equal(t, s.Mask, now.Mask)
		for m := s.Mask; m != 0; m &= m - 1 {
			row := m.Lowest()
			first, end := r.Place(s.Mask, row)
			at := int(s.First) + int(k)*int(s.Width)
			require.Equal(t, r.Row(s.Index+k, row), lanes[at+first:at+end], "row %d of %d", row, s.Index+k)
		}
	}
}
