package wire

import (
	"unsafe"
)

// Every pointer that comes in here must point to a value of the plan's Type, as Arche hands them out:
// fields are reached by the offsets that reflection gave for that type, and by no others.

// sizeOf returns the size of a T in memory, in bytes.
func sizeOf[T any]() int {
	var v T
	// SAFETY: it only measures.
	return int(unsafe.Sizeof(v))
}

// memoryOf returns the bytes of the elements of v.
func memoryOf[T any](v []T) []byte {
	// SAFETY: callers come with Fixed types, or with types that NewValue let pass. Neither has pointers, and a Value
	// touches only the bytes that belong to a number. A caller that writes to it checks first the bytes of a bool.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*sizeOf[T]())
}

// only returns the slice whose single element is *v.
func only[T any](v *T) []T {
	// SAFETY: v points to one T.
	return unsafe.Slice(v, 1)
}

// The functions below are what a Layout moves bytes with. Their pointers begin a value of the type that it
// was compiled from, or the bytes of one on the wire, which the caller has counted; and the offsets and
// sizes are those that compiling gave. No such type holds a pointer.

// addressOf returns the address of a value, to be compared with others while the value stays where it is.
func addressOf[T any](v *T) uintptr {
	// SAFETY: the number is compared and never becomes a pointer again, so nothing is reached by it.
	return uintptr(unsafe.Pointer(v))
}
