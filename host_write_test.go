package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/tick"
)

// hosting is a server and the player at it.
type hosting struct {
	server *netcode.Server
	client *netcode.Client
	now    time.Duration
}

func newHosting(t *testing.T) *hosting {
	p := protocol()
	netcode.Replicate[fixed](p, authority.WrittenBy(authority.OwnerWrites))
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	require.NoError(t, netcode.Host(server, client))
	return &hosting{server: server, client: client, now: time.Second}
}

// frame plays one, in which a tick may fall.
func (h *hosting) frame() {
	h.now += rig.FrameTime
	steps.OfServer(h.server).BeginFrame(h.now)
	steps.OfClient(h.client).BeginFrame(h.now)
	for stage := range tick.Stage(tick.NumStages) {
		steps.OfClient(h.client).Dispatch(stage)
		steps.OfServer(h.server).Dispatch(stage)
	}
	steps.OfClient(h.client).Send()
	steps.OfServer(h.server).Send()
}

// A host's player writes what it may of entities in no world, and is told where it cannot.
func TestWriteAtAHost(t *testing.T) {
	h := newHosting(t)
	id := h.server.Spawn()
	require.NoError(t, netcode.Put(h.server, id, &fixed{1}))
	h.frame()
	h.frame()
	require.ErrorIs(t, authority.Write(h.client, id, &fixed{2}), authority.ErrNotAllowed)
	require.True(t, h.server.SetOwner(id, h.client.ID()))
	require.NoError(t, authority.Write(h.client, id, &fixed{2}))
	h.frame()
	h.frame()
	require.Equal(t, 2, value[fixed](h.server, id))
	require.ErrorIs(t, authority.Write(h.client, netcode.NetworkID{Index: 99, Generation: 1}, &fixed{2}), authority.ErrNotAllowed)
	bare := h.server.Spawn()
	h.frame()
	require.True(t, h.server.SetOwner(bare, h.client.ID()))
	h.frame()
	require.ErrorIs(t, authority.Write(h.client, bare, &fixed{2}), authority.ErrNotAllowed, "whom one owns cannot be given what it lacks")
	h.frame()
	require.Zero(t, h.server.Store().Mask(bare))
}
