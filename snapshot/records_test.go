package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// TestAPacketHasNoMoreRecordsThanThereIsRoomFor: records of two bits, of which a
// packet could carry more than its entries are made for, behind despawns, which
// are entries too.
func TestAPacketHasNoMoreRecordsThanThereIsRoomFor(t *testing.T) {
	type flag struct{ On bool }
	cfg := Config{Window: 32, SentPackets: 256, Entities: 4000}
	d := &duo{t: t, store: NewStore(NewSchema([]*wire.Plan{compile[flag](t)}), cfg)}
	d.view, d.replica = NewView(d.store, cfg), NewReplica(d.store.schema, cfg, 1)
	ids, most := make([]wire.NetworkID, 4000), 0
	for s := tick.Tick(1); s < 12; s++ {
		d.store.Begin(s)
		for i := range ids {
			if s == 1 {
				ids[i] = d.store.Spawn()
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
			most = max(most, n)
			require.NoError(t, d.replica.Read(buf[:size]))
			d.view.Acked(d.seq)
		}
		for _, id := range ids {
			require.Equal(t, d.store.Row(id, 0), d.replica.Row(id.Index, 0))
		}
	}
	require.Equal(t, maxRecords, most, "a packet was full of records and not of bits")
}
