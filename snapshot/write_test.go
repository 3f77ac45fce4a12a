package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// busy is a store of n entities, a view and a replica that acknowledges every
// packet at once.
type busy struct {
	store   *Store
	view    *View
	replica *replica.Replica
	ids     []wire.NetworkID
	seq     uint64
	buf     [1200]byte
	seen    uint32
}

func newBusy(t testing.TB, n int) *busy {
	cfg := Config{Window: 64, Entities: n}
	b := &busy{store: NewStore(simSchema(t), cfg)}
	b.store.Begin(1)
	for range n {
		id := b.store.Spawn()
		b.store.Set(id, rowHealth, []uint32{7})
		b.ids = append(b.ids, id)
	}
	b.store.Commit()
	b.view = NewView(b.store, cfg)
	b.replica = replica.New(b.store.schema, cfg, 1)
	return b
}

// step changes one entity in every, and sends and acknowledges all of it.
func (b *busy) step(every int) {
	b.seen++
	b.store.Begin(b.store.Tick() + 1)
	lanes := [1]uint32{b.seen}
	for i := int(b.seen) % every; i < len(b.ids); i += every {
		b.store.Set(b.ids[i], rowHealth, lanes[:])
	}
	b.store.Commit()
	b.view.Observe()
	for {
		n := b.view.Write(b.buf[:], b.seq+1)
		if n == 0 {
			break
		}
		b.seq++
		if err := b.replica.Read(b.buf[:n]); err != nil {
			panic(err)
		}
		b.view.Acked(b.seq)
	}
	b.replica.ClearChanged()
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, every := range []int{1, 10} {
		b := newBusy(t, 500)
		for range 400 {
			b.step(every)
		}
		alloctest.Zero(t, 100, func() { b.step(every) }, "one in %d changes", every)
		require.True(t, b.view.Synced())
	}
}

func TestPacketsStayWithinTheirRoom(t *testing.T) {
	b := newBusy(t, 600)
	for _, size := range []int{MinPayload, 65, 100, 333, 1200} {
		buf := make([]byte, size+8)
		for i := range buf {
			buf[i] = 0xA5
		}
		n := b.view.Write(buf[:size:size], b.seq+1)
		b.seq++
		require.Greater(t, n, size-16, "a packet is filled")
		require.LessOrEqual(t, n, size)
		require.Equal(t, []byte{0xA5, 0xA5, 0xA5, 0xA5, 0xA5, 0xA5, 0xA5, 0xA5}, buf[size:], "canary")
	}
	require.Zero(t, b.view.Write(make([]byte, MinPayload-1), b.seq+1), "too little room says nothing")
}

func TestMassDespawnGoesOutBesideUpdates(t *testing.T) {
	b := newBusy(t, 3000)
	b.step(1)
	b.store.Begin(b.store.Tick() + 1)
	for _, id := range b.ids[100:] {
		b.store.Despawn(id)
	}
	for _, id := range b.ids[:100] {
		b.store.Set(id, rowHealth, []uint32{99999})
	}
	b.store.Commit()
	b.view.Observe()
	n := b.view.Write(b.buf[:], b.seq+1)
	b.seq++
	require.NoError(t, b.replica.Read(b.buf[:n]))
	st := b.view.Stats()
	require.NotZero(t, st.Despawns)
	require.NotZero(t, st.Updates, "a third is for despawns, not all")
	packets := 1
	for ; b.view.Pending(); packets++ {
		n := b.view.Write(b.buf[:], b.seq+1)
		b.seq++
		require.NoError(t, b.replica.Read(b.buf[:n]))
	}
	require.Equal(t, 100, b.replica.Len())
	require.Less(t, packets, 8, "2900 despawns and 100 updates")
}

func TestAnEntityThatFitsNoPacketIsSteppedOver(t *testing.T) {
	type huge struct{ Words [400]uint32 }
	cfg := Config{Window: 16}
	schema := format.NewSchema([]*quantize.Plan{compile[huge](t)})
	store := NewStore(schema, cfg)
	view := NewView(store, cfg)
	store.Begin(1)
	big, small := store.Spawn(), store.Spawn()
	store.Set(big, 0, make([]uint32, 400))
	store.Commit()
	view.Observe()
	buf := make([]byte, 1200)
	n := view.Write(buf, 1)
	client := replica.New(schema, cfg, 1)
	require.NoError(t, client.Read(buf[:n]))
	require.True(t, client.Entity(small.Index).Alive)
	require.False(t, client.Entity(big.Index).Alive)
	require.EqualValues(t, 1, view.Stats().Oversize)
	require.Equal(t, big, view.Stats().OversizeID)
	require.False(t, view.Pending())
	view.Acked(1)
	require.False(t, view.Synced(), "the client lacks it")
	store.Begin(2)
	store.Remove(big, 0)
	store.Commit()
	view.Observe()
	n = view.Write(buf, 2)
	require.NoError(t, client.Read(buf[:n]))
	view.Acked(2)
	require.True(t, view.Synced())
}

func TestStoreRefusesTicksThatAreNotOpen(t *testing.T) {
	store := NewStore(simSchema(t), Config{})
	require.True(t, store.Spawn().IsZero())
	store.Begin(5)
	id := store.Spawn()
	store.Commit()
	require.False(t, store.Set(id, rowHealth, []uint32{1}), "after Commit a tick is immutable")
	store.Begin(5)
	require.False(t, store.Set(id, rowHealth, []uint32{1}), "and cannot be opened again")
	store.Despawn(id)
	require.True(t, store.Alive(id))
	require.Equal(t, tick.Tick(5), store.Tick())
}

// TestNoPacketHasMoreThanThePayload: what a packet's header happens to leave is another number of bytes for each client, and would
// cut their lists at other places.
func TestNoPacketHasMoreThanThePayload(t *testing.T) {
	cfg := Config{Window: 64, Payload: 300}
	s := NewStore(simSchema(t), cfg)
	views := []*View{NewView(s, cfg), NewView(s, cfg)}
	s.Begin(1)
	for range 1000 {
		s.Set(s.Spawn(), rowPosition, []uint32{5, 6})
	}
	s.Commit()
	views[0].Observe()
	views[1].Observe()
	for seq := uint64(1); views[0].Pending(); seq++ {
		var got [2][]byte
		for i, v := range views {
			buf := make([]byte, 300+16*i)
			got[i] = buf[:v.Write(buf, seq)]
		}
		require.Equal(t, got[0], got[1], "packet %d", seq)
		require.LessOrEqual(t, len(got[0]), 300)
	}
	require.False(t, views[1].Pending())
	require.Greater(t, views[0].Stats().Snapshots, uint64(5))
}
