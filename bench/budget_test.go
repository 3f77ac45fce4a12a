package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBudgetCountsUpdatesByWeight(t *testing.T) {
	r, err := newBudgetRun(80, 3000, 0.1)
	require.NoError(t, err)
	require.NoError(t, r.play())
	var lines []result
	r.printBudget(options{report: func(line result) { lines = append(lines, line) }}, 80, 3000, 0.1)
	require.Len(t, lines, 4)
	for _, line := range lines {
		require.True(t, *line.OK, "weight %v: %v", line.Params["weight"], *line.Ratio)
	}
	require.InDelta(t, budgetTicks, r.left, 5, "ticks in which state left")
}

func TestBudgetShare(t *testing.T) {
	count := map[float32]int{4: 1, 1: 2}
	require.Equal(t, 40.0, budgetShare(count, 4, 60, 100))
	require.Equal(t, 10.0, budgetShare(count, 1, 60, 100))
	require.Equal(t, 30.0, budgetShare(count, 4, 60, 30), "once a tick at most")
	require.Equal(t, 15.0, budgetShare(count, 1, 60, 30), "and the others have the rest")
}
