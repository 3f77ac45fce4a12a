package thin

import (
	"hash/fnv"
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

// Protocol has the shapes of a protocol, and its hashes.
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
