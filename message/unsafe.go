package message

import (
	"unsafe"

	"github.com/arche-netcode/netcode/wire"
)

// read decodes a payload into the box and reports whether it was legal.
func (b *box[T]) read(plan *wire.Plan, payload []byte) bool {
	r := wire.NewBitReader(payload)
	if !plan.ReadRow(&r, b.lanes) || !r.Done() {
		return false
	}
	var zero T
	b.value = zero
	// SAFETY: Handler has checked that the plan is that of T, so it writes inside of value only.
	plan.Dequantise(b.lanes, unsafe.Pointer(&b.value))
	return true
}

func quantise[T any](plan *wire.Plan, m *T, lanes []uint32) wire.Fault {
	// SAFETY: Encode has checked that the plan is that of T, so it reads inside of the value only, and during the call.
	return plan.Quantise(unsafe.Pointer(m), lanes)
}
