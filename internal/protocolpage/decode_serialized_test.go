package protocolpage_test

// Messages that serialize themselves, by a reader that is made from their entry and PROTOCOL.md section 8 alone.

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// layout has the values that braces enclose, in order.
type layout struct {
	values []value
	around *layout // nil for the message
}

// value is one value of a layout.
type value struct {
	path, kind string  // kind without what follows in braces or brackets
	limit      int     // of a count, -1 for none
	of         *value  // the element of a list
	nested     *layout // of braces, or of ^
	arms       []valueArm
}

// valueArm is a branch: the values that follow if the number is one of these.
type valueArm struct {
	rest bool // all others
	from []int64
	to   []int64
	then *layout
}

// layoutParser parses a layout.
type layoutParser struct{ text string }

func (p *layoutParser) has(prefix string) bool {
	rest, ok := strings.CutPrefix(p.text, prefix)
	if ok {
		p.text = rest
	}
	return ok
}

func (p *layoutParser) until(chars string) string {
	n := strings.IndexAny(p.text+"}", chars+"}")
	text := p.text[:n]
	p.text = p.text[n:]
	return text
}

// values parses values up to a brace or a bar, which it leaves.
func (p *layoutParser) values(l *layout) *layout {
	for p.text != "" && !strings.ContainsRune("}|", rune(p.text[0])) {
		path := p.until(":")
		must(p.has(":"), "no kind at %q", p.text)
		v := p.kind(l)
		v.path = path
		l.values = append(l.values, v)
		p.has(";")
	}
	return l
}

// kind parses one kind.
func (p *layoutParser) kind(l *layout) (v value) {
	v.limit = -1
	switch {
	case p.has("{"):
		v.kind, v.nested = "nested", p.values(&layout{around: l})
		must(p.has("}"), "no end")
		return v
	case p.has("^"):
		v.kind, v.nested = "nested", l
		for k := int(p.text[0] - '0'); k > 1; k-- {
			v.nested = v.nested.around
		}
		p.text = p.text[1:]
		return v
	case p.has("[.."):
		v.kind, v.limit = "list", number(p.until("]"))
	case p.has("["):
		v.kind, v.limit = "array", number(p.until("]"))
	default:
		v.kind = p.until(";|?[")
		if p.has("[") {
			v.kind += "[" + p.until("]") + "]"
			p.has("]")
		}
	}
	if v.kind == "list" || v.kind == "array" {
		p.has("]")
		if p.has("?{") {
			v.of = &value{kind: "nested", nested: &layout{values: p.values(&layout{around: l.around}).values}}
			must(p.has("}"), "no end")
			return v
		}
		of := p.kind(l)
		v.of = &of
	}
	if p.has("?") {
		p.branch(l, &v)
	}
	return v
}

