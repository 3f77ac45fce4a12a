package wire

import (
	"fmt"
	"reflect"
	"strconv"
)

// maxRuns bounds the codec of a value; 4096 runs of numbers are far more than a message has.
const maxRuns = 4096

// Value is the codec of whole values of T, which travel as one run of bytes: on most machines a copy of
// memory. Only types without pointers and padding have one. NewValue checks that, once; after it a Value
// does not change and may be used by any number of goroutines.
type Value[T any] struct {
	size int
	runs []run
	flat bool // memory is what travels, and any bytes are a legal T
	text string
}

// run is numbers of one size, one after another.
type run struct {
	at    int // offset in bytes
	size  int // of one number
	count int
	bool  bool
}

// NewValue returns the codec of T. T is made of booleans, sized integers, floats, arrays and structs, also
// in unexported fields, and has no padding on any platform; net tags mean nothing here, since all of it
// travels. The error names the field that cannot, and why.
func NewValue[T any]() (*Value[T], error) {
	t := reflect.TypeFor[T]()
	l := valueLayout{root: t.Name()}
	if l.root == "" {
		l.root = t.String()
	}
	size, _, err := l.add(t, "", 0)
	if err != nil {
		return nil, err
	}
	v := &Value[T]{size: size, runs: l.runs, flat: littleEndian(), text: string(l.text)}
	for _, r := range v.runs {
		v.flat = v.flat && !r.bool
	}
	return v, nil
}

// Size returns how many bytes a T is, in memory and on the wire.
func (c *Value[T]) Size() int { return c.size }

// Describe appends the layout of T, such as {X:f32;On:bool;Tags:[4]u8}: what two ends must agree on.
func (c *Value[T]) Describe(dst []byte) []byte { return append(dst, c.text...) }

// check panics for a Value that NewValue did not make.
func (c *Value[T]) check() {
	if c.size == 0 {
		panic("wire: a Value comes from NewValue")
	}
}

// store moves values to the wire, which has room for them.
func (c *Value[T]) store(dst []byte, v []T) {
	memory := memoryOf(v)
	if littleEndian() {
		copy(dst, memory)
		return
	}
	for at := 0; at < len(memory); at += c.size {
		swapRuns(dst[at:at+c.size], memory[at:], c.runs)
	}
}

// load moves values from the wire to memory, which has room for them. It returns false, and changes
// nothing, if there is a boolean other than 0 and 1.
func (c *Value[T]) load(v []T, src []byte) bool {
	memory := memoryOf(v)
	if c.flat {
		copy(memory, src)
		return true
	}
	for at := 0; at < len(src); at += c.size {
		for _, r := range c.runs {
			if r.bool && !areBools(src[at+r.at:at+r.at+r.count]) {
				return false
			}
		}
	}
	if littleEndian() {
		copy(memory, src)
		return true
	}
	for at := 0; at < len(src); at += c.size {
		swapRuns(memory[at:at+c.size], src[at:], c.runs)
	}
	return true
}

// swapRuns copies numbers with their bytes in reverse: from the wire to a machine that keeps the most
// significant byte first, or back.
func swapRuns(dst, src []byte, runs []run) {
	for _, r := range runs {
		for number := r.at; number < r.at+r.count*r.size; number += r.size {
			for i := range r.size {
				dst[number+i] = src[number+r.size-1-i]
			}
		}
	}
}

// WriteValue appends the whole of *v, in its size in bytes.
func WriteValue[T any](w *Writer, c *Value[T], v *T) {
	c.check()
	if b := w.take(c.size); b != nil {
		c.store(b, only(v))
	}
}

// ReadValue reads a whole T into *v. Booleans other than 0 and 1 are ErrMalformed; floats may be NaN or
// infinite, and the caller must judge them. When it fails, *v is zero.
func ReadValue[T any](r *Reader, c *Value[T], v *T) {
	c.check()
	b := r.take(c.size)
	if b != nil && !c.load(only(v), b) {
		r.err = ErrMalformed
	}
	if r.err != nil {
		clear(only(v))
	}
}

// WriteValues appends the count of v and then each whole. More than limit is ErrTooLong.
func WriteValues[T any](w *Writer, c *Value[T], v []T, limit int) {
	c.check()
	w.Count(len(v), limit)
	if w.err == nil && len(v) > (len(w.buf)-w.off)/c.size {
		w.err = ErrOverflow
	}
	if w.err == nil {
		c.store(w.take(len(v)*c.size), v)
	}
}

// ReadValues reads what WriteValues wrote into dst, from its start, and returns it, as ReadSlice does.
func ReadValues[T any](r *Reader, c *Value[T], dst []T, limit int) []T {
	c.check()
	n := r.Count(limit, c.size)
	dst = sized(dst, n)
	if b := r.take(n * c.size); b != nil && !c.load(dst, b) {
		r.err = ErrMalformed
	}
	if r.err != nil {
		clear(dst)
		return dst[:0]
	}
	return dst
}

