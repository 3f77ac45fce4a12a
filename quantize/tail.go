package quantize

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/arche-netcode/netcode/wire"
)

// The tail of a row is its texts and lists: wire.Text and wire.List. Their lanes lie behind those of all other fields, in the order of
// their declaration. The first lane of each is its length. Those of a text are its bytes, four in each lane, the first one lowest; those
// of a list are its elements, each as a row of its own. Lanes behind the length are 0, so that equal values have equal lanes.
//
//	whole   text: Var length, then its bytes; list: Var length, then its elements, each whole
//	change  each text and list: 1 bit, whether it differs. The only field of a row has none: it differs. If it does:
//	          text: Var n, the bytes that stay; Var, how many follow; these. The first of them is not the one that was there
//	          list: Var of the zigzag form of what is added to its length; of the elements that both versions have, until all are
//	                told: Var, how many are the same, and behind these, if any are left, one by WriteNext; then the new ones, whole

// maxText bounds a text in bytes, and a list in elements.
const maxText = 256

// tailField is the part of an op that is a text or a list.
type tailField struct {
	most   int     // bytes or elements
	width  int     // lanes of an element; 0: a text
	start  uintptr // of the bytes or elements, from the field on
	stride uintptr // bytes of memory of an element
	elems  []*Plan // by place; all alike but for their paths
}

// tailSpec is a text or a list that compiling found.
type tailSpec struct {
	typ    reflect.Type
	path   string
	offset uintptr
	tag    string
}

// errListInList is told of a list whose elements have lists.
var errListInList = errors.New("a list in a list does not travel: make one list, or a collection")

// isTail reports whether t is a text or a list.
func isTail(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[wire.NetworkID]().PkgPath() && (strings.HasPrefix(t.Name(), "Text[") || strings.HasPrefix(t.Name(), "List["))
}

// Fixed returns how many lanes a row has before those of its texts and lists.
func (p *Plan) Fixed() int { return p.fixed }

// tailOps returns the texts and lists.
func (p *Plan) tailOps() []op { return p.ops[p.fixedOps:] }

// addTail compiles a text or a list.
func (c *compiler) addTail(s tailSpec) error {
	if s.path == "" {
		s.path = "value"
	}
	array := s.typ.Field(1).Type
	o := op{kind: opText, size: 2, offset: s.offset, path: s.path}
	f := &tailField{most: array.Len(), start: s.typ.Field(1).Offset, stride: array.Elem().Size()}
	if strings.HasPrefix(s.typ.Name(), "Text[") {
		if s.tag != "" {
			return c.fail(s.path, "the tag net:%q does not go with a text", s.tag)
		}
		return c.text(o, f)
	}
	for i := range f.most {
		e := compiler{root: c.root, plan: &Plan{name: c.plan.name, typ: array.Elem()}}
		if err := e.value(array.Elem(), s.path+"["+strconv.Itoa(i)+"]", 0, s.tag); err != nil {
			return err
		}
		if err := e.close(); err != nil {
			return err
		}
		f.elems = append(f.elems, e.plan)
	}
	return c.list(o, f)
}

// close adds the texts and lists that were found, and finishes the plan.
func (c *compiler) close() error {
	c.plan.fixed, c.plan.fixedOps = len(c.plan.lanes), len(c.plan.ops)
	for _, s := range c.found {
		if err := c.addTail(s); err != nil {
			return err
		}
	}
	c.finish()
	return nil
}

// text adds a text.
func (c *compiler) text(o op, f *tailField) error {
	o.kind, o.text, o.tail = opText, "text"+strconv.Itoa(f.most), f
	lanes := []lane{checked(lane{bits: width(uint64(f.most)), max: uint64(f.most)}, checkMax)}
	for range (f.most + 3) / 4 {
		lanes = append(lanes, lane{bits: 32, max: math.MaxUint32})
	}
	c.tag = tag{}
	return c.add(o, lanes...)
}

