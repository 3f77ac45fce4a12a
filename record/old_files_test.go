package record_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/record"
)

// A recording has the tables that its payloads use, so that a build with others plays it; and recordings have not grown.
func TestOlderRecordingsAreRead(t *testing.T) {
	old, err := os.ReadFile("testdata/without_options.recording")
	require.NoError(t, err)
	g := recordGame(t, 3, 2)
	require.LessOrEqual(t, g.file.Len(), len(old)*102/100, "compression may differ a little between versions of Go")
	difference, err := record.Diff(bytes.NewReader(old), bytes.NewReader(g.file.Bytes()))
	require.NoError(t, err)
	require.Nil(t, difference)
	n, p := replayOf(t, old, 1)
	for range 70 {
		n.Step()
		require.Equal(t, g.hashes[p.Tick()], stateHash(n.Server.Store(), p.Recorded))
	}
}
