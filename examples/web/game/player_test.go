package game

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheFirstLostPacketIsNoLossOf100Percent(t *testing.T) {
	require.Less(t, shownLoss(1, 1), 0.04)
	require.Less(t, shownLoss(1, 15), 0.5)
	require.Equal(t, 0.3, shownLoss(0.3, lossOutcomes))
	require.Equal(t, 1.0, shownLoss(1, 1000))
}
