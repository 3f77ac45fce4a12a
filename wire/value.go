package wire

import (
	"fmt"
	"reflect"
	"strconv"
)

// maxRuns bounds the number of runs of a value; 4096 are far more than a message has.
const maxRuns = 4096

// Value is the codec of whole values of T. It sends the numbers of T one after another, without padding; on most
// machines it copies whole ranges of memory. NewValue checks that T contains no pointers. After that a Value does not
// change; any number of goroutines may use it.
type Value[T any] struct {
	size  int // bytes on the wire
	runs  []run
	bools []run // the runs of booleans, which must be 0 or 1
	one   int   // 1 + offset in memory of the only run, if it may have any bytes; 0 if there are several
	text  string
}

// run is adjacent numbers of one size, on the wire and in memory.
type run struct {
	at    int // offset on the wire in bytes
	from  int // offset in memory in bytes
	size  int // of one number; 1 for numbers of any size that need no conversion
	count int
	bool  bool
}

// bytes returns the length of the run in bytes.
func (r *run) bytes() int { return r.size * r.count }

// NewValue returns the codec of T. T consists of booleans, sized integers, floats, arrays and structs, also in
// unexported fields. Net tags have no effect: everything but padding is sent. The error names the field that cannot be
// sent, and why.
func NewValue[T any]() (*Value[T], error) {
	t := reflect.TypeFor[T]()
	l := valueLayout{root: t.Name()}
	if l.root == "" {
		l.root = t.String()
	}
	size, err := l.add(t, "", 0, 0)
	if err != nil {
		return nil, err
	}
	v := &Value[T]{size: size, runs: l.runs, text: string(l.text)}
	for _, r := range l.runs {
		if r.bool {
			v.bools = append(v.bools, r)
		}
	}
	if littleEndian() {
		v.runs = asBytes(l.runs)
		if len(v.runs) == 1 && len(v.bools) == 0 {
			v.one = v.runs[0].from + 1
		}
	}
	return v, nil
}

// asBytes merges runs that are adjacent in memory, on a machine with the byte order of the wire.
func asBytes(runs []run) (joined []run) {
	for _, r := range runs {
		if n := len(joined); n > 0 && joined[n-1].from+joined[n-1].count == r.from {
			joined[n-1].count += r.bytes()
			continue
		}
		joined = append(joined, run{at: r.at, from: r.from, size: 1, count: r.bytes()})
	}
	return joined
}

// Size returns the size of a T on the wire in bytes: the sum of its numbers, without padding.
func (c *Value[T]) Size() int { return c.size }

// Describe appends the layout of T, such as {X:f32;On:bool;Tags:[4]u8}. Two ends must agree on it.
func (c *Value[T]) Describe(dst []byte) []byte { return append(dst, c.text...) }

// check panics if NewValue did not create c.
func (c *Value[T]) check() {
	if c.size == 0 {
		panic("wire: a Value comes from NewValue")
	}
}

// move copies the numbers of a run from the start of src to the start of dst. On a big-endian machine it reverses the
// bytes of each number.
func (r *run) move(dst, src []byte) {
	if r.size == 1 {
		copy(dst[:r.count], src)
		return
	}
	for number := 0; number < r.bytes(); number += r.size {
		for i := range r.size {
			dst[number+i] = src[number+r.size-1-i]
		}
	}
}

// Put writes all of *v to the first Size bytes of dst. If dst is shorter it writes nothing and returns ErrOverflow.
func (c *Value[T]) Put(dst []byte, v *T) error {
	if len(dst) < c.size {
		return ErrOverflow
	}
	memory := memoryOf(only(v))
	if c.one > 0 {
		copyShort(dst[:c.size], memory[c.one-1:][:c.size])
		return nil
	}
	c.check()
	for i := range c.runs {
		c.runs[i].move(dst[c.runs[i].at:], memory[c.runs[i].from:])
	}
	return nil
}

// Get reads a value of Put. ErrTruncated means that src is shorter than Size, ErrMalformed that a boolean is neither 0
// nor 1; *v is then unchanged. Floats may be NaN or infinite: the caller must check them.
func (c *Value[T]) Get(src []byte, v *T) error {
	if len(src) < c.size {
		return ErrTruncated
	}
	memory := memoryOf(only(v))
	if c.one > 0 {
		copyShort(memory[c.one-1:][:c.size], src[:c.size])
		return nil
	}
	c.check()
	for i := range c.bools {
		if r := &c.bools[i]; !areBools(src[r.at : r.at+r.count]) {
			return ErrMalformed
		}
	}
	for i := range c.runs {
		c.runs[i].move(memory[c.runs[i].from:], src[c.runs[i].at:])
	}
	return nil
}

// WriteValue appends all of *v.
func WriteValue[T any](w *Writer, c *Value[T], v *T) {
	c.check()
	if b := w.take(c.size); b != nil {
		_ = c.Put(b, v) // cannot fail: the size fits
	}
}

// ReadValue reads a T into *v, as Get does. If it fails, *v is zero.
func ReadValue[T any](r *Reader, c *Value[T], v *T) {
	c.check()
	if b := r.take(c.size); b != nil {
		r.err = c.Get(b, v)
	}
	if r.err != nil {
		var zero T
		*v = zero
	}
}

