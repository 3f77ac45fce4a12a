package peer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUncutIsThePayloadAndTellsWhereItLies(t *testing.T) {
	batches := []byte{14, 0, 16, 4, 2, 0, 'h', 'i', 17, 0, 2, 0, 'h', 'o'}
	r := readBatches(batches)
	for _, at := range []int{6, 12} {
		require.True(t, r.Next())
		require.Equal(t, r.Payload, r.Uncut())
		require.Equal(t, at, cap(batches)-cap(r.Uncut()))
		require.Len(t, r.Payload, cap(r.Payload))
	}
	require.False(t, r.Next())
}