// list adds a list.
func (c *compiler) list(o op, f *tailField) error {
	e := f.elems[0]
	f.width = len(e.lanes)
	switch {
	case f.width == 0:
		return c.fail(o.path, "nothing of an element travels")
	case len(e.events) > 0:
		return c.fail(o.path, "an element of a list is no event")
	case slices.ContainsFunc(e.tailOps(), func(o op) bool { return o.kind == opList }):
		return c.fail(o.path, "%v", errListInList)
	}
	o.kind, o.text, o.tail = opList, "list"+strconv.Itoa(f.most)+"("+e.describeFields(o.path+"[0]")+")", f
	lanes := []lane{checked(lane{bits: width(uint64(f.most)), max: uint64(f.most)}, checkMax)}
	first := len(c.plan.lanes) + 1
	for i := range f.most {
		for _, l := range e.lanes {
			lanes = append(lanes, lane{bits: l.bits, max: l.max})
		}
		for _, ref := range e.refs {
			c.plan.refs = append(c.plan.refs, first+i*f.width+ref)
		}
		for _, handle := range e.holds {
			c.plan.holds = append(c.plan.holds, first+i*f.width+handle)
		}
	}
	c.tag = tag{}
	return c.add(o, lanes...)
}

// describeFields is the fields of an element for the canonical text, with paths from a prefix on.
func (p *Plan) describeFields(prefix string) string {
	var fields []string
	for i := range p.ops {
		path := strings.TrimPrefix(strings.TrimPrefix(p.ops[i].path, prefix), ".")
		if path == "" {
			path = "value"
		}
		fields = append(fields, path+":"+p.ops[i].text)
	}
	return strings.Join(fields, " ")
}

// describedTail compiles a text or a list from its canonical text. It returns false for another kind.
func (c *compiler) describedTail(path, kind string) (bool, error) {
	size, text := strings.CutPrefix(kind, "text")
	rest, list := strings.CutPrefix(kind, "list")
	if list {
		size, rest, list = strings.Cut(rest, "(")
		rest, list = strings.CutSuffix(rest, ")")
	}
	if !text && !list {
		return false, nil
	}
	most, err := strconv.ParseUint(size, 10, 16)
	if err != nil || most < 1 || most > maxText {
		return true, fmt.Errorf("%w: %.60q is no kind", ErrDescription, kind)
	}
	o, f := op{size: 2, path: path}, &tailField{most: int(most)}
	if text {
		return true, c.text(o, f)
	}
	e := compiler{root: c.root, plan: &Plan{name: c.plan.name}}
	for _, field := range strings.Split(rest, " ") {
		if err := e.described(field); err != nil {
			return true, err
		}
	}
	e.closeDescribed()
	if f.elems = slices.Repeat([]*Plan{e.plan}, f.most); len(e.plan.lanes)*f.most > maxLanes {
		return true, fmt.Errorf("%w: a list of %d lanes", ErrDescription, len(e.plan.lanes)*f.most)
	}
	return true, c.list(o, f)
}

// closeDescribed finishes a plan of fields that were described. A field that is not in its place is found by who describes it again.
func (c *compiler) closeDescribed() {
	p := c.plan
	p.fixed, p.fixedOps = len(p.lanes), len(p.ops)
	if at := slices.IndexFunc(p.ops, func(o op) bool { return o.tail != nil }); at >= 0 {
		p.fixed, p.fixedOps = p.ops[at].lane, at
	}
	c.finish()
}

// lanesOf returns the lanes of a field behind its length.
func (o *op) lanesOf(row []uint32) []uint32 {
	n := (o.tail.most + 3) / 4
	if o.kind == opList {
		n = o.tail.most * o.tail.width
	}
	return row[o.lane+1:][:n]
}

// element returns the lanes of an element of a list.
func (o *op) element(row []uint32, i int) []uint32 {
	return row[o.lane+1+i*o.tail.width:][:o.tail.width]
}

// textByte returns a byte of a text.
func textByte(words []uint32, i int) byte { return byte(words[i>>2] >> (i & 3 * 8)) }

// setText puts bytes into the lanes of a text, and zeros behind them.
func (o *op) setText(row []uint32, text []byte) {
	words := o.lanesOf(row)
	clear(words)
	for i, b := range text {
		words[i>>2] |= uint32(b) << (i & 3 * 8)
	}
	row[o.lane] = uint32(len(text))
}

