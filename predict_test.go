package netcode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

func TestPredictedByIsInTheProtocol(t *testing.T) {
	still := func(predicted []uint32, v *wire.Versions) {}
	build := func(options ...Option) *Protocol {
		p := NewProtocol()
		Replicate[goldenPosition](p, options...)
		p.freeze()
		return p
	}
	plain, first, second := build(), build(PredictedBy("still", still)), build(PredictedBy("other", still))
	require.Equal(t, "still", first.Schema().Plan(0).PredictedBy())
	require.NotEqual(t, plain.Hash(), first.Hash())
	require.NotEqual(t, first.Hash(), second.Hash())
	require.Contains(t, first.explain(second.firstDifference(first.digest)), "the server has the field ~other, the client ~still")
}

func TestPredictedByIsRefusedWhereItMakesNoSense(t *testing.T) {
	still := func(predicted []uint32, v *wire.Versions) {}
	require.Panics(t, func() { PredictedBy("none", nil) })
	require.Panics(t, func() { Replicate[goldenPosition](NewProtocol(), PredictedBy("a b", still)) })
	require.PanicsWithValue(t, "netcode: Handle[netcode.goldenChat]: PredictedBy is for components: of messages nothing is predicted",
		func() { Handle[goldenChat](NewProtocol(), nil, PredictedBy("still", still)) })
}
