package quantize

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/wire"
)

// Layout is a struct type compiled once to its byte form: the fields that are sent, in the order of their
// declaration, each whole and little-endian, nothing between them. It is what hand-written
// encoding/binary code would give, and as fast: neighbours in memory are copied together, behind one
// bounds check. Fields travel and not memory, so padding and fields tagged net:"-" are neither sent nor
// touched. A Layout does not change and may be used by any number of goroutines.
//
// A Plan is for rows of bits that are quantised and compared; a Layout is for messages and bulk data
// that are sent exactly.
type Layout[T any] struct{ form layoutForm }

// LayoutOptions are the choices of a Layout. Both ends must choose alike; Describe says what was chosen.
type LayoutOptions struct {
	// Finite refuses NaN and infinities, in both directions. Without it any float is sent, and who
	// applies it must judge it.
	Finite bool
}

// layoutForm is the part of a Layout that does not depend on the type parameter.
type layoutForm struct {
	size   int           // bytes on the wire
	wide   bool          // one run of 32 to 64 bytes: the short way
	dense  bool          // memory and wire are the same bytes
	lead   uintptr       // wide: where the run begins in memory
	tail   uintptr       // wide: where its last 32 bytes begin, counted from its start
	memory []layoutCheck // what Put asks, by offset in memory
	wire   []layoutCheck // what Get asks, by offset on the wire
	runs   []layoutRun   // neighbours joined; nil where fields go one by one
	fields []layoutRun   // every field
	stride uintptr       // bytes of T in memory
	text   []byte        // for Describe
}

// layoutRun is a run of bytes that is the same in memory and on the wire.
type layoutRun struct{ memory, wire, size uintptr }

// layoutCheck is a run of values that do not have all bit patterns: no word w of it, eight bytes
// little-endian, may have (w&mask + step) & top. The masks go by whole values, so that no sum carries
// into the next.
type layoutCheck struct {
	offset, size    uintptr
	mask, step, top uint64
}

// CompileLayout compiles T, whose fields must be sent exactly: booleans, sized integers, floats, arrays,
// structs and named types of these. The errors name the type and the field that does not.
func CompileLayout[T any](options LayoutOptions) (*Layout[T], error) {
	form, err := compileLayout(reflect.TypeFor[T](), options, kernel.HostLittle)
	if err != nil {
		return nil, err
	}
	return &Layout[T]{form: form}, nil
}

// compileLayout compiles t for a machine that copies runs whole, or for one that goes field by field.
func compileLayout(t reflect.Type, options LayoutOptions, whole bool) (layoutForm, error) {
	name := t.Name()
	if checkName(name) != nil {
		name = "layout"
	}
	plan, err := Compile(t, name)
	if err != nil {
		return layoutForm{}, err
	}
	if len(plan.ops) == 0 {
		return layoutForm{}, errors.New("wire: " + name + ": nothing of it travels")
	}
	f := layoutForm{stride: t.Size(), text: plan.Describe(nil)}
	if options.Finite {
		f.text = append(f.text, "finite"...)
	}
	for i := range plan.ops {
		if err := f.add(&plan.ops[i], options); err != nil {
			return layoutForm{}, fmt.Errorf("wire: %s.%w", name, err)
		}
	}
	if whole {
		f.join()
	}
	return f, nil
}

// add appends a field.
func (f *layoutForm) add(o *op, options LayoutOptions) error {
	at := uintptr(f.size)
	switch o.kind {
	case opBool:
		f.wire = addCheck(f.wire, layoutCheck{at, 1, 0xFEFE_FEFE_FEFE_FEFE, 0, 0xFEFE_FEFE_FEFE_FEFE})
	case opInt8, opInt16, opInt32, opInt64:
	case opFloat32, opFloat64:
		if options.Finite {
			check := layoutCheck{o.offset, 4, 0x7F80_0000_7F80_0000, 0x0080_0000_0080_0000, 0x8000_0000_8000_0000}
			if o.kind == opFloat64 {
				check = layoutCheck{o.offset, 8, 0x7FF0_0000_0000_0000, 0x0010_0000_0000_0000, 0x8000_0000_0000_0000}
			}
			f.memory = addCheck(f.memory, check)
			check.offset = at
			f.wire = addCheck(f.wire, check)
		}
	case opHandle, opID, opTarget:
		return fmt.Errorf("%s: an entity is for a Plan; a Layout keeps what is in memory", o.path)
	default:
		return fmt.Errorf("%s: a quantised field (%s) is for a Plan; a Layout is exact", o.path, o.text)
	}
	f.fields = append(f.fields, layoutRun{memory: o.offset, wire: at, size: uintptr(o.size)})
	f.size += int(o.size)
	return nil
}

