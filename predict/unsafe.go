package predict

import (
	"unsafe"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
)

// bytesOf returns the memory of a component of an entity.
func bytesOf(w *netecs.World, e netecs.Entity, id world.ID, size int) []byte {
	// SAFETY: Get points to a component of the type of id, whose size is size. The slice is not kept over a change of structure.
	return unsafe.Slice((*byte)(world.Get(w, e, id)), size)
}

// bytesAt returns the memory of adjacent components, from the first one on.
func bytesAt(p *byte, size int) []byte {
	// SAFETY: callers pass the size of components of one archetype. The slice is not kept over a change of structure.
	return unsafe.Slice(p, size)
}

// wordsOf returns memory of history.columns as 32-bit words. Its length is a multiple of 4.
func wordsOf(b []byte) []uint32 {
	// SAFETY: columns begin at a word of 8 bytes, and b at a multiple of its length, which is one of 4.
	return unsafe.Slice((*uint32)(unsafe.Pointer(&b[0])), len(b)/4)
}

// byteAt returns the first byte of a component that a query points to.
func byteAt(p unsafe.Pointer) *byte {
	// SAFETY: a component of at least a byte lies there; that of an empty one is not read.
	return (*byte)(p)
}

// placesAt returns the slot numbers of adjacent entities.
func placesAt(p *byte, rows int) []int32 {
	// SAFETY: callers pass the column of place, which is an int32, of a table of so many rows.
	return unsafe.Slice((*int32)(unsafe.Pointer(p)), rows)
}

// placeOf returns the place of an entity that has one.
func placeOf(w *netecs.World, e netecs.Entity, id world.ID) *place {
	// SAFETY: id is that of place.
	return (*place)(world.Get(w, e, id))
}

// replicatedRows returns the Replicated components of adjacent entities.
func replicatedRows(p *byte, rows int) []components.Replicated {
	// SAFETY: callers pass the column of Replicated of a table of so many rows.
	return unsafe.Slice((*components.Replicated)(unsafe.Pointer(p)), rows)
}

// ownerRows returns the Owner components of adjacent entities.
func ownerRows(p *byte, rows int) []components.Owner {
	// SAFETY: callers pass the column of Owner of a table of so many rows.
	return unsafe.Slice((*components.Owner)(unsafe.Pointer(p)), rows)
}

// predictedRows returns the Predicted components of adjacent entities.
func predictedRows(p *byte, rows int) []components.Predicted {
	// SAFETY: callers pass the column of Predicted of a table of so many rows.
	return unsafe.Slice((*components.Predicted)(unsafe.Pointer(p)), rows)
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

// replicatedAt returns the Replicated of an entity that has one.
func replicatedAt(w *netecs.World, e netecs.Entity, id world.ID) *components.Replicated {
	// SAFETY: id is that of components.Replicated.
	return (*components.Replicated)(world.Get(w, e, id))
}

// spawnOfAt returns the SpawnOf of an entity that has one.
func spawnOfAt(w *netecs.World, e netecs.Entity, id world.ID) *components.SpawnOf {
	// SAFETY: id is that of components.SpawnOf.
	return (*components.SpawnOf)(world.Get(w, e, id))
}

// ownerAt returns the Owner of an entity that has one.
func ownerAt(w *netecs.World, e netecs.Entity, id world.ID) *components.Owner {
	// SAFETY: id is that of components.Owner.
	return (*components.Owner)(world.Get(w, e, id))
}

// valueAt returns a value of type T in memory b. b is not empty and has the size of T.
func valueAt[T any](b []byte) *T {
	// SAFETY: callers pass the memory of a T, in the world or in a column of the history, which is aligned for any component.
	return (*T)(unsafe.Pointer(&b[0]))
}

// predictedSize is the size of a Predicted.
const predictedSize = int(unsafe.Sizeof(components.Predicted{}))

// dequantise writes a quantised row into a value of the plan's type.
func dequantise[T any](plan *quantize.Plan, lanes []uint32, to *T) {
	// SAFETY: callers pass the plan of T.
	plan.Dequantise(lanes, unsafe.Pointer(to))
}
