package quantize

import "github.com/arche-netcode/netcode/internal/kernel"

// overlayRows is how many rows Overlay goes over at a time.
const overlayRows = 8

// Overlay writes lanes of rows of a plan that is Plain to two copies of their memory, which have one row behind the other, several at a time. The
// lanes of the k-th are stride words behind those of the one before or, where there is an order, stride times order[k] from the first on. It ends before
// rows of which one differs between the copies, or has its new value already. It returns how many rows it has written: a part of them, or none,
// where the processor or the plan's rows are not made for it.
func (p *Plan) Overlay(live, kept []byte, lanes []uint32, stride int, order []int32) int {
	words := len(p.lanes)
	if !p.wide || words != 3 && words != 4 {
		return 0
	}
	n := min(len(live), len(kept)) / (4 * words) &^ (overlayRows - 1)
	if n == 0 || stride < words {
		return 0
	}
	if order != nil {
		n = min(n, len(order)&^(overlayRows-1))
		rows := (len(lanes)-words)/stride + 1
		if n == 0 || len(lanes) < words {
			return 0
		}
		if words == 3 {
			return int(kernel.OverlayOrder3(&live[0], &kept[0], &lanes[0], uintptr(4*stride), uintptr(n), &order[0], uint32(rows-1)))
		}
		return int(kernel.OverlayOrder4(&live[0], &kept[0], &lanes[0], uintptr(4*stride), uintptr(n), &order[0], uint32(rows-1)))
	}
	_ = lanes[(n-1)*stride+words-1]
	if words == 3 {
		return int(kernel.Overlay3(&live[0], &kept[0], &lanes[0], uintptr(4*stride), uintptr(n)))
	}
	return int(kernel.Overlay4(&live[0], &kept[0], &lanes[0], uintptr(4*stride), uintptr(n)))
}
