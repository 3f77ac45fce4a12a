package nettest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot"
)

// What fills a packet to the bit: 192 bits and one.
type (
	bulk  struct{ A, B, C uint64 }
	flag1 struct{ On bool }
	flag2 struct{ On bool }
	flag3 struct{ On bool }
	flag4 struct{ On bool }
	flag5 struct{ On bool }
	flag6 struct{ On bool }
	flag7 struct{ On bool }
	flag8 struct{ On bool }
	flag9 struct{ On bool }
)

func bulkProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[bulk](p)
	netcode.Replicate[flag1](p)
	netcode.Replicate[flag2](p)
	netcode.Replicate[flag3](p)
	netcode.Replicate[flag4](p)
	netcode.Replicate[flag5](p)
	netcode.Replicate[flag6](p)
	netcode.Replicate[flag7](p)
	netcode.Replicate[flag8](p)
	netcode.Replicate[flag9](p)
	return p
}

// bulkStore holds a group of four, of which the first has some flags, and a client that lacks it.
func bulkStore(schema *snapshot.Schema, cfg snapshot.Config, flags int) (*snapshot.Store, *snapshot.View) {
	row := map[string]int{}
	for i := range schema.Rows() {
		row[schema.Plan(i).Name()] = i
	}
	store := snapshot.NewStore(schema, cfg)
	store.Begin(1)
	for i := range 4 {
		id := store.Spawn()
		store.Set(id, row["bulk"], []uint32{1, 2, 3, 4, 5, 6})
		if i == 0 {
			for k := range flags {
				store.Set(id, row[fmt.Sprint("flag", k+1)], []uint32{1})
			}
		}
		store.SetGroup(id, 9)
	}
	store.Commit()
	return store, snapshot.NewView(store, cfg)
}

// bulkGroup sends a group of four, with so many bits more than the least, to a client that holds nothing. It returns
// whether the store found it too large, in how many packets it came, and whether the client ever held a part of it.
func bulkGroup(t *testing.T, schema *snapshot.Schema, payload, bits int) (large bool, packets int, torn bool) {
	cfg := snapshot.Config{Payload: payload}
	store, view := bulkStore(schema, cfg, bits)
	client := replica.New(schema, cfg, 0)
	buf := make([]byte, payload)
	for client.Len() < store.Len() {
		packets++
		require.Less(t, packets, 10, "it does not arrive")
		n := view.Write(buf, uint64(packets))
		require.NotZero(t, n)
		require.NoError(t, client.Read(buf[:n]))
		torn = torn || client.Len() != store.Len()
	}
	return len(store.LargeGroups()) > 0, packets, torn
}

// A group whose worst case fits a packet with no bit to spare is sent whole. Two bits more and it is reported, sent one by
// one if need be, and arrives all the same: nothing waits for room that will never be.
func TestCase28GroupThatMissesBySomeBits(t *testing.T) {
	schema := bulkProtocol().Schema()
	payload := 64 // the smallest packet that the group without a flag fits
	for large := true; large; payload++ {
		large, _, _ = bulkGroup(t, schema, payload+1, 0)
	}
	room := 0 // bits that are left in it
	for ; room < 9; room++ {
		if large, _, _ := bulkGroup(t, schema, payload, room+1); large {
			break
		}
	}
	require.Less(t, room, 8, "it would have fitted a smaller packet")
	large, packets, torn := bulkGroup(t, schema, payload, room)
	require.False(t, large)
	require.False(t, torn)
	require.Equal(t, 1, packets)
	for more := 1; room+more <= 9; more++ {
		large, _, _ = bulkGroup(t, schema, payload, room+more)
		require.True(t, large, "%d bits too many", more)
	}
	// By what it really takes, and not in the worst case, it misses a packet by two bits, and then by one.
	for real := payload; ; real-- {
		large, packets, torn := bulkGroup(t, schema, real, 0)
		require.Equal(t, real < payload, large)
		require.Equal(t, packets > 1, torn)
		if torn {
			t.Logf("worst case %d bytes, really more than %d", payload, real)
			break
		}
	}
}

// A group that misses what is left of a packet by one bit, or by two, is not sent and not taken for sent: it is whole in the
// next packet.
func TestCase28GroupThatMissesTheRestOfAPacket(t *testing.T) {
	schema := bulkProtocol().Schema()
	cfg := snapshot.Config{Payload: 1000}
	least := func(flags int) int { // bytes of the smallest room that is enough
		for size := 64; ; size++ {
			if _, view := bulkStore(schema, cfg, flags); view.Write(make([]byte, size), 1) > 0 {
				return size
			}
		}
	}
	flags := 1
	for least(flags) == least(0) {
		flags++
		require.Less(t, flags, 9, "eight bits are a byte")
	}
	for _, missing := range []int{1, 2} {
		store, view := bulkStore(schema, cfg, flags+missing-1)
		client := replica.New(schema, cfg, 0)
		buf := make([]byte, least(flags))
		require.Zero(t, view.Write(buf[:len(buf)-1], 1), "%d bits are missing", missing)
		require.True(t, view.Pending())
		require.Zero(t, view.Stats().Spawns+view.Stats().TornGroups+view.Stats().Oversize)
		n := view.Write(buf, 2)
		require.NoError(t, client.Read(buf[:n]))
		require.Equal(t, store.Len(), client.Len())
		require.False(t, view.Pending())
		view.Acked(2)
		require.True(t, view.Synced())
	}
}
