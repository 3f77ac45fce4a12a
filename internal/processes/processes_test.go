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

// A short form of all cases: each injects its faults, and everything holds.
func TestRealProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some forty seconds")
	}
	var out bytes.Buffer
	err := command([]string{"-kills", "16", "-floods", "2000", "-stops", "2s", "-relay", "2s"}, &out)
	t.Log("\n" + out.String())
	require.NoError(t, err, out.String())
	require.Equal(t, len(cases()), strings.Count(out.String(), "| pass "))
}

// A flag that is wrong is an error, and a case that injects nothing fails.
func TestTheCommand(t *testing.T) {
	var out bytes.Buffer
	require.ErrorContains(t, command([]string{"-stops", "soon"}, &out), "-stops")
	require.Error(t, command([]string{"-kills", "0", "-only", "kill"}, &out))
	require.Contains(t, out.String(), "nothing was injected")
}
