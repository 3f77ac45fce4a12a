package wire

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// wholesome has each kind of number, in arrays and structs and in unexported fields.
type wholesome struct {
	D [2]float64
	mixed
	Parts [3]struct {
		X     uint16
		On    [2]bool
		inner [2][2]struct{ b uint8 }
	}
	Tail uint32
	_unnamed
}

type _unnamed struct{ U uint32 }

func TestValueDescribes(t *testing.T) {
	v, err := NewValue[wholesome]()
	require.NoError(t, err)
	require.Equal(t, "{D:[2]f64;mixed:{F:f64;I:i32;S:i16;On:bool;Last:[1]u8};Parts:[3]{X:u16;On:[2]bool;inner:[2][2]{b:u8}};Tail:u32;_unnamed:{U:u32}}",
		string(v.Describe(nil)))
	require.Equal(t, 64, v.Size())
	number, err := NewValue[wordless]()
	require.NoError(t, err)
	require.Equal(t, "x:[4]i16", string(number.Describe([]byte("x:"))))
}

type wordless [4]int16

func TestNewValueRefuses(t *testing.T) {
	refused := func(check func() error, words ...string) {
		t.Helper()
		err := check()
		require.Error(t, err)
		for _, word := range words {
			require.ErrorContains(t, err, word)
		}
	}
	refused(of[struct{ List [2]struct{ P *int } }], ".List[].P", "pointer")
	refused(of[struct{ S string }], ".S", "pointer")
	refused(of[[]byte], "pointer")
	refused(of[map[int32]int32], "pointer")
	refused(of[any], "pointer")
	refused(of[func()], "pointer")
	refused(of[struct{ N int }], ".N", "sized integer")
	refused(of[uintptr], "sized integer")
	refused(of[complex64], "complex64")
	refused(of[struct {
		A uint8
		_ uint8
	}], "field 1 is blank")
	refused(of[struct{}], "no fields")
	refused(of[[0]uint32], "no elements")
	refused(of[struct {
		A uint32
		B struct{}
	}], ".B", "no fields")
	refused(of[[maxRuns]struct {
		A int16
		B [2]uint8
	}], "runs of numbers")
	require.NoError(t, of[[1 << 20]struct{ A, B float32 }](), "one run, however long")
	require.Panics(t, func() { new(Value[uint32]).check() })
}

func of[T any]() error {
	_, err := NewValue[T]()
	return err
}

// Big-endian machines reverse the bytes of each number.
func TestSwapRuns(t *testing.T) {
	var layout valueLayout
	_, err := layout.add(reflect.TypeFor[mixed](), "", 0, 0)
	require.NoError(t, err)
	src, once, twice := make([]byte, 16), make([]byte, 16), make([]byte, 16)
	for i := range src {
		src[i] = byte(i)
	}
	turn := func(dst, src []byte) {
		for _, r := range layout.runs {
			r.move(dst[r.from:], src[r.at:])
		}
	}
	turn(once, src)
	require.Equal(t, []byte{7, 6, 5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 13, 12, 14, 15}, once)
	turn(twice, once)
	require.Equal(t, src, twice)
}

func FuzzValue(f *testing.F) {
	c, err := NewValue[wholesome]()
	require.NoError(f, err)
	w := NewWriter(make([]byte, 300))
	WriteValue(&w, c, &wholesome{Tail: 1, D: [2]float64{1, math.Inf(1)}})
	f.Add(w.Written())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, w := NewReader(b), NewWriter(make([]byte, len(b)))
		var v wholesome
		ReadValue(&r, c, &v)
		if r.Err() == nil {
			WriteValue(&w, c, &v)
			require.NoError(t, w.Err())
			require.Equal(t, b[:r.Position()], w.Written(), "one legal encoding")
		}
	})
}

// narrowed is the third sample of seed A: in memory it has a byte of padding at its end.
type narrowed struct {
	F float32
	S int16
	B bool
}

// gaps has padding before a field, within an array and at its end; on 386 before fewer fields.
type gaps struct {
	On    bool
	Wide  uint64
	Parts [2]struct {
		N uint32
		S [3]uint8
	}
	Last int16
}

// Padding is not sent: the bytes are those of the fields one after another, on every machine, and the padding of what is read into
// is left as it is.
func TestPaddingDoesNotTravel(t *testing.T) {
	one, err := NewValue[narrowed]()
	require.NoError(t, err)
	require.Equal(t, 7, one.Size())
	require.Equal(t, "{F:f32;S:i16;B:bool}", string(one.Describe(nil)))
	v := narrowed{1.5, -300, true}
	spoil := memoryOf(only(&v))
	spoil[7] = 0xEE
	buf := make([]byte, 7)
	w := NewWriter(buf)
	WriteValue(&w, one, &v)
	require.NoError(t, w.Err())
	require.Equal(t, []byte{0, 0, 0xC0, 0x3F, 0xD4, 0xFE, 1}, w.Written())
	var got narrowed
	memoryOf(only(&got))[7] = 0x77
	r := NewReader(buf)
	ReadValue(&r, one, &got)
	require.True(t, r.Done())
	require.Equal(t, narrowed{1.5, -300, true}, got)
	require.EqualValues(t, 0x77, memoryOf(only(&got))[7])
	buf[6] = 2
	r = NewReader(buf)
	ReadValue(&r, one, &got)
	require.ErrorIs(t, r.Err(), ErrMalformed)
	require.Zero(t, got)
	for cut := range 7 {
		r := NewReader(buf[:cut])
		ReadValue(&r, one, &got)
		require.ErrorIs(t, r.Err(), ErrTruncated)
		w := NewWriter(make([]byte, cut))
		WriteValue(&w, one, &v)
		require.ErrorIs(t, w.Err(), ErrOverflow)
	}

	many, err := NewValue[gaps]()
	require.NoError(t, err)
	require.Equal(t, 1+8+2*7+2, many.Size())
	whole := gaps{On: true, Wide: 0x0807060504030201, Last: -2}
	whole.Parts[0].N, whole.Parts[1].S = 0x0D0C0B0A, [3]uint8{7, 8, 9}
	want := []byte{1, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 0, 0, 0, 0, 0, 0, 0, 7, 8, 9, 0xFE, 0xFF}
	w = NewWriter(make([]byte, 64))
	WriteValue(&w, many, &whole)
	require.Equal(t, want, w.Written())
	r = NewReader(want)
	var back gaps
	ReadValue(&r, many, &back)
	require.Equal(t, whole, back)
	require.True(t, r.Done())
}

// embedded and hybrid are the sample of seed A, 6: a part that is sent as a whole value, and a packed tail.
type embedded struct {
	A, B uint8
	C    int16
}

type hybrid struct {
	Embedded embedded
	F        float32
	S        int16
}

func TestValueOfTheHybridSample(t *testing.T) {
	part, err := NewValue[embedded]()
	require.NoError(t, err)
	require.Equal(t, 4, part.Size())
	v := hybrid{embedded{1, 2, -3}, 1.5, -300}
	call := either(func(s *Serializer) {
		SerializeValue(s, part, &v.Embedded)
		s.Float32(&v.F)
		s.PackedInt16(&v.S)
	})
	var s Serializer
	buf := make([]byte, 10)
	n, err := s.Write(buf, call)
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 0xFD, 0xFF, 0, 0, 0xC0, 0x3F, 242, 103}, buf[:n])
	v = hybrid{}
	require.NoError(t, s.Read(buf, call))
	require.Equal(t, hybrid{embedded{1, 2, -3}, 1.5, -300}, v)
}
