package wire

import (
	"math"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// drawScript draws a script of values that each kind can have.
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

// legal makes a number one that the kind can have, as 64 bits with its sign extended.
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
