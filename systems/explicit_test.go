package systems_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
)

// The capture leaves alone what Spawn named, also when the world is reset, and its own entities live beside it.
func TestExplicitEntitiesBesideTheCapture(t *testing.T) {
	r := newRig(t)
	server := r.server.Server
	id := server.Spawn()
	require.NoError(t, netcode.Put(server, id, &position{X: 7}))
	e := r.spawn()
	r.until(t, func() bool {
		_, explicit := r.client.Entity(id)
		seen, _ := r.seen(e)
		return explicit && seen != nil
	})
	theirs, _ := r.server.ID(e)
	require.NotEqual(t, id, theirs)
	_, ok := r.server.Entity(id)
	require.False(t, ok, "it is in no world")

	r.worlds[0].Reset()
	r.until(t, func() bool { _, there := r.client.Entity(theirs); return !there })
	_, ok = r.client.Entity(id)
	require.True(t, ok)
	require.NoError(t, netcode.Put(server, id, &position{X: 8}))
	require.True(t, server.Despawn(id))
	r.until(t, func() bool { _, there := r.client.Entity(id); return !there })
	require.Zero(t, server.Store().Len())
}
