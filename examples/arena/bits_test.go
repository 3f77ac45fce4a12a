package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The account of a run with loss adds up to every byte that the server sent to the first client.
func TestBitsAddUpToTheBytesThatLeft(t *testing.T) {
	o, err := parseOptions([]string{"-bits", "-seconds", "0.6", "-entities", "60", "-clients", "2", "-loss", "20"}, new(strings.Builder))
	require.NoError(t, err)
	a, err := newArena(&o, newTable(new(strings.Builder)))
	require.NoError(t, err)
	defer func() { require.NoError(t, a.close()) }()
	result := a.run(context.Background())
	require.True(t, result.Converged, result.Difference)
	account := a.server.ledger.account
	require.NotZero(t, account.Bytes)
	require.Equal(t, 8*account.Bytes, account.Total())
	require.Zero(t, account.State.Unknown+account.Unreadable)
	text := bitLines(account)
	for _, want := range []string{"packet headers", "checksums", "state: which entities", "Position", "  spawned", "  delta", "100.00 %"} {
		require.Contains(t, text, want)
	}
}

func TestBitsNeedsBothHalves(t *testing.T) {
	_, err := parseOptions([]string{"-bits", "-listen", "127.0.0.1:0"}, new(strings.Builder))
	require.ErrorContains(t, err, "-bits needs both halves")
}
