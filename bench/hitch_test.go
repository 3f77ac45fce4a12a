package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Inputs are as young after each hitch as in a game without one.
func TestHitchIsVerified(t *testing.T) {
	all := results(t, "-run", "hitch")
	require.Len(t, all, 4*len(hitchLengths()))
	for _, line := range all {
		require.Equal(t, "hitch", line.Scenario)
		require.Greater(t, *line.Anchor, 50., "half of the round trip")
		require.True(t, *line.OK, "%v", line)
	}
}
