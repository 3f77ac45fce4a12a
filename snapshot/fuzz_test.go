package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// seeded is a little past of a replica, and payloads that are coded against it: spawns, deltas, absent rows, despawns. The
// server that wrote them is gone: a replica of it costs reading a few packets.
type seeded struct {
	schema  *Schema
	cfg     Config
	packets [][]byte
	read    int // so many of the first packets are the past
}

func newSeeded(t testing.TB) *seeded {
	p := &seeded{schema: simSchema(t), cfg: Config{Window: 16, SentPackets: 64}, read: 8}
	store := NewStore(p.schema, p.cfg)
	view := NewView(store, p.cfg)
	var ids []wire.NetworkID
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
		p.packets = append(p.packets, buf[:view.Write(buf, uint64(s+1))])
		if int(s) < p.read {
			view.Acked(uint64(s + 1))
		}
	}
	return p
}

// replica returns one that has read the past.
func (p *seeded) replica(t testing.TB) *replica.Replica {
	r := replica.New(p.schema, p.cfg, 1)
	for _, packet := range p.packets[:p.read] {
		require.NoError(t, r.Read(packet))
	}
	return r
}

// fuzzedBytes bounds the payloads of FuzzReadAgainstOne. The fuzzer makes an input that reaches new code as short as it can,
// by up to n * n executions.
const fuzzedBytes = 256

// readSeeded brings a payload to a replica of the past. What is refused changes nothing, and nothing grows beyond its caps.
func (p *seeded) readSeeded(t testing.TB, payload []byte) {
	r := p.replica(t)
	before, newest, stats := r.Len(), r.Tick(), r.Stats()
	account := format.NewBits(p.schema)
	r.AddBits(account, payload)
	require.Equal(t, uint64(8*len(payload)), account.Total())
	require.NotEmpty(t, r.AppendDump(nil, payload))
	require.Equal(t, stats, r.Stats(), "an observer changes nothing")
	if err := r.Read(payload); err != nil {
		require.Equal(t, before, r.Len())
		require.Equal(t, newest, r.Tick())
	}
	require.LessOrEqual(t, r.Len(), MaxEntities)
	for e := range r.All {
		for m := e.Mask; !m.IsZero(); m = m.Rest() {
			require.NotNil(t, r.Row(e.ID.Index, m.Lowest()), "an entity has the rows its mask says")
		}
	}
}

// FuzzReadAgainstOne holds that no payload makes a Replica of one fixed past
// panic, that what is refused changes nothing, and that nothing grows beyond its
// caps. [FuzzRead] goes through many pasts; this one keeps what was once found.
func FuzzReadAgainstOne(f *testing.F) {
	past := newSeeded(f)
	for _, packet := range past.packets {
		f.Add(packet)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if len(payload) <= fuzzedBytes {
			past.readSeeded(t, payload)
		}
	})
}

// TestFuzzedReadsAreCheap bounds what one execution of FuzzReadAgainstOne allocates: with a whole server for each it came to
// 0.9 MB, and the fuzzer to a standstill.
func TestFuzzedReadsAreCheap(t *testing.T) {
	past := newSeeded(t)
	alloctest.AtMost(t, 10*250, 10, func() { past.readSeeded(t, past.packets[past.read]) })
	require.Less(t, alloctest.Bytes(t, func() { past.readSeeded(t, past.packets[past.read]) }), uint64(150_000))
}

// TestReadIsWholeOrNothing cuts payloads at every byte, appends padding and worse, and
// flips every bit: the outcome is an error without effect, or a legal payload.
func TestReadIsWholeOrNothing(t *testing.T) {
	past := newSeeded(t)
	packets := past.packets
	for k := 8; k < len(packets); k++ {
		whole := packets[k]
		for n := range whole {
			r := past.replica(t)
			records := r.Stats().Records
			require.Error(t, r.Read(whole[:n]), "packet %d cut at %d of %d", k, n, len(whole))
			require.Equal(t, records, r.Stats().Records)
		}
		for tail := 1; tail < 9; tail++ { // zeros are padding, anything else is not
			longer := append(append([]byte(nil), whole...), make([]byte, tail)...)
			require.NoError(t, past.replica(t).Read(longer))
			longer[len(longer)-1] = 0x80
			require.ErrorIs(t, past.replica(t).Read(longer), replica.ErrMalformed)
		}
		for i := range len(whole) * 8 {
			r := past.replica(t)
			flipped := append([]byte(nil), whole...)
			flipped[i/8] ^= 1 << (i % 8)
			_ = r.Read(flipped)
			require.LessOrEqual(t, r.Len(), 64)
		}
	}
}
