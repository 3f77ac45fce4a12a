package quantize

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/wire"
)

func mustLayout[T any](t testing.TB, options LayoutOptions) *Layout[T] {
	t.Helper()
	l, err := CompileLayout[T](options)
	require.NoError(t, err)
	return l
}

// fieldwise is the layout of a machine that cannot copy runs whole.
func fieldwise[T any](t testing.TB, options LayoutOptions) *Layout[T] {
	t.Helper()
	form, err := compileLayout(reflect.TypeFor[T](), options, false)
	require.NoError(t, err)
	require.Nil(t, form.runs)
	require.False(t, form.wide || form.dense)
	return &Layout[T]{form: form}
}

// checkLayout holds a layout against the twin on random bytes: legal ones, mostly legal ones and garbage.
func checkLayout[T comparable](t *testing.T, l *Layout[T], finite bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	legals, refusals := 0, 0
	for round := range 3000 {
		src := make([]byte, l.Size()+3)
		randomBytes(random, src, []int{100, 99, 50}[round%3])
		if at := random.IntN(len(src) - 1); round%3 == 1 {
			src[at], src[at+1] = 0xF0, 0x7F // not finite, where a float ends with these
		}
		if checkLayoutBytes(t, l, src, finite) {
			legals++
		} else {
			refusals++
		}
	}
	require.Positive(t, legals)
	if len(l.form.wire) > 0 {
		require.Positive(t, refusals)
	}
}

// checkLayoutBytes decodes src both ways, and encodes both ways what came out.
func checkLayoutBytes[T comparable](t *testing.T, l *Layout[T], src []byte, finite bool) (legal bool) {
	t.Helper()
	var got, want, untouched T
	rest, legal := twinGet(src, reflect.ValueOf(&want).Elem(), finite)
	err := l.Get(src, &got)
	if !legal {
		require.ErrorIs(t, err, wire.ErrMalformed)
		require.Equal(t, untouched, got)
		return false
	}
	require.NoError(t, err)
	require.Len(t, src, l.Size()+len(rest))
	again := twinPut(nil, reflect.ValueOf(want))
	require.Equal(t, src[:l.Size()], again)
	require.Equal(t, again, twinPut(nil, reflect.ValueOf(got)), "NaN is not equal to itself, so the bytes are compared")
	dst := bytes.Repeat([]byte{0xAA}, l.Size()+8)
	require.NoError(t, l.Put(dst, &got))
	require.Equal(t, again, dst[:l.Size()])
	require.Equal(t, bytes.Repeat([]byte{0xAA}, 8), dst[l.Size():], "nothing beyond Size")
	return true
}

func testLayout[T comparable](t *testing.T, size int) {
	for _, finite := range []bool{false, true} {
		for _, l := range []*Layout[T]{mustLayout[T](t, LayoutOptions{Finite: finite}), fieldwise[T](t, LayoutOptions{Finite: finite})} {
			require.Equal(t, size, l.Size())
			checkLayout(t, l, finite)
			checkLayoutBounds(t, l)
			checkLayoutRows(t, l)
		}
	}
}

// checkLayoutBounds cuts both sides at every length.
func checkLayoutBounds[T comparable](t *testing.T, l *Layout[T]) {
	t.Helper()
	var zero, v T
	full := bytes.Repeat([]byte{1}, l.Size())
	require.NoError(t, l.Get(full, &v))
	for n := range l.Size() {
		var got T
		require.ErrorIs(t, l.Get(full[:n:n], &got), wire.ErrTruncated)
		require.Equal(t, zero, got)
		dst := make([]byte, n)
		require.ErrorIs(t, l.Put(dst, &v), wire.ErrOverflow)
		require.Equal(t, make([]byte, n), dst)

		w := wire.NewWriter(dst)
		l.Write(&w, &v)
		require.ErrorIs(t, w.Err(), wire.ErrOverflow)
		require.Empty(t, w.Written())
		r := wire.NewReader(full[:n])
		l.Read(&r, &got)
		require.ErrorIs(t, r.Err(), wire.ErrTruncated)
	}
	w := wire.NewWriter(make([]byte, 1+l.Size()))
	w.Uint8(7)
	l.Write(&w, &v)
	require.NoError(t, w.Err())
	require.Equal(t, append([]byte{7}, full...), w.Written())
	r := wire.NewReader(w.Written())
	require.Equal(t, uint8(7), r.Uint8())
	var got T
	l.Read(&r, &got)
	require.True(t, r.Done())
	require.Equal(t, v, got)
}

