package collections_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/tick"
)

// hosting is a server with collections, and its local player.
type hosting struct {
	t      *testing.T
	server *netcode.Server
	client *netcode.Client
	list   *collections.List[rig.Marked]
	set    *collections.Set[uint16]
	now    time.Duration
	told   []string
}

func newHosting(t *testing.T) *hosting {
	p := rig.Protocol()
	h := &hosting{t: t, now: time.Second, list: collections.NewList[rig.Marked](p, "list", collections.MaxElements(9000), collections.MaxBytes(1<<20)),
		set: collections.NewSet[uint16](p, "set")}
	h.server = h.newServer(p)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	h.client = client
	return h
}

// listen records the reported changes as text.
func (h *hosting) listen() {
	h.list.OnChange(h.client, func(c collections.ListChange[rig.Marked]) {
		h.told = append(h.told, fmt.Sprint("list ", c.What, " ", c.Value.Marker))
	})
	h.set.OnChange(h.client, func(c collections.SetChange[uint16]) {
		h.told = append(h.told, fmt.Sprint("set ", c.What, " ", c.Value))
	})
}

func (h *hosting) newServer(p *netcode.Protocol) *netcode.Server {
	s, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(h.t, err)
	return s
}

func (h *hosting) host() { require.NoError(h.t, netcode.Host(h.server, h.client)) }

// frame runs a frame, with or without a tick, and returns the reported changes.
func (h *hosting) frame() []string {
	h.now += rig.FrameTime
	h.told = h.told[:0]
	steps.OfServer(h.server).BeginFrame(h.now)
	steps.OfClient(h.client).BeginFrame(h.now)
	for stage := range tick.Stage(tick.NumStages) {
		steps.OfClient(h.client).Dispatch(stage)
		steps.OfServer(h.server).Dispatch(stage)
	}
	steps.OfClient(h.client).Send()
	steps.OfServer(h.server).Send()
	return h.told
}

// soon runs frames until a change is reported.
func (h *hosting) soon() []string {
	for range 10 {
		if told := h.frame(); len(told) > 0 {
			return told
		}
	}
	return nil
}

func (h *hosting) numbers(id netcode.NetworkID) (all []uint64) {
	for _, v := range h.list.Of(h.client, id).All() {
		all = append(all, v.Marker)
	}
	return all
}

// The local player has the same collections as other clients: present contents, changes, and nothing of entities that
// it does not see.
func TestHostHasCollections(t *testing.T) {
	h := newHosting(t)
	h.listen()
	early := h.server.Spawn()
	require.NoError(t, h.set.Of(h.server, early).Add(4))
	h.frame()
	h.host()
	require.Equal(t, []string{"set whole 0"}, h.soon(), "there before the player")
	require.True(t, h.set.Of(h.client, early).Has(4))
	require.ErrorIs(t, h.set.Of(h.client, early).Add(5), collections.ErrReadOnly)

	id := h.server.Spawn()
	list := h.list.Of(h.server, id)
	require.NoError(t, list.Append(rig.Marked{Marker: 1, Of: early}))
	require.False(t, h.list.Of(h.client, id).Arrived())
	require.Equal(t, []string{"list whole 0"}, h.soon())
	require.Equal(t, []uint64{1}, h.numbers(id))
	require.NoError(t, list.Append(rig.Marked{Marker: 2}))
	require.NoError(t, list.Set(0, rig.Marked{Marker: 3, Of: early}))
	require.Equal(t, []string{"list inserted 2", "list set 3"}, h.soon())

	require.True(t, h.server.Hide(h.client.ID(), early))
	require.ElementsMatch(t, []string{"set gone 0"}, h.soon())
	require.False(t, h.set.Of(h.client, early).Arrived())
	require.Equal(t, []string{"list set 3"}, h.soon(), "it names nobody any more")
	v, _ := h.list.Of(h.client, id).At(0)
	require.Zero(t, v.Of)
	require.NoError(t, h.set.Of(h.server, early).Add(6))
	require.Empty(t, h.soon())
	require.True(t, h.server.Show(h.client.ID(), early))
	require.ElementsMatch(t, []string{"set whole 0", "list set 3"}, h.soon())
	require.True(t, h.set.Of(h.client, early).Has(6))

	require.NoError(t, list.Append(rig.Marked{Marker: 9}))
	h.frame()
	h.server.Hide(h.client.ID(), id) // changes are on their way
	require.Equal(t, []string{"list gone 0"}, h.soon())
	require.Empty(t, h.soon())
	h.server.Show(h.client.ID(), id)
	require.Equal(t, []string{"list whole 0"}, h.soon())
	require.Equal(t, []uint64{3, 2, 9}, h.numbers(id))

	require.True(t, h.server.Despawn(id))
	require.Equal(t, []string{"list gone 0"}, h.soon())
	require.False(t, h.list.Of(h.client, id).Arrived())

	h.client.Close()
	require.True(t, h.set.Of(h.client, early).Arrived(), "it stays until another connection begins")
	h.server = h.newServer(h.server.Protocol())
	h.host()
	require.Equal(t, []string{"set gone 0"}, h.soon())
}

// A large collection arrives in pieces, a few per frame, and changes meanwhile.
func TestHostHasLargeCollections(t *testing.T) {
	h := newHosting(t)
	h.host()
	id := h.server.Spawn()
	for n := range uint64(6000) {
		require.NoError(t, h.list.Of(h.server, id).Append(rig.Marked{Marker: n}))
	}
	frames := 0
	for ; !h.list.Of(h.client, id).Arrived(); frames++ {
		require.Less(t, frames, 200)
		require.NoError(t, h.list.Of(h.server, id).Remove(0))
		h.frame()
	}
	require.Greater(t, frames, 4)
	for range 6000 { // more than fits one frame
		require.NoError(t, h.list.Of(h.server, id).Set(h.list.Of(h.server, id).Len()-1, rig.Marked{Marker: 1 << 40}))
		require.NoError(t, h.list.Of(h.server, id).Set(h.list.Of(h.server, id).Len()-1, rig.Marked{Marker: 7}))
	}
	for range 200 {
		h.frame()
	}
	require.Equal(t, netcode.Connected, h.client.State())
	require.Equal(t, h.list.Of(h.server, id).Len(), h.list.Of(h.client, id).Len())
	for i, v := range h.list.Of(h.server, id).All() {
		at, _ := h.list.Of(h.client, id).At(i)
		require.Equal(t, v, at)
	}
	require.Zero(t, h.server.Stats().Packets.Sent)
}