// branch parses what follows a question mark.
func (p *layoutParser) branch(l *layout, v *value) {
	if v.kind == "bool" && !strings.HasPrefix(p.text, "{") {
		v.arms = []valueArm{{from: []int64{1}, to: []int64{1}, then: &layout{values: []value{p.kind(l)}}}, {rest: true, then: &layout{}}}
		return
	}
	must(p.has("{"), "no branch: %q", p.text)
	for n := 0; !p.has("}"); n++ {
		a := valueArm{rest: n == 1}
		if v.kind == "bool" {
			a.from, a.to = []int64{1}, []int64{1}
		} else if keys := p.until(":"); p.has(":") {
			a.rest = keys == "*"
			for _, key := range strings.Split(keys, ",") {
				low, high, ok := strings.Cut(key, "..")
				if !ok {
					high = low
				}
				a.from, a.to = append(a.from, int64(number(low))), append(a.to, int64(number(high)))
			}
		}
		// The values of a branch are in the layout around it.
		inner := p.values(&layout{around: l.around})
		a.then = &layout{values: inner.values}
		v.arms = append(v.arms, a)
		p.has("|")
	}
	if v.kind == "bool" && len(v.arms) == 1 {
		v.arms = append(v.arms, valueArm{rest: true, then: &layout{}})
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil && text != "*" {
		must(false, "no number: %q", text)
	}
	return n
}

// serializedReader reads a body.
type serializedReader struct {
	body []byte
	text []string // what was read: path=value
}

func (r *serializedReader) bytes(n int) (v uint64) {
	must(n <= len(r.body), "truncated")
	for i := range min(n, 8) {
		v |= uint64(r.body[i]) << (8 * i)
	}
	r.body = r.body[n:]
	return v
}

func (r *serializedReader) varint() uint64 {
	a := r.bytes(1)
	big := func(n int) (v uint64) {
		for range n {
			v = v<<8 | r.bytes(1)
		}
		return v
	}
	switch {
	case a <= 240:
		return a
	case a <= 248:
		return 240 + 256*(a-241) + big(1)
	case a == 249:
		return 2288 + big(2)
	}
	return big(int(a - 247))
}

func (r *serializedReader) layout(l *layout) {
	for i := range l.values {
		r.value(&l.values[i])
	}
}

func (r *serializedReader) value(v *value) {
	switch {
	case v.kind == "nested":
		r.layout(v.nested)
	case v.kind == "list":
		n := int(r.varint())
		must(n <= v.limit, "%d elements", n)
		r.text = append(r.text, fmt.Sprintf("%s=%d", v.path, n))
		for range n {
			r.value(v.of)
		}
	case v.kind == "array":
		for range v.limit {
			r.value(v.of)
		}
	case strings.HasPrefix(v.kind, "string"):
		n := int(r.varint())
		must(n <= number(strings.TrimPrefix(v.kind, "string")) && n <= len(r.body) && utf8.Valid(r.body[:n]), "string of %d", n)
		r.text = append(r.text, fmt.Sprintf("%s=%q", v.path, r.body[:n]))
		r.bytes(n)
	default:
		n, text := r.number(v.kind)
		r.text = append(r.text, v.path+"="+text)
		r.follow(v, n)
	}
}

// follow reads the arm of a number.
func (r *serializedReader) follow(v *value, n int64) {
	for _, a := range v.arms {
		taken := a.rest
		for k := range a.from {
			taken = taken || a.from[k] <= n && n <= a.to[k]
		}
		if taken {
			r.layout(a.then)
			return
		}
	}
	must(v.arms == nil, "%d has no branch", n)
}

// number reads a number of a kind.
func (r *serializedReader) number(kind string) (int64, string) {
	name, bounds, bounded := strings.Cut(strings.TrimSuffix(kind, "]"), "[")
	if bounded && name[0] == 'f' {
		return r.stepped(name, strings.Split(bounds, ","))
	}
	if base, packed := strings.CutSuffix(name, "packed"); packed {
		u := r.varint()
		if base[0] == 'i' {
			s := int64(u>>1) ^ -int64(u&1)
			return s, fmt.Sprint(s)
		}
		return int64(u), fmt.Sprint(u)
	}
	switch name {
	case "bool":
		n := r.bytes(1)
		must(n <= 1, "bool")
		return int64(n), fmt.Sprint(n == 1)
	case "f32", "f32any":
		return 0, fmt.Sprint(math.Float32frombits(uint32(r.bytes(4))))
	case "f64", "f64any":
		return 0, fmt.Sprint(math.Float64frombits(r.bytes(8)))
	case "f32axis":
		return 0, fmt.Sprint(float32(float64(int8(r.bytes(1))) / 127))
	case "f32half":
		return 0, fmt.Sprint(wire.Float16(r.bytes(2)).Float32())
	case "rune":
		n := int64(int32(r.bytes(4)))
		return n, fmt.Sprint(n)
	}
	width := number(name[1:])
	u := r.bytes(width / 8)
	s := int64(u)
	if name[0] == 'i' {
		s = s << (64 - width) >> (64 - width)
		return s, fmt.Sprint(s)
	}
	return s, fmt.Sprint(u)
}

// stepped reads a float in steps.
func (r *serializedReader) stepped(name string, bounds []string) (int64, string) {
	float := func(i int) float64 { f, err := strconv.ParseFloat(bounds[i], 64); must(err == nil, "bound"); return f }
	if name == "f32packed" {
		u := r.varint()
		return 0, fmt.Sprint(float32(float64(int64(u>>1)^-int64(u&1)) * float(0)))
	}
	count := math.Ceil((float(1)-float(0))/float(2) - 1e-6)
	n := r.bytes((bits.Len64(uint64(count)) + 7) / 8)
	must(float64(n) <= count, "step")
	return 0, fmt.Sprint(float32(min(float(0)+float64(float64(n)*float(2)), float(1))))
}

// spoken is a message with every form.
type spoken struct {
	Text  string
	At    components.Vector2
	Tags  []uint8
	On    bool
	Aim   float32
	Kind  uint8
	Sort  int32
	Hits  uint16
	Next  *spoken
	Names []string
	Key   [3]uint16
	Few   []components.Color32
	Big   uint64
	Half  float32
}

func (m *spoken) Serialize(s *wire.Serializer) {
	s.String(&m.Text, 200)
	s.Nested(&m.At)
	wire.SerializeSlice(s, &m.Tags, 8)
	if s.Bool(&m.On); m.On {
		s.Axis(&m.Aim)
	}
	switch s.Uint8(&m.Kind); m.Kind {
	case 1:
		s.Uint16(&m.Hits)
	case 2, 3:
		s.PackedInt32(&m.Sort)
		s.Half(&m.Half)
	}
	wire.SerializeOptional(s, &m.Next)
	s.Strings(&m.Names, 4, 9)
	wire.SerializeArray(s, m.Key[:])
	n := len(m.Few)
	s.Count(&n, 3, 4)
	if s.IsReading() {
		m.Few = make([]components.Color32, n)
	}
	for i := range m.Few {
		s.Nested(&m.Few[i])
	}
	s.PackedUint64(&m.Big)
}

// The numbers of clients in Owner and SpawnOf take few bits.
func TestShortNumbersAreReadByThePage(t *testing.T) {
	for _, c := range []struct {
		of   reflect.Type
		text string
		row  []uint32
		bits int
	}{
		{reflect.TypeFor[components.Owner](), "Owner{Client:u32short}", []uint32{3}, 3},
		{reflect.TypeFor[components.Owner](), "Owner{Client:u32short}", []uint32{59}, 9},
		{reflect.TypeFor[components.Owner](), "Owner{Client:u32short}", []uint32{math.MaxUint32}, 63},
		{reflect.TypeFor[components.SpawnOf](), "SpawnOf{Client:u32short;Tick:u16;Ordinal:u8short}", []uint32{2, 65535, 1}, 22},
		{reflect.TypeFor[components.Predicted](), "Predicted{Client:u32short;Mask:u64}", []uint32{4, 1, 2}, 69},
	} {
		plan, err := quantize.Compile(c.of, c.of.Name())
		require.NoError(t, err)
		require.Equal(t, c.text, string(plan.Describe(nil)))
		buf := make([]byte, 32)
		w := wire.NewBitWriter(buf)
		plan.WriteRow(&w, c.row)
		require.Equal(t, c.bits, w.Bits(), c.text)
		s, from := parseShape(c.text), &stream{b: buf[:w.Finish()]}
		require.Equal(t, c.row, s.row(from), c.text)
	}
}

// A reader that is made from the entry takes each body to its last byte.
func TestSerializedMessagesAreReadByTheirEntry(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Handle[spoken](p, nil)
	var entry string
	for _, e := range p.Description() {
		if rest, ok := strings.CutPrefix(e, "message spoken{serialized;"); ok {
			entry, _, _ = strings.Cut(rest, "}[both")
		}
	}
	require.Equal(t, "Text:string200;At:{X:f32;Y:f32};Tags:[..8]u8;On:bool?{Aim:f32axis};Kind:u8?{1:Hits:u16|2..3:Sort:i32packed;Half:f32half|*:};"+
		"Next:bool?^1;Names:[..4]string9;Key:[3]u16;_:[..3]?{Few[]:{R:u8;G:u8;B:u8;A:u8}};Big:u64packed", entry)
	l := (&layoutParser{text: entry}).values(&layout{})
	rapid.Check(t, func(t *rapid.T) {
		draw := func(high int, name string) int { return rapid.IntRange(0, high).Draw(t, name) }
		var m *spoken
		for range 1 + draw(2, "depth") {
			m = &spoken{Text: strings.Repeat("é", draw(90, "text")), Tags: make([]uint8, draw(8, "tags")), On: draw(1, "on") == 1, Aim: 1, Kind: uint8(draw(255, "kind") >> uint(draw(7, "small"))),
				Sort: int32(draw(1<<30, "sort")) - 1<<29, Hits: 7, Next: m, Names: make([]string, draw(4, "names")), Few: make([]components.Color32, draw(3, "few")),
				Big: rapid.Uint64().Draw(t, "big"), Half: 0.5, At: components.Vector2{X: 1.5}}
		}
		buf := make([]byte, 4096)
		var s wire.Serializer
		n, err := s.Write(buf, m)
		require.NoError(t, err)
		r := serializedReader{body: buf[:n]}
		r.layout(l)
		require.Empty(t, r.body)
		require.Contains(t, r.text, fmt.Sprintf("Big=%d", m.Big))
		require.Equal(t, fmt.Sprintf("Text=%q", m.Text), r.text[0])
		require.Equal(t, "X=1.5", r.text[1])
	})
}
