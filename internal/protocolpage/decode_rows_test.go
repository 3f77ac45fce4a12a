package protocolpage_test

// The second part of the reader written from PROTOCOL.md: bits, fields and rows.

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// stream is a bit stream. (9)
type stream struct {
	b     []byte
	at    int
	parts *[]part // nil: nothing is noted
	noted int
}

// part is some bits of a stream, and their meaning.
type part struct {
	from, to int
	meaning  string
}

// part notes the meaning of the bits since the part before.
func (s *stream) part(format string, values ...any) {
	if s.parts != nil && s.at > s.noted {
		*s.parts = append(*s.parts, part{s.noted, s.at, fmt.Sprintf(format, values...)})
		s.noted = s.at
	}
}

func (s *stream) bits(n int) (v uint64) {
	must(n <= 8*len(s.b)-s.at, "the bits end")
	for i := range n {
		v |= uint64(s.b[s.at/8]>>(s.at%8)&1) << i
		s.at++
	}
	return v
}

func (s *stream) bit() bool { return s.bits(1) == 1 }

func (s *stream) number() uint64 { // Var
	b := 0
	for !s.bit() {
		b++
		must(b <= 62, "Var")
	}
	v := s.bits(b + 2)
	must(b < 62 || v < 4, "Var")
	return v + 4*(1<<b-1)
}

func (s *stream) end() {
	left := 8*len(s.b) - s.at
	must(left < 8 && s.bits(left) == 0, "padding")
}

// field is one field of a description. (8)
type field struct {
	path, kind string
	expected   string // how its numbers are extrapolated, where the description says so
	base       string // the kind without bounds and bits
	width      int    // of the type, in bits
	k          int    // bits of an angle or a quaternion
	min, max   float64
	step       float64
	low        uint64 // an integer's least value, as 64 bits in two's complement
	most       uint64 // N
	bounded    bool
	lane       int    // its first number's place in the row
	widths     []int  // of its numbers
	short      bool   // Var where a row is whole
	of         *shape // the elements of a list
}

// shape is one description.
type shape struct {
	name   string
	fields []field
	tail   []field // texts and lists
	lanes  []lane
}

func parseShape(text string) shape {
	name, list, _ := strings.Cut(text, "{")
	if end := strings.LastIndex(list, "}"); end >= 0 { // what follows a message's fields says how it travels
		list = list[:end]
	}
	s := shape{name: name}
	if list == "" {
		return s
	}
	for _, part := range strings.Split(list, ";") {
		path, kind, typed := strings.Cut(part, ":")
		if !typed {
			continue // it says how all fields travel
		}
		if f, is := parseTail(path, kind); is {
			s.tail = append(s.tail, f)
			continue
		}
		f := parseField(path, kind)
		f.lane = len(s.lanes)
		switch low := min(bits.Len64(f.most), 32); {
		case f.base == "quat":
			f.widths = []int{2, f.k, f.k, f.k}
		case f.base == "entity":
			f.widths = []int{32, 32}
		case bits.Len64(f.most) > 32:
			f.widths = []int{low, bits.Len64(f.most) - low}
		default:
			f.widths = []int{low}
		}
		s.lanes = append(s.lanes, f.models()...)
		s.fields = append(s.fields, f)
	}
	return s
}

func parseField(path, kind string) field {
	kind, expected, _ := strings.Cut(kind, "~")
	base, bounds, bounded := strings.Cut(strings.TrimSuffix(kind, "]"), "[")
	f := field{path: path, kind: kind, expected: expected, base: base, bounded: bounded}
	for _, turn := range []string{"f32angle", "f64angle", "quat"} {
		if digits, ok := strings.CutPrefix(base, turn); ok {
			f.base = turn
			f.k, _ = strconv.Atoi(digits)
			f.most = 1<<f.k - 1
			f.width, _ = strconv.Atoi(strings.TrimPrefix(turn[:3], "f"))
			return f
		}
	}
	for _, short := range []string{"half", "axis"} {
		if wide, ok := strings.CutSuffix(base, short); ok {
			f.base, f.most = short, map[string]uint64{"half": 63487, "axis": 254}[short]
			f.width, _ = strconv.Atoi(wide[1:])
			return f
		}
	}
	if base == "entity" {
		return f
	}
	if base, f.short = strings.CutSuffix(base, "short"); f.short {
		f.base = base
	}
	f.width, _ = strconv.Atoi(strings.TrimLeft(base, "uif"))
	part := strings.Split(bounds, ",")
	switch {
	case bounded && base[0] == 'f':
		f.min, _ = strconv.ParseFloat(part[0], f.width)
		f.max, _ = strconv.ParseFloat(part[1], f.width)
		f.step, _ = strconv.ParseFloat(part[2], 64)
		steps := math.Ceil((f.max-f.min)/f.step - 1e-6)
		f.most, f.step = uint64(steps), (f.max-f.min)/steps
	case bounded && base[0] == 'i':
		low, _ := strconv.ParseInt(part[0], 10, 64)
		high, _ := strconv.ParseInt(part[1], 10, 64)
		f.low, f.most = uint64(low), uint64(high)-uint64(low)
	case bounded:
		f.low, _ = strconv.ParseUint(part[0], 10, 64)
		high, _ := strconv.ParseUint(part[1], 10, 64)
		f.most = high - f.low
	case base == "bool":
		f.most = 1
	default:
		f.most = 1<<f.width - 1
		if base[0] == 'i' {
			f.low = -(uint64(1) << (f.width - 1))
		}
	}
	return f
}

