package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fill keeps what the other methods rely on: zero bits above n, and nothing lost, whatever was read before.
func TestFillKeepsTheReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")
		filled, plain := NewBitReader(b), NewBitReader(b)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			filled.fill()
			require.Equal(t, plain.Remaining(), filled.Remaining())
			require.True(t, filled.n >= 56 || len(filled.buf) == 0)
			require.Zero(t, filled.acc&^low(^uint64(0), filled.n))
			width := uint(rapid.IntRange(0, 64).Draw(t, "width"))
			require.Equal(t, plain.Read(width), filled.Read(width))
			require.Equal(t, plain.Failed(), filled.Failed())
		}
	})
}
