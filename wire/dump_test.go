package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Dump prints a message of every legal header.
func TestDumpPrintsEveryMessageHeader(t *testing.T) {
	legal := 0
	for kind := range 256 {
		for stage := range 256 {
			if h, err := ParseMessageHeader([]byte{byte(kind), byte(stage), 0, 0}); err == nil {
				legal++
				require.NotEmpty(t, (&Dump{}).message(nil, h, nil, Channel(stage)))
			}
		}
	}
	require.Greater(t, legal, 1000)
}
