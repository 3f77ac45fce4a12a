package netcode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
)

func TestExtrapolatedByIsInTheProtocol(t *testing.T) {
	still := func(extrapolated []uint32, v *quantize.Baselines) {}
	build := func(options ...Option) *Protocol {
		p := NewProtocol()
		Replicate[goldenPosition](p, options...)
		p.freeze()
		return p
	}
	plain, first, second := build(), build(ExtrapolatedBy("still", still)), build(ExtrapolatedBy("other", still))
	require.Equal(t, "still", first.Schema().Plan(0).ExtrapolatedBy())
	require.NotEqual(t, plain.Hash(), first.Hash())
	require.NotEqual(t, first.Hash(), second.Hash())
	require.Contains(t, first.canon.Explain(second.canon.FirstDifference(first.canon.Digest)), "the server has the field ~other, the client ~still")
}

func TestExtrapolatedByIsRefusedWhereItMakesNoSense(t *testing.T) {
	still := func(extrapolated []uint32, v *quantize.Baselines) {}
	require.Panics(t, func() { ExtrapolatedBy("none", nil) })
	require.Panics(t, func() { Replicate[goldenPosition](NewProtocol(), ExtrapolatedBy("a b", still)) })
	require.PanicsWithValue(t, "netcode: Handle[netcode.goldenChat]: ExtrapolatedBy is for components: of messages nothing is extrapolated",
		func() { Handle[goldenChat](NewProtocol(), nil, ExtrapolatedBy("still", still)) })
}
