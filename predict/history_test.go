package predict

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
)

// The history has separate memory for each of the Window ticks, in every column.
func TestTheHistoryHasTheWholeWindow(t *testing.T) {
	h := history{components: []component{{size: 4, lanes: make([]uint32, 1), packed: true}}}
	h.grow(2)
	const newest = netcode.Tick(1000)
	h.newest, h.oldest = newest, newest-Window+1
	held := 0
	for at := newest - 2*Window; at <= newest; at++ {
		if !h.holds(at) {
			continue
		}
		held++
		for slot := range 2 {
			h.setMask(at, slot, uint64(at)<<1|uint64(slot))
			h.bytes(at, slot, 0)[0] = byte(at)<<1 | byte(slot)
		}
	}
	require.Equal(t, Window, held)
	for at := h.oldest; at <= newest; at++ {
		for slot := range 2 {
			require.Equal(t, uint64(at)<<1|uint64(slot), h.mask(at, slot))
			require.Equal(t, byte(at)<<1|byte(slot), h.bytes(at, slot, 0)[0])
		}
	}
}
