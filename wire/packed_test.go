package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

func TestVarintSize(t *testing.T) {
	for _, c := range varintEdges() {
		require.Equal(t, c.bytes, VarintSize(c.value), "%d", c.value)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64().Draw(t, "v") >> rapid.IntRange(0, 63).Draw(t, "shift")
		require.Len(t, AppendVarint(nil, v), VarintSize(v))
	})
}

// packedWays writes and reads one number by the method of its type and by the generic function.
func packedWays[T Packable](method func(*Writer, T), read func(*Reader) T) func(t require.TestingT, u uint64) {
	return func(t require.TestingT, u uint64) {
		v := T(u)
		var d dumb
		if hasSign[T]() {
			d.signed(int64(v))
		} else {
			d.varint(uint64(v))
		}
		w, g := NewWriter(make([]byte, len(d.b))), NewWriter(make([]byte, 9))
		method(&w, v)
		WritePacked(&g, v)
		require.NoError(t, w.Err())
		require.Equal(t, d.b, w.Written())
		require.Equal(t, d.b, g.Written())
		r, q := NewReader(d.b), NewReader(d.b)
		require.Equal(t, v, read(&r))
		require.Equal(t, v, ReadPacked[T](&q))
		require.True(t, r.Done() && q.Done())
		for cut := range d.b {
			r := NewReader(d.b[:cut])
			require.Zero(t, read(&r))
			require.ErrorIs(t, r.Err(), ErrTruncated)
			w := NewWriter(make([]byte, cut))
			method(&w, v)
			require.ErrorIs(t, w.Err(), ErrOverflow)
		}
		// The same varint, for a type that may be narrower: the number itself, or malformed.
		var every dumb
		every.varint(u)
		r, q = NewReader(every.b), NewReader(every.b)
		got := read(&r)
		require.Equal(t, got, ReadPacked[T](&q))
		require.Equal(t, r.Err(), q.Err())
		if r.Err() == nil {
			require.Equal(t, u, packed(got))
			return
		}
		require.ErrorIs(t, r.Err(), ErrMalformed)
		require.Zero(t, got)
	}
}

func TestPackedOfEachWidth(t *testing.T) {
	ways := []func(require.TestingT, uint64){
		packedWays((*Writer).PackedInt16, (*Reader).PackedInt16),
		packedWays((*Writer).PackedInt32, (*Reader).PackedInt32),
		packedWays((*Writer).PackedInt64, (*Reader).PackedInt64),
		packedWays((*Writer).PackedUint16, (*Reader).PackedUint16),
		packedWays((*Writer).PackedUint32, (*Reader).PackedUint32),
		packedWays((*Writer).PackedUint64, (*Reader).PackedUint64),
		packedWays(WritePacked[int], ReadPacked[int]),
		packedWays(WritePacked[uint], ReadPacked[uint]),
		packedWays(WritePacked[negativeEnum], ReadPacked[negativeEnum]),
	}
	for _, way := range ways {
		for _, u := range []uint64{0, 1, math.MaxInt16, math.MaxInt16 + 1, math.MaxUint16, math.MaxUint16 + 1, math.MaxInt32, math.MaxInt32 + 1,
			math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64, 240, 241, 2287, 2288, 67823, 67824} {
			way(t, u)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.Uint64().Draw(t, "u") >> rapid.IntRange(0, 63).Draw(t, "shift")
		for _, way := range ways {
			way(t, u)
		}
	})
}

// What a narrower int of the reader's platform cannot hold is malformed there.
func TestUnpackedKnowsItsRange(t *testing.T) {
	_, ok := unpacked[int32](Zigzag64(math.MinInt32 - 1))
	require.False(t, ok)
	v, ok := unpacked[int32](Zigzag64(math.MinInt32))
	require.True(t, ok)
	require.Equal(t, int32(math.MinInt32), v)
	_, ok = unpacked[uint32](1 << 32)
	require.False(t, ok)
}

func TestPackedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Int32(), 0, 20).Draw(t, "list")
		var d dumb
		d.varint(uint64(len(list)))
		for _, v := range list {
			d.signed(int64(v))
		}
		w := NewWriter(make([]byte, len(d.b)))
		WritePackedSlice(&w, list, 20)
		require.NoError(t, w.Err())
		require.Equal(t, d.b, w.Written())
		r := NewReader(d.b)
		old := make([]int32, 0, 10)
		got := ReadPackedSlice(&r, old, 20)
		require.True(t, r.Done())
		require.Equal(t, len(list), len(got))
		for i := range list {
			require.Equal(t, list[i], got[i])
		}
		for cut := range d.b {
			r := NewReader(d.b[:cut])
			require.Empty(t, ReadPackedSlice[int32](&r, nil, 20))
			require.ErrorIs(t, r.Err(), ErrTruncated)
		}
	})
}

func TestPackedAllocatesNothing(t *testing.T) {
	buf, list := make([]byte, 100), []int32{1, -1, 1 << 30}
	dst := make([]int32, 3)
	alloctest.Zero(t, 100, func() {
		w := NewWriter(buf)
		w.PackedInt16(-300)
		WritePacked(&w, negativeEnum(5))
		WritePackedSlice(&w, list, 3)
		r := NewReader(w.Written())
		r.PackedInt16()
		ReadPacked[negativeEnum](&r)
		dst = ReadPackedSlice(&r, dst, 3)
		if !r.Done() {
			t.Fatal("not done")
		}
	})
}
