package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// seeded returns a replica that holds a little past, and payloads that lean on
// it: spawns, deltas, absent rows, despawns.
func seeded(t testing.TB) (*Replica, [][]byte) {
	cfg := Config{Window: 16}
	store := NewStore(simSchema(t), cfg)
	view := NewView(store, cfg)
	replica := NewReplica(store.schema, cfg, 1)
	var ids []wire.NetworkID
	var packets [][]byte
	for s := range tick.Tick(12) {
		store.Begin(s + 1)
		if s < 6 {
			id := store.Spawn()
			store.Set(id, rowPosition, []uint32{uint32(s), 1})
			ids = append(ids, id)
		}
		for i, id := range ids {
			if (int(s)+i)%3 == 0 {
				store.Set(id, rowHealth, []uint32{uint32(s)})
			}
			if (int(s)+i)%5 == 0 {
				store.Remove(id, rowHealth)
			}
		}
		if s == 8 {
			store.Despawn(ids[2])
		}
		store.Commit()
		view.Observe()
		buf := make([]byte, 200)
		n := view.Write(buf, uint64(s+1))
		packets = append(packets, buf[:n])
		if s < 8 {
			require.NoError(t, replica.Read(buf[:n]))
			view.Acked(uint64(s + 1))
		}
	}
	return replica, packets
}

// FuzzReadAgainstOne holds that no payload makes a Replica of one fixed past
// panic, that what is refused changes nothing, and that nothing grows beyond its
// caps. [FuzzRead] goes through many pasts; this one keeps what was once found.
func FuzzReadAgainstOne(f *testing.F) {
	_, packets := seeded(f)
	for _, p := range packets {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, _ := seeded(t)
		before, newest := r.Len(), r.Tick()
		if err := r.Read(payload); err != nil {
			require.Equal(t, before, r.Len())
			require.Equal(t, newest, r.Tick())
		}
		require.LessOrEqual(t, len(r.heads), MaxEntities)
		for e := range r.All {
			for m := e.Mask; m != 0; m &= m - 1 {
				require.NotNil(t, r.Row(e.ID.Index, m.next()), "an entity has the rows its mask says")
			}
		}
	})
}

// TestReadIsWholeOrNothing cuts payloads at every byte, appends a tail, and
// flips every bit: the outcome is an error without effect, or a legal payload.
func TestReadIsWholeOrNothing(t *testing.T) {
	_, packets := seeded(t)
	for k := 8; k < len(packets); k++ {
		whole := packets[k]
		for n := range whole {
			r, _ := seeded(t)
			records := r.stats.Records
			require.Error(t, r.Read(whole[:n]), "packet %d cut at %d of %d", k, n, len(whole))
			require.Equal(t, records, r.stats.Records)
		}
		for tail := 1; tail < 9; tail++ {
			r, _ := seeded(t)
			require.ErrorIs(t, r.Read(append(append([]byte(nil), whole...), make([]byte, tail)...)), ErrMalformed)
		}
		for i := range len(whole) * 8 {
			r, _ := seeded(t)
			flipped := append([]byte(nil), whole...)
			flipped[i/8] ^= 1 << (i % 8)
			_ = r.Read(flipped)
			require.LessOrEqual(t, r.Len(), 64)
		}
	}
}
