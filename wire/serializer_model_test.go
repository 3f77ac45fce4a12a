package wire

import (
	"math"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// dumb is the simplest possible encoder: written from the description of the format, without code of the package.
type dumb struct{ b []byte }

func (d *dumb) fixed(v uint64, size int) {
	for range size {
		d.b = append(d.b, byte(v%256))
		v /= 256
	}
}

func (d *dumb) varint(v uint64) {
	switch {
	case v <= 240:
		d.b = append(d.b, byte(v))
	case v <= 2287:
		d.b = append(d.b, byte((v-240)/256+241), byte((v-240)%256))
	case v <= 67823:
		d.b = append(d.b, 249, byte((v-2288)/256), byte((v-2288)%256))
	default:
		var digits []byte
		for ; v > 0; v /= 256 {
			digits = append([]byte{byte(v % 256)}, digits...)
		}
		d.b = append(append(d.b, byte(247+len(digits))), digits...)
	}
}

func (d *dumb) signed(v int64) {
	if v < 0 {
		d.varint(2*uint64(-(v+1)) + 1)
		return
	}
	d.varint(2 * uint64(v))
}

func (d *dumb) text(s string) {
	d.varint(uint64(len(s)))
	d.b = append(d.b, s...)
}

// word is an enumeration of int, byteEnum of a byte, negative of a signed type.
type (
	wordEnum     int
	byteEnum     uint8
	negativeEnum int16
	flag         bool
)

// mixed is a type that can be sent as a whole value.
type mixed struct {
	F    float64
	I    int32
	S    int16
	On   bool
	Last [1]uint8
}

// step is one call of a serializer: its kind and its value. script is a type that makes any sequence of calls, and can
// contain itself in three ways.
type step struct {
	kind  string
	u     uint64
	list  []uint64
	text  string
	texts []string
	child *scripted
	kids  []scripted
}

type scripted struct{ steps []step }

func mixedValue() *Value[mixed] {
	v, err := NewValue[mixed]()
	if err != nil {
		panic(err)
	}
	return v
}

func (c *scripted) Serialize(s *Serializer) {
	n := uint8(len(c.steps)) // each takes at least a byte, and children identify themselves
	s.Uint8(&n)
	for i := 0; i < int(n) && s.Err() == nil; i++ {
		if s.IsReading() && i == len(c.steps) {
			c.steps = append(c.steps, step{})
		}
		c.one(s, &c.steps[i])
	}
}

// kinds lists the kinds of step by number on the test's wire.
func kinds() []string {
	return []string{"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "finite32", "finite64", "rune",
		"pi16", "pi32", "pi64", "pu16", "pu32", "pu64", "pint", "word", "byte", "within", "string", "bytes",
		"u16s", "f64s", "flags", "words", "pi32s", "runes", "strings", "byteslices", "array", "value",
		"nested", "each", "optional"}
}

// call makes one call with a number stored in 64 bits.
func call[T Fixed](v *uint64, from func(uint64) T, to func(T) uint64, serialize func(*T)) {
	x := from(*v)
	serialize(&x)
	*v = to(x)
}

func toBool(u uint64) bool       { return u&1 == 1 }
func ofBool(b bool) uint64       { return uint64(bit(b)) }
func cast[T Integer](u uint64) T { return T(u) }
func back[T Integer](v T) uint64 { return uint64(v) }

func f32of(u uint64) float32 { return math.Float32frombits(uint32(u)) }
func of32(f float32) uint64  { return uint64(math.Float32bits(f)) }

// casts and backs convert lists of 64-bit numbers to lists of T and back.
func casts[T any](list []uint64, from func(uint64) T) (v []T) {
	for _, u := range list {
		v = append(v, from(u))
	}
	return v
}

func asFlag(u uint64) flag { return u&1 == 1 }
func ofFlag(f flag) uint64 { return uint64(bit(bool(f))) }

func mixedOf(u uint64) mixed {
	return mixed{F: math.Float64frombits(u), I: int32(u), S: int16(u >> 7), On: u>>9&1 == 1, Last: [1]uint8{uint8(u >> 11)}}
}

// checkMixed refuses values that mixedOf does not produce, and that a list of numbers cannot represent.
func checkMixed(s *Serializer, v ...mixed) {
	for _, m := range v {
		want := mixedOf(ofMixed(m))
		if m.F, want.F = 0, 0; m != want {
			s.Fail(ErrMalformed)
		}
	}
}

func ofMixed(m mixed) uint64 { return math.Float64bits(m.F) }

// one makes the call of a step.
func (c *scripted) one(s *Serializer, st *step) {
	kind := uint8(0)
	for i, name := range kinds() {
		if name == st.kind {
			kind = uint8(i)
		}
	}
	s.Uint8(&kind)
	if int(kind) >= len(kinds()) {
		s.Fail(ErrMalformed)
		return
	}
	st.kind = kinds()[kind]
	if !c.scalar(s, st) {
		c.many(s, st)
	}
}

func (c *scripted) scalar(s *Serializer, st *step) bool {
	switch v := &st.u; st.kind {
	case "bool":
		call(v, toBool, ofBool, s.Bool)
	case "i8":
		call(v, cast[int8], back, s.Int8)
	case "i16":
		call(v, cast[int16], back, s.Int16)
	case "i32":
		call(v, cast[int32], back, s.Int32)
	case "i64":
		call(v, cast[int64], back, s.Int64)
	case "u8":
		call(v, cast[uint8], back, s.Uint8)
	case "u16":
		call(v, cast[uint16], back, s.Uint16)
	case "u32":
		call(v, cast[uint32], back, s.Uint32)
	case "u64":
		call(v, cast[uint64], back, s.Uint64)
	case "f32":
		call(v, f32of, of32, s.Float32)
	case "f64":
		call(v, math.Float64frombits, math.Float64bits, s.Float64)
	case "finite32":
		call(v, f32of, of32, s.FiniteFloat32)
	case "finite64":
		call(v, math.Float64frombits, math.Float64bits, s.FiniteFloat64)
	case "rune":
		call(v, cast[rune], back, s.Rune)
	case "pi16":
		call(v, cast[int16], back, s.PackedInt16)
	case "pi32":
		call(v, cast[int32], back, s.PackedInt32)
	case "pi64":
		call(v, cast[int64], back, s.PackedInt64)
	case "pu16":
		call(v, cast[uint16], back, s.PackedUint16)
	case "pu32":
		call(v, cast[uint32], back, s.PackedUint32)
	case "pu64":
		call(v, cast[uint64], back, s.PackedUint64)
	case "pint":
		call(v, cast[int], back, func(x *int) { SerializePacked(s, x) })
	case "word":
		call(v, cast[wordEnum], back, func(x *wordEnum) { SerializeEnum(s, x) })
	case "byte":
		call(v, cast[byteEnum], back, func(x *byteEnum) { SerializeEnum(s, x) })
	case "within":
		call(v, cast[negativeEnum], back, func(x *negativeEnum) { SerializeEnumWithin(s, x, -3, 200) })
	default:
		return false
	}
	return true
}

func (c *scripted) many(s *Serializer, st *step) {
	switch st.kind {
	case "string":
		s.String(&st.text, 30)
	case "bytes":
		b := []byte(st.text)
		s.Bytes(&b, 30)
		st.text = string(b)
	case "u16s":
		lists(s, st, cast[uint16], back, SerializeSlice)
	case "f64s":
		lists(s, st, math.Float64frombits, math.Float64bits, SerializeSlice)
	case "flags":
		lists(s, st, asFlag, ofFlag, SerializeSlice)
	case "words":
		lists(s, st, cast[wordEnum], back, SerializeSlice)
	case "pi32s":
		lists(s, st, cast[int32], back, SerializePackedSlice)
	case "runes":
		lists(s, st, cast[rune], back, (*Serializer).Runes)
	case "strings":
		s.Strings(&st.texts, 9, 30)
	case "byteslices":
		v := [][]byte{}
		for _, text := range st.texts {
			v = append(v, []byte(text))
		}
		s.ByteSlices(&v, 9, 30)
		st.texts = nil
		for _, b := range v {
			st.texts = append(st.texts, string(b))
		}
	case "array":
		v := [3]uint32(append(casts(st.list, cast[uint32]), 0, 0, 0))
		SerializeArray(s, v[:])
		st.list = casts2(v[:], back[uint32])
	case "value":
		v := mixedOf(st.u)
		SerializeValue(s, mixedValue(), &v)
		checkMixed(s, v)
		st.u = ofMixed(v)
	case "nested":
		if st.child == nil {
			st.child = &scripted{}
		}
		s.Nested(st.child)
	case "each":
		SerializeEach(s, &st.kids, 9)
	case "optional":
		SerializeOptional(s, &st.child)
	}
}

// lists makes one call with a list of numbers.
func lists[T any](s *Serializer, st *step, from func(uint64) T, to func(T) uint64, serialize func(*Serializer, *[]T, int)) {
	v := casts(st.list, from)
	serialize(s, &v, 9)
	st.list = casts2(v, to)
}

func casts2[T any](v []T, to func(T) uint64) (list []uint64) {
	for _, x := range v {
		list = append(list, to(x))
	}
	return list
}

// model encodes a script with dumb.
func (c *scripted) model(d *dumb) {
	d.fixed(uint64(len(c.steps)), 1)
	for i := range c.steps {
		st := &c.steps[i]
		for k, name := range kinds() {
			if name == st.kind {
				d.fixed(uint64(k), 1)
			}
		}
		st.model(d)
	}
}

func (st *step) model(d *dumb) {
	sizes := map[string]int{"bool": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8, "f32": 4, "f64": 8,
		"finite32": 4, "finite64": 8, "rune": 4, "word": 8, "byte": 1, "within": 2, "u16s": 2, "f64s": 8, "flags": 1, "words": 8, "runes": 4, "array": 4}
	size, fixed := sizes[st.kind]
	switch {
	case fixed && st.list == nil && size > 0 && !isList(st.kind):
		d.fixed(st.u, size)
	case isList(st.kind):
		if st.kind != "array" {
			d.varint(uint64(len(st.list)))
		}
		for _, u := range st.list {
			switch st.kind {
			case "pi32s":
				d.signed(int64(int32(u)))
			default:
				d.fixed(u, size)
			}
		}
	case st.kind == "value":
		d.mixed(st.u)
	case st.kind == "pu16" || st.kind == "pu32" || st.kind == "pu64":
		d.varint(st.u)
	case st.kind == "pi16" || st.kind == "pi32" || st.kind == "pi64" || st.kind == "pint":
		d.signed(int64(st.u))
	case st.kind == "string" || st.kind == "bytes":
		d.text(st.text)
	case st.kind == "strings" || st.kind == "byteslices":
		d.varint(uint64(len(st.texts)))
		for _, text := range st.texts {
			d.text(text)
		}
	case st.kind == "nested":
		st.child.model(d)
	case st.kind == "optional":
		d.fixed(uint64(bit(st.child != nil)), 1)
		if st.child != nil {
			st.child.model(d)
		}
	case st.kind == "each":
		d.varint(uint64(len(st.kids)))
		for i := range st.kids {
			st.kids[i].model(d)
		}
	}
}

func (d *dumb) mixed(u uint64) {
	m := mixedOf(u)
	d.fixed(math.Float64bits(m.F), 8)
	d.fixed(uint64(m.I), 4)
	d.fixed(uint64(m.S), 2)
	d.fixed(uint64(bit(m.On)), 1)
	d.fixed(uint64(m.Last[0]), 1)
}

func isList(kind string) bool {
	switch kind {
	case "u16s", "f64s", "flags", "words", "pi32s", "runes", "array":
		return true
	}
	return false
}

// drawScript draws a script with legal values of each kind.
func drawScript(t *rapid.T, depth int) scripted {
	c := scripted{}
	names := kinds()
	if depth == 0 {
		names = names[:len(names)-3]
	}
	for range rapid.IntRange(0, 6).Draw(t, "steps") {
		st := step{kind: rapid.SampledFrom(names).Draw(t, "kind")}
		st.draw(t, depth)
		c.steps = append(c.steps, st)
	}
	return c
}

func (st *step) draw(t *rapid.T, depth int) {
	text := rapid.StringN(0, 7, 30)
	number := func() uint64 {
		return st.legal(rapid.Uint64().Draw(t, "number") >> rapid.IntRange(0, 63).Draw(t, "shift"))
	}
	switch {
	case isList(st.kind):
		st.list = []uint64{}
		count := rapid.IntRange(0, 9).Draw(t, "count")
		if st.kind == "array" {
			count = 3
		}
		for range count {
			st.list = append(st.list, number())
		}
	case st.kind == "string" || st.kind == "bytes":
		st.text = text.Draw(t, "text")
	case st.kind == "strings" || st.kind == "byteslices":
		st.texts = rapid.SliceOfN(text, 0, 9).Draw(t, "texts")
	case st.kind == "nested" || st.kind == "optional" && rapid.Bool().Draw(t, "present"):
		child := drawScript(t, depth-1)
		st.child = &child
	case st.kind == "each":
		for range rapid.IntRange(0, 4).Draw(t, "kids") {
			st.kids = append(st.kids, drawScript(t, depth-1))
		}
	case st.kind != "optional":
		st.u = number()
	}
}

// legal reduces a number to the range of the kind, sign-extended to 64 bits.
func (st *step) legal(u uint64) uint64 {
	switch st.kind {
	case "bool", "flags":
		return u & 1
	case "i8":
		return uint64(int8(u))
	case "i16", "pi16":
		return uint64(int16(u))
	case "i32", "pi32", "pi32s":
		return uint64(int32(u))
	case "u8", "byte":
		return u & 0xFF
	case "u16", "pu16", "u16s":
		return u & 0xFFFF
	case "u32", "pu32", "f32", "array":
		return u & 0xFFFF_FFFF
	case "finite32":
		return uint64(math.Float32bits(float32(int32(u))))
	case "finite64":
		return math.Float64bits(float64(int64(u)))
	case "rune", "runes":
		if u %= utf8.MaxRune + 1; !utf8.ValidRune(rune(u)) {
			return 'x'
		}
	case "word", "words", "pint":
		return uint64(int(u))
	case "within":
		return uint64(int64(u%204) - 3)
	}
	return u
}
