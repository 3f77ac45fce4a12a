package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test's own program be a child.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		play(role)
		return
	}
	os.Exit(m.Run())
}

// A short form of the cases that wait for no time-out: each injects its faults, and everything holds. CI runs all cases with the program.
func TestRealProcesses(t *testing.T) {
	var out bytes.Buffer
	err := command([]string{"-only", "flood,relay,errors", "-floods", "200", "-relay", "300ms"}, &out)
	t.Log("\n" + out.String())
	require.NoError(t, err, out.String())
	require.Equal(t, 3, strings.Count(out.String(), "| pass "))
}

// A flag that is wrong is an error, and a case that injects nothing fails.
func TestTheCommand(t *testing.T) {
	var out bytes.Buffer
	require.ErrorContains(t, command([]string{"-stops", "soon"}, &out), "-stops")
	require.Error(t, command([]string{"-kills", "0", "-only", "kill"}, &out))
	require.Contains(t, out.String(), "nothing was injected")
}
