package wire

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A layout is found without bytes: a probe stands in for them. It gives each call of a Serialize method a value, zero
// unless a choice says another, and records the call.

const (
	maxCalls  = 1 << 12 // calls of one run
	maxProbes = 1 << 19 // calls of all runs of one layout
)

// probed is one recorded call of a method on a Serializer.
type probed struct {
	kind  string // as in the layout; "{" and "}" enclose the calls of a nested value
	path  string // of the value, within the innermost enclosing one; "_": not part of it
	tries tries
	low   int64 // of a range
	high  int64
	value int64
}

// same reports whether two calls read the same.
func (c *probed) same(other *probed) bool { return c.kind == other.kind && c.path == other.path }

// tries tells which other values of a call are tried.
type tries uint8

const (
	tryNone  tries = iota // the value is not known to the probe
	tryOne                // 1: a boolean, a length, a float
	tryCount              // 1 and 2 elements
	tryMany               // the integers of triedValues
	tryRange              // low to high
)

// probe stands in for the bytes of a Serializer.
type probe struct {
	shared  *probing
	calls   []probed
	choices map[int]int64   // values by number of the call
	roots   []reflect.Value // enclosing values, outermost first
	types   []reflect.Type  // of the enclosing layouts, outermost first
	failed  bool            // the method called Fail
	tooLong bool
}

// probing is shared by the runs of one layout.
type probing struct {
	left  int               // calls that may still be recorded
	known map[string]string // layouts of elements, by their types
}

// stopProbe is the panic that ends a run of too many calls.
type stopProbe struct{}

// takeProbed records a call and returns its value; now is the value when writing.
func takeProbed(s *Serializer, c probed, at uintptr, now int64) int64 {
	p := s.probe
	c.value = now
	if s.direction == reading {
		c.value = c.low
		if chosen, ok := p.choices[len(p.calls)]; ok {
			c.value = chosen
		}
	}
	p.record(c, at)
	return c.value
}

// record appends a call. at is the address of its value, 0 for none.
func (p *probe) record(c probed, at uintptr) {
	p.shared.left--
	if len(p.calls) == maxCalls {
		p.tooLong = true
		panic(stopProbe{})
	}
	if c.path == "" && at != 0 {
		c.path = pathAt(p.roots[len(p.roots)-1], at, "", isLeaf, MaxDepth)
	}
	if c.path == "" {
		c.path = "_"
	}
	p.calls = append(p.calls, c)
}

// probeInteger is a call for an integer.
func probeInteger[T Integer](s *Serializer, v *T, kind string) {
	*v = T(takeProbed(s, probed{kind: kind, tries: tryMany}, addressOf(v), int64(*v)))
}

// probeWithin is a call for an integer within bounds.
func probeWithin[T Integer](s *Serializer, v *T, low, high T) {
	c := probed{kind: fmt.Sprintf("%s[%d,%d]", numberKind[T](), low, high), tries: tryRange, low: int64(low), high: int64(high)}
	*v = T(takeProbed(s, c, addressOf(v), int64(*v)))
}

// probeBool is a call for a boolean.
func probeBool(s *Serializer, v *bool) {
	now := int64(0)
	if *v {
		now = 1
	}
	*v = takeProbed(s, probed{kind: "bool", tries: tryOne}, addressOf(v), now) != 0
}

// probeFloat is a call for a float.
func probeFloat[T ~float32 | ~float64](s *Serializer, v *T, kind string) {
	if n := takeProbed(s, probed{kind: kind, tries: tryOne}, addressOf(v), 0); s.direction == reading {
		*v = T(n)
	}
}

// probeSlice is a call for a slice of elements that are not called one by one.
func probeSlice[T any](s *Serializer, v *[]T, limit int, element string) {
	n := takeProbed(s, probed{kind: sliceKind(limit, element), tries: tryOne}, addressOf(v), int64(len(*v)))
	if s.direction == reading {
		*v = append((*v)[:0], make([]T, n)...)
	}
}

// probeText is a call for a string.
func probeText(s *Serializer, v *string, limit int) {
	n := takeProbed(s, probed{kind: "string" + strconv.Itoa(limit), tries: tryOne}, addressOf(v), int64(len(*v)))
	if s.direction == reading {
		*v = strings.Repeat("a", int(n))
	}
}

// probeWhole is a call for elements or a value of fixed size, whose contents are not tried.
func probeWhole[T any](s *Serializer, kind string, at uintptr, is func(reflect.Type) bool) {
	p := s.probe
	p.record(probed{kind: kind, path: pathAt(p.roots[len(p.roots)-1], at, "", is, MaxDepth)}, at)
}

