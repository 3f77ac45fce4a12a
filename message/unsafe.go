package message

import (
	"reflect"
	"unsafe"

	"github.com/arche-netcode/netcode/quantize"
)

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
