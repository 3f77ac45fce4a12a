package thin

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Entity is the value of a field that names an entity; the zero Entity is nobody.
type Entity struct {
	Index      uint32 `json:"index"`
	Generation uint32 `json:"generation"`
}

// field is one field of a description: its numbers, and how they make a value.
type field struct {
	path, base     string // base: bool, u, i, f, angle, quat, half, axis, entity, text or list
	width          int    // of a number in memory
	bits           int    // of an angle or a part of a rotation
	low            uint64 // of an integer
	min, max, step float64
	most           uint64 // the largest number
	bounded, short bool
	elements       *Shape // of a list
}

// parseField reads "path:kind".
func parseField(text string) field {
	path, kind, _ := strings.Cut(text, ":")
	f := field{path: path}
	if inner, ok := strings.CutSuffix(kind, ")"); ok {
		size, of, _ := strings.Cut(strings.TrimPrefix(inner, "list"), "(")
		f.base, f.most, f.elements = "list", uint64(integer(size)), &Shape{}
		for _, element := range strings.Split(of, " ") {
			f.elements.fields = append(f.elements.fields, parseField(element))
		}
		return f
	}
	kind, _, _ = strings.Cut(kind, "~")
	kind, bounds, bounded := strings.Cut(strings.TrimSuffix(kind, "]"), "[")
	f.bounded = bounded
	low, high, _ := strings.Cut(bounds, ",")
	if kind, f.short = strings.CutSuffix(kind, "short"); kind == "bool" || kind == "entity" {
		f.base, f.most = kind, 1
		return f
	}
	for _, base := range []string{"angle", "quat", "text", "half", "axis"} {
		if before, digits, ok := strings.Cut(kind, base); ok {
			f.base, f.width = base, integer(strings.TrimPrefix(before, "f"))
			f.bits, f.most = integer(digits), 1<<integer(digits)-1
			if most := map[string]uint64{"text": uint64(f.bits), "half": 63487, "axis": 254}[base]; most > 0 {
				f.most = most
			}
			return f
		}
	}
	f.base, f.width = kind[:1], integer(kind[1:])
	switch f.most = math.MaxUint64 >> (64 - f.width); {
	case f.base == "f" && bounded:
		high, step, _ := strings.Cut(high, ",")
		f.min, f.max, f.step = float(low, f.width), float(high, f.width), float(step, 64)
		n := math.Ceil((f.max-f.min)/f.step - 1e-6)
		f.most, f.step = uint64(n), (f.max-f.min)/n
	case bounded:
		f.low = signed(low)
		f.most = signed(high) - f.low
	case f.base == "i":
		f.low = -(1 << (f.width - 1))
	}
	return f
}

func integer(text string) int { n, _ := strconv.Atoi(text); return n }

// signed reads a decimal number of 64 bits with or without a sign.
func signed(text string) uint64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return uint64(n)
	}
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

func float(text string, width int) float64 { x, _ := strconv.ParseFloat(text, width); return x }

// read returns the value of a field.
func (f *field) read(s *stream) any {
	switch f.base {
	case "entity":
		return readEntity(s)
	case "text":
		n := s.number()
		must(n <= f.most)
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(s.read(8))
		}
		return string(text)
	case "list":
		n := s.number()
		must(n <= f.most)
		rows := make([]Row, n)
		for i := range rows {
			rows[i] = f.elements.read(s)
		}
		return rows
	case "quat":
		return f.rotation(s)
	}
	var n uint64
	if f.short {
		n = s.number()
	} else {
		n = s.read(bits.Len64(f.most))
	}
	must(n <= f.most)
	return f.value(n)
}

func readEntity(s *stream) any {
	if s.read(1) == 0 {
		return Entity{}
	}
	n := int(s.read(5))
	index := s.read(max(n, 1))
	if n > 0 {
		index |= 1 << n
	}
	return Entity{uint32(index), uint32(s.number() + 1)}
}

// value returns the value of a field with one number.
func (f *field) value(n uint64) any {
	single := func(x float64) float64 {
		if f.width == 32 {
			return float64(float32(x))
		}
		return x
	}
	switch f.base {
	case "bool":
		return n == 1
	case "u":
		return n + f.low
	case "i":
		return int64(n + f.low)
	case "half":
		return half(n)
	case "axis":
		return single((float64(n) - 127) / 127)
	case "angle":
		s := float64(n)
		if n >= 1<<(f.bits-1) {
			s -= math.Ldexp(1, f.bits)
		}
		return single(s * (2 * math.Pi / math.Ldexp(1, f.bits)))
	}
	switch {
	case f.bounded:
		return single(math.Min(f.min+float64(float64(n)*f.step), f.max))
	case f.width == 32:
		return float64(math.Float32frombits(uint32(n)))
	}
	return math.Float64frombits(n)
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
	var q [4]float64
	largest, sum := int(s.read(2)), 0.0
	for i := range q {
		if i == largest {
			continue
		}
		g := float64(float64(s.read(f.bits))*(math.Sqrt2/float64(f.most))) - math.Sqrt2/2
		q[i], sum = float64(float32(g)), sum+float64(g*g)
	}
	q[largest] = float64(float32(math.Sqrt(math.Max(0, 1-sum))))
	return q
}

// write writes the value of a field with one number, or a text. Others are not written.
func (f *field) write(s *stream, v any) {
	if text, ok := v.(string); ok {
		s.writeNumber(uint64(len(text)))
		for i := range len(text) {
			s.write(uint64(text[i]), 8)
		}
		return
	}
	if n := f.number(v); f.short {
		s.writeNumber(n)
	} else {
		s.write(n, bits.Len64(f.most))
	}
}

// number returns the number of a value.
func (f *field) number(v any) uint64 {
	switch v := v.(type) {
	case nil:
		return f.number(int64(0))
	case bool:
		if v {
			return 1
		}
		return 0
	case uint64:
		return v - f.low
	case int:
		return f.number(int64(v))
	case int64:
		if f.base != "u" && f.base != "i" {
			return f.number(float64(v))
		}
		return uint64(v) - f.low
	case float64:
		switch {
		case f.base == "angle":
			return uint64(int64(math.Floor(v/(2*math.Pi)*math.Ldexp(1, f.bits)+0.5))) & f.most
		case f.base == "axis":
			return uint64(math.Floor(v*127+0.5) + 127)
		case f.bounded:
			return uint64(math.Floor((math.Min(math.Max(v, f.min), f.max)-f.min)/f.step + 0.5))
		case f.width == 32:
			return uint64(math.Float32bits(float32(v)))
		}
		return math.Float64bits(v)
	}
	panic("thin: a value of this type is not written")
}
