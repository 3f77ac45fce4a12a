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
	require.NoError(t, p.server.staged.read(p.in, payload, false))
	p.takeStaged()
	var room [feedbackSize]byte
	require.Equal(t, feedbackSize, p.queue.writeFeedback(room[:], 1))
	require.Equal(t, feedback{input: 11, early: tick.OneTick / 4}, parseFeedback(room[:]))
	require.Zero(t, p.queue.writeFeedback(room[:], 1), "it is told once")
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

// A slip is told with each feedback until a packet with it is acknowledged. The client takes it once.
func TestASlipIsTold(t *testing.T) {
	p := newSticks()
	p.moment.slipped = 7 // Before the session.
	p.queue = p.server.open()
	at := tick.Tick(10)
	tell := func(room []byte, packet, total uint64) feedback {
		at++
		p.note(t, at, sticks{})
		p.take(t, p.message(), at)
		p.moment.since, p.moment.slipped = 70000, total
		n := p.queue.writeFeedback(room, packet)
		require.NoError(t, checkFeedback(room[:n]))
		return parseFeedback(room[:n])
	}
	room := make([]byte, 100)
	require.False(t, tell(room, 1, 7).slips)
	for packet := range uint64(3) {
		got := tell(room, 2+packet, 12)
		require.Equal(t, feedback{input: at.Low(), slips: true, since: tick.Tick(70000).Low(), slipped: 5}, got)
	}
	require.False(t, tell(room[:feedbackSize+slipSize-1], 5, 12).slips, "there is no room")
	p.queue.slips.acked(1)
	p.queue.slips.acked(5)
	require.EqualValues(t, 6, tell(room, 6, 13).slipped)
	p.queue.slips.acked(4)
	require.EqualValues(t, 6, tell(room, 7, 13).slipped, "another packet")
	p.queue.slips.acked(7)
	require.False(t, tell(room, 8, 13).slips)
	for _, size := range []int{0, 3, 5, 7, 9} {
		require.Error(t, checkFeedback(room[:size]))
	}
}
