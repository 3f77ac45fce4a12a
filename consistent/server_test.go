package consistent

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// A server saves after a tick whose state did not fit, and sends all that waits at once.
func TestSenderSavesForWholeTicks(t *testing.T) {
	type step struct {
		now     netcode.Tick
		pending bool
		left    int // Before the packets of the tick,
		hold    bool
		reserve int
		rest    int // and behind them.
		over    bool
	}
	for name, steps := range map[string][]step{
		"all fits": {
			{1, true, 1000, false, 0, 400, false},
			{2, true, 1000, false, 0, 400, false},
		},
		"saves half of what comes in, then spends it before messages": {
			{1, true, 1000, false, 0, 100, true},
			{2, true, 300, true, 100, 300, false},
			{3, true, 500, true, 200, 500, false},
			{9, true, 1700, false, math.MaxInt, 900, false},
			{10, true, 1100, false, 0, 900, false},
		},
		"what waits leaves the client's sight": {
			{1, true, 1000, false, 0, 100, true},
			{2, false, 300, false, math.MaxInt, 300, false},
			{3, true, 500, false, 0, 300, false},
		},
		"no budget comes in": {
			{1, true, 1000, false, 0, 100, true},
			{2, true, 100, true, 1, 100, false},
			{3, true, 100, true, 1, 100, false},
			{9, true, 100, false, math.MaxInt, 0, true},
			{10, true, 100, true, 50, 100, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var f sender
			for _, s := range steps {
				hold, reserve := f.hold(s.pending, s.now, s.left)
				require.Equal(t, s.hold, hold, "tick %d", s.now)
				require.Equal(t, s.reserve, reserve, "tick %d", s.now)
				f.stateSent(s.rest, s.over, s.now+8)
			}
			require.GreaterOrEqual(t, f.sendAt, tick.None)
		})
	}
}
