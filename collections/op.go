package collections

import (
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// opcode is the kind of an operation.
//
//	opReset   the following operations make up the whole anew, beside the present contents, until opWhole
//	opInsert  place, count - 1 and elements: from that place on
//	opSet     place, count - 1 and elements: in place of those there
//	opRemove  place, count - 1: from that place on
//	opClear   all of them
//	opWhole   what was made up since opReset is what there is
//	opStop    what follows has no effect until opReset: some of it was taken back
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

// op is one operation: its elements are apart.
type op struct {
	kind      opcode
	at, count int
}

// maxOp is the most that an operation takes before its elements: what it does, and two numbers below 2^17.
const maxOp = 1 + 2*4

// appendOp appends an operation without elements, or what goes before them.
func appendOp(b []byte, o op) []byte {
	b = append(b, byte(o.kind))
	if o.kind.ranged() {
		b = wire.AppendVarint(b, uint64(o.at))
		b = wire.AppendVarint(b, uint64(o.count-1))
	}
	return b
}

// appendRows appends elements. Entities that the client does not see are not named to it; what of an element that
// concerns is appended to veils, where elements name entities at all.
func (d *Def) appendRows(b []byte, lanes []uint32, link Link, veils []uint32) ([]byte, []uint32) {
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
		veil := d.veil(lanes[:width], link)
		for i, lane := range d.plan.Refs() {
			if veil>>i&1 != 0 {
				row[lane], row[lane+1] = 0, 0
			}
		}
		veils = append(veils, veil)
		d.plan.WriteRow(&w, row[:width])
	}
	return b[:start+w.Finish()], veils
}

// veil returns which entity fields of an element name one that the client does not see, bit i for the i-th of Plan.Refs.
func (d *Def) veil(row []uint32, link Link) (veil uint32) {
	for i, lane := range d.plan.Refs() {
		id := wire.NetworkID{Index: row[lane], Generation: row[lane+1]}
		if id.Generation != 0 && !link.Names(id) {
			veil |= 1 << i
		}
	}
	return veil
}

// grow returns b with that much more capacity, and length.
func grow(b []byte, more int) []byte {
	if cap(b)-len(b) < more {
		larger := make([]byte, len(b), 2*(len(b)+more))
		copy(larger, b)
		b = larger
	}
	return b[:len(b)+more]
}

// cursor reads the operations of a body.
type cursor struct {
	def  *Def
	rest []byte
	rows wire.BitReader // at the elements of the operation that next returned
	left int            // of them that row has not returned
}

// open reads which type of collection a body is about.
func open(defs []*Def, body []byte) (cursor, error) {
	number, n, err := wire.ReadVarint(body)
	if err != nil || number >= uint64(len(defs)) || n == len(body) {
		return cursor{}, ErrMalformed
	}
	return cursor{def: defs[number], rest: body[n:]}, nil
}

// more reports whether there is another operation.
func (c *cursor) more() bool { return len(c.rest) > 0 }

// next reads an operation up to its elements, each of which must be read by row, and then finish called.
func (c *cursor) next() (op, error) {
	o := op{kind: opcode(c.rest[0])}
	c.rest = c.rest[1:]
	if o.kind < opReset || o.kind > opStop {
		return op{}, ErrMalformed
	}
	if !o.kind.ranged() {
		return o, nil
	}
	at, n, err := wire.ReadVarint(c.rest)
	if err != nil {
		return op{}, ErrMalformed
	}
	c.rest = c.rest[n:]
	count, n, err := wire.ReadVarint(c.rest)
	if err != nil || count >= uint64(c.def.most) || at > uint64(c.def.most)-count-1 {
		return op{}, ErrMalformed
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

// finish goes on behind the elements.
func (c *cursor) finish() bool {
	if c.rows.Read(uint(c.rows.Remaining()%8)) != 0 || c.rows.Failed() {
		return false
	}
	c.rest = c.rest[len(c.rest)-c.rows.Remaining()/8:]
	return true
}

// Check reports whether a body is one that some Origin could send to some Copy, without any effect.
func Check(defs []*Def, body []byte) bool {
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

// Rows is the elements of one collection, each as the words of its fields (quantize.Plan). A nil Rows is empty.
type Rows struct {
	width int
	lanes []uint32
}

// Len returns how many there are.
func (r *Rows) Len() int {
	if r == nil {
		return 0
	}
	return len(r.lanes) / r.width
}

// At returns one. The slice is the collection's own: read it, do not keep it. It panics where there is none.
func (r *Rows) At(i int) []uint32 { return r.lanes[i*r.width : (i+1)*r.width : (i+1)*r.width] }

// between returns those from one place up to another, one after the other.
func (r *Rows) between(from, to int) []uint32 { return r.lanes[from*r.width : to*r.width] }

// Find returns where the element with a key is, or else would have to be put. Only what is ordered by keys may be asked.
func (r *Rows) Find(key []uint32) (at int, found bool) {
	if r == nil {
		return 0, false
	}
	low, high := 0, r.Len()
	for low < high {
		middle := int(uint(low+high) / 2)
		switch slices.Compare(r.At(middle)[:len(key)], key) {
		case 0:
			return middle, true
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, false
}

// ordered reports whether the keys rise strictly from one place up to another, and on to what is around.
func (r *Rows) ordered(from, to, keys int) bool {
	for i := max(from, 1); i <= to && i < r.Len(); i++ {
		if slices.Compare(r.At(i - 1)[:keys], r.At(i)[:keys]) >= 0 {
			return false
		}
	}
	return true
}

// insert puts some in.
func (r *Rows) insert(at int, lanes []uint32) { r.lanes = slices.Insert(r.lanes, at*r.width, lanes...) }

// remove takes some out.
func (r *Rows) remove(at, count int) {
	r.lanes = slices.Delete(r.lanes, at*r.width, (at+count)*r.width)
}

// clear takes all out.
func (r *Rows) clear() { r.lanes = r.lanes[:0] }

// Blank turns a body into as many bytes without effect. The contents at a client stay as they are. Later operations, which may
// depend on the blank ones, have no effect.
func Blank(body []byte) {
	_, n, err := wire.ReadVarint(body)
	if err != nil {
		return
	}
	for i := n; i < len(body); i++ {
		body[i] = byte(opStop)
	}
}

// Amend takes out of a body, in place, the names of entities that the client does not see any more, and returns how long it
// is then. Fill sends these elements once more, if it is called next.
func (r *Reader) Amend(defs []*Def, body []byte, link Link) int {
	c, err := open(defs, body)
	if err != nil || len(c.def.plan.Refs()) == 0 {
		return len(body)
	}
	out := append(r.amended[:0], body[:len(body)-len(c.rest)]...)
	var row [maxLanes]uint32
	width := c.def.plan.Lanes()
	for c.more() {
		o, err := c.next()
		if err != nil {
			return len(body)
		}
		out = appendOp(out, o)
		if !o.kind.elements() {
			continue
		}
		r.rows = r.rows[:0]
		for c.left > 0 {
			if !c.row(row[:width]) {
				return len(body)
			}
			r.rows = append(r.rows, row[:width]...)
		}
		if !c.finish() {
			return len(body)
		}
		out, r.veils = c.def.appendRows(out, r.rows, link, r.veils[:0])
	}
	r.amended = out
	return copy(body, out)
}
