package predict

import (
	"unsafe"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/quantize"
)

// bytesOf returns the memory of a component of an entity.
func bytesOf(w *ecs.World, e ecs.Entity, id ecs.ID, size int) []byte {
	// SAFETY: Get points to a component of the type of id, whose size is size. The slice is not kept over a change of structure.
	return unsafe.Slice((*byte)(w.Get(e, id)), size)
}

// componentOf returns component T of an entity that has one.
func componentOf[T any](w *ecs.World, e ecs.Entity, id ecs.ID) *T {
	// SAFETY: callers pass the id of T.
	return (*T)(w.Get(e, id))
}

// rowsAt returns the components of adjacent entities.
func rowsAt[T any](p *byte, rows int) []T {
	// SAFETY: callers pass the column of T of a table of so many rows.
	return unsafe.Slice((*T)(unsafe.Pointer(p)), rows)
}

// wordsOf returns memory of history.columns as 32-bit words. Its length is a multiple of 4.
func wordsOf(b []byte) []uint32 {
	// SAFETY: columns begin at a word of 8 bytes, and b at a multiple of its length, which is one of 4.
	return unsafe.Slice((*uint32)(unsafe.Pointer(&b[0])), len(b)/4)
}

// liesAt reports whether an address is a number of bytes behind another address.
func liesAt(p unsafe.Pointer, from *byte, bytes int) bool {
	// SAFETY: the addresses are compared and not read.
	return uintptr(p) == uintptr(unsafe.Pointer(from))+uintptr(bytes)
}

// bytesIn returns the memory of words.
func bytesIn(words []uint64) []byte {
	if len(words) == 0 {
		return nil
	}
	// SAFETY: the bytes are those of the slice, which holds no pointers.
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
}

// pointerTo returns the address of a component's memory. b is not empty.
func pointerTo(b []byte) unsafe.Pointer {
	// SAFETY: callers pass the memory of a component of the plan that reads or writes it.
	return unsafe.Pointer(&b[0])
}

// valueAt returns a value of type T in memory b. b is not empty and has the size of T.
func valueAt[T any](b []byte) *T {
	// SAFETY: callers pass the memory of a T, in the world or in a column of the history, which is aligned for any component.
	return (*T)(unsafe.Pointer(&b[0]))
}

// dequantise writes a quantised row into a value of the plan's type.
func dequantise[T any](plan *quantize.Plan, lanes []uint32, to *T) {
	// SAFETY: callers pass the plan of T.
	plan.Dequantise(lanes, unsafe.Pointer(to))
}
