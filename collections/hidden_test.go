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
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Catalogue case 46. A change of a collection that waits to be sent or resent is never sent after its entity was hidden
// from the client. A later change in the queue still arrives, and so does the whole collection when the entity returns.
func TestCase46QueuedOperationsEndWithSight(t *testing.T) {
	for _, lost := range []bool{false, true} {
		for _, small := range []bool{false, true} {
			t.Run(fmt.Sprintf("lost %v small packets %v", lost, small), func(t *testing.T) { queuedOperations(t, lost, small) })
		}
	}
}

func queuedOperations(t *testing.T, lost, small bool) {
	p := rig.Protocol()
	list, other := collections.NewList[rig.Marked](p, "list"), collections.NewSet[uint16](p, "set")
	config := netcode.Config{SendBudget: 4 << 10}
	if small {
		config.PacketSize = wire.MinPacketSize
	}
	r := rig.New(t, p, config)
	c := r.Joined(p, netcode.Config{})
	secret, public := r.Spawn(1), r.Spawn(2)
	require.NoError(t, list.Of(r.Server.Server, secret).Clear())
	require.NoError(t, other.Of(r.Server.Server, public).Clear())
	r.Until(func() bool { return list.Of(c.Client, secret).Arrived() && other.Of(c.Client, public).Arrived() })
	before, hidden, told := 0, false, 0
	r.Tamper = func(from, to transport.Addr, packet []byte) []byte {
		if to != c.Conn.LocalAddr() {
			return packet
		}
		if rig.HoldsMarker(packet) {
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
		require.NoError(t, list.Of(r.Server.Server, secret).Append(rig.Marked{Marker: rig.MarkerHead<<16 | i}))
	}
	r.Step()
	for i := range uint16(100) {
		require.NoError(t, other.Of(r.Server.Server, public).Add(i))
	}
	r.Run(time.Second / 10)
	require.Positive(t, before, "some of it was on the wire before")
	require.True(t, r.Server.Hide(c.ID(), secret))
	hidden, told = true, 0
	r.Until(func() bool { return other.Of(c.Client, public).Len() == 100 })
	r.Run(4 * time.Second)
	require.Zero(t, told, "packets with markers after it was hidden")
	require.False(t, list.Of(c.Client, secret).Arrived())

	hidden = false
	lost = false
	require.True(t, r.Server.Show(c.ID(), secret))
	r.Until(func() bool { return list.Of(c.Client, secret).Len() == 800 })
	for i, v := range list.Of(c.Client, secret).All() {
		require.EqualValues(t, rig.MarkerHead<<16|uint64(i), v.Marker)
	}
	require.Positive(t, told, "the check finds what there is to find")
	require.Equal(t, netcode.Connected, c.State(), "%v", c.Err())
	require.NoError(t, list.Of(r.Server.Server, secret).Append(rig.Marked{Marker: 5}))
	r.Until(func() bool { return list.Of(c.Client, secret).Len() == 801 })
}

// A waiting operation does not name an entity that was hidden meanwhile, even if the client sees the collection's own
// entity.
func TestCase46QueuedOperationsNameNobodyHidden(t *testing.T) {
	p := rig.Protocol()
	list := collections.NewList[rig.Marked](p, "list")
	r := rig.New(t, p, netcode.Config{SendBudget: 4 << 10})
	c := r.Joined(p, netcode.Config{})
	holder := r.Spawn(1)
	var named wire.NetworkID
	r.Change(func(store *snapshot.Store) {
		for range 300 { // an index that occurs nowhere else by chance
			named = store.Spawn()
		}
	})
	of := list.Of(r.Server.Server, holder)
	require.NoError(t, of.Clear())
	r.Until(func() bool { return list.Of(c.Client, holder).Arrived() && c.Replica().Len() == 301 })
	r.Run(time.Second)
	hidden, names := false, 0 // names in elements; the despawn contains it, too
	name := fmt.Sprintf("Of=%dv%d", named.Index, named.Generation)
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == c.Conn.LocalAddr() && hidden {
			names += strings.Count(string(inspect.AppendClientDump(nil, c.Client, packet)), name)
		}
		return packet
	}
	for i := range uint64(700) {
		require.NoError(t, of.Append(rig.Marked{Marker: i, Of: named}))
	}
	r.Run(time.Second / 10)
	require.Zero(t, list.Of(c.Client, holder).Len()/700, "most of it waits")
	require.True(t, r.Server.Hide(c.ID(), named))
	hidden = true
	r.Until(func() bool {
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
	require.True(t, r.Server.Show(c.ID(), named))
	r.Until(func() bool { v, _ := list.Of(c.Client, holder).At(699); return v.Of == named })
	require.Positive(t, names, "the check finds what there is to find")
}