// valueLayout collects the numbers of a type.
type valueLayout struct {
	root string
	runs []run
	text []byte
}

// fail returns an error that names the field.
func (l *valueLayout) fail(path, format string, args ...any) error {
	where := l.root
	if path != "" && path[0] != '[' {
		where += "."
	}
	return fmt.Errorf("wire: %s%s: %s", where, path, fmt.Sprintf(format, args...))
}

// add lays out the value at these offsets on the wire and in memory, and returns its size on the wire in bytes.
func (l *valueLayout) add(t reflect.Type, path string, at, from int) (size int, err error) {
	if IsHandle(t) {
		return 0, l.fail(path, "entity handles are local to a world")
	}
	switch t.Kind() {
	case reflect.Struct:
		return l.structure(t, path, at, from)
	case reflect.Array:
		return l.array(t, path, at, from)
	case reflect.Bool:
		l.text = append(l.text, "bool"...)
	case reflect.Float32, reflect.Float64:
		l.text = strconv.AppendInt(append(l.text, 'f'), int64(t.Bits()), 10)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		l.text = strconv.AppendInt(append(l.text, 'i'), int64(t.Bits()), 10)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		l.text = strconv.AppendInt(append(l.text, 'u'), int64(t.Bits()), 10)
	default:
		return 0, l.fail(path, "%s", NotPlain(t))
	}
	size = int(t.Size())
	return size, l.append(path, run{at: at, from: from, size: size, count: 1, bool: t.Kind() == reflect.Bool})
}

// append adds a run. It extends the previous run if that has the same kind and is adjacent in memory.
func (l *valueLayout) append(path string, r run) error {
	if n := len(l.runs); n > 0 {
		last := &l.runs[n-1]
		if last.size == r.size && last.bool == r.bool && last.from+last.bytes() == r.from {
			last.count += r.count
			return nil
		}
	}
	if len(l.runs) == maxRuns {
		return l.fail(path, "more than %d runs of numbers: send it in parts", maxRuns)
	}
	l.runs = append(l.runs, r)
	return nil
}

// structure lays out a struct.
func (l *valueLayout) structure(t reflect.Type, path string, at, from int) (size int, err error) {
	l.text = append(l.text, '{')
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Name
		if path != "" {
			name = path + "." + name
		}
		if f.Name == "_" {
			return 0, l.fail(path, "field %d is blank: bytes that travel need a name", i)
		}
		if i > 0 {
			l.text = append(l.text, ';')
		}
		l.text = append(append(l.text, f.Name...), ':')
		n, err := l.add(f.Type, name, at+size, from+int(f.Offset))
		if err != nil {
			return 0, err
		}
		size += n
	}
	l.text = append(l.text, '}')
	if size == 0 {
		return 0, l.fail(path, "%s has no fields", t)
	}
	return size, nil
}

// array lays out an array.
func (l *valueLayout) array(t reflect.Type, path string, at, from int) (size int, err error) {
	if t.Len() == 0 {
		return 0, l.fail(path, "%s has no elements", t)
	}
	l.text = fmt.Appendf(l.text, "[%d]", t.Len())
	size, err = l.add(t.Elem(), path+"[]", at, from)
	if err != nil {
		return 0, err
	}
	stride := int(t.Elem().Size())
	if last := &l.runs[len(l.runs)-1]; last.at <= at && size == stride { // the last run contains the whole element, so it can contain the whole array
		last.count += size / last.size * (t.Len() - 1)
		return size * t.Len(), nil
	}
	text := len(l.text)
	for i := 1; i < t.Len(); i++ {
		if _, err := l.add(t.Elem(), path+"[]", at+i*size, from+i*stride); err != nil {
			return 0, err
		}
		l.text = l.text[:text] // the text of one element is enough
	}
	return size * t.Len(), nil
}

// NotPlain returns why a type is not plain data, as the end of an error text.
func NotPlain(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Uint, reflect.Uintptr:
		return fmt.Sprintf("%s has another size on other platforms; use a sized integer such as int32", t)
	case reflect.Complex64, reflect.Complex128:
		return fmt.Sprintf("%s is not supported; use two floats", t)
	}
	text := fmt.Sprintf("%s holds a pointer: only plain data can travel (kind %s)", t, t.Kind())
	switch t.Kind() {
	case reflect.String:
		text += "; a wire.Text can, such as wire.Text32 for 32 bytes"
	case reflect.Slice:
		text += fmt.Sprintf("; a wire.List can, such as wire.List[%[1]s, [16]%[1]s], and an array", t.Elem())
	}
	return text
}

// IsHandle reports whether a type is an entity handle of an ECS that the library works with, Arche or Ark: it means nothing
// in another world.
func IsHandle(t reflect.Type) bool { return t.Name() == "Entity" && IsECS(t) }

// IsECS reports whether a type is of such an ECS. It is recognised by the path of its package, without importing it.
func IsECS(t reflect.Type) bool {
	path := t.PkgPath()
	return path == "github.com/mlange-42/arche/ecs" || path == "github.com/mlange-42/ark/ecs"
}
