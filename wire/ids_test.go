package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNetworkID(t *testing.T) {
	require.True(t, NetworkID{}.IsZero())
	require.False(t, NetworkID{Generation: 1}.IsZero())
	require.Equal(t, "12v3", NetworkID{Index: 12, Generation: 3}.String())

	ordered := []NetworkID{{}, {0, 1}, {0, 2}, {1, 1}, {1, 1 << 31}, {1 << 31, 0}}
	for i, a := range ordered {
		for j, b := range ordered {
			require.Equal(t, i < j, a.Less(b), "%v, %v", a, b)
		}
	}
}

func TestMessageTypeValid(t *testing.T) {
	for i := range 256 {
		require.Equal(t, i != 0 && i != 255, MessageType(i).Valid())
	}
}