// probeNested records the calls of a nested value between braces. A type that encloses itself is named by its distance.
func probeNested(s *Serializer, v Serializable) {
	p := s.probe
	of := reflect.ValueOf(v)
	path := "_"
	if of.Kind() == reflect.Pointer && !of.IsNil() {
		at, t := of.Pointer(), of.Type().Elem()
		path = pathAt(p.roots[len(p.roots)-1], at, "", func(is reflect.Type) bool { return is == t }, MaxDepth)
		of = of.Elem()
	}
	if up := p.enclosing(of.Type()); up != "" {
		p.record(probed{kind: up, path: path}, 0)
		return
	}
	p.record(probed{kind: "{", path: path}, 0)
	p.roots, p.types = append(p.roots, of), append(p.types, of.Type())
	v.Serialize(s)
	p.roots, p.types = p.roots[:len(p.roots)-1], p.types[:len(p.types)-1]
	p.record(probed{kind: "}"}, 0)
}

// enclosing returns ^1 for the type of the innermost enclosing layout, ^2 for the one around it and so on; "" for none.
func (p *probe) enclosing(t reflect.Type) string {
	if i := slices.Index(p.types, t); i >= 0 {
		return "^" + strconv.Itoa(len(p.types)-i)
	}
	return ""
}

// probeEach is a call for a list of Serializable elements.
func probeEach[T any, P Pointer[T]](s *Serializer, v *[]T, limit int) {
	inner := probeElement[T, P](s.probe, s.debug)
	n := takeProbed(s, probed{kind: sliceKind(limit, inner), tries: tryOne}, addressOf(v), int64(len(*v)))
	if s.direction == reading {
		*v = append((*v)[:0], make([]T, n)...)
	}
}

// probeOptional is a call for a value that may be missing.
func probeOptional[T any, P Pointer[T]](s *Serializer, v *P) {
	now := int64(0)
	if *v != nil {
		now = 1
	}
	n := takeProbed(s, probed{kind: "bool?" + probeElement[T, P](s.probe, s.debug), tries: tryOne}, addressOf(v), now)
	if s.direction == reading {
		if *v = nil; n != 0 {
			*v = P(new(T))
		}
	}
}

// probeElement returns the layout of a T in braces, or its distance if it encloses itself.
func probeElement[T any, P Pointer[T]](p *probe, debug bool) string {
	t := reflect.TypeFor[T]()
	if up := p.enclosing(t); up != "" {
		return up
	}
	types := append(slices.Clip(p.types), t)
	key := fmt.Sprint(types)
	text, ok := p.shared.known[key]
	if !ok {
		e := explorer{shared: p.shared, types: types, debug: debug, fresh: func() Serializable { return P(new(T)) }}
		base := e.run(reading, nil)
		if base.panicked != nil {
			panic(base.panicked)
		}
		text = "{" + e.text(nil, base.calls) + "}"
		p.shared.known[key] = text
	}
	return text
}

// sliceKind returns the kind of a slice.
func sliceKind(limit int, element string) string { return "[.." + strconv.Itoa(limit) + "]" + element }

// numberKind returns the kind of a T: u8, i64, f32any, bool.
func numberKind[T Fixed]() string {
	switch t := reflect.TypeFor[T](); t.Kind() {
	case reflect.Bool:
		return "bool"
	case reflect.Int:
		return "i64"
	case reflect.Uint:
		return "u64"
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "i" + strconv.Itoa(t.Bits())
	case reflect.Float32, reflect.Float64:
		return "f" + strconv.Itoa(t.Bits()) + "any"
	default:
		return "u" + strconv.Itoa(t.Bits())
	}
}

// isLeaf reports whether a type has a value of its own in a layout.
func isLeaf(t reflect.Type) bool { return t.Kind() != reflect.Struct && t.Kind() != reflect.Array }

// isArray reports whether a type is an array.
func isArray(t reflect.Type) bool { return t.Kind() == reflect.Array }

// pathAt returns the path from v to the value at an address that is of a kind, "" if there is none. Elements of slices
// have no numbers in it.
func pathAt(v reflect.Value, at uintptr, path string, is func(reflect.Type) bool, depth int) string {
	if depth == 0 || !v.IsValid() {
		return ""
	}
	if v.CanAddr() && v.UnsafeAddr() == at && path != "" && is(v.Type()) {
		return path
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if path != "" {
				name = path + "." + name
			}
			if found := pathAt(v.Field(i), at, name, is, depth-1); found != "" {
				return found
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return pathAt(v.Elem(), at, path, is, depth-1)
		}
	case reflect.Array:
		return pathInArray(v, at, path, is, depth)
	case reflect.Slice:
		for i := range min(v.Len(), 2) {
			if found := pathAt(v.Index(i), at, path+"[]", is, depth-1); found != "" {
				return found
			}
		}
	}
	return ""
}

// pathInArray is pathAt for an array: it looks at one element only.
func pathInArray(v reflect.Value, at uintptr, path string, is func(reflect.Type) bool, depth int) string {
	size := v.Type().Elem().Size()
	if !v.CanAddr() || size == 0 || at < v.UnsafeAddr() {
		return ""
	}
	i := (at - v.UnsafeAddr()) / size
	if i >= uintptr(v.Len()) {
		return ""
	}
	return pathAt(v.Index(int(i)), at, path+"["+strconv.Itoa(int(i))+"]", is, depth-1)
}
