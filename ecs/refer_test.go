package netecs_test

import (
	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// ref is the n-th entity field of a component as the server's store has it.
func (p *pair) ref(e ecs.Entity, row, n int) wire.NetworkID {
	id, ok := p.capture.ID(e)
	require.True(p.t, ok)
	lanes, lane := p.store.Row(id, row), p.schema.Plan(row).Refs()[n]
	return wire.NetworkID{Index: lanes[lane], Generation: lanes[lane+1]}
}
