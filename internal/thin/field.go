package thin

import (
	"math"
	"strconv"
)

// Entity is the value of a field that names an entity.
type Entity struct {
	Index      uint32 `json:"index"`
	Generation uint32 `json:"generation"`
}

// field is one field of a row: its number, and how that makes a value.
type field struct {
	path, form string
	bits       int
	most       uint64
	low, step  float64
	first      int64 // low of an integer
	elements   []field
}

// newField reads the words behind "field": PATH FORM BITS MOST LOW HIGH.
func newField(words []string) field {
	f := field{path: words[0], form: words[1], low: float(words[4])}
	f.bits, _ = strconv.Atoi(words[2])
	f.most, _ = strconv.ParseUint(words[3], 10, 64)
	f.first, _ = strconv.ParseInt(words[4], 10, 64)
	f.step = (float(words[5]) - f.low) / math.Max(1, float64(f.most))
	return f
}

func float(text string) float64 { x, _ := strconv.ParseFloat(text, 64); return x }

// read returns the value of a field: a number, a bool, a text, []float64, []Row, []byte, or *Entity.
func (f *field) read(s *stream) any {
	switch f.form {
	case "entity":
		return readEntity(s)
	case "quat":
		return f.rotation(s)
	case "bytes":
		b := []byte{}
		for s.at+8 <= 8*len(s.b) {
			b = append(b, byte(s.read(8)))
		}
		return b
	}
	var n uint64
	if f.form == "short" || f.form == "text" || f.form == "list" {
		n = s.number()
	} else {
		n = s.read(f.bits)
	}
	must(n <= f.most || f.most == 0)
	switch f.form {
	case "text":
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(s.read(8))
		}
		return string(text)
	case "list":
		rows := make([]Row, n)
		for i := range rows {
			rows[i] = readRow(f.elements, s)
		}
		return rows
	case "bool":
		return n == 1
	case "short":
		return n
	case "int":
		if f.bits == 64 && f.first == 0 {
			return n // an u64
		}
		return f.first + int64(n)
	case "half":
		return half(n)
	case "float":
		if f.bits == 32 {
			return float64(math.Float32frombits(uint32(n)))
		}
		return math.Float64frombits(n)
	}
	return f.low + float64(float64(n)*f.step)
}

// readEntity returns nil for nobody.
func readEntity(s *stream) any {
	if s.read(1) == 0 {
		return (*Entity)(nil)
	}
	n := int(s.read(5))
	index := s.read(max(n, 1))
	if n > 0 {
		index |= 1 << n
	}
	return &Entity{uint32(index), uint32(s.number() + 1)}
}

// half returns the half with a number, in the order of their values.
func half(n uint64) float64 {
	h, sign := int(n)-31744, 1.0
	if h < 0 {
		h, sign = -1-h, -1
	}
	if h < 1024 {
		return sign * math.Ldexp(float64(h), -24)
	}
	return sign * math.Ldexp(float64(h%1024+1024), h/1024-25)
}

// rotation reads x, y, z and w.
func (f *field) rotation(s *stream) any {
	q, sum := make([]float64, 4), 0.0
	largest, unit := int(s.read(2)), math.Sqrt2/(math.Ldexp(1, f.bits)-1)
	for i := range q {
		if i != largest {
			q[i] = float64(float64(s.read(f.bits))*unit) - math.Sqrt2/2
			sum += float64(q[i] * q[i])
		}
	}
	q[largest] = math.Sqrt(math.Max(0, 1-sum))
	return q
}

// write writes a value. Halves, rotations, lists and entities are not written.
func (f *field) write(s *stream, v any) {
	switch f.form {
	case "text":
		text := v.(string)
		s.writeNumber(uint64(len(text)))
		for i := range len(text) {
			s.write(uint64(text[i]), 8)
		}
	case "float":
		if x := numberOf(v); f.bits == 32 {
			s.write(uint64(math.Float32bits(float32(x))), 32)
		} else {
			s.write(math.Float64bits(x), 64)
		}
	case "scaled":
		n := math.Floor((numberOf(v)-f.low)/f.step + 0.5)
		s.write(uint64(math.Min(math.Max(n, 0), float64(f.most))), f.bits)
	case "angle":
		s.write(uint64(int64(math.Floor(numberOf(v)/f.step+0.5))), f.bits)
	case "short":
		s.writeNumber(uint64(integer(v)))
	case "int", "bool":
		s.write(uint64(integer(v)-f.first), f.bits)
	default:
		panic("thin: a field of this form is not written")
	}
}

// integer returns a value that is whole.
func integer(v any) int64 {
	switch v := v.(type) {
	case bool:
		if v {
			return 1
		}
	case int:
		return int64(v)
	case int64:
		return v
	case uint64:
		return int64(v)
	}
	return 0
}

func numberOf(v any) float64 {
	if x, is := v.(float64); is {
		return x
	}
	return float64(integer(v))
}