// textOf returns the bytes of a text, in buf.
func (o *op) textOf(row []uint32, buf *[maxText]byte) []byte {
	words, n := o.lanesOf(row), int(row[o.lane])
	for i := range n {
		buf[i] = textByte(words, i)
	}
	return buf[:n]
}

// validPrefix is the length of the UTF-8 at the beginning of b.
func validPrefix(b []byte) (n int) {
	if utf8.Valid(b) {
		return len(b)
	}
	for {
		r, size := utf8.DecodeRune(b[n:])
		if r == utf8.RuneError && size <= 1 {
			return n
		}
		n += size
	}
}

// legalTail reports whether a text or a list is one that Quantise could have made.
func (o *op) legalTail(row []uint32) bool {
	f, n := o.tail, int(row[o.lane])
	if n > f.most {
		return false
	}
	used := (n + 3) / 4
	if o.kind == opText {
		var buf [maxText]byte
		if n%4 != 0 && o.lanesOf(row)[n/4]>>(n%4*8) != 0 || !utf8.Valid(o.textOf(row, &buf)) {
			return false
		}
	} else {
		used = n * f.width
		for i := range n {
			if !f.elems[0].LegalRow(o.element(row, i)) {
				return false
			}
		}
	}
	for _, lane := range o.lanesOf(row)[used:] {
		if lane != 0 {
			return false
		}
	}
	return true
}

// legalTails is legalTail for all texts and lists.
func (p *Plan) legalTails(row []uint32) bool {
	for i := range p.tailOps() {
		if !p.tailOps()[i].legalTail(row) {
			return false
		}
	}
	return true
}

// writeTails writes the texts and lists of a row that is written whole.
func (p *Plan) writeTails(w *wire.BitWriter, row []uint32) {
	for i := range p.tailOps() {
		o := &p.tailOps()[i]
		n := int(row[o.lane])
		w.Var(uint64(n))
		o.writeFrom(w, row, 0, n)
	}
}

// writeFrom writes the bytes or elements from a place to another.
func (o *op) writeFrom(w *wire.BitWriter, row []uint32, from, to int) {
	words := o.lanesOf(row)
	for i := from; i < to; i++ {
		if o.kind == opText {
			w.Write(uint64(textByte(words, i)), 8)
		} else {
			o.tail.elems[0].WriteRow(w, o.element(row, i))
		}
	}
}

// readFrom reads what writeFrom wrote.
func (o *op) readFrom(r *wire.BitReader, row []uint32, from, to int) {
	words := o.lanesOf(row)
	for i := from; i < to && !r.Failed(); i++ {
		if o.kind == opText {
			words[i>>2] |= uint32(r.Read(8)) << (i & 3 * 8)
		} else {
			o.tail.elems[0].ReadRow(r, o.element(row, i))
		}
	}
}

// readTails reads what writeTails wrote.
func (p *Plan) readTails(r *wire.BitReader, row []uint32) bool {
	for i := range p.tailOps() {
		o := &p.tailOps()[i]
		clear(o.lanesOf(row))
		n := r.Var()
		if n > uint64(o.tail.most) {
			r.Fail()
		}
		if r.Failed() {
			return false
		}
		row[o.lane] = uint32(n)
		o.readFrom(r, row, 0, int(n))
		if r.Failed() || !o.legalTail(row) {
			r.Fail()
			return false
		}
	}
	return !r.Failed()
}

// alone reports whether a text or a list is all of a row.
func (p *Plan) alone() bool { return p.fixedOps == 0 && len(p.ops) == 1 }

// differs reports whether a text or a list is another one in two rows.
func (o *op) differs(before, row []uint32) bool {
	return before[o.lane] != row[o.lane] || !slices.Equal(o.lanesOf(before), o.lanesOf(row))
}

// WriteTail writes how the texts and lists of a row differ from those of an earlier one. If they are all of the row, something
// differs.
func (p *Plan) WriteTail(w *wire.BitWriter, before, row []uint32) {
	for i := range p.tailOps() {
		p.writeTail(w, &p.tailOps()[i], before, row)
	}
}

