package snapshot

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

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
