package usage_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/usage"
)

func TestListsReplaceTheDefault(t *testing.T) {
	trips := []time.Duration{time.Second}
	require.NoError(t, usage.List(&trips, usage.RoundTrip)("0ms,50ms"))
	require.Equal(t, []time.Duration{0, 50 * time.Millisecond}, trips)
	for _, wrong := range []string{"", "50", "50ms,", "-1ms", "2s"} {
		require.Error(t, usage.List(&trips, usage.RoundTrip)(wrong), wrong)
	}
	var shares []float64
	require.NoError(t, usage.List(&shares, usage.Percent)("0,10,10%,0.10,0.5%,100,1"))
	require.Equal(t, []float64{0, .1, .1, .1, .005, 1, .01}, shares)
	for _, wrong := range []string{"", "x", "-1", "101", "NaN"} {
		require.Error(t, usage.List(&shares, usage.Percent)(wrong), wrong)
	}
}
