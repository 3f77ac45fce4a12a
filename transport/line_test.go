package transport_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/transport"
)

func TestLine(t *testing.T) {
	const ms = time.Millisecond
	l := transport.NewLine(1000, 200*ms)
	enter := func(now time.Duration, size int, left, wait time.Duration, ok bool) {
		t.Helper()
		gotLeft, gotWait, gotOK := l.Enter(now, size)
		require.Equal(t, []any{left, wait, ok}, []any{gotLeft, gotWait, gotOK})
	}
	enter(0, 100, 100*ms, 0, true)
	enter(0, 100, 200*ms, 100*ms, true)
	enter(0, 50, 250*ms, 200*ms, true) // exactly what may wait
	enter(0, 1, 0, 250*ms, false)      // and no more
	enter(60*ms, 10, 260*ms, 190*ms, true)
	l.SetRate(60*ms, 2000) // What waits takes half of the time.
	enter(60*ms, 200, 260*ms, 100*ms, true)
	l.SetRate(60*ms, 500)
	enter(60*ms, 1, 0, 800*ms, false)
	enter(time.Hour, 5, time.Hour+10*ms, 0, true)
	l.SetRate(2*time.Hour, 0) // at least a byte a second
	enter(2*time.Hour, 1, 2*time.Hour+time.Second, 0, true)
}

// A line takes no more than its rate, and nothing waits for longer than its queue.
func TestALineTakesItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(100, 1<<20).Draw(t, "rate")
		queue := time.Duration(rapid.IntRange(0, 500).Draw(t, "queue")) * time.Millisecond
		l := transport.NewLine(rate, queue)
		var now, last time.Duration
		bytes := 0
		for range rapid.IntRange(1, 200).Draw(t, "packets") {
			now += time.Duration(rapid.Int64Range(0, int64(30*time.Millisecond)).Draw(t, "passed"))
			size := rapid.IntRange(1, 1500).Draw(t, "size")
			left, wait, ok := l.Enter(now, size)
			if !ok {
				require.Greater(t, wait, queue)
				continue
			}
			require.LessOrEqual(t, wait, queue)
			require.Greater(t, left, last, "in order")
			last = left
			bytes += size
		}
		require.LessOrEqual(t, float64(bytes), float64(rate)*last.Seconds()+1)
	})
}
