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

// only returns a slice whose single element is *v.
func only[T any](v *T) []T {
	// SAFETY: v points to one T.
	return unsafe.Slice(v, 1)
}

// addressOf returns the address of a value, only for comparison while the value does not move.
func addressOf[T any](v *T) uintptr {
	// SAFETY: the number is compared and never becomes a pointer again, so nothing is reached by it.
	return uintptr(unsafe.Pointer(v))
}

// copyShort copies src to dst, which has the same length. For most structs a call of memmove would cost more than the
// copy.
func copyShort(dst, src []byte) {
	if n := len(src); n >= 32 && n <= 64 && len(dst) == n {
		// SAFETY: both have n bytes, of which the first 32 and the last 32 are copied; [16]byte needs no alignment.
		to, from := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src))
		last := uintptr(n - 32)
		*(*[16]byte)(to) = *(*[16]byte)(from)
		*(*[16]byte)(unsafe.Add(to, 16)) = *(*[16]byte)(unsafe.Add(from, 16))
		*(*[16]byte)(unsafe.Add(to, last)) = *(*[16]byte)(unsafe.Add(from, last))
		*(*[16]byte)(unsafe.Add(to, last+16)) = *(*[16]byte)(unsafe.Add(from, last+16))
		return
	}
	copy(dst, src)
}

// firstOf returns the address of the first element, as addressOf does.
func firstOf[T any](v []T) uintptr {
	// SAFETY: the number is compared and never becomes a pointer again.
	return uintptr(unsafe.Pointer(unsafe.SliceData(v)))
}
