package interest

import (
	"unsafe"

	"github.com/arche-netcode/netcode/quantize"
)

// dequantise writes a row into a component of the plan's type.
func dequantise[T any](p *quantize.Plan, lanes []uint32, to *T) {
	// SAFETY: RowOf found the plan by the type T, so to points to a value of the plan's type.
	p.Dequantise(lanes, unsafe.Pointer(to))
}
