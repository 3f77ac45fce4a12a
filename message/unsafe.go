package message

import (
	"reflect"
	"unsafe"

	"github.com/arche-netcode/netcode/quantize"
)

// goTypePlace returns the place of a Go type in Registry.places.
func goTypePlace(t reflect.Type) uintptr {
	// SAFETY: the second word of an interface value is a pointer, here to the type, which is one for each type and does not move.
	// It is only read, and only a hash: TypeOf compares the types.
	word := (*[2]uintptr)(unsafe.Pointer(&t))[1]
	return (word>>5 ^ word>>12) % goTypePlaces
}

// copyOut copies the memory of a value to dst, which has its size.
func copyOut[T any](dst []byte, m *T) {
	// SAFETY: m points to one T, all of whose bytes are fields: compileCopy has seen that there is no padding. dst has room
	// for them, and holds no pointer.
	copy(dst[:unsafe.Sizeof(*m)], unsafe.Slice((*byte)(unsafe.Pointer(m)), unsafe.Sizeof(*m)))
}

// copyIn copies src, which has the size of T, over the value.
func copyIn[T any](m *T, src []byte) {
	// SAFETY: m points to one T, whose fields are integers and floats: any bytes are legal in it. src has as many.
	copy(unsafe.Slice((*byte)(unsafe.Pointer(m)), unsafe.Sizeof(*m)), src[:unsafe.Sizeof(*m)])
}

// flipSignsIn inverts the sign bits of a value's signed integers.
func flipSignsIn[T any](m *T, e *exact) {
	// SAFETY: as in copyIn; e is of this type and has as many bytes.
	e.flipSigns(unsafe.Slice((*byte)(unsafe.Pointer(m)), unsafe.Sizeof(*m)))
}

// quantise converts a value to the lanes of its fields.
func quantise[T any](plan *quantize.Plan, m *T, lanes []uint32) quantize.Fault {
	// SAFETY: NewCodec has compiled the plan from T, so it reads inside of the value only, and during the call.
	return plan.Quantise(unsafe.Pointer(m), lanes)
}

// dequantise is the inverse of quantise.
func dequantise[T any](plan *quantize.Plan, lanes []uint32, m *T) {
	// SAFETY: NewCodec has compiled the plan from T, so it writes inside of the value only.
	plan.Dequantise(lanes, unsafe.Pointer(m))
}

// settable makes an unexported field writable.
func settable(v reflect.Value) reflect.Value {
	// SAFETY: v is a field of a value that poison was given by its address, which is alive and of this type.
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}