// writeTail is WriteTail for one of them.
func (p *Plan) writeTail(w *wire.BitWriter, o *op, before, row []uint32) {
	differs := o.differs(before, row)
	if !p.alone() {
		w.Bool(differs)
	}
	switch {
	case !differs:
	case o.kind == opText:
		o.writeText(w, before, row)
	default:
		o.writeList(w, before, row)
	}
}

// EachTail tells how many bits each text and list takes of what WriteTail writes. It allocates.
func (p *Plan) EachTail(before, row []uint32, each func(field, bits int)) {
	buf := make([]byte, p.MaxTailBits()/8+8)
	for i := range p.tailOps() {
		w := wire.NewBitWriter(buf)
		p.writeTail(&w, &p.tailOps()[i], before, row)
		each(p.fixedOps+i, w.Bits())
	}
}

// ReadTail reads what WriteTail wrote against the same row, and reports whether something differs. The reader has failed when the bits
// end, or a text or a list is not one that Quantise could have made and WriteTail would have written so.
func (p *Plan) ReadTail(r *wire.BitReader, before, row []uint32) (differs bool) {
	for i := range p.tailOps() {
		o := &p.tailOps()[i]
		row[o.lane] = before[o.lane]
		copy(o.lanesOf(row), o.lanesOf(before))
		if !p.alone() && !r.Bool() {
			continue
		}
		differs = true
		if o.kind == opText {
			o.readText(r, before, row)
		} else {
			o.readList(r, before, row)
		}
		if r.Failed() || !o.legalTail(row) || !o.differs(before, row) {
			r.Fail()
			return false
		}
	}
	return differs && !r.Failed()
}

// writeText writes a text that differs.
func (o *op) writeText(w *wire.BitWriter, before, row []uint32) {
	a, b := o.lanesOf(before), o.lanesOf(row)
	n, kept := int(row[o.lane]), 0
	for most := min(int(before[o.lane]), n); kept < most && textByte(a, kept) == textByte(b, kept); {
		kept++
	}
	w.Var(uint64(kept))
	w.Var(uint64(n - kept))
	o.writeFrom(w, row, kept, n)
}

// readText reads what writeText wrote.
func (o *op) readText(r *wire.BitReader, before, row []uint32) {
	was, kept, more := uint64(before[o.lane]), r.Var(), r.Var()
	if kept > was || more > uint64(o.tail.most) || kept+more > uint64(o.tail.most) {
		r.Fail()
		return
	}
	words := o.lanesOf(row)
	for i := int(kept); i < int(was); i++ {
		words[i>>2] &^= 0xFF << (i & 3 * 8)
	}
	row[o.lane] = uint32(kept + more)
	o.readFrom(r, row, int(kept), int(kept+more))
	if kept < was && more > 0 && textByte(words, int(kept)) == textByte(o.lanesOf(before), int(kept)) {
		r.Fail() // it stays
	}
}

// writeList writes a list that differs.
func (o *op) writeList(w *wire.BitWriter, before, row []uint32) {
	was, n := int(before[o.lane]), int(row[o.lane])
	w.Var(uint64(wire.Zigzag32(int32(n - was))))
	both := min(was, n)
	for i := 0; i < both; i++ {
		first := i
		for i < both && slices.Equal(o.element(before, i), o.element(row, i)) {
			i++
		}
		w.Var(uint64(i - first))
		if i < both {
			o.tail.elems[0].WriteNext(w, o.element(before, i), o.element(row, i))
		}
	}
	o.writeFrom(w, row, both, n)
}

// readList reads what writeList wrote.
func (o *op) readList(r *wire.BitReader, before, row []uint32) {
	f, was, more := o.tail, int(before[o.lane]), r.Var()
	if more > 2*uint64(f.most) {
		r.Fail()
	}
	n := was + int(wire.Unzigzag32(uint32(more)))
	if r.Failed() || n < 0 || n > f.most {
		r.Fail()
		return
	}
	both := min(was, n)
	for i := 0; i < both && !r.Failed(); i++ {
		same := r.Var()
		if same > uint64(both-i) {
			r.Fail()
			return
		}
		if i += int(same); i == both {
			break
		}
		if f.elems[0].ReadNext(r, o.element(before, i), o.element(row, i)); slices.Equal(o.element(before, i), o.element(row, i)) {
			r.Fail()
		}
	}
	row[o.lane] = uint32(n)
	clear(o.lanesOf(row)[both*f.width:])
	o.readFrom(r, row, both, n)
}

