package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStretchesThatGoOnAreTheirEntities puts together what is one behind the other, of several and of single ones, and holds it against
// what is said of each entity, over loss and packets that overtake one another.
func TestStretchesThatGoOnAreTheirEntities(t *testing.T) {
	joined, singles := 0, 0
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
				if !ok {
					if one, ok = r.Single(index); !ok {
						index++
						continue
					}
					singles++
				}
				index += one.Count
				if n := len(all) - 1; n >= 0 && all[n].GoesOn(&one) {
					all[n].Count += one.Count
					joined++
				} else {
					all = append(all, one)
				}
			}
			for _, s := range all {
				requireStretch(t, r, s)
			}
		}
	}
	require.NotZero(t, joined)
	require.NotZero(t, singles)
}

// requireStretch holds a stretch against what is said of each entity.
func requireStretch(t *testing.T, r *Replica, s Stretch) {
	lanes := r.Lanes(s.Tick)
	require.NotNil(t, lanes)
	for k := range s.Count {
		now := r.Entity(s.Index + k)
		require.True(t, now.Alive)
		require.Equal(t, s.Generation, now.ID.Generation)
		require.Equal(t, s.Mask, now.Mask)
		for m := s.Mask; m != 0; m &= m - 1 {
			row := m.next()
			first, end := r.Place(s.Mask, row)
			at := int(s.First) + int(k)*int(s.Width)
			require.Equal(t, r.Row(s.Index+k, row), lanes[at+first:at+end], "row %d of %d", row, s.Index+k)
		}
	}
}
