package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCensusHoldsTheNewestTicks(t *testing.T) {
	c := newCensus(3)
	require.Zero(t, c.fewest())
	for _, step := range []struct{ count, fewest int }{{5, 5}, {7, 5}, {6, 5}, {8, 6}, {9, 6}, {9, 8}, {2, 2}} {
		c.add(step.count)
		require.Equal(t, step.fewest, c.fewest(), "%+v", step)
	}
}
