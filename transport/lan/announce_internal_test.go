package lan

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A host that asks without end gets its own answers and takes none of its neighbour's.
func TestAnswersAreLimitedByHost(t *testing.T) {
	l, busy, calm := newLimits(), 0, 0
	for now := time.Duration(0); now < 5*time.Second; now += time.Millisecond {
		if l.take(netip.MustParseAddr("192.168.0.7"), now) {
			busy++
		}
		if now%time.Second == 500*time.Millisecond && l.take(netip.MustParseAddr("192.168.0.8"), now) {
			calm++
		}
		require.True(t, l.take(netip.MustParseAddr("127.0.0.1"), now))
	}
	require.Equal(t, 5, calm)
	require.LessOrEqual(t, busy, 6*MaxAnswers)
}
