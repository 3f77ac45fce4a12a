package tick_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/tick"
)

func TestNear(t *testing.T) {
	for _, c := range []struct {
		low  uint16
		ref  tick.Tick
		want tick.Tick
	}{
		{5, 5, 5},
		{6, 5, 6},
		{4, 5, 4},
		{0, 65535, 65536},
		{65535, 65536, 65535},
		{32768, 0, 32768},          // equally near: the later
		{32769, 0, 32769 - 65536},  // no tick: the caller refuses it
		{0, 1 << 40, 1 << 40},      // far beyond 32 bits
		{65535, 1, -1},             // close to the start
		{1, 65536 + 32769, 131073}, // as near on both sides: the later
		{1, 65536 + 32768, 65537},  // one nearer to the earlier
	} {
		require.Equal(t, c.want, tick.Near(c.low, c.ref), "Near(%d, %d)", c.low, c.ref)
	}
}

func TestNearIsTheInverseOfLow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ref := tick.Tick(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "ref"))
		want := ref + tick.Tick(rapid.Int64Range(-32767, 32768).Draw(t, "distance"))
		require.Equal(t, want, tick.Near(want.Low(), ref))
	})
}
