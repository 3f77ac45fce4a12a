package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The account of a run with loss adds up to every byte that the server sent to the first client.
func TestBitsAddUpToTheBytesThatLeft(t *testing.T) {
	t.Parallel()
	o, err := parseOptions([]string{"-bits", "-seconds", "0.6", "-entities", "60", "-clients", "2", "-loss", "20"}, new(strings.Builder))
	require.NoError(t, err)
	a, err := newCrowd(&o, newTable(new(strings.Builder)))
	require.NoError(t, err)
	defer func() { require.NoError(t, a.close()) }()
	result := a.run(context.Background())
	require.True(t, result.Converged, result.Difference)
	account := a.server.ledger.account
	require.NotZero(t, account.Bytes)
	require.Equal(t, 8*account.Bytes, account.Total())
	require.Zero(t, account.State.Unknown+account.Unreadable)
	text := bitLines(account)
	for _, want := range []string{"packet headers", "checksums", "state: which entities", "Position", "  spawn", "  delta", "100.00 %", "by reason", "share", "\nabsolute ", "\nheader ", "\nmessages "} {
		require.Contains(t, text, want)
	}
	bits := result.Bits
	require.NotNil(t, bits)
	require.Equal(t, account.Bytes, bits.Bytes)
	r := bits.Reasons
	require.Equal(t, 8*bits.Bytes, r.Spawn+r.Delta+r.Absolute+r.Records+r.Despawns+r.Header+r.Messages+r.Unread)
	require.Zero(t, r.Unread)
	var spawn, delta, absolute uint64
	for _, c := range bits.Components {
		spawn, delta, absolute = spawn+c.Spawn, delta+c.Delta, absolute+c.Absolute
		sum := c.WhichFields
		for _, f := range c.Fields {
			sum += f.Bits
		}
		require.Equal(t, c.Spawn+c.Delta+c.Absolute, sum, c.Name)
	}
	require.Equal(t, []uint64{r.Spawn, r.Delta, r.Absolute}, []uint64{spawn, delta, absolute})
	require.NotZero(t, spawn)
	require.NotZero(t, delta)
	var out bytes.Buffer
	require.NoError(t, result.print(&out))
	var back struct{ Bits Bits }
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	require.Equal(t, *bits, back.Bits)
}

func TestBitsNeedsBothHalves(t *testing.T) {
	_, err := parseOptions([]string{"-bits", "-listen", "127.0.0.1:0"}, new(strings.Builder))
	require.ErrorContains(t, err, "-bits needs both halves")
}
