package snapshot

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Every bit of every payload is somebody's, and no bit is two's: also of payloads that were lost, asked when they were
// written.
func TestBitsAddUpToThePayload(t *testing.T) {
	d := newDuo(t)
	account, own := format.NewBits(d.store.schema), format.NewBits(d.store.schema)
	d.store.Count(true)
	written := uint64(0)
	var ids []wire.NetworkID
	for s := tick.Tick(1); s < 200; s++ {
		p := d.at(s, func() {
			if s%5 == 1 {
				ids = append(ids, d.spawn(uint32(s)%16))
			}
			for i, id := range ids {
				switch (int(s) + i) % 7 {
				case 0:
					d.move(id, uint32(s+tick.Tick(i))%16)
				case 1:
					d.store.Set(id, rowHealth, []uint32{uint32(s) % 50})
				case 2:
					d.store.Remove(id, rowHealth)
				}
			}
			if len(ids) > 12 {
				d.store.Despawn(ids[0])
				ids = ids[1:]
			}
		})
		if p == nil {
			continue
		}
		written += 8 * uint64(len(p.payload))
		d.replica.AddBits(account, p.payload)
		require.Equal(t, written, account.Total(), "tick %d", s)
		d.store.TakeBits(own)
		require.Equal(t, account, own, "the writer counts what the client finds, tick %d", s)
		if s%3 != 0 { // the others are lost
			d.ack(p)
		} else {
			d.view.Lost(p.seq)
		}
	}
	require.Zero(t, account.Unknown)
	for _, part := range []uint64{account.Header, account.List, account.Heads, account.Despawns, account.Changed, account.Padding} {
		require.NotZero(t, part)
	}
	for _, c := range account.Components {
		fields := c.Changed
		for _, f := range c.Fields {
			fields += f.Bits
		}
		require.Equal(t, c.Spawn+c.Whole+c.Delta, fields, c.Name)
	}
	position := account.Components[rowPosition]
	require.NotZero(t, position.Spawn)
	require.NotZero(t, position.Delta)
	require.NotZero(t, position.Rows[format.SpawnRows])
	require.NotZero(t, position.Rows[format.DeltaRows])
}

func TestBitsOfAnythingAddUp(t *testing.T) {
	past := newSeeded(t)
	client, packets := past.replica(t), past.packets
	for _, payload := range packets {
		for cut := range len(payload) + 1 {
			account := format.NewBits(client.Schema())
			client.AddBits(account, payload[:cut])
			require.Equal(t, uint64(8*cut), account.Total())
		}
	}
}

// Which rows of a record are deltas depends on the rows of T. Where T is not known, the rest is unknown, although the record names its rows.
func TestBitsOfARecordAgainstAnUnknownTickAreUnknown(t *testing.T) {
	schema := sequenceSchemas(t)[0]
	d := &duo{t: t, store: NewStore(schema, Config{})}
	d.view = NewView(d.store, Config{})
	d.replica = replica.New(schema, Config{}, 1)
	var id wire.NetworkID
	d.ack(d.at(1, func() {
		id = d.store.Spawn()
		d.store.Set(id, seqLink, []uint32{0, 0})
	}))
	require.NotNil(t, d.at(2, func() { d.store.Set(id, seqLink, []uint32{0, 1}) }))
	d.ack(d.at(3, func() { d.store.Set(d.store.Spawn(), seqFrozen, nil) })) // the record of 2 is on its way: the next one spells T out
	p := d.at(4, func() { d.store.Set(id, seqFrozen, nil); d.store.Set(id, seqLink, []uint32{0, 0}) })
	account, ignorant := format.NewBits(schema), format.NewBits(schema)
	d.replica.AddBits(account, p.payload)
	require.Zero(t, account.Unknown)
	replica.New(schema, Config{}, 1).AddBits(ignorant, p.payload)
	require.NotZero(t, ignorant.Unknown)
	require.Zero(t, ignorant.Changed)
}

// accounted compares the account of the writer with what the client finds in a payload.
func (s *sequence) accounted(c *seqClient, payload []byte) error {
	return compareAccounts(s.store, c.replica, payload)
}

// compareAccounts compares what the writers of a store counted since the last call with what a client finds in the payload.
func compareAccounts(s *Store, client *replica.Replica, payload []byte) error {
	own, theirs := format.NewBits(s.schema), format.NewBits(s.schema)
	own.Entities, theirs.Entities = map[uint32]uint64{}, map[uint32]uint64{}
	s.TakeBits(own)
	client.AddBits(theirs, payload)
	if own.Total() != uint64(8*len(payload)) {
		return fmt.Errorf("tick %d: of a payload of %d bytes the server counts %d bits", s.tick, len(payload), own.Total())
	}
	if theirs.Unknown == 0 && !reflect.DeepEqual(own, theirs) {
		return fmt.Errorf("tick %d: the server counts %v, the client %v", s.tick, own, theirs)
	}
	return nil
}