// MaxTailBits returns the most bits that WriteTail writes.
func (p *Plan) MaxTailBits() (bits int) {
	for i := range p.tailOps() {
		f := p.tailOps()[i].tail
		count := wire.VarBits(2 * uint64(f.most))
		bits += 1 + 2*count
		if f.width == 0 {
			bits += 8 * f.most
			continue
		}
		bits += f.most * max(count+f.elems[0].maxNextBits(), f.elems[0].bits+7)
	}
	return bits
}

// bitsOf returns how many bits a text or a list takes in a row that is written whole; with packing off what fills up bytes is left out.
func (p *Plan) bitsOf(o *op, row []uint32) (bits int) {
	n := int(row[o.lane])
	if bits = wire.VarBits(uint64(n)); p.debug {
		bits = 16
	}
	if o.kind == opText {
		return bits + 8*n
	}
	for i := range n {
		o.tail.elems[0].EachField(o.element(row, i), func(_, of int) { bits += of })
	}
	return bits
}

// mostBits is the most bits that a text or a list takes in a row that is written whole.
func (o *op) mostBits(debug bool) int {
	f := o.tail
	head, each := wire.VarBits(uint64(f.most)), 8
	if f.width > 0 {
		each = f.elems[0].bits
	}
	if debug {
		head = 16
		if f.width > 0 {
			each += 7
		}
	}
	return head + f.most*each
}

// debugTails turns packing off for the elements of lists.
func (p *Plan) debugTails() {
	for i := range p.tailOps() {
		o := &p.tailOps()[i]
		for k, e := range o.tail.elems {
			if k == 0 || e != o.tail.elems[0] {
				e.Debug()
			}
		}
		p.bits += o.mostBits(true)
	}
}

// writeDebugTail writes a text or a list with packing off: its length in 16 bits, then its bytes or elements.
func (o *op) writeDebugTail(w *wire.BitWriter, row []uint32) {
	w.Write(uint64(row[o.lane]), 16)
	o.writeFrom(w, row, 0, int(row[o.lane]))
	w.Align()
}

// readDebugTail reads what writeDebugTail wrote.
func (o *op) readDebugTail(r *wire.BitReader, row []uint32) bool {
	clear(o.lanesOf(row))
	n := r.Read(16)
	if r.Failed() || n > uint64(o.tail.most) {
		return false
	}
	row[o.lane] = uint32(n)
	o.readFrom(r, row, 0, int(n))
	return !r.Failed() && o.legalTail(row)
}

// appendTail appends a text in quotes, or a list in brackets.
func (o *op) appendTail(dst []byte, row []uint32) []byte {
	if o.kind == opText {
		var buf [maxText]byte
		return strconv.AppendQuote(dst, string(o.textOf(row, &buf)))
	}
	dst = append(dst, '[')
	e := o.tail.elems[0]
	for i := range int(row[o.lane]) {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, '{')
		for k := range e.ops {
			if k > 0 {
				dst = append(dst, ' ')
			}
			if name := strings.TrimPrefix(strings.TrimPrefix(e.ops[k].path, o.path+"[0]"), "."); name != "" && name != "value" {
				dst = append(append(dst, name...), '=')
			}
			dst = e.appendField(dst, k, o.element(row, i))
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// tailSpans returns the runs of bytes that are sent of a text or a list.
func (o *op) tailSpans() []span {
	f, list := o.tail, []span{{o.offset, 2}}
	if f.width == 0 {
		return append(list, span{o.offset + f.start, uintptr(f.most)})
	}
	for i := range f.most {
		for _, s := range f.elems[0].spans {
			list = append(list, span{o.offset + f.start + uintptr(i)*f.stride + s.offset, s.size})
		}
	}
	return list
}
