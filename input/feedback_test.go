package input

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
)

// The server reports how early an input arrived to a fraction of a tick: the least early one of several.
func TestFeedbackTellsPartsOfATick(t *testing.T) {
	p := newSticks()
	p.note(t, 11, sticks{})
	p.note(t, 12, sticks{})
	payload := p.message()
	p.moment = moment{now: 10, came: tick.Time{Tick: 10, Fraction: 3 << 30}}
	require.NoError(t, p.server.staged.read(p.in, payload))
	p.queue.take(&p.server.staged)
	var room [feedbackSize]byte
	require.Equal(t, feedbackSize, p.queue.writeFeedback(room[:]))
	require.Equal(t, feedback{input: 11, early: tick.OneTick / 4}, parseFeedback(room[:]))
	require.Zero(t, p.queue.writeFeedback(room[:]), "it is told once")
}

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