// addCheck appends a check, joined with the one before if that is of the same kind and its neighbour.
func addCheck(list []layoutCheck, c layoutCheck) []layoutCheck {
	if n := len(list); n > 0 && list[n-1].mask == c.mask && list[n-1].offset+list[n-1].size == c.offset {
		list[n-1].size += c.size
		return list
	}
	return append(list, c)
}

// join makes the runs and chooses the way.
func (f *layoutForm) join() {
	for _, field := range f.fields {
		if n := len(f.runs); n > 0 && f.runs[n-1].memory+f.runs[n-1].size == field.memory {
			f.runs[n-1].size += field.size
			continue
		}
		f.runs = append(f.runs, field)
	}
	if first := f.runs[0]; len(f.runs) == 1 {
		f.dense = first.memory == 0 && first.size == f.stride
		f.wide = first.size >= 32 && first.size <= 64
		f.lead, f.tail = first.memory, first.size-32
	}
}

// Size returns how many bytes a value has on the wire, always the same.
func (l *Layout[T]) Size() int { return l.form.size }

// Put writes a value to the first Size bytes of dst. If dst is shorter, or the value has a float that the options
// refuse, it writes nothing: ErrOverflow, ErrMalformed.
func (l *Layout[T]) Put(dst []byte, value *T) error { return l.form.put(dst, firstByte(value)) }

// Get reads a value from the first Size bytes of src. If src is shorter that is ErrTruncated; a boolean
// other than 0 and 1, or a float that the options refuse, is ErrMalformed. Then value is as before.
func (l *Layout[T]) Get(src []byte, value *T) error { return l.form.get(src, firstByte(value)) }

// PutRows writes all rows, one after the other, to the first len(rows)*Size bytes of dst. If they do not
// fit, or one has a float that the options refuse, it writes nothing: ErrOverflow, ErrMalformed.
func (l *Layout[T]) PutRows(dst []byte, rows []T) error {
	f := &l.form
	if f.size == 0 || len(rows) > len(dst)/f.size {
		return wire.ErrOverflow
	}
	for i := 0; len(f.memory) > 0 && i < len(rows); i++ {
		if !legal(firstByte(&rows[i]), f.memory, !kernel.HostLittle) {
			return wire.ErrMalformed
		}
	}
	if len(rows) > 0 {
		f.encodeRows(dst, firstByte(&rows[0]), len(rows))
	}
	return nil
}

// GetRows reads len(rows) rows from as many times Size bytes of src. The errors are those of Get; after
// one all rows are as before. The caller limits how many rows it makes: len(src)/Size are there.
func (l *Layout[T]) GetRows(src []byte, rows []T) error {
	f := &l.form
	if f.size == 0 || len(rows) > len(src)/f.size {
		return wire.ErrTruncated
	}
	for i := 0; len(f.wire) > 0 && i < len(rows); i++ {
		if !legal(&src[i*f.size], f.wire, false) {
			return wire.ErrMalformed
		}
	}
	if len(rows) > 0 {
		f.decodeRows(src, firstByte(&rows[0]), len(rows))
	}
	return nil
}

// Write appends a value to w, Size bytes.
func (l *Layout[T]) Write(w *wire.Writer, value *T) {
	before := *w
	if b := w.Next(l.form.size); b != nil {
		if err := l.form.put(b, firstByte(value)); err != nil {
			*w = before // what take opened holds earlier bytes
			w.Fail(err)
		}
	}
}

// Read reads a value from r. After an error value is as before.
func (l *Layout[T]) Read(r *wire.Reader, value *T) {
	if b := r.Next(l.form.size); b != nil {
		r.Fail(l.form.get(b, firstByte(value)))
	}
}

// Describe appends the canonical text, which tells everything that the bytes depend on.
func (l *Layout[T]) Describe(dst []byte) []byte { return append(dst, l.form.text...) }

// put writes the value that begins at from.
func (f *layoutForm) put(dst []byte, from *byte) error {
	if f.size == 0 || len(dst) < f.size { // the zero Layout, which nothing compiled, fits nowhere
		return wire.ErrOverflow
	}
	if len(f.memory) > 0 && !legal(from, f.memory, !kernel.HostLittle) {
		return wire.ErrMalformed
	}
	if f.wide {
		moveWide(&dst[0], 0, from, f.lead, f.tail)
		return nil
	}
	f.encode(dst, from)
	return nil
}

// get reads a value into the one that begins at to.
func (f *layoutForm) get(src []byte, to *byte) error {
	if len(src) < f.size {
		return wire.ErrTruncated
	}
	if len(f.wire) > 0 && !legal(&src[0], f.wire, false) {
		return wire.ErrMalformed
	}
	if f.wide {
		moveWide(to, f.lead, &src[0], 0, f.tail)
		return nil
	}
	f.decode(src, to)
	return nil
}

