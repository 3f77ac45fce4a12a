package wire

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// embedded and hybrid are the sample of seed A, 6: a part that travels whole, and a packed tail.
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

// wholesome has each kind of number, in arrays and structs and without names.
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
	refused(of[struct {
		F float32
		I int32
		B bool
	}], "3 bytes of padding at its end", "Reserved [3]byte")
	refused(of[struct {
		On bool
		In struct{ N uint32 }
	}], ".In:", "padding before it")
	refused(of[struct {
		A uint32
		B uint64
	}], ".B:", "padding before it") // on 386 there is none, and yet it is refused
	refused(of[struct {
		A uint64
		B uint32
	}], "4 bytes of padding at its end")
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

// A whole value gives the bytes of its numbers, fits exactly, is cut and shifted like anything else.
func TestValueAgainstTheDumbModel(t *testing.T) {
	c := mixedValue()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Uint64(), 0, 9).Draw(t, "list")
		values := casts(list, mixedOf)
		var d dumb
		d.varint(uint64(len(list)))
		for _, u := range list {
			d.mixed(u)
		}
		buf, intact := guarded(len(d.b))
		w := NewWriter(buf)
		WriteValues(&w, c, values, 9)
		require.NoError(t, w.Err())
		require.Equal(t, d.b, w.Written())
		require.True(t, intact())
		one := NewWriter(buf)
		for i := range values {
			WriteValue(&one, c, &values[i])
		}
		require.Equal(t, string(d.b[1:]), string(one.Written()))
		r := NewReader(d.b)
		got := ReadValues(&r, c, make([]mixed, 2, 4), 9)
		require.True(t, r.Done())
		require.Equal(t, casts2(values, ofMixed), casts2(got, ofMixed))
		r = NewReader(d.b[1:])
		for range list {
			var m mixed
			shown, ok := ViewValue(r.Rest(), c)
			ReadValue(&r, c, &m)
			require.True(t, ok)
			require.Equal(t, ofMixed(shown), ofMixed(m))
		}
		require.True(t, r.Done())
		for cut := range d.b {
			r := NewReader(d.b[:cut])
			require.Empty(t, ReadValues(&r, c, nil, 9))
			require.ErrorIs(t, r.Err(), ErrTruncated)
			w := NewWriter(buf[:cut:cut])
			WriteValues(&w, c, values, 9)
			require.ErrorIs(t, w.Err(), ErrOverflow)
		}
		require.True(t, intact())
	})
}

func TestValueRefusesBadBools(t *testing.T) {
	c := mixedValue()
	b := bytes.Repeat([]byte{1}, 2*c.Size()+1)
	b[0], b[1+c.Size()+14] = 2, 7
	v := mixed{I: 5}
	r := NewReader(b[1+c.Size():])
	_, ok := ViewValue(r.Rest(), c)
	require.False(t, ok)
	ReadValue(&r, c, &v)
	require.ErrorIs(t, r.Err(), ErrMalformed)
	require.Zero(t, v)
	r = NewReader(b)
	require.Empty(t, ReadValues(&r, c, nil, 9))
	require.ErrorIs(t, r.Err(), ErrMalformed)
	r = NewReader(b)
	require.Empty(t, ReadValues(&r, c, nil, 1))
	require.ErrorIs(t, r.Err(), ErrTooLong)
	_, ok = ViewValue(b[:c.Size()-1], c)
	require.False(t, ok)
	w := NewWriter(make([]byte, 99))
	WriteValues(&w, c, make([]mixed, 2), 1)
	require.ErrorIs(t, w.Err(), ErrTooLong)
}

// Machines that keep the most significant byte first turn each number over.
func TestSwapRuns(t *testing.T) {
	c := mixedValue()
	src, once, twice := make([]byte, 16), make([]byte, 16), make([]byte, 16)
	for i := range src {
		src[i] = byte(i)
	}
	swapRuns(once, src, c.runs)
	require.Equal(t, []byte{7, 6, 5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 13, 12, 14, 15}, once)
	swapRuns(twice, once, c.runs)
	require.Equal(t, src, twice)
}

func FuzzValue(f *testing.F) {
	c, err := NewValue[wholesome]()
	require.NoError(f, err)
	w := NewWriter(make([]byte, 300))
	WriteValues(&w, c, []wholesome{{Tail: 1}, {D: [2]float64{1, math.Inf(1)}}}, 9)
	f.Add(w.Written())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, w := NewReader(b), NewWriter(make([]byte, len(b)))
		WriteValues(&w, c, ReadValues(&r, c, nil, 9), 9)
		if r.Err() == nil {
			require.NoError(t, w.Err())
			require.Equal(t, b[:r.Position()], w.Written(), "one legal encoding")
		}
	})
}

func TestValueAllocatesNothing(t *testing.T) {
	c, buf, v := mixedValue(), make([]byte, 100), mixed{I: 3}
	list := []mixed{{}, {}}
	alloctest.Zero(t, 100, func() {
		w := NewWriter(buf)
		WriteValue(&w, c, &v)
		WriteValues(&w, c, list, 9)
		r := NewReader(w.Written())
		ReadValue(&r, c, &v)
		list = ReadValues(&r, c, list, 9)
		if _, ok := ViewValue(buf, c); !ok || !r.Done() {
			t.Fatal("not done")
		}
	})
}
