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

// Nobody of the internet gets an answer, nor does half a question.
func TestOnlyTheLocalNetworkIsAnswered(t *testing.T) {
	whole := make([]byte, questionSize)
	copy(whole, question)
	l := newLimits()
	for text, is := range map[string]bool{
		"127.0.0.1": true, "10.0.0.1": true, "192.168.0.7": true, "::ffff:172.16.0.1": true, "169.254.3.4": true, "fd00::1": true, "fe80::1": true,
		"8.8.8.8": false, "192.169.0.1": false, "2001:db8::1": false, "::ffff:8.8.8.8": false,
	} {
		require.Equal(t, is, l.answers(whole, netip.MustParseAddr(text), 0), text)
	}
	require.False(t, l.answers(whole[:questionSize-1], netip.MustParseAddr("10.0.0.2"), 0))
	require.False(t, l.answers(make([]byte, questionSize), netip.MustParseAddr("10.0.0.2"), 0))
}
