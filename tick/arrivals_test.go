package tick_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/tick"
)

// After any loss, delay and reordering, a tick is complete only if all of its packets arrived. The newest tick may be
// revoked. Without loss every tick becomes complete.
func TestArrivedTicksAgreeWithAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(2, 60).Draw(t, "packets")
		var sent []tick.Tick // By sequence; tick.None: a packet without a tick.
		now := tick.Tick(1)
		first := now
		for range count {
			now += tick.Tick(rapid.IntRange(0, 3).Draw(t, "gap"))
			of := now
			if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
				of = tick.None
			}
			sent = append(sent, of)
		}
		order := rapid.Permutation(indexes(count)).Draw(t, "order")
		lost := rapid.IntRange(0, count/2).Draw(t, "lost")
		came, whole := make([]bool, count), map[tick.Tick]bool{}
		newest := -1
		var a tick.Arrivals
		for _, s := range order[lost:] {
			came[s] = true
			newest = max(newest, s)
			n := a.Note(uint64(s), sent[s])
			delete(whole, n.Doubt)
			for at := n.From; at < n.To; at++ {
				whole[at] = true
			}
			if n.Idle != tick.None {
				require.Equal(t, sent[s]-1, n.Idle)
			}
			for at := range whole {
				require.True(t, at >= first && at <= now, "tick %d was never", at)
				for i, of := range sent {
					if of == at && !came[i] {
						require.Greater(t, i, newest, "packet %d of tick %d is missing", i, at)
					}
				}
			}
		}
		if lost > 0 {
			return
		}
		seen := firstOf(sent)
		for at := seen + 1; at < lastOf(sent); at++ {
			require.True(t, whole[at], "all came, and of tick %d nothing is missing", at)
		}
	})
}

func indexes(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

func firstOf(sent []tick.Tick) tick.Tick {
	for _, of := range sent {
		if of != tick.None {
			return of
		}
	}
	return tick.None
}

func lastOf(sent []tick.Tick) (last tick.Tick) {
	for _, of := range sent {
		last = max(last, of)
	}
	return last
}
