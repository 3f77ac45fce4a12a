package input

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
)

func TestFeedbackTravels(t *testing.T) {
	for _, c := range []struct {
		early, want tick.Span
	}{
		{0, 0}, {tick.OneTick, tick.OneTick}, {-3 * tick.OneTick / 2, -3 * tick.OneTick / 2},
		{tick.OneTick / 1000, 0}, {-tick.OneTick / 1000, 0},
		{1 << 62, 32767 * earlyUnit}, {-1 << 62, -32768 * earlyUnit},
	} {
		var payload [feedbackSize]byte
		putFeedback(payload[:], 1<<40+0xBEEF, c.early)
		require.Equal(t, []byte{0xEF, 0xBE}, payload[:2])
		require.Equal(t, feedback{input: 0xBEEF, early: c.want}, parseFeedback(payload[:]))
	}
}
