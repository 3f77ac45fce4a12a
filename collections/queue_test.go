package collections

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Collections leave the queue of a client in any order, and the others stay in theirs. The memory is that of those that wait.
func TestAQueueOfCollectionsKeepsItsOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(71, 1))
	r, model := newReader(), []*sendState{}
	for range 20_000 {
		if len(model) == 0 || random.IntN(100) < 49 {
			s := &sendState{}
			model = append(model, s)
			r.enqueue(s)
			r.enqueue(s)
		} else {
			i := random.IntN(len(model)) * random.IntN(2) // Often the first.
			s := model[i]
			model = append(model[:i:i], model[i+1:]...)
			r.leaveQueue(s)
			r.leaveQueue(s)
		}
		if len(model) > 0 {
			require.Same(t, model[0], r.queue[r.first], "the first is found at once")
		}
	}
	var left []*sendState
	for _, s := range r.queue[r.first:] {
		if s != nil {
			left = append(left, s)
		}
	}
	require.Equal(t, len(model), len(left))
	for i := range left {
		require.Same(t, model[i], left[i])
	}
	for _, s := range model {
		r.leaveQueue(s)
	}
	require.Empty(t, r.queue)
	require.Zero(t, r.first)
}
