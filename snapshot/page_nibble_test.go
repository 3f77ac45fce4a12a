package snapshot

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type longName struct{ Called wire.Text[[192]byte] }

// Four neighbours with a text of 192 bytes each fit a packet one by one, but not together. All of them come to the client, and none is
// called too large.
func TestFourRecordsThatFitOnlyOneByOne(t *testing.T) {
	cfg := Config{Window: 64, Entities: 64, Payload: 500}
	store := NewStore(format.NewSchema([]*quantize.Plan{compile[longName](t)}), cfg)
	view, reader := NewView(store, cfg), replica.New(store.schema, cfg, 1)
	var ids []wire.NetworkID
	seq, buf := uint64(0), make([]byte, 500)
	for at := range tick.Tick(40) {
		store.Begin(at + 1)
		for len(ids) < 8 {
			ids = append(ids, store.Spawn())
		}
		if at == 0 || at == 10 { // then they rest
			for i, id := range ids {
				var text longName
				for k := range 192 {
					text.Called.Append(string(rune('a' + (int(at)+i+k)%26)))
				}
				lanes := make([]uint32, store.schema.Widths[0])
				store.schema.Plan(0).Quantise(unsafe.Pointer(&text), lanes)
				store.Set(id, 0, lanes)
			}
		}
		store.Commit()
		view.Observe()
		view.Plan(1 << 20)
		for view.Pending() {
			seq++
			n := view.Write(buf, seq)
			if n == 0 {
				break
			}
			require.NoError(t, reader.Read(buf[:n]))
			view.Acked(seq)
		}
	}
	for i, id := range ids {
		require.Equal(t, store.Row(id, 0), reader.Row(id.Index, 0), "entity %d", i)
	}
	require.Zero(t, view.Stats().Oversize)
}