// checkLayoutRows holds the bulk paths against Put and Get.
func checkLayoutRows[T comparable](t *testing.T, l *Layout[T]) {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	for _, count := range []int{0, 1, 2, 7, 64} {
		src := make([]byte, count*l.Size())
		randomBytes(random, src, 100)
		rows, one := make([]T, count), make([]T, count)
		require.NoError(t, l.GetRows(src, rows))
		for i := range one {
			require.NoError(t, l.Get(src[i*l.Size():], &one[i]))
		}
		require.Equal(t, one, rows)
		dst := bytes.Repeat([]byte{0xAA}, len(src)+8)
		require.NoError(t, l.PutRows(dst, rows))
		require.Equal(t, src, dst[:len(src)])
		require.Equal(t, bytes.Repeat([]byte{0xAA}, 8), dst[len(src):])
		if count == 0 {
			continue
		}
		clear(dst)
		require.ErrorIs(t, l.PutRows(dst[:len(src)-1], rows), wire.ErrOverflow)
		require.Equal(t, make([]byte, len(dst)), dst)
		clear(rows)
		require.ErrorIs(t, l.GetRows(src[:len(src)-1], rows), wire.ErrTruncated)
		require.Equal(t, make([]T, count), rows)
		if len(l.form.wire) > 0 {
			check := l.form.wire[0]
			end := (count-1)*l.Size() + int(check.offset+check.size)
			src[end-1] |= 0x7F // a boolean, or the top of a float
			src[end-min(2, int(check.size))] |= 0xF0
			require.ErrorIs(t, l.GetRows(src, rows), wire.ErrMalformed)
			require.Equal(t, make([]T, count), rows)
		}
	}
}

func TestLayoutAgainstTheTwin(t *testing.T) {
	t.Run("T6", func(t *testing.T) { testLayout[layoutBody](t, 45) })
	t.Run("mixed", func(t *testing.T) { testLayout[layoutMixed](t, 1+8+2+2+4+8+12+4+5*9+1+11+72) })
	t.Run("dense", func(t *testing.T) { testLayout[layoutPlain](t, 12) })
	t.Run("small", func(t *testing.T) { testLayout[layoutSmall](t, 24) })
	t.Run("long", func(t *testing.T) { testLayout[layoutLong](t, 81) })
	t.Run("one", func(t *testing.T) { testLayout[bool](t, 1) })
	t.Run("number", func(t *testing.T) { testLayout[float64](t, 8) })
	t.Run("64", func(t *testing.T) { testLayout[[8]uint64](t, 64) })
	t.Run("32", func(t *testing.T) { testLayout[[8]float32](t, 32) })
	t.Run("33", func(t *testing.T) { testLayout[[33]bool](t, 33) })
	t.Run("65", func(t *testing.T) { testLayout[[65]int8](t, 65) })
}

// Every length of a run, also those that no struct above has.
func TestMoveRunOfEveryLength(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	src := make([]byte, 160)
	randomBytes(random, src, 0)
	for n := 1; n <= 130; n++ {
		for _, at := range []int{0, 1, 7} {
			dst := bytes.Repeat([]byte{0xAA}, len(src))
			want := slices.Clone(dst)
			copy(want[5:5+n], src[at:at+n])
			moveRun(&dst[0], 5, &src[0], uintptr(at), uintptr(n))
			require.Equal(t, want, dst, "%d bytes", n)
			if n >= 32 && n <= 64 {
				dst = bytes.Repeat([]byte{0xAA}, len(src))
				moveWide(&dst[0], 5, &src[0], uintptr(at), uintptr(n-32))
				require.Equal(t, want, dst, "%d bytes wide", n)
			}
		}
	}
}

func TestLayoutChoosesTheShortWay(t *testing.T) {
	if !kernel.HostLittle {
		t.Skip("fields go one by one here")
	}
	body := mustLayout[layoutBody](t, LayoutOptions{}).form
	require.True(t, body.wide)
	require.False(t, body.dense)
	require.Len(t, body.runs, 1)
	require.True(t, mustLayout[layoutPlain](t, LayoutOptions{}).form.dense)
	small := mustLayout[layoutSmall](t, LayoutOptions{}).form
	require.Equal(t, []layoutRun{{memory: 8, size: 24}}, small.runs)
	require.False(t, small.wide || small.dense)
}

// The bytes are the format, so they stand here.
func TestLayoutBytes(t *testing.T) {
	l := mustLayout[layoutBody](t, LayoutOptions{})
	v := layoutBody{Pos: [3]float32{1, -2, 0.5}, Rot: [4]float32{0, 0, 0, 1}, ID: 0x01020304, Flags: 0xFF}
	dst := make([]byte, 45)
	require.NoError(t, l.Put(dst, &v))
	want := append([]byte{0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0, 0, 0, 0, 0x3F}, make([]byte, 12)...)
	want = append(append(want, 0, 0, 0x80, 0x3F), make([]byte, 12)...)
	require.Equal(t, append(want, 4, 3, 2, 1, 0xFF), dst)
}

