package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Where the way leads behind the changes of the tick it is to lead to, there may be a later change of the same row: what was so
// before that one is not what was so at T.
func TestDeltaBatchKeepsToTheTick(t *testing.T) {
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
