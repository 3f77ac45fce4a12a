package message

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWaitHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h waitHeap
		var model []int64
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if len(h) > 0 && rapid.Bool().Draw(t, "pop") {
				least := slices.Min(model)
				require.Equal(t, waiter{least, int(least) * 2}, h.pop())
				model = slices.Delete(model, slices.Index(model, least), slices.Index(model, least)+1)
			} else {
				key := rapid.Int64Range(-9, 9).Draw(t, "key")
				h.push(waiter{key, int(key) * 2})
				model = append(model, key)
			}
			require.Len(t, h, len(model))
		}
	})
}