// Padding and fields that are not sent stay on both sides what they are.
func TestLayoutLeavesTheRestAlone(t *testing.T) {
	l := mustLayout[layoutSmall](t, LayoutOptions{})
	v := layoutSmall{Local: 5, V: [3]float64{1, 2, 3}}
	v.Tail[0], v.Tail[99] = 6, 7
	dst := make([]byte, 24)
	require.NoError(t, l.Put(dst, &layoutSmall{Local: 9, V: [3]float64{4, 5, 6}}))
	require.NoError(t, l.Get(dst, &v))
	want := layoutSmall{Local: 5, V: [3]float64{4, 5, 6}}
	want.Tail[0], want.Tail[99] = 6, 7
	require.Equal(t, want, v)
}

func TestLayoutFinite(t *testing.T) {
	for _, l := range []*Layout[layoutMixed]{mustLayout[layoutMixed](t, LayoutOptions{Finite: true}), fieldwise[layoutMixed](t, LayoutOptions{Finite: true})} {
		nan, inf := math.NaN(), math.Inf(-1)
		for i, spoil := range []func(v *layoutMixed){
			func(v *layoutMixed) { v.E = float32(nan) },
			func(v *layoutMixed) { v.E = float32(inf) },
			func(v *layoutMixed) { v.F = nan },
			func(v *layoutMixed) { v.F = inf },
			func(v *layoutMixed) { v.G[0] = float32(inf) },
			func(v *layoutMixed) { v.G[2] = float32(nan) },
			func(v *layoutMixed) { v.I[4].Z = float32(nan) },
		} {
			v := layoutMixed{F: math.MaxFloat64, E: -math.MaxFloat32}
			dst := make([]byte, l.Size())
			require.NoError(t, l.Put(dst, &v))
			require.NoError(t, l.Get(dst, &v))
			spoil(&v)
			clear(dst)
			require.ErrorIs(t, l.Put(dst, &v), wire.ErrMalformed, "%d", i)
			require.ErrorIs(t, l.PutRows(dst, []layoutMixed{v}), wire.ErrMalformed, "%d", i)
			require.Equal(t, make([]byte, len(dst)), dst)
			w := wire.NewWriter(dst)
			l.Write(&w, &v)
			require.ErrorIs(t, w.Err(), wire.ErrMalformed)
			require.Zero(t, w.Position())

			full := twinPut(nil, reflect.ValueOf(v))
			require.ErrorIs(t, l.Get(full, &layoutMixed{}), wire.ErrMalformed, "%d", i)
			r := wire.NewReader(full)
			l.Read(&r, &layoutMixed{})
			require.ErrorIs(t, r.Err(), wire.ErrMalformed)
		}
	}
}

func TestLayoutRefusals(t *testing.T) {
	_, err := CompileLayout[struct{ S string }](LayoutOptions{})
	require.ErrorContains(t, err, "pointer")
	_, err = CompileLayout[struct{ N int }](LayoutOptions{})
	require.ErrorContains(t, err, "sized integer")
	_, err = CompileLayout[body](LayoutOptions{})
	require.EqualError(t, err, "wire: body.X: a quantised field (f32[-512,512,0.002]) is for a Plan; a Layout is exact")
	_, err = CompileLayout[struct{}](LayoutOptions{})
	require.EqualError(t, err, "wire: layout: nothing of it travels")
	_, err = CompileLayout[any](LayoutOptions{})
	require.Error(t, err)
}

func TestLayoutDescribe(t *testing.T) {
	require.Equal(t, "layoutPlain{X:f32;Y:f32;Z:f32}", string(mustLayout[layoutPlain](t, LayoutOptions{}).Describe(nil)))
	require.Equal(t, "-layoutPlain{X:f32;Y:f32;Z:f32}finite", string(mustLayout[layoutPlain](t, LayoutOptions{Finite: true}).Describe([]byte("-"))))
}

func TestLayoutAllocatesNothing(t *testing.T) {
	for _, options := range []LayoutOptions{{}, {Finite: true}} {
		l := mustLayout[layoutMixed](t, options)
		rows := make([]layoutMixed, 8)
		dst := make([]byte, 8*l.Size())
		alloctest.Zero(t, 100, func() {
			var v layoutMixed
			w := wire.NewWriter(dst)
			l.Write(&w, &rows[3])
			r := wire.NewReader(dst)
			l.Read(&r, &v)
			if l.Put(dst, &v) != nil || l.Get(dst, &v) != nil || l.PutRows(dst, rows) != nil || l.GetRows(dst, rows) != nil {
				t.Error("not legal")
			}
		})
	}
}

