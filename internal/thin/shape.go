package thin

import (
	"strconv"
	"strings"
)

// Row is the values of a component or a message by path.
type Row map[string]any

// Shape is a component, an input or a message.
type Shape struct {
	Name    string // the wire name
	channel byte   // of a message
	fields  []field
}

func readRow(fields []field, from *stream) Row {
	row := Row{}
	for i := range fields {
		row[fields[i].path] = fields[i].read(from)
	}
	return row
}

func writeRow(fields []field, to *stream, row Row) {
	for i := range fields {
		fields[i].write(to, row[fields[i].path])
	}
}

// Read returns the values of a row that is whole.
func (s *Shape) Read(b []byte) (row Row, err error) {
	err = guard(func() { row = readRow(s.fields, &stream{b: b}) })
	return row, err
}

// Protocol has the shapes of a protocol, and its hashes.
type Protocol struct {
	Components []Shape // by row
	Messages   []Shape // by type less 16
	Inputs     []Shape
	hash       []byte // of all entries
	entries    []byte // their number, and the hash of each
}

// NewProtocol reads what netcode schema plain wrote: lines of words.
func NewProtocol(text string) *Protocol {
	p := &Protocol{}
	var shapes *[]Shape
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		switch words[0] {
		case "hash":
			p.hash = decimals(words[1:])
		case "entries":
			p.entries = decimals(words[1:])
		case "component":
			shapes = &p.Components
		case "input":
			shapes = &p.Inputs
		case "message":
			shapes = &p.Messages
		case "field":
			shape := &(*shapes)[len(*shapes)-1]
			shape.fields = append(shape.fields, newField(words[1:]))
			continue
		case "element":
			fields := (*shapes)[len(*shapes)-1].fields
			list := &fields[len(fields)-1]
			list.elements = append(list.elements, newField(words[1:]))
			continue
		}
		if shapes != nil {
			shape := Shape{Name: words[1]}
			if len(words) > 2 {
				channel, _ := strconv.Atoi(words[2])
				shape.channel = byte(channel)
			}
			*shapes = append(*shapes, shape)
		}
	}
	return p
}

// decimals returns the bytes that words tell.
func decimals(words []string) (b []byte) {
	for _, word := range words {
		n, _ := strconv.Atoi(word)
		b = append(b, byte(n))
	}
	return b
}
