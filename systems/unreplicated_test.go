package systems_test

import (
	"testing"

	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	netecs "github.com/arche-netcode/netcode/ecs"
)

// A server tells OnError of entities that lack a Replicated, and counts their component sets. A client does not: its entities are its own.
func TestUnreplicatedIsToldAndCounted(t *testing.T) {
	r := newRig(t)
	for _, w := range r.worlds {
		build := generic.NewMap1[position](w)
		build.NewBatch(10)
	}
	r.until(t, func() bool { return len(r.errors) > 0 })
	for range 200 {
		r.step()
	}
	require.Len(t, r.errors, 1)
	var told netecs.Problem
	require.ErrorAs(t, r.errors[0], &told)
	require.Equal(t, netecs.Unreplicated, told.Kind)
	require.EqualValues(t, 1, r.server.Server.Stats().Unreplicated)
	require.EqualValues(t, 1, r.server.Server.Stats().Errors)
	require.Zero(t, r.client.Client.Stats().Unreplicated)
}
