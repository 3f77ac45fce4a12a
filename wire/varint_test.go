package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// varintEdge is a number and its length in bytes.
type varintEdge struct {
	value uint64
	bytes int
}

// varintEdges returns the numbers on either side of each length.
func varintEdges() []varintEdge {
	return []varintEdge{
		{0, 1}, {240, 1}, {241, 2}, {2287, 2}, {2288, 3}, {67823, 3}, {67824, 4}, {1<<24 - 1, 4}, {1 << 24, 5},
		{1<<32 - 1, 5}, {1 << 32, 6}, {1<<40 - 1, 6}, {1 << 40, 7}, {1<<48 - 1, 7}, {1 << 48, 8}, {1<<56 - 1, 8},
		{1 << 56, 9}, {math.MaxUint64, 9},
	}
}

func TestVarintEdges(t *testing.T) {
	for _, c := range varintEdges() {
		b := AppendVarint(nil, c.value)
		require.Len(t, b, c.bytes, "%d", c.value)
		v, n, err := ReadVarint(append(b, 0xAA))
		require.NoError(t, err)
		require.Equal(t, c.value, v)
		require.Equal(t, c.bytes, n)
		for cut := range b {
			_, n, err = ReadVarint(b[:cut])
			require.ErrorIs(t, err, ErrTruncated)
			require.Zero(t, n)
		}
	}
}

// Each number has one form: a longer one is refused.
func TestVarintRefusesLongForms(t *testing.T) {
	for _, b := range [][]byte{
		{241, 0}, // 240: the form would have it twice
		{250, 0, 0, 0},
		{250, 1, 8, 239},                // 67823, which three bytes hold
		{251, 0, 1, 8, 240},             // 67824 in five bytes
		{252, 0, 255, 255, 255, 255},    // 32 bits in six
		{255, 0, 1, 1, 1, 1, 1, 1, 1},   // 56 bits in nine
		{255, 0, 0, 0, 0, 0, 0, 0, 240}, // one byte's worth
	} {
		_, n, err := ReadVarint(b)
		require.ErrorIs(t, err, ErrMalformed, "%v", b)
		require.Zero(t, n)
	}
}

func TestVarintKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")
		require.Equal(t, a < b, string(AppendVarint(nil, a)) < string(AppendVarint(nil, b)))
	})
}

func TestZigzag(t *testing.T) {
	for v, want := range map[int64]uint64{0: 0, -1: 1, 1: 2, -2: 3, 2: 4, math.MaxInt64: math.MaxUint64 - 1, math.MinInt64: math.MaxUint64} {
		require.Equal(t, want, Zigzag64(v))
		require.Equal(t, v, Unzigzag64(want))
	}
	for v, want := range map[int32]uint32{0: 0, -1: 1, 1: 2, -2: 3, math.MaxInt32: math.MaxUint32 - 1, math.MinInt32: math.MaxUint32} {
		require.Equal(t, want, Zigzag32(v))
		require.Equal(t, v, Unzigzag32(want))
	}
}

func TestVarintAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, MaxVarint)
	alloctest.Zero(t, 100, func() {
		b := AppendVarint(buf, math.MaxUint64)
		_, _, _ = ReadVarint(b)
	})
}

func FuzzReadVarint(f *testing.F) {
	for _, c := range varintEdges() {
		f.Add(AppendVarint(nil, c.value))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, n, err := ReadVarint(b)
		if err != nil {
			require.Zero(t, n)
			return
		}
		require.Equal(t, b[:n], AppendVarint(nil, v), "one legal encoding")
	})
}
