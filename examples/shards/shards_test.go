package main

import (
	"bytes"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var heavy = flag.Bool("heavy", false, "200 bots, and more kills")

func TestMain(m *testing.M) {
	if os.Getenv("SHARD_NAME") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Bots wander through the gates; a process is killed meanwhile. At the end each is in the world, once.
func TestBotsWanderAndNobodyIsLost(t *testing.T) {
	o := options{bots: 20, seconds: 9, kill: 3 * time.Second}
	if *heavy {
		o = options{bots: 200, seconds: 60, kill: 8 * time.Second}
	}
	var out bytes.Buffer
	err := supervise(t.Context(), o, &out)
	t.Log(out.String())
	require.NoError(t, err)
	require.Contains(t, out.String(), "each bot is in one area")
}

// A gate leads to the neighbour, and back.
func TestGates(t *testing.T) {
	for at := range areas {
		for _, b := range []Body{{X: -1, Y: 5}, {X: side + 1, Y: 5}, {X: 5, Y: -1}, {X: 5, Y: side + 1}} {
			to, out, ok := beyond(at, b)
			require.True(t, ok)
			require.NotEqual(t, at, to)
			require.True(t, out.X >= 0 && out.X < side && out.Y >= 0 && out.Y < side)
		}
		_, _, ok := beyond(at, Body{X: 5, Y: 5})
		require.False(t, ok)
	}
}