// encode writes one value by its runs, or field by field. The caller has asked whether it fits.
func (f *layoutForm) encode(dst []byte, from *byte) {
	for i := range f.runs {
		r := &f.runs[i]
		moveRun(&dst[0], r.wire, from, r.memory, r.size)
	}
	if f.runs == nil {
		for _, r := range f.fields {
			turn(bytesAt(&dst[0], r.wire, r.size), bytesAt(from, r.memory, r.size))
		}
	}
}

// decode reads one value, legal and whole.
func (f *layoutForm) decode(src []byte, to *byte) {
	for i := range f.runs {
		r := &f.runs[i]
		moveRun(to, r.memory, &src[0], r.wire, r.size)
	}
	if f.runs == nil {
		for _, r := range f.fields {
			turn(bytesAt(to, r.memory, r.size), bytesAt(&src[0], r.wire, r.size))
		}
	}
}

// encodeRows writes count values, of which the first begins at from. The caller has asked whether they fit.
func (f *layoutForm) encodeRows(dst []byte, from *byte, count int) {
	size := uintptr(f.size)
	switch {
	case f.dense:
		copy(dst, bytesAt(from, 0, uintptr(count)*size))
	case f.wide:
		moveWideRows(&dst[0], size, bytesFrom(from, f.lead), f.stride, f.tail, count)
	default:
		for i := 0; i < count; i++ {
			f.encode(dst[i*f.size:], bytesFrom(from, uintptr(i)*f.stride))
		}
	}
}

// decodeRows reads count values, legal and whole.
func (f *layoutForm) decodeRows(src []byte, to *byte, count int) {
	size := uintptr(f.size)
	switch {
	case f.dense:
		copy(bytesAt(to, 0, uintptr(count)*size), src)
	case f.wide:
		moveWideRows(bytesFrom(to, f.lead), f.stride, &src[0], size, f.tail, count)
	default:
		for i := 0; i < count; i++ {
			f.decode(src[i*f.size:], bytesFrom(to, uintptr(i)*f.stride))
		}
	}
}

// turn copies a number between memory and wire, on whichever side each of the two is.
func turn(dst, src []byte) {
	switch len(src) {
	case 1:
		dst[0] = src[0]
	case 2:
		binary.LittleEndian.PutUint16(dst, binary.NativeEndian.Uint16(src))
	case 4:
		binary.LittleEndian.PutUint32(dst, binary.NativeEndian.Uint32(src))
	default:
		binary.LittleEndian.PutUint64(dst, binary.NativeEndian.Uint64(src))
	}
}

// legal reports whether the checks let the bytes at base pass: those of a value on the wire, or in the
// memory of a machine that keeps numbers in the same order, or else reversed.
func legal(base *byte, checks []layoutCheck, reversed bool) bool {
	for i := range checks {
		c := &checks[i]
		if reversed {
			if c.violatedReversed(base) {
				return false
			}
			continue
		}
		bad, mask, step, at := uint64(0), c.mask, c.step, c.offset
		for end := at + c.size&^7; at < end; at += 8 {
			bad |= wordAt(base, at)&mask + step
		}
		if rest := c.size & 7; rest != 0 {
			bad |= restOf(bytesAt(base, at, rest))&mask + step
		}
		if bad&c.top != 0 {
			return false
		}
	}
	return true
}

// restOf returns up to seven bytes as a word, little-endian. Bytes beyond the last are taken to be zero,
// which every check lets pass.
func restOf(b []byte) (word uint64) {
	if len(b) == 4 {
		return uint64(binary.LittleEndian.Uint32(b))
	}
	for i, v := range b {
		word |= uint64(v) << (8 * i & 63)
	}
	return word
}

// violatedReversed reports whether one of the values, big-endian, is what none may be.
func (c *layoutCheck) violatedReversed(base *byte) bool {
	bad := uint64(0)
	for b := bytesAt(base, c.offset, c.size); len(b) > 0; b = b[min(8, len(b)):] {
		var word [8]byte
		copy(word[:], b)
		bad |= binary.BigEndian.Uint64(word[:])&c.mask + c.step
	}
	return bad&c.top != 0
}

// moveWideRows copies the wide run of each of count rows.
func moveWideRows(dst *byte, dstStride uintptr, src *byte, srcStride, tail uintptr, count int) {
	for i := uintptr(0); i < uintptr(count); i++ {
		moveWide(dst, i*dstStride, src, i*srcStride, tail)
	}
}
