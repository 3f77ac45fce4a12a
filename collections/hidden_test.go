package collections_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Catalogue case 46. A change of a collection while its entity was in sight, that waits to be sent, or to be sent again
// because its packets were lost, never leaves once the client may not see the entity any more. A change that was queued behind it
// arrives all the same, and so does the whole collection when the entity returns.
func TestCase46QueuedOperationsEndWithSight(t *testing.T) {
	for _, lost := range []bool{false, true} {
		for _, small := range []bool{false, true} {
			t.Run(fmt.Sprintf("lost %v small packets %v", lost, small), func(t *testing.T) { queuedOperations(t, lost, small) })
		}
	}
}

func queuedOperations(t *testing.T, lost, small bool) {
	p := protocol()
	list, other := collections.NewList[marked](p, "list"), collections.NewSet[uint16](p, "set")
	config := netcode.Config{SendBudget: 4 << 10}
	if small {
		config.PacketSize = netcode.MinPacketSize
	}
	r := newRig(t, p, config)
	c := r.joined(p, netcode.Config{})
	secret, public := r.spawn(1), r.spawn(2)
	require.NoError(t, list.Of(r.server.Server, secret).Clear())
	require.NoError(t, other.Of(r.server.Server, public).Clear())
	r.until(func() bool { return list.Of(c.Client, secret).Arrived() && other.Of(c.Client, public).Arrived() })
	before, hidden, told := 0, false, 0
	r.tamper = func(from, to transport.Addr, packet []byte) []byte {
		if to != c.conn.LocalAddr() {
			return packet
		}
		if holdsMarker(packet) {
			if told++; !hidden {
				before++
			}
		}
		if lost && !hidden {
			return nil
		}
		return packet
	}
	for i := range uint64(800) {
		require.NoError(t, list.Of(r.server.Server, secret).Append(marked{Marker: markerHead<<16 | i}))
	}
	r.step()
	for i := range uint16(100) {
		require.NoError(t, other.Of(r.server.Server, public).Add(i))
	}
	r.run(time.Second / 10)
	require.Positive(t, before, "some of it was on the wire before")
	require.True(t, r.server.Hide(c.ID(), secret))
	hidden, told = true, 0
	r.until(func() bool { return other.Of(c.Client, public).Len() == 100 })
	r.run(4 * time.Second)
	require.Zero(t, told, "packets with markers after it was hidden")
	require.False(t, list.Of(c.Client, secret).Arrived())

	hidden = false
	lost = false
	require.True(t, r.server.Show(c.ID(), secret))
	r.until(func() bool { return list.Of(c.Client, secret).Len() == 800 })
	for i, v := range list.Of(c.Client, secret).All() {
		require.EqualValues(t, markerHead<<16|uint64(i), v.Marker)
	}
	require.Positive(t, told, "the check finds what there is to find")
	require.Equal(t, netcode.Connected, c.State(), "%v", c.Err())
	require.NoError(t, list.Of(r.server.Server, secret).Append(marked{Marker: 5}))
	r.until(func() bool { return list.Of(c.Client, secret).Len() == 801 })
}

// An operation that waits does not name an entity that was hidden meanwhile, though the entity that the collection belongs
// to is in sight.
func TestCase46QueuedOperationsNameNobodyHidden(t *testing.T) {
	p := protocol()
	list := collections.NewList[marked](p, "list")
	r := newRig(t, p, netcode.Config{SendBudget: 4 << 10})
	c := r.joined(p, netcode.Config{})
	holder := r.spawn(1)
	var named wire.NetworkID
	r.change(func(store *snapshot.Store) {
		for range 300 { // an index that nothing else has by chance
			named = store.Spawn()
		}
	})
	of := list.Of(r.server.Server, holder)
	require.NoError(t, of.Clear())
	r.until(func() bool { return list.Of(c.Client, holder).Arrived() && c.Replica().Len() == 301 })
	r.run(time.Second)
	hidden, names := false, 0 // names in elements; its despawn tells of it, too
	name := fmt.Sprintf("Of=%dv%d", named.Index, named.Generation)
	r.tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == c.conn.LocalAddr() && hidden {
			names += strings.Count(string(inspect.AppendClientDump(nil, c.Client, packet)), name)
		}
		return packet
	}
	for i := range uint64(700) {
		require.NoError(t, of.Append(marked{Marker: i, Of: named}))
	}
	r.run(time.Second / 10)
	require.Zero(t, list.Of(c.Client, holder).Len()/700, "most of it waits")
	require.True(t, r.server.Hide(c.ID(), named))
	hidden = true
	r.until(func() bool {
		left := 0
		for _, v := range list.Of(c.Client, holder).All() {
			if !v.Of.IsZero() {
				left++
			}
		}
		return list.Of(c.Client, holder).Len() == 700 && left == 0
	})
	require.Zero(t, names, "times that it was named after it was hidden")
	for i, v := range list.Of(c.Client, holder).All() {
		require.EqualValues(t, i, v.Marker)
	}
	hidden = true
	require.True(t, r.server.Show(c.ID(), named))
	r.until(func() bool { v, _ := list.Of(c.Client, holder).At(699); return v.Of == named })
	require.Positive(t, names, "the check finds what there is to find")
}
