package wire

import (
	"math"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// arrayWays writes and reads numbers as an array and as a slice, and compares with the plain twin.
func arrayWays[T Fixed](size int, from func(uint64) T, to func(T) uint64) func(t *rapid.T, list []uint64) {
	return func(t *rapid.T, list []uint64) {
		v := casts(list, from)
		var array, slice dumb
		slice.varint(uint64(len(v)))
		for _, x := range v {
			array.fixed(to(x), size)
			slice.fixed(to(x), size)
		}
		buf, intact := guarded(len(array.b))
		w := NewWriter(buf)
		WriteArray(&w, v)
		require.NoError(t, w.Err())
		require.Equal(t, string(array.b), string(w.Written()))
		require.True(t, intact())
		r := NewReader(buf)
		got := make([]T, len(v))
		ReadArray(&r, got)
		require.True(t, r.Done())
		require.Equal(t, casts2(v, to), casts2(got, to))

		buf, intact = guarded(len(slice.b))
		w = NewWriter(buf)
		WriteSlice(&w, v, len(v))
		require.NoError(t, w.Err())
		require.Equal(t, slice.b, w.Written())
		for cut := range buf {
			short := NewWriter(buf[:cut:cut])
			WriteSlice(&short, v, len(v))
			require.ErrorIs(t, short.Err(), ErrOverflow)
			r := NewReader(slice.b[:cut])
			require.Empty(t, ReadSlice[T](&r, nil, len(v)))
			require.ErrorIs(t, r.Err(), ErrTruncated)
		}
		require.True(t, intact())
		r = NewReader(slice.b)
		require.Equal(t, casts2(v, to), casts2(ReadSlice(&r, make([]T, 1, 5), len(v)), to))
		require.True(t, r.Done())
		if len(v) > 0 {
			r, w = NewReader(slice.b), NewWriter(buf)
			require.Empty(t, ReadSlice[T](&r, nil, len(v)-1))
			require.ErrorIs(t, r.Err(), ErrTooLong)
			WriteSlice(&w, v, len(v)-1)
			require.ErrorIs(t, w.Err(), ErrTooLong)
			require.Empty(t, w.Written())
		}
	}
}

func TestArraysOfEachPrimitive(t *testing.T) {
	ways := []func(*rapid.T, []uint64){
		arrayWays(1, toBool, ofBool), arrayWays(1, asFlag, ofFlag),
		arrayWays(1, cast[int8], back), arrayWays(2, cast[int16], back), arrayWays(4, cast[int32], back), arrayWays(8, cast[int64], back),
		arrayWays(1, cast[uint8], back), arrayWays(2, cast[uint16], back), arrayWays(4, cast[uint32], back), arrayWays(8, cast[uint64], back),
		arrayWays(8, cast[int], back), arrayWays(8, cast[uint], back), arrayWays(8, cast[wordEnum], back), arrayWays(2, cast[negativeEnum], back),
		arrayWays(4, f32of, of32), arrayWays(8, math.Float64frombits, math.Float64bits),
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Uint64(), 0, 9).Draw(t, "list")
		for _, way := range ways {
			way(t, list)
		}
	})
}

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

func TestArrayRefusesBadBools(t *testing.T) {
	v := []flag{true, true, true}
	r := NewReader([]byte{1, 2, 0, 9})
	ReadArray(&r, v)
	require.ErrorIs(t, r.Err(), ErrMalformed)
	require.Equal(t, []flag{false, false, false}, v)
	r = NewReader([]byte{1})
	v[0] = true
	ReadArray(&r, v)
	require.ErrorIs(t, r.Err(), ErrTruncated)
	require.Equal(t, []flag{false, false, false}, v)
}

// Count accepts only numbers that the remaining bytes have room for.
func TestCount(t *testing.T) {
	for _, c := range []struct {
		n, left, limit, size int
		want                 error
	}{
		{0, 0, 0, 8, nil}, {3, 24, 3, 8, nil}, {3, 23, 3, 8, ErrTruncated}, {4, 99, 3, 8, ErrTooLong}, {1, 9, -1, 1, ErrTooLong},
		{5, 5, 9, 0, nil}, {6, 5, 9, -3, ErrTruncated}, {1, 0, 1, math.MaxInt, ErrTruncated},
	} {
		r := NewReader(append(AppendVarint(nil, uint64(c.n)), make([]byte, c.left)...))
		n := r.Count(c.limit, c.size)
		if c.want == nil {
			require.NoError(t, r.Err())
			require.Equal(t, c.n, n)
			require.Len(t, r.Rest(), c.left)
			continue
		}
		require.ErrorIs(t, r.Err(), c.want, "%+v", c)
		require.Zero(t, n)
		require.Nil(t, r.Rest())
	}
	r := NewReader([]byte{1, 2})
	_ = append(r.Rest(), 9) // cannot overwrite the buffer
	require.Equal(t, uint16(0x0201), r.Uint16())
}

func TestRunesAndTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runes := []rune(rapid.String().Draw(t, "runes"))
		texts := rapid.SliceOfN(rapid.StringN(0, 5, 20), 0, 6).Draw(t, "texts")
		var d dumb
		d.varint(uint64(len(runes)))
		for _, one := range runes {
			d.fixed(uint64(one), 4)
		}
		d.varint(uint64(len(texts)))
		for _, text := range texts {
			d.text(text)
		}
		w := NewWriter(make([]byte, len(d.b)))
		w.Runes(runes, len(runes))
		w.Strings(texts, 6, 20)
		require.NoError(t, w.Err())
		require.Equal(t, d.b, w.Written())
		read := func(b []byte) (*Reader, []rune, []string) {
			r := NewReader(b)
			return &r, r.Runes(nil, len(runes)), r.Strings(nil, 6, 20)
		}
		r, gotRunes, gotTexts := read(d.b)
		require.True(t, r.Done())
		require.Equal(t, string(runes), string(gotRunes))
		require.Equal(t, len(texts), len(gotTexts))
		for i := range texts {
			require.Equal(t, texts[i], gotTexts[i])
		}
		for cut := range d.b {
			r, _, _ := read(d.b[:cut])
			require.ErrorIs(t, r.Err(), ErrTruncated)
		}
	})
}

func TestRune(t *testing.T) {
	for _, v := range []rune{0, 'a', 0xD7FF, 0xE000, utf8.RuneError, utf8.MaxRune, 0xD800, 0xDFFF, utf8.MaxRune + 1, -1, math.MinInt32} {
		w := NewWriter(make([]byte, 4))
		w.Rune(v)
		var d dumb
		d.fixed(uint64(uint32(v)), 4)
		r := NewReader(d.b)
		got := r.Rune()
		if !utf8.ValidRune(v) {
			require.ErrorIs(t, w.Err(), ErrMalformed)
			require.Empty(t, w.Written())
			require.ErrorIs(t, r.Err(), ErrMalformed)
			require.Zero(t, got)
			continue
		}
		require.NoError(t, w.Err())
		require.Equal(t, d.b, w.Written())
		require.Equal(t, v, got)
		require.True(t, r.Done())
	}
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

func TestVarintSize(t *testing.T) {
	for _, c := range varintEdges() {
		require.Equal(t, c.bytes, VarintSize(c.value), "%d", c.value)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64().Draw(t, "v") >> rapid.IntRange(0, 63).Draw(t, "shift")
		require.Len(t, AppendVarint(nil, v), VarintSize(v))
	})
}

// packedWay writes and reads one number, and cuts it at every byte.
func packedWay[T Packable](t require.TestingT, u uint64) {
	v := T(u)
	var d dumb
	if hasSign[T]() {
		d.signed(int64(v))
	} else {
		d.varint(uint64(v))
	}
	w := NewWriter(make([]byte, len(d.b)))
	WritePacked(&w, v)
	require.NoError(t, w.Err())
	require.Equal(t, d.b, w.Written())
	r := NewReader(d.b)
	require.Equal(t, v, ReadPacked[T](&r))
	require.True(t, r.Done())
	for cut := range d.b {
		r := NewReader(d.b[:cut])
		require.Zero(t, ReadPacked[T](&r))
		require.ErrorIs(t, r.Err(), ErrTruncated)
		w := NewWriter(make([]byte, cut))
		WritePacked(&w, v)
		require.ErrorIs(t, w.Err(), ErrOverflow)
	}
	// The same varint for a narrower type gives the number itself, or an error.
	var every dumb
	every.varint(u)
	r = NewReader(every.b)
	got := ReadPacked[T](&r)
	if r.Err() == nil {
		require.Equal(t, u, packed(got))
		return
	}
	require.ErrorIs(t, r.Err(), ErrMalformed)
	require.Zero(t, got)
}

func TestPackedOfEachWidth(t *testing.T) {
	ways := []func(require.TestingT, uint64){
		packedWay[int16],
		packedWay[int32],
		packedWay[int64],
		packedWay[uint16],
		packedWay[uint32],
		packedWay[uint64],
		packedWay[int],
		packedWay[uint],
		packedWay[negativeEnum],
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
