package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryChannelIsOneByte(t *testing.T) {
	seen := map[Channel]bool{}
	for d := Unreliable; d.Valid(); d++ {
		for n := range MaxChannels {
			c := NewChannel(d, n)
			require.False(t, seen[c])
			seen[c] = true
			require.Equal(t, d, c.Delivery())
			require.Equal(t, n, c.Number())
		}
	}
	require.Len(t, seen, 256)
	require.Zero(t, NewChannel(Unreliable, 0))
	require.Equal(t, "ReliableOrdered 63", Channel(255).String())
}

func TestDelivery(t *testing.T) {
	require.False(t, Unreliable.Reliable())
	require.False(t, UnreliableSequenced.Reliable())
	require.True(t, Reliable.Reliable())
	require.True(t, ReliableOrdered.Reliable())
	require.False(t, Delivery(4).Valid())
	require.Equal(t, "Delivery(4)", Delivery(4).String())
}
