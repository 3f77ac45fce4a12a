package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// Big-endian machines and those with a 4-byte int use the same bytes: the test creates their memory by hand.
func TestNumbersOfOtherMachines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shape{size: rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "size"), big: rapid.Bool().Draw(t, "big"), signed: rapid.Bool().Draw(t, "signed")}
		if s.wire = s.size; s.size == 4 && rapid.Bool().Draw(t, "int") {
			s.wire = 8
		}
		var little dumb
		var memory []byte
		for range rapid.IntRange(0, 5).Draw(t, "count") {
			u := rapid.Uint64().Draw(t, "u") & (math.MaxUint64 >> (64 - 8*s.size))
			if s.signed {
				u = uint64(int64(u<<(64-8*s.size)) >> (64 - 8*s.size))
			}
			little.fixed(u, s.wire)
			var one dumb
			one.fixed(u, s.size)
			for i := range one.b {
				if s.big {
					i = len(one.b) - 1 - i
				}
				memory = append(memory, one.b[i])
			}
		}
		dst := make([]byte, len(little.b))
		storeNumbers(dst, memory, s)
		require.Equal(t, little.b, append([]byte(nil), dst...))
		got := make([]byte, len(memory))
		require.True(t, loadNumbers(got, dst, s))
		require.Equal(t, memory, append([]byte(nil), got...))
		if s.wire > s.size && len(dst) > 0 {
			dst[rapid.IntRange(0, len(dst)-1).Draw(t, "at")/8*8+rapid.IntRange(4, 7).Draw(t, "high")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			require.False(t, loadNumbers(got, dst, s), "an int of 4 bytes cannot hold it")
		}
	})
}

func FuzzArrays(f *testing.F) {
	w := NewWriter(make([]byte, 300))
	WriteSlice(&w, []flag{true, false}, 9)
	WriteSlice(&w, []wordEnum{1, -1}, 9)
	WriteSlice(&w, []float32{1, 2}, 9)
	WritePackedSlice(&w, []int16{1, -300}, 9)
	w.Runes([]rune("aö"), 9)
	w.Strings([]string{"", "text"}, 9, 9)
	WriteArray(&w, []int{5, -5})
	f.Add(w.Written())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, w := NewReader(b), NewWriter(make([]byte, len(b)))
		WriteSlice(&w, ReadSlice[flag](&r, nil, 9), 9)
		WriteSlice(&w, ReadSlice[wordEnum](&r, nil, 9), 9)
		WriteSlice(&w, ReadSlice[float32](&r, nil, 9), 9)
		WritePackedSlice(&w, ReadPackedSlice[int16](&r, nil, 9), 9)
		w.Runes(r.Runes(nil, 9), 9)
		w.Strings(r.Strings(nil, 9, 9), 9, 9)
		var last [2]int
		ReadArray(&r, last[:])
		WriteArray(&w, last[:])
		if r.Err() == nil {
			require.NoError(t, w.Err())
			require.Equal(t, b[:r.Position()], w.Written(), "one legal encoding")
		}
	})
}

func TestVarintSize(t *testing.T) {
	for _, c := range varintEdges() {
		require.Equal(t, c.bytes, VarintSize(c.value), "%d", c.value)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64().Draw(t, "v") >> rapid.IntRange(0, 63).Draw(t, "shift")
		require.Len(t, AppendVarint(nil, v), VarintSize(v))
	})
}

// A value that exceeds the reader's int is malformed.
func TestUnpackedKnowsItsRange(t *testing.T) {
	_, ok := unpacked[int32](Zigzag64(math.MinInt32 - 1))
	require.False(t, ok)
	v, ok := unpacked[int32](Zigzag64(math.MinInt32))
	require.True(t, ok)
	require.Equal(t, int32(math.MinInt32), v)
	_, ok = unpacked[uint32](1 << 32)
	require.False(t, ok)
}

func TestArraysAllocateNothing(t *testing.T) {
	buf, list, flags, runes := make([]byte, 100), []float64{1, 2}, []flag{true}, []rune("ö")
	text := []string{"text"}
	alloctest.Zero(t, 100, func() {
		w := NewWriter(buf)
		WriteSlice(&w, list, 9)
		WriteSlice(&w, flags, 9)
		w.Runes(runes, 9)
		w.Strings(text, 9, 9)
		r := NewReader(w.Written())
		list, flags, runes = ReadSlice(&r, list, 9), ReadSlice(&r, flags, 9), r.Runes(runes, 9)
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
	})
}

// A packed slice above the limit is neither written nor read, and nothing is allocated for it. A slice with an
// error is empty.
func TestPackedSliceKeepsToItsLimit(t *testing.T) {
	list := []int32{1, -2, 3}
	w := NewWriter(make([]byte, 10))
	WritePackedSlice(&w, list, 2)
	require.ErrorIs(t, w.Err(), ErrTooLong)
	w = NewWriter(make([]byte, 10))
	WritePackedSlice(&w, list, 3)
	require.Equal(t, []byte{3, 2, 3, 6}, w.Written())
	for limit, want := range map[int]error{3: nil, 2: ErrTooLong} {
		r := NewReader(w.Written())
		got := ReadPackedSlice[int32](&r, nil, limit)
		require.ErrorIs(t, r.Err(), want)
		require.Equal(t, want == nil, cap(got) > 0)
	}
	for cut := range w.Written() {
		r := NewReader(w.Written()[:cut])
		require.Empty(t, ReadPackedSlice[int32](&r, nil, 3))
		require.ErrorIs(t, r.Err(), ErrTruncated)
	}
	r := NewReader([]byte{2, 2, 255, 255, 255, 255, 255, 255, 255, 255, 255})
	require.Empty(t, ReadPackedSlice[int32](&r, nil, 3))
	require.ErrorIs(t, r.Err(), ErrMalformed)
}

func TestPackedAllocatesNothing(t *testing.T) {
	buf, list := make([]byte, 100), []int32{1, -1, 1 << 30}
	dst := make([]int32, 3)
	alloctest.Zero(t, 100, func() {
		w := NewWriter(buf)
		WritePacked(&w, int16(-300))
		WritePacked(&w, negativeEnum(5))
		WritePackedSlice(&w, list, 3)
		r := NewReader(w.Written())
		ReadPacked[int16](&r)
		ReadPacked[negativeEnum](&r)
		dst = ReadPackedSlice(&r, dst, 3)
		if !r.Done() {
			t.Fatal("not done")
		}
	})
}