// ViewValue shows the bytes at the start of b as a T, for debuggers and logs: what Reader.Rest returns, or
// what a Writer has written from some position. It moves nothing and fails nothing; ok is false when b is
// too short or can be no T.
func ViewValue[T any](b []byte, c *Value[T]) (v T, ok bool) {
	c.check()
	if len(b) < c.size {
		return v, false
	}
	ok = c.load(only(&v), b[:c.size])
	return v, ok
}

// valueLayout collects the numbers of a type.
type valueLayout struct {
	root string
	runs []run
	text []byte
}

// fail returns an error that names the field.
func (l *valueLayout) fail(path, format string, args ...any) error {
	c := compiler{root: l.root}
	return c.fail(path, format, args...)
}

// add lays out what lies at offset at and returns its size and alignment in bytes. Both are those of a
// platform where each number is aligned to its size: what has no padding there has none anywhere.
func (l *valueLayout) add(t reflect.Type, path string, at int) (size, align int, err error) {
	if t.PkgPath() == archePath && t.Name() == "Entity" {
		return 0, 0, l.fail(path, "entity handles are local to a world")
	}
	switch t.Kind() {
	case reflect.Struct:
		return l.structure(t, path, at)
	case reflect.Array:
		return l.array(t, path, at)
	case reflect.Bool:
		l.text = append(l.text, "bool"...)
	case reflect.Float32, reflect.Float64:
		l.text = strconv.AppendInt(append(l.text, 'f'), int64(t.Bits()), 10)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		l.text = strconv.AppendInt(append(l.text, 'i'), int64(t.Bits()), 10)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		l.text = strconv.AppendInt(append(l.text, 'u'), int64(t.Bits()), 10)
	default:
		return 0, 0, l.fail(path, "%s", refusal(t))
	}
	size = int(t.Size())
	return size, size, l.append(path, run{at: at, size: size, count: 1, bool: t.Kind() == reflect.Bool})
}

// append adds a run, to the one before it where it is of the same kind: runs follow each other without
// gaps.
func (l *valueLayout) append(path string, r run) error {
	if last := len(l.runs) - 1; last >= 0 && l.runs[last].size == r.size && l.runs[last].bool == r.bool {
		l.runs[last].count += r.count
		return nil
	}
	if len(l.runs) == maxRuns {
		return l.fail(path, "more than %d runs of numbers: send it in parts", maxRuns)
	}
	l.runs = append(l.runs, r)
	return nil
}

// structure lays out a struct.
func (l *valueLayout) structure(t reflect.Type, path string, at int) (size, align int, err error) {
	align = 1
	l.text = append(l.text, '{')
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Name
		if path != "" {
			name = path + "." + name
		}
		if f.Name == "_" {
			return 0, 0, l.fail(path, "field %d is blank: bytes that travel need a name", i)
		}
		if i > 0 {
			l.text = append(l.text, ';')
		}
		l.text = append(append(l.text, f.Name...), ':')
		n, a, err := l.add(f.Type, name, at+size)
		if err != nil {
			return 0, 0, err
		}
		if size%a != 0 {
			return 0, 0, l.fail(name, "padding before it: order fields by size, largest first, or name the bytes between")
		}
		size, align = size+n, max(align, a)
	}
	l.text = append(l.text, '}')
	switch {
	case size == 0:
		return 0, 0, l.fail(path, "%s has no fields", t)
	case size%align != 0:
		return 0, 0, l.fail(path, "%s has %d bytes of padding at its end: name them, such as Reserved [%d]byte", t, align-size%align, align-size%align)
	}
	return size, align, nil
}

// array lays out an array.
func (l *valueLayout) array(t reflect.Type, path string, at int) (size, align int, err error) {
	if t.Len() == 0 {
		return 0, 0, l.fail(path, "%s has no elements", t)
	}
	l.text = fmt.Appendf(l.text, "[%d]", t.Len())
	size, align, err = l.add(t.Elem(), path+"[]", at)
	if err != nil {
		return 0, 0, err
	}
	if last := &l.runs[len(l.runs)-1]; last.at <= at { // all of the element is in it, so all of the array is
		last.count += size / last.size * (t.Len() - 1)
		return size * t.Len(), align, nil
	}
	text := len(l.text)
	for i := 1; i < t.Len(); i++ {
		if _, _, err := l.add(t.Elem(), path+"[]", at+i*size); err != nil {
			return 0, 0, err
		}
		l.text = l.text[:text] // that of one element is enough
	}
	return size * t.Len(), align, nil
}
