package alloctest

import "reflect"

// GraphBytes returns the memory of all that can be reached from the values that roots point at, each part once. It does not follow
// pointers to what the pointers in but point at by their type: those belong to others. Maps count as their entries, functions and channels as nothing.
func GraphBytes(roots []any, but ...any) int {
	g := graph{seen: map[part]bool{}, but: map[reflect.Type]bool{}}
	for _, b := range but {
		g.but[reflect.TypeOf(b).Elem()] = true
	}
	for _, r := range roots {
		g.walk(reflect.ValueOf(r))
	}
	return g.bytes
}

// part is a part of memory that was counted. Parts of different types may begin at one address.
type part struct {
	at uintptr
	of reflect.Type
}

// graph is what was walked.
type graph struct {
	seen  map[part]bool
	but   map[reflect.Type]bool
	bytes int
}

// enter counts a part of memory, and reports whether it was not counted before.
func (g *graph) enter(at uintptr, of reflect.Type, size int) bool {
	p := part{at, of}
	if at == 0 || g.seen[p] {
		return false
	}
	g.seen[p] = true
	g.bytes += size
	return true
}

// walk counts what a value points at, whose own memory is counted.
func (g *graph) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !g.but[v.Type().Elem()] && g.enter(v.Pointer(), v.Type(), int(v.Type().Elem().Size())) {
			g.walk(v.Elem())
		}
	case reflect.Interface:
		g.walk(v.Elem())
	case reflect.Slice:
		if g.enter(v.Pointer(), v.Type(), v.Cap()*int(v.Type().Elem().Size())) && points(v.Type().Elem()) {
			for i := range v.Cap() {
				g.walk(v.Slice3(0, v.Cap(), v.Cap()).Index(i))
			}
		}
	case reflect.Array:
		for i := 0; i < v.Len() && points(v.Type().Elem()); i++ {
			g.walk(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			g.walk(v.Field(i))
		}
	case reflect.String:
		g.bytes += v.Len()
	case reflect.Map:
		if g.enter(v.Pointer(), v.Type(), v.Len()*int(v.Type().Key().Size()+v.Type().Elem().Size())) {
			for each := v.MapRange(); each.Next(); {
				g.walk(each.Key())
				g.walk(each.Value())
			}
		}
	}
}

// points reports whether a type may have pointers.
func points(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return points(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if points(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return t.Kind() >= reflect.Chan
}
