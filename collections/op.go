package collections

import (
	"fmt"

	"github.com/arche-netcode/netcode/wire"
)

// opcode is the kind of an operation.
//
//	opReset   begins a new content, beside the present one, until opWhole
//	opInsert  place, count - 1 and elements: from that place on
//	opSet     place, count - 1 and elements: in place of those there
//	opRemove  place, count - 1: from that place on
//	opClear   all of them
//	opWhole   the content since opReset replaces the present one
//	opStop    operations have no effect until opReset: some were taken back
//
// A body is the number of the collection's type and then operations, one at least. Place, count and number are varints;
// elements are packed one after the other (quantize.Plan.WriteRow), with zeros up to the next byte behind the last.
type opcode uint8

const (
	opReset opcode = iota + 1
	opInsert
	opSet
	opRemove
	opClear
	opWhole
	opStop
)

// elements reports whether elements follow.
func (k opcode) elements() bool { return k == opInsert || k == opSet }

// ranged reports whether a place and a count follow.
func (k opcode) ranged() bool { return k.elements() || k == opRemove }

// op is one operation without its elements.
type op struct {
	kind      opcode
	at, count int
}

// maxOp is the largest size of an operation before its elements: the opcode and two numbers below 2^17.
const maxOp = 1 + 2*4

// appendOp appends an operation up to its elements.
func appendOp(b []byte, o op) []byte {
	b = append(b, byte(o.kind))
	if o.kind.ranged() {
		b = wire.AppendVarint(b, uint64(o.at))
		b = wire.AppendVarint(b, uint64(o.count-1))
	}
	return b
}

// appendRows appends elements, without the names of entities that the client does not see. If elements name entities at all,
// it appends the mask of hidden fields of each to hidden.
func (d *definition) appendRows(b []byte, lanes []uint32, link link, hidden []uint32) ([]byte, []uint32) {
	width := d.plan.Lanes()
	count := len(lanes) / width
	start, room := len(b), (d.plan.Bits()+7)*count/8+1
	b = grow(b, room)
	w := wire.NewBitWriter(b[start : start+room])
	named := len(d.plan.Refs()) > 0
	var row [maxLanes]uint32
	for ; len(lanes) > 0; lanes = lanes[width:] {
		if !named {
			d.plan.WriteRow(&w, lanes[:width])
			continue
		}
		copy(row[:width], lanes)
		mask := d.hiddenFields(lanes[:width], link)
		for i, lane := range d.plan.Refs() {
			if mask>>i&1 != 0 {
				row[lane], row[lane+1] = 0, 0
			}
		}
		hidden = append(hidden, mask)
		d.plan.WriteRow(&w, row[:width])
	}
	return b[:start+w.Finish()], hidden
}

// hiddenFields returns which entity fields of an element name one that the client does not see, bit i for the i-th of Plan.Refs.
func (d *definition) hiddenFields(row []uint32, link link) (mask uint32) {
	for i, lane := range d.plan.Refs() {
		id := wire.NetworkID{Index: row[lane], Generation: row[lane+1]}
		if id.Generation != 0 && !link.Names(id) {
			mask |= 1 << i
		}
	}
	return mask
}

// grow returns b, longer by more bytes.
func grow(b []byte, more int) []byte {
	if cap(b)-len(b) < more {
		larger := make([]byte, len(b), 2*(len(b)+more))
		copy(larger, b)
		b = larger
	}
	return b[:len(b)+more]
}

// cursor reads the operations of a body, one after the other.
type cursor struct {
	def  *definition
	rest []byte
	rows wire.BitReader // positioned at the elements of the operation
	left int            // number of elements that row has not returned
}

// open reads the type of collection of a body.
func open(defs []*definition, body []byte) (cursor, error) {
	number, n, err := wire.ReadVarint(body)
	if err != nil || number >= uint64(len(defs)) || n == len(body) {
		return cursor{}, errMalformed
	}
	return cursor{def: defs[number], rest: body[n:]}, nil
}

// more reports whether there is another operation.
func (c *cursor) more() bool { return len(c.rest) > 0 }

// next reads an operation up to its elements. The caller reads each element with row, then calls finish.
func (c *cursor) next() (op, error) {
	o := op{kind: opcode(c.rest[0])}
	c.rest = c.rest[1:]
	if o.kind < opReset || o.kind > opStop {
		return op{}, errMalformed
	}
	if !o.kind.ranged() {
		return o, nil
	}
	at, n, err := wire.ReadVarint(c.rest)
	if err != nil {
		return op{}, errMalformed
	}
	c.rest = c.rest[n:]
	count, n, err := wire.ReadVarint(c.rest)
	if err != nil || count >= uint64(c.def.most) || at > uint64(c.def.most)-count-1 {
		return op{}, errMalformed
	}
	c.rest = c.rest[n:]
	o.at, o.count = int(at), int(count)+1
	if o.kind.elements() {
		c.rows, c.left = wire.NewBitReader(c.rest), o.count
	}
	return o, nil
}

// row reads an element.
func (c *cursor) row(lanes []uint32) bool {
	c.left--
	return c.def.plan.ReadRow(&c.rows, lanes)
}

// finish moves behind the elements.
func (c *cursor) finish() bool {
	if c.rows.Read(uint(c.rows.Remaining()%8)) != 0 || c.rows.Failed() {
		return false
	}
	c.rest = c.rest[len(c.rest)-c.rows.Remaining()/8:]
	return true
}

// check reports whether some origin could send a body to some mirror. It has no effect.
func check(defs []*definition, body []byte) bool {
	c, err := open(defs, body)
	if err != nil {
		return false
	}
	var row [maxLanes]uint32
	for c.more() {
		o, err := c.next()
		if err != nil {
			return false
		}
		if !o.kind.elements() {
			continue
		}
		for c.left > 0 {
			if !c.row(row[:c.def.plan.Lanes()]) {
				return false
			}
		}
		if !c.finish() {
			return false
		}
	}
	return true
}

// appendDump appends a body as text: the collection's name and its operations, with names and fields. An illegal part
// is marked.
func appendDump(defs []*definition, dst, body []byte) []byte {
	c, err := open(defs, body)
	if err != nil {
		return fmt.Appendf(dst, "%x is not legal", body)
	}
	dst = append(dst, c.def.name...)
	var row [maxLanes]uint32
	for c.more() {
		at := c.rest
		o, err := c.next()
		if err != nil {
			return fmt.Appendf(dst, " %x is not legal", at)
		}
		dst = append(append(dst, ' '), o.kind.String()...)
		if o.kind.ranged() {
			dst = fmt.Appendf(dst, " %d+%d", o.at, o.count)
		}
		if !o.kind.elements() {
			continue
		}
		for c.left > 0 {
			if !c.row(row[:c.def.plan.Lanes()]) {
				return fmt.Appendf(dst, " %x is not legal", at)
			}
			dst = append(dst, ' ')
			dst = c.def.plan.AppendValues(dst, row[:c.def.plan.Lanes()])
		}
		if !c.finish() {
			return fmt.Appendf(dst, " %x is not legal", at)
		}
	}
	return dst
}

// String returns the operation's name.
func (k opcode) String() string {
	names := [...]string{"none", "reset", "insert", "set", "remove", "clear", "whole", "stop"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}