func FuzzLayout(f *testing.F) {
	seed := mustLayout[layoutMixed](f, LayoutOptions{})
	dst := make([]byte, seed.Size())
	for _, v := range []layoutMixed{{}, {A: true, B: 1 << 60, E: 1.5, F: math.NaN(), H: -1, Local: 3}, {F: math.Inf(1), K: [11]bool{10: true}}} {
		if err := seed.Put(dst, &v); err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(dst))
	}
	layouts := [][2]*Layout[layoutMixed]{
		{seed, fieldwise[layoutMixed](f, LayoutOptions{})},
		{mustLayout[layoutMixed](f, LayoutOptions{Finite: true}), fieldwise[layoutMixed](f, LayoutOptions{Finite: true})},
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		for i, pair := range layouts {
			for _, l := range pair {
				if len(src) < l.Size() {
					require.ErrorIs(t, l.Get(src, &layoutMixed{}), wire.ErrTruncated)
					continue
				}
				checkLayoutBytes(t, l, src, i == 1)
			}
		}
	})
}

func BenchmarkLayout(b *testing.B) {
	l := mustLayout[layoutBody](b, LayoutOptions{})
	finite := mustLayout[layoutBody](b, LayoutOptions{Finite: true})
	v, dst := layoutBody{ID: 7}, make([]byte, 45)
	b.Run("put", func(b *testing.B) {
		for b.Loop() {
			_ = l.Put(dst, &v)
		}
	})
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			_ = l.Get(dst, &v)
		}
	})
	b.Run("getFinite", func(b *testing.B) {
		for b.Loop() {
			_ = finite.Get(dst, &v)
		}
	})
}

// layoutBody is the row of scenario T6: 45 bytes on the wire, 48 in memory.
type layoutBody struct {
	Pos   [3]float32
	Rot   [4]float32
	Vel   [3]float32
	ID    uint32
	Flags uint8
}

// layoutMixed has holes, neighbours out of order, booleans, both floats, every size of run.
type layoutMixed struct {
	A     bool
	B     uint64
	C     [2]bool
	D     int16
	E     float32
	_     uint32
	F     float64
	G     [3]float32
	H     layoutEnum
	Local uint32 `net:"-"`
	I     [5]layoutPart
	J     int8
	K     [11]bool
	L     [9]uint64
}

type layoutEnum int32

type layoutPart struct {
	X uint8
	Y int32
	Z float32
}

// layoutPlain is dense: memory and wire are the same bytes.
type layoutPlain struct{ X, Y, Z float32 }

// layoutSmall is one run of 24 bytes in the middle of a struct.
type layoutSmall struct {
	Local uint64 `net:"-"`
	V     [3]float64
	Tail  [100]uint16 `net:"-"`
}

// layoutLong is one run of more than 64 bytes, that is not dense.
type layoutLong struct {
	V [40]uint16
	W uint8
}

// twinPut is the plain twin: by reflection, field by field, with encoding/binary.
func twinPut(dst []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			if f := v.Type().Field(i); f.Name != "_" && f.Tag.Get("net") != "-" {
				dst = twinPut(dst, v.Field(i))
			}
		}
		return dst
	case reflect.Array:
		for i := 0; i < v.Len(); i++ {
			dst = twinPut(dst, v.Index(i))
		}
		return dst
	}
	dst, err := binary.Append(dst, binary.LittleEndian, v.Interface())
	if err != nil {
		panic(err)
	}
	return dst
}

// twinGet is the inverse of twinPut: v must be settable. It returns what is left, and false where a boolean is neither.
func twinGet(src []byte, v reflect.Value, finite bool) ([]byte, bool) {
	ok := true
	switch v.Kind() {
	case reflect.Struct:
		for i := 0; i < v.NumField() && ok; i++ {
			if f := v.Type().Field(i); f.Name != "_" && f.Tag.Get("net") != "-" {
				src, ok = twinGet(src, v.Field(i), finite)
			}
		}
		return src, ok
	case reflect.Array:
		for i := 0; i < v.Len() && ok; i++ {
			src, ok = twinGet(src, v.Index(i), finite)
		}
		return src, ok
	case reflect.Bool:
		if src[0] > 1 {
			return src, false
		}
	}
	n, err := binary.Decode(src, binary.LittleEndian, v.Addr().Interface())
	if err != nil {
		panic(err)
	}
	if v.CanFloat() && finite && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)) {
		return src, false
	}
	return src[n:], true
}

// randomBytes fills b with bytes of which many are small, so that booleans are legal now and then.
func randomBytes(random *rand.Rand, b []byte, legal int) {
	for i := range b {
		b[i] = byte(random.Uint32())
		if random.IntN(100) < legal {
			b[i] &= 1
		}
	}
}
