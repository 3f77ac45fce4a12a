package kernel

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// lastLanes returns lanes at the end of accessible memory.
func lastLanes(t *testing.T, n int) []uint32 {
	page := syscall.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(memory)) })
	require.NoError(t, syscall.Mprotect(memory[page:], syscall.PROT_NONE))
	return unsafe.Slice((*uint32)(unsafe.Pointer(&memory[page-4*n])), n)
}

// Rows at the end of memory are taken without access beyond it.
func TestTakeReadsNothingBehind(t *testing.T) {
	for lanes := 3; lanes <= 4; lanes++ {
		h := RowSlice{Now: lastLanes(t, 64*lanes), Base: lastLanes(t, 2*lanes), Before: lastLanes(t, lanes), InBase: 1<<63 | 1, InBefore: 1 << 63}
		h.Now[64*lanes-1], h.Base[2*lanes-1], h.Before[lanes-1] = 7, 8, 9
		for _, several := range []bool{false, Wide()} {
			var c Column
			c.Begin(lanes, several)
			require.Equal(t, 1, c.Take(0, []uint32{63}, &h))
			require.Equal(t, [3]uint32{7, 8, 9}, [3]uint32{c.Now[lanes-1], c.Base[lanes-1], c.Before[lanes-1]})
			require.Equal(t, uint8(0x11<<(lanes-1)), c.Differ[0])
		}
	}
}