// An observer decodes as Read does, and leaves no trace: also of payloads that cannot be decoded, for which Read asks for a resync.
func TestTheObserverChangesNothing(t *testing.T) {
	past := newSeeded(t)
	for _, payload := range past.packets {
		r, twin := past.replica(t), past.replica(t)
		for cut := range len(payload) + 1 {
			r.AddBits(format.NewBits(r.Schema()), payload[:cut])
			r.AppendDump(nil, payload[:cut])
		}
		empty := replica.New(r.Schema(), Config{}, 1)
		empty.AddBits(format.NewBits(r.Schema()), payload)
		_, resync := empty.WantResync()
		require.False(t, resync)
		require.Zero(t, empty.Stats())
		require.Equal(t, twin.Read(payload), r.Read(payload))
		require.Equal(t, twin.Stats(), r.Stats())
		require.Equal(t, holding(twin), holding(r))
	}
}

// A tool observes whatever a datagram has, also payloads that Read refuses for their tick. No baseline is then of the payload's tick or later,
// and nothing after such a record is decoded.
func TestTheObserverUsesNoBaselineOfALaterTick(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.ack(d.at(1, func() { id = d.spawn(3) }))
	d.ack(d.at(5, func() { d.move(id, 4) }))
	for s := tick.Tick(6); s < 80; s++ { // the record of tick 5 leaves the history
		d.ack(d.at(s, func() { d.spawn(uint32(s) % 16) }))
	}
	_, _, held := d.replica.RecordAt(id.Index, 5)
	require.False(t, held)
	for _, s := range []tick.Tick{0, 3, 5, -1, -30000} {
		for _, age := range []uint64{0, 1 << 20, uint64(s - 1 - 79)} { // the last is, modulo 2^64, the age of tick 79
			account := format.NewBits(d.store.schema)
			buf := make([]byte, 64)
			w := wire.NewBitWriter(buf)
			w.Write(uint64(s.Low()), 16)
			w.Write(0, 3) // no resync, no despawns, no lists
			symbol, raw, n := format.GapSymbol(id.Index, true)
			d.store.schema.Codes.Gap.Write(&w, 0, symbol)
			w.Write(raw, n)
			w.Bool(true) // against a baseline
			if w.Bool(age == 0); age != 0 {
				w.Var(age)
			}
			w.Bool(false) // its rows follow
			d.store.schema.WriteMask(&w, d.store.Mask(id), format.Mask{})
			w.Write(0, 40)
			payload := buf[:w.Finish()]
			d.replica.AddBits(account, payload)
			require.Equal(t, uint64(8*len(payload)), account.Total())
			require.Zero(t, account.Heads+account.Changed, "tick %d, age %d", s, age)
			require.NotZero(t, account.Unknown)
		}
	}
}

// RowAt is false without a record of the tick; a row that the entity lacked is nil.
func TestRowAtIsOfTheRecordOfATick(t *testing.T) {
	d := newDuo(t) // W is 16 ticks
	var id, other wire.NetworkID
	d.deliver(d.at(1, func() { id, other = d.spawn(3), d.spawn(5) }))
	d.at(2, func() { d.move(id, 4) }) // lost
	d.deliver(d.at(3, func() { d.move(id, 5); d.store.Remove(id, rowHealth) }))
	has := func(want []uint32, row int, s tick.Tick) {
		lanes, ok := d.replica.RowAt(id.Index, row, s)
		require.True(t, ok)
		require.Equal(t, want, lanes)
	}
	lacks := func(index uint32, s tick.Tick, why string) {
		lanes, ok := d.replica.RowAt(index, rowPosition, s)
		require.False(t, ok, why)
		require.Nil(t, lanes, why)
	}
	has([]uint32{3, 1}, rowPosition, 1)
	has([]uint32{5, 1}, rowPosition, 3)
	has([]uint32{100}, rowHealth, 1)
	has(nil, rowHealth, 3)
	has(nil, -1, 3)
	has(nil, d.store.Schema().Rows(), 3)
	lacks(id.Index, 2, "the packet was lost")
	lacks(other.Index, 3, "it did not change")
	lacks(99, 1, "there is no such entity")
	lacks(id.Index, 4, "the tick is still to come")
	for s := tick.Tick(4); s <= 60; s++ {
		p := d.at(s, func() { d.move(id, uint32(s)%16) })
		d.deliver(p)
		d.view.Acked(p.seq)
	}
	lacks(id.Index, 3, "the tick has left")
	lacks(id.Index, 1, "the tick has left")
	has([]uint32{60 % 16, 1}, rowPosition, 60)
}
