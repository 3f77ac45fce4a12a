package quantize

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// body is the component that benchmarks and many tests use: 54 + 9*3+2 bits.
type body struct {
	X   float32    `net:"min=-512,max=512,step=0.002"`
	Y   float32    `net:"min=-512,max=512,step=0.002"`
	Z   float32    `net:"min=-512,max=512,step=0.002"`
	Rot [4]float32 `net:"quat,bits=9"`
}

func mustCompile[T any](t testing.TB, name string) *Plan {
	t.Helper()
	p, err := Compile(reflect.TypeFor[T](), name)
	require.NoError(t, err)
	return p
}

// randomQuat returns a uniformly random rotation.
func randomQuat(random *rand.Rand) (q [4]float32) {
	for {
		square := 0.0
		for i := range q {
			v := random.NormFloat64()
			q[i] = float32(v)
			square += v * v
		}
		if square > 0.01 {
			return normalised(q)
		}
	}
}

func TestFaultReasons(t *testing.T) {
	for reason, want := range map[wire.FaultReason]string{wire.NoFault: "no fault", wire.NotFinite: "not finite", wire.OutOfRange: "out of range", wire.NoRotation: "a rotation of length 0", 9: "unknown fault"} {
		require.Equal(t, want, reason.String())
	}
	require.Empty(t, Fault{}.Field())
}

type plainWords struct {
	A float32
	B struct {
		C uint32
		D [2]float32
	}
}

func TestPlainRowsAreMemory(t *testing.T) {
	p := mustCompile[plainWords](t, "Words")
	require.True(t, p.Plain())
	v := plainWords{A: -1.5}
	v.B.C, v.B.D = 1<<31|7, [2]float32{3e30, -0.25}
	lanes := make([]uint32, p.Lanes())
	require.Zero(t, p.Quantise(unsafe.Pointer(&v), lanes))
	require.Equal(t, unsafe.Slice((*uint32)(unsafe.Pointer(&v)), 4), lanes)
}

// The bytes for a world's hash are the same from all implementations: whole spans, field by field, and plain code.
func TestAppendFieldsBothWays(t *testing.T) {
	testAppendFields[wholeBody](t)
	testAppendFields[wholeMixed](t)
	testAppendFields[wholeSmall](t)
	testAppendFields[padded](t)
	testAppendFields[body](t)
	testAppendFields[faulty](t)
}

func testAppendFields[T any](t *testing.T) {
	t.Helper()
	p := mustCompile[T](t, "Value")
	random := rand.New(rand.NewPCG(11, 12))
	for range 200 {
		var v T
		src := make([]byte, 4096)
		randomBytes(random, src, 100)
		_, ok := plainGet(src, reflect.ValueOf(&v).Elem())
		require.True(t, ok)
		want := p.appendEachField([]byte{7}, unsafe.Pointer(&v))
		require.Equal(t, want, p.AppendFields([]byte{7}, unsafe.Pointer(&v)))
		require.Equal(t, want[1:], plainPut(nil, reflect.ValueOf(v)))
	}
}

// wholeBody is the row of scenario T6: 45 bytes on the wire, 48 in memory.
type wholeBody struct {
	Pos   [3]float32
	Rot   [4]float32
	Vel   [3]float32
	ID    uint32
	Flags uint8
}

// wholeMixed has padding, unordered neighbours, booleans, both floats, and runs of every size.
type wholeMixed struct {
	A     bool
	B     uint64
	C     [2]bool
	D     int16
	E     float32
	_     uint32
	F     float64
	G     [3]float32
	H     wholeEnum
	Local uint32 `net:"-"`
	I     [5]wholePart
	J     int8
	K     [11]bool
	L     [9]uint64
}

type wholeEnum int32

type wholePart struct {
	X uint8
	Y int32
	Z float32
}

// wholeSmall is one run of 24 bytes in the middle of a struct.
type wholeSmall struct {
	Local uint64 `net:"-"`
	V     [3]float64
	Tail  [100]uint16 `net:"-"`
}

// plainPut is plain code: reflection, field by field, with encoding/binary.
func plainPut(dst []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			if f := v.Type().Field(i); f.Name != "_" && f.Tag.Get("net") != "-" {
				dst = plainPut(dst, v.Field(i))
			}
		}
		return dst
	case reflect.Array:
		for i := 0; i < v.Len(); i++ {
			dst = plainPut(dst, v.Index(i))
		}
		return dst
	}
	dst, err := binary.Append(dst, binary.LittleEndian, v.Interface())
	if err != nil {
		panic(err)
	}
	return dst
}

// plainGet is the inverse of plainPut; v must be settable. It returns the rest, and false for an illegal boolean.
func plainGet(src []byte, v reflect.Value) ([]byte, bool) {
	ok := true
	switch v.Kind() {
	case reflect.Struct:
		for i := 0; i < v.NumField() && ok; i++ {
			if f := v.Type().Field(i); f.Name != "_" && f.Tag.Get("net") != "-" {
				src, ok = plainGet(src, v.Field(i))
			}
		}
		return src, ok
	case reflect.Array:
		for i := 0; i < v.Len() && ok; i++ {
			src, ok = plainGet(src, v.Index(i))
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
	return src[n:], true
}

// randomBytes fills b with bytes, many of them small so that booleans are sometimes legal.
func randomBytes(random *rand.Rand, b []byte, legal int) {
	for i := range b {
		b[i] = byte(random.Uint32())
		if random.IntN(100) < legal {
			b[i] &= 1
		}
	}
}
