package quantize

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
)

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
