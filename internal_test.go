package netcode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
)

func TestStateNames(t *testing.T) {
	for s, name := range map[State]string{Disconnected: "Disconnected", Connecting: "Connecting", Connected: "Connected", Closing: "Closing", 9: "State(9)"} {
		require.Equal(t, name, s.String())
	}
}

func TestExtrapolatedByIsRefusedWhereItMakesNoSense(t *testing.T) {
	still := func(extrapolated []uint32, v *quantize.Baselines) {}
	require.Panics(t, func() { ExtrapolatedBy("none", nil) })
	require.Panics(t, func() { Replicate[goldenPosition](NewProtocol(), ExtrapolatedBy("a b", still)) })
	require.PanicsWithValue(t, "netcode: Handle[netcode.goldenChat]: ExtrapolatedBy is for components: of messages nothing is extrapolated",
		func() { Handle[goldenChat](NewProtocol(), nil, ExtrapolatedBy("still", still)) })
}

type goldenPosition struct {
	X float32 `net:"min=-512,max=512,step=0.002"`
	Y float32
}

type goldenChat struct {
	Number uint32
}
