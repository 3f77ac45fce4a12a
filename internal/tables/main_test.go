package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/delta"
)

var heavy = flag.Bool("heavy", false, "all scenes of TestShippedTablesAreThoseOfTheGenerator")

// The shipped tables equal the output of the command, to the byte.
func TestShippedTablesAreThoseOfTheGenerator(t *testing.T) {
	if !*heavy {
		t.Skip("only with -heavy, and in .ci/run: it plays all scenes")
	}
	file := filepath.Join(t.TempDir(), "shipped.tables")
	require.NoError(t, run(file, io.Discard))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, string(delta.Shipped().AppendText(nil)) == string(text), "the shipped tables are others: run `go run ./internal/tables`")
}

// Physics stays in bounds: nothing flies off, and everything that is left alone comes to rest.
func TestRigidCubesComeToRest(t *testing.T) {
	r := newRigid(9, 40, 0, 12, 60)
	for range 12 {
		r.throw(r.random.below(len(r.cubes)))
	}
	for range 1200 {
		r.step()
	}
	for i := range r.cubes {
		c := &r.cubes[i]
		require.GreaterOrEqual(t, c.still, restFrames, "cube %d", i)
		require.InDelta(t, c.half, c.at[2], 3, "cube %d", i)
		square := 0.0
		for _, v := range c.turn {
			square += v * v
		}
		require.InDelta(t, 1, square, 1e-9)
	}
}

func TestSineIsTheSine(t *testing.T) {
	for _, test := range [][2]float64{{0, 0}, {0.25, 1}, {0.5, 0}, {0.75, -1}, {1, 0}, {-0.25, -1}, {1.0 / 12, 0.5}, {100.25, 1}} {
		require.InDelta(t, test[1], sine(test[0]), 1e-9, "%v turns", test[0])
	}
	require.InDelta(t, 0.125, direction(vec{1, 1}), 1e-4)
	require.InDelta(t, 0.5, direction(vec{-1, 0}), 1e-4)
}
