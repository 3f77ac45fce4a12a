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

// The tail of a row is its texts and lists: wire.Text and wire.List. Their lanes follow those of all other fields, in
// the order of declaration. The first lane of each is its length. A text has four bytes per lane, the first one lowest.
// A list has its elements, each as a row of its own. Lanes beyond the length are 0, so that equal values have equal
// lanes.
//
//	whole   text: Var length, then its bytes; list: Var length, then its elements, each whole
//	change  each text and list: 1 bit, whether it differs (omitted for the only field of a row, which differs). Then:
//	          text: Var n, the bytes that stay; Var, the number of new bytes; the new bytes; the first new byte differs
//	          list: Var of the zigzag form of the change of length; then, for the elements of both versions, repeated:
//	                Var, the number of equal elements; one element by WriteNext, if any are left; then the new ones, whole

// maxText bounds a text in bytes, and a list in elements.
const maxText = 256

// tailField is the part of an op for a text or a list.
type tailField struct {
	most   int     // maximum number of bytes or elements
	width  int     // lanes per element; 0: a text
	start  uintptr // offset of the bytes or elements in the field
	stride uintptr // size of an element in memory
	elems  []*Plan // plan of each element, by place; they differ only in their paths
}

// tailSpec is a text or a list found by the compiler.
type tailSpec struct {
	typ    reflect.Type
	path   string
	offset uintptr
	tag    string
}

// errListInList is the error for a list whose elements contain lists.
var errListInList = errors.New("a list in a list does not travel: make one list, or a collection")

// isTail reports whether t is a text or a list.
func isTail(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[wire.NetworkID]().PkgPath() && (strings.HasPrefix(t.Name(), "Text[") || strings.HasPrefix(t.Name(), "List["))
}

// Fixed returns the number of lanes before those of texts and lists.
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

// close adds the texts and lists and finishes the plan.
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

// describeFields returns an element's fields in canonical text, with a prefix before each path.
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

// closeDescribed finishes a plan of described fields. The caller finds misplaced fields by describing the plan again.
func (c *compiler) closeDescribed() {
	p := c.plan
	p.fixed, p.fixedOps = len(p.lanes), len(p.ops)
	if at := slices.IndexFunc(p.ops, func(o op) bool { return o.tail != nil }); at >= 0 {
		p.fixed, p.fixedOps = p.ops[at].lane, at
	}
	c.finish()
}

// lanesOf returns the lanes of a field after its length.
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

// textByte returns byte i of a text.
func textByte(words []uint32, i int) byte { return byte(words[i>>2] >> (i & 3 * 8)) }

// setText stores bytes in the lanes of a text, followed by zeros.
func (o *op) setText(row []uint32, text []byte) {
	words := o.lanesOf(row)
	clear(words)
	for i, b := range text {
		words[i>>2] |= uint32(b) << (i & 3 * 8)
	}
	row[o.lane] = uint32(len(text))
}

// textOf copies the bytes of a text to buf and returns them.
func (o *op) textOf(row []uint32, buf *[maxText]byte) []byte {
	words, n := o.lanesOf(row), int(row[o.lane])
	for i := range n {
		buf[i] = textByte(words, i)
	}
	return buf[:n]
}

// validPrefix returns the length of the valid UTF-8 at the start of b.
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

// legalTail reports whether Quantise can produce the text or list.
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

// legalTails is legalTail for all texts and lists of a row.
func (p *Plan) legalTails(row []uint32) bool {
	for i := range p.tailOps() {
		if !p.tailOps()[i].legalTail(row) {
			return false
		}
	}
	return true
}

// writeTails writes all texts and lists of an absolute row.
func (p *Plan) writeTails(w *wire.BitWriter, row []uint32) {
	for i := range p.tailOps() {
		o := &p.tailOps()[i]
		n := int(row[o.lane])
		w.Var(uint64(n))
		o.writeFrom(w, row, 0, n)
	}
}

// writeFrom writes the bytes or elements from..to-1.
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

// readFrom reads the bytes or elements from..to-1.
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

// readTails is the inverse of writeTails.
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

// alone reports whether the row is exactly one text or list.
func (p *Plan) alone() bool { return p.fixedOps == 0 && len(p.ops) == 1 }

// differs reports whether the text or list differs between two rows.
func (o *op) differs(before, row []uint32) bool {
	return before[o.lane] != row[o.lane] || !slices.Equal(o.lanesOf(before), o.lanesOf(row))
}

// WriteTail writes the texts and lists of a row as differences from before. A row of exactly one text or list must
// differ.
func (p *Plan) WriteTail(w *wire.BitWriter, before, row []uint32) {
	for i := range p.tailOps() {
		p.writeTail(w, &p.tailOps()[i], before, row)
	}
}

// writeTail is WriteTail for one text or list.
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

// EachTail calls each with the number of bits of each text and list in WriteTail's encoding. It allocates.
func (p *Plan) EachTail(before, row []uint32, each func(field, bits int)) {
	buf := make([]byte, p.MaxTailBits()/8+8)
	for i := range p.tailOps() {
		w := wire.NewBitWriter(buf)
		p.writeTail(&w, &p.tailOps()[i], before, row)
		each(p.fixedOps+i, w.Bits())
	}
}

// ReadTail reads a tail of WriteTail with the same earlier row, and reports whether anything differs. The reader fails
// if the bits end, a text or list is illegal, or WriteTail would have encoded it differently.
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

// writeText writes a text as its difference.
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

// readText is the inverse of writeText.
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
		r.Fail() // no difference
	}
}

// writeList writes a list as its difference.
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

// readList is the inverse of writeList.
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

// MaxTailBits returns the maximum length of WriteTail in bits.
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

// bitsOf returns the length of a text or list in an absolute row, in bits, without padding.
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

// mostBits returns the maximum length of a text or list in an absolute row, in bits.
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

// readDebugTail is the inverse of writeDebugTail.
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

// tailSpans returns the ranges of sent bytes of a text or a list.
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
