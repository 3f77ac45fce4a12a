package thin

import (
	"hash/fnv"
	"math/bits"
	"strings"
)

// Row is the values of a component or a message by path. They are bool, uint64, int64, float64, [4]float64, string, []Row and Entity.
type Row map[string]any

// Shape is the description of a component, an input or a message.
type Shape struct {
	Name   string // the wire name
	Raw    bool   // a message whose body has a layout of its own
	Rest   string // what stands behind the fields
	fields []field
}

// parseShape reads "name{path:kind;path:kind}rest".
func parseShape(text string) Shape {
	name, list, _ := strings.Cut(text, "{")
	end := strings.LastIndex(list, "}")
	s := Shape{Name: name, Rest: list[end+1:]}
	s.Raw = strings.HasPrefix(list, "raw}") || strings.HasPrefix(list, "serialized")
	if s.Raw || end == 0 {
		return s
	}
	for _, text := range strings.Split(list[:end], ";") {
		if strings.Contains(text, ":") {
			s.fields = append(s.fields, parseField(text))
		}
	}
	if of, found := strings.CutPrefix(s.Rest, " of "); found { // a distance band
		s.Name = of
	}
	return s
}

func (s *Shape) read(from *stream) Row {
	row := Row{}
	for i := range s.fields {
		row[s.fields[i].path] = s.fields[i].read(from)
	}
	return row
}

func (s *Shape) write(to *stream, row Row) {
	for i := range s.fields {
		s.fields[i].write(to, row[s.fields[i].path])
	}
}

// Read returns the values of a row that is whole.
func (s *Shape) Read(b []byte) (row Row, err error) {
	err = guard(func() { row = s.read(&stream{b: b}) })
	return row, err
}

// Protocol is what a client knows of a protocol.
type Protocol struct {
	Components []Shape // by row
	Messages   []Shape // by type less 16
	Inputs     []Shape
	hash       uint64
	entries    []uint32 // the hash of each
}

// NewProtocol reads the lines of a description (Protocol.Description), and makes it the plain variant.
func NewProtocol(entries []string) *Protocol {
	p := &Protocol{}
	whole := fnv.New64a()
	for i, text := range entries {
		if i == 0 {
			limits, _, _ := strings.Cut(text, ";tables:")
			text = limits + ";plain}"
		}
		one := fnv.New32a()
		_, _ = one.Write([]byte(text))
		_, _ = whole.Write([]byte(text + "\n"))
		p.entries = append(p.entries, one.Sum32())
		switch kind, rest, _ := strings.Cut(text, " "); kind {
		case "component":
			p.Components = append(p.Components, parseShape(rest))
		case "message":
			p.Messages = append(p.Messages, parseShape(rest))
		case "input":
			p.Inputs = append(p.Inputs, parseShape(rest))
		}
	}
	p.hash = whole.Sum64()
	return p
}

// Component returns the shape with a name, nil without one.
func (p *Protocol) Component(name string) *Shape {
	for i := range p.Components {
		if p.Components[i].Name == name {
			return &p.Components[i]
		}
	}
	return nil
}

// Hash returns the protocol hash of the plain variant.
func (p *Protocol) Hash() uint64 { return p.hash }

// writeNext writes a row of a series behind another one (section 16). Its fields have one number of at most 64 bits, and it has no texts.
func (s *Shape) writeNext(to *stream, row, before Row) {
	differs := false
	for i := range s.fields {
		f := &s.fields[i]
		differs = differs || f.number(row[f.path]) != f.number(before[f.path])
	}
	if !differs {
		to.write(0, 1)
		return
	}
	to.write(1, 1)
	for i := range s.fields {
		f := &s.fields[i]
		now, was := f.number(row[f.path]), f.number(before[f.path])
		if now == was {
			to.write(0, 1)
			continue
		}
		to.write(1, 1)
		f.writeLanes(to, now, was)
	}
}

// writeLanes writes the numbers of a field that differs: one, or the two words of a wide one.
func (f *field) writeLanes(to *stream, now, was uint64) {
	n := bits.Len64(f.most)
	if n <= 32 {
		writeLane(to, now, was, n)
		return
	}
	for _, part := range [2]struct{ shift, bits int }{{0, 32}, {32, n - 32}} {
		x, y := now>>part.shift&(1<<part.bits-1), was>>part.shift&(1<<part.bits-1)
		if to.write(uint64(b2i(x != y)), 1); x != y {
			writeLane(to, x, y, part.bits)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// writeLane writes a number of n bits that differs from the one before.
func writeLane(to *stream, now, was uint64, n int) {
	if n == 1 {
		return
	}
	d := int64((now-was)<<(64-n)) >> (64 - n)
	z := uint64(d<<1) ^ uint64(d>>63)
	size := 2*bits.Len64(z-1+4) - 3 // of the Var of z - 1
	switch {
	case n <= 3:
		to.write(now, n)
	case size < n:
		to.write(0, 1)
		to.writeNumber(z - 1)
	default:
		to.write(1, 1)
		to.write(now, n)
	}
}

// channel returns the channel that a message is registered with.
func (s *Shape) channel() byte {
	for i, mode := range []string{"Unreliable ", "UnreliableSequenced ", "Reliable ", "ReliableOrdered "} {
		if _, number, found := strings.Cut(s.Rest, ";"+mode); found {
			number, _, _ = strings.Cut(number, "]")
			number, _, _ = strings.Cut(number, ";")
			return byte(i<<6 | integer(number))
		}
	}
	return 0
}