// row reads a row that is whole.
func (s *shape) row(from *stream) []uint32 {
	row := make([]uint32, 0, len(s.lanes))
	for i := range s.fields {
		if s.fields[i].base == "entity" {
			index, generation := entity(from)
			row = append(row, index, generation)
			continue
		}
		if s.fields[i].short {
			n := from.number()
			must(n <= s.fields[i].most, "short number")
			row = append(row, uint32(n))
			from.part("%s.%s: %d", s.name, s.fields[i].path, n)
			continue
		}
		for j, width := range s.fields[i].widths {
			row = append(row, uint32(from.bits(width)))
			if rest := len(s.fields[i].widths) - 1 - j; rest > 0 {
				from.part("%s.%s: %d", s.name, s.fields[i].path, row[len(row)-1])
			}
		}
		from.part("%s.%s: %d = %s", s.name, s.fields[i].path, row[len(row)-1], s.fields[i].text(row))
	}
	s.legal(row)
	return s.wholeTail(from, row)
}

// entity reads a field that names an entity: zeros for nobody.
func entity(s *stream) (index, generation uint32) {
	if !s.bit() {
		return 0, 0
	}
	n := int(s.bits(5))
	index = uint32(s.bits(max(n, 1)))
	if n > 0 {
		index |= 1 << n
	}
	g := s.number()
	must(g < 1<<32-1, "generation")
	return index, uint32(g) + 1
}

// legal asks of each field what the width of its numbers does not say.
func (s *shape) legal(row []uint32) {
	for i := range s.fields {
		f := &s.fields[i]
		v := f.number(row)
		switch f.base {
		case "entity":
			must(row[f.lane+1] != 0 || row[f.lane] == 0, "%s names nobody", f.path)
			continue
		case "quat":
			must(f.leftOut(f.quat(row)) == int(row[f.lane]), "%s is no rotation", f.path)
			continue
		}
		must(v <= f.most, "%s is %d", f.path, v)
		must(f.kind != "f32" || !special(float64(math.Float32frombits(uint32(v)))), "f32")
		must(f.kind != "f64" || !special(math.Float64frombits(v)), "f64")
	}
}

// number is a field's number, both its words together.
func (f *field) number(row []uint32) uint64 {
	v := uint64(row[f.lane])
	if len(f.widths) == 2 {
		v |= uint64(row[f.lane+1]) << 32
	}
	return v
}

func special(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// quat is the value of a quaternion.
func (f *field) quat(row []uint32) (q [4]float32) {
	step := math.Sqrt2 / float64(f.most)
	var g [3]float64
	for i := range g {
		g[i] = float64(float64(row[f.lane+1+i])*step) - math.Sqrt2/2
	}
	sum := float64(float64(g[0]*g[0])+float64(g[1]*g[1])) + float64(g[2]*g[2])
	at := 0
	for i := range q {
		if i == int(row[f.lane]) {
			q[i] = float32(math.Sqrt(max(0, 1-sum)))
			continue
		}
		q[i] = float32(g[at])
		at++
	}
	return q
}

// leftOut returns the index of the component that a value leaves out.
func (f *field) leftOut(q [4]float32) int {
	largest := 0.0
	for _, c := range q {
		largest = max(largest, math.Abs(float64(c)))
	}
	limit := largest - math.Sqrt2/float64(f.most)/2
	return slices.IndexFunc(q[:], func(c float32) bool { return math.Abs(float64(c)) >= limit })
}

func (f *field) text(row []uint32) string {
	float := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	if f.width == 32 || f.base == "quat" {
		float = func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 32) }
	}
	n := f.number(row)
	switch f.base {
	case "bool":
		return strconv.FormatBool(n == 1)
	case "entity":
		if n == 0 {
			return "nobody"
		}
		return fmt.Sprintf("%dv%d", row[f.lane], row[f.lane+1])
	case "half":
		return float(half(n))
	case "axis":
		return float(float64(int64(n)-127) / 127)
	case "quat":
		q := f.quat(row)
		return fmt.Sprintf("%s,%s,%s,%s", float(float64(q[0])), float(float64(q[1])), float(float64(q[2])), float(float64(q[3])))
	case "f32angle", "f64angle":
		s := int64(n)
		if n >= 1<<(f.k-1) {
			s -= 1 << f.k
		}
		return float(float64(s) * (2 * math.Pi / float64(uint64(1)<<f.k)))
	case "f32", "f64":
		switch {
		case f.bounded:
			return float(min(f.min+float64(float64(n)*f.step), f.max))
		case f.width == 32:
			return float(float64(math.Float32frombits(uint32(n))))
		}
		return float(math.Float64frombits(n))
	}
	if f.base[0] == 'i' {
		return strconv.FormatInt(int64(n+f.low), 10)
	}
	return strconv.FormatUint(n+f.low, 10)
}

// half is the half with a number.
func half(n uint64) float64 {
	h, sign := n-31744, 1.0
	if n < 31744 {
		h, sign = 31743-n, -1
	}
	exponent, fraction := h>>10&31, float64(h&1023)/1024
	if exponent == 0 {
		return math.Copysign(math.Ldexp(fraction, -14), sign)
	}
	return sign * math.Ldexp(1+fraction, int(exponent)-15)
}

func (s *shape) text(row []uint32) string {
	var parts []string
	for i := range s.fields {
		parts = append(parts, s.fields[i].path+":"+s.fields[i].text(row))
	}
	for i, elements := range s.tails(row) {
		parts = append(parts, s.tail[i].path+":"+s.tail[i].spell(elements))
	}
	return s.name + "{" + strings.Join(parts, ";") + "}"
}
