package alloctest

import (
	"testing"
	"unsafe"
)

type node struct {
	next *node
	data []byte
	any  any
	by   map[uint32]*node
	far  *elsewhere
}

type elsewhere struct{ data [1000]byte }

func TestGraphBytes(t *testing.T) {
	shared := &node{data: make([]byte, 10, 100), far: &elsewhere{}}
	shared.next = shared
	size, pointer := GraphBytes([]any{&node{}}), int(unsafe.Sizeof(uintptr(0)))
	for name, c := range map[string]struct {
		root any
		want int
	}{
		"nil":                                {(*node)(nil), 0},
		"a loop, and capacity":               {shared, size + 100},
		"one part twice":                     {[2]*node{shared, shared}, size + 100},
		"an interface":                       {&node{any: shared}, 2*size + 100},
		"the entries of a map":               {&node{by: map[uint32]*node{1: shared, 2: nil}}, 2*size + 100 + 2*(4+pointer)},
		"pointers in what a slice has spare": {append(make([]*node, 0, 4), shared)[:0], size + 100 + 4*pointer},
		"a string":                           {"four", 4},
	} {
		if got := GraphBytes([]any{c.root}, &elsewhere{}); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
	if got := GraphBytes([]any{shared}); got != size+1100 {
		t.Errorf("%d bytes", got)
	}
}
