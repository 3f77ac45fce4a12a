package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/record"
)

// A recording that -record wrote teaches tables, and with these the next run converges in fewer bits.
func TestARecordingTeachesTheNextRun(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "game.recording")
	status, stdout, stderr := play(t.Context(), "-json -seconds 1 -hz 60 -entities 200 -clients 1 -loss 0 -rtt 0 -jitter 0 -record "+name)
	require.Equal(t, statusConverged, status, stdout+stderr)
	require.Contains(t, stderr, "recorded to "+name)
	file, err := os.Open(name)
	require.NoError(t, err)
	info, err := record.Inspect(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Positive(t, info.Ticks, "however slow the machine")
	require.Equal(t, 60, info.Header.TickRate)
	require.False(t, info.Cut)
	require.Empty(t, info.Damage)

	file, err = os.Open(name)
	require.NoError(t, err)
	trainer := delta.NewTrainer()
	_, err = record.Learn(file, info.First, info.Last+1, delta.NewCounting(trainer, false), nil)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	tables, err := trainer.BuildKnown(record.LeastCounted)
	require.NoError(t, err)
	trained := filepath.Join(t.TempDir(), "game.tables")
	require.NoError(t, os.WriteFile(trained, tables.AppendText(nil), 0o644))
	status, stdout, stderr = play(t.Context(), "-json -seconds 0.3 -entities 60 -clients 2 -tables "+trained)
	require.Equal(t, statusConverged, status, stdout+stderr)
}

func TestFilesThatCannotBeUsedAreRefused(t *testing.T) {
	nonsense := filepath.Join(t.TempDir(), "x.tables")
	require.NoError(t, os.WriteFile(nonsense, []byte("no tables"), 0o644))
	for _, line := range []string{"-record /", "-tables " + nonsense, "-tables " + nonsense + ".not"} {
		status, _, stderr := play(t.Context(), "-seconds 1 -clients 1 -entities 3 "+line)
		require.Equal(t, statusDiffers, status, line)
		require.Contains(t, stderr, "crowd: ", line)
	}
}

func TestARecordingIsNotWrittenOverTables(t *testing.T) {
	name := filepath.Join(t.TempDir(), "game.tables")
	text := delta.Shipped().AppendText(nil)
	require.NoError(t, os.WriteFile(name, text, 0o644))
	status, _, stderr := play(t.Context(), "-seconds 1 -clients 1 -entities 3 -record "+name)
	require.Equal(t, statusDiffers, status)
	require.Contains(t, stderr, "it holds tables")
	after, err := os.ReadFile(name)
	require.NoError(t, err)
	require.True(t, string(text) == string(after))
	require.Equal(t, []string{"a/game.tables", "game.tables.tables", "game.tables"}, []string{tablesOf("a/game.recording"), tablesOf("game.tables"), tablesOf("game")})
}

func TestRecordIsOfTheServersHalf(t *testing.T) {
	status, _, stderr := play(t.Context(), "-connect 127.0.0.1:1 -record x")
	require.Equal(t, statusUsage, status)
	require.Contains(t, stderr, "-record belong to the server's half")
}
