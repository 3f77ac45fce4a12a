package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport"
)

func shortSmooth(t *testing.T, link transport.Link) (*smoothRun, []result) {
	t.Helper()
	motion := newGenerated()
	motion.frames = 8 * generatedHz
	r := &smoothRun{motion: motion, link: link}
	require.NoError(t, r.run())
	var lines []result
	r.printSmooth(options{report: func(l result) { lines = append(lines, l) }}, link.Loss, link.Jitter/time.Millisecond)
	require.Len(t, lines, 2)
	return r, lines
}

func TestSmoothIsJudgedAgainstTheTruth(t *testing.T) {
	r, lines := shortSmooth(t, transport.Link{Delay: smoothDelay, Jitter: 30 * time.Millisecond, Loss: 0.1})
	require.True(t, lines[0].Main)
	require.True(t, *lines[0].OK, lines[0])
	require.Nil(t, lines[1].OK)
	require.Less(t, *lines[1].Ratio, 0.5)
	require.Positive(t, lines[0].Params["presentation_ms"])
	require.Greater(t, lines[0].Params["behind_server_ms"], lines[0].Params["presentation_ms"])
	require.Greater(t, *lines[0].Anchor, 0.05)

	frame := 300.5
	at := r.at(0, frame)
	for k := range at {
		require.InDelta(t, (r.truth[300][0][k]+r.truth[301][0][k])/2, at[k], 1e-5)
	}
	require.True(t, r.moves(0, frame), "the player never rests")
}

// A naive side that is shown too late is judged at the time that suits it, and a jerk is one only where a body moves.
func TestSmoothIsFairToTheNaiveSide(t *testing.T) {
	_, lines := shortSmooth(t, transport.Link{Delay: smoothDelay})
	require.Less(t, *lines[0].Anchor, lines[0].Params["naive_p99_at_our_time"].(float64))
	require.Nil(t, lines[0].OK)

	j := jerk{last: make([][3]spot, 1), count: make([]int, 1)}
	for i, x := range []float32{0, 1, 2, 3, 4, 6, 6} {
		j.show(0, spot{x}, i < 6, 1)
	}
	require.Equal(t, []float64{0, 0, 1}, j.all)
}
