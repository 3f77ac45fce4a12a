package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// TestAPacketHasNoMoreGroupsThanThereIsRoomFor: records of two bits, of which a packet can have more than the ring of what was sent
// has room for, one by one, behind despawns.
func TestAPacketHasNoMoreGroupsThanThereIsRoomFor(t *testing.T) {
	type flag struct{ On bool }
	type red struct{}
	type green struct{}
	type blue struct{}
	type high struct{}
	type wide struct{}
	cfg := Config{Window: 32, SentPackets: 256, Entities: 4000}
	d := &duo{t: t, store: NewStore(format.NewSchema([]*quantize.Plan{compile[flag](t), compile[red](t), compile[green](t), compile[blue](t), compile[high](t), compile[wide](t)}), cfg)}
	d.view, d.replica = NewView(d.store, cfg), replica.New(d.store.schema, cfg, 1)
	ids, most := make([]wire.NetworkID, 4000), 0
	for s := tick.Tick(1); s < 12; s++ {
		d.store.Begin(s)
		for i := range ids {
			if s == 1 {
				ids[i] = d.store.Spawn()
				for row := range 5 { // 32 sets of rows by turns: a page has 32 groups
					if i>>row&1 != 0 {
						d.store.Set(ids[i], 1+row, nil)
					}
				}
			}
			if i >= len(ids)-20 && s > 4 {
				d.store.Despawn(ids[i])
				continue
			}
			d.store.Set(ids[i], 0, []uint32{uint32(s) % 2})
		}
		d.store.Commit()
		d.view.Observe()
		if s > 4 {
			ids = ids[:len(ids)-20]
		}
		for {
			buf := make([]byte, 1200)
			size := d.view.Write(buf, d.seq+1)
			if size == 0 {
				break
			}
			d.seq++
			n := d.view.sent.get(d.seq).n
			require.LessOrEqual(t, n, maxRecords)
			most = max(most, d.view.sent.get(d.seq).records)
			require.NoError(t, d.replica.Read(buf[:size]))
			d.view.Acked(d.seq)
		}
		for _, id := range ids {
			require.Equal(t, d.store.Row(id, 0), d.replica.Row(id.Index, 0))
		}
	}
	require.Greater(t, most, maxRecords, "a packet had more records than groups have room")
}
