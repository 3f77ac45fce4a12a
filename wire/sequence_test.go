package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSequenceBefore(t *testing.T) {
	for _, c := range []struct {
		a, b Sequence
		want bool
	}{
		{0, 0, false},
		{0, 1, true},
		{1, 0, false},
		{65535, 0, true},
		{0, 65535, false},
		{0, 32767, true},
		{0, 32768, false}, // half the circle: neither
		{32768, 0, false},
		{0, 32769, false},
		{32769, 0, true},
	} {
		require.Equal(t, c.want, c.a.Before(c.b), "%d, %d", c.a, c.b)
	}
}

func TestUnwrap(t *testing.T) {
	for _, c := range []struct {
		s    Sequence
		near uint64
		want uint64
	}{
		{0, 0, 0},
		{1, 0, 1},
		{65535, 0, 65535}, // there is nothing below 0
		{65535, 1, 65535},
		{65535, 65536, 65535},
		{65535, 40000, 65535},
		{0, 65535, 65536},
		{32768, 0, 32768},
		{0, 32768, 65536},         // equally near: the larger
		{0, 32767, 0},             // nearer below
		{7, 1<<40 + 9, 1<<40 + 7}, // far beyond 32 bits
	} {
		require.Equal(t, c.want, Unwrap(c.s, c.near), "Unwrap(%d, %d)", c.s, c.near)
	}
}

func TestUnwrapFindsEveryNumberNearby(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near := rapid.Uint64Range(0, 1<<48).Draw(t, "near")
		distance := rapid.Int64Range(-32767, 32768).Draw(t, "distance")
		if distance < 0 && uint64(-distance) > near {
			distance = -distance
		}
		want := near + uint64(distance)
		require.Equal(t, want, Unwrap(Sequence(want), near))
	})
}
