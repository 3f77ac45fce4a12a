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

// Rows at the end of memory are read without access beyond it.
func TestLoadReadsNothingBehind(t *testing.T) {
	for lanes := 1; lanes <= Lanes; lanes++ {
		now, base, before := lastLanes(t, lanes), lastLanes(t, lanes), lastLanes(t, lanes)
		now[lanes-1], base[lanes-1], before[lanes-1] = 7, 8, 9
		for _, wide := range []bool{false, Wide()} {
			var c Column
			c.Begin(lanes, wide)
			c.Point(0, now, base, before)
			c.Touch(1)
			c.Load(1)
			require.Equal(t, [3]uint32{7, 8, 9}, [3]uint32{c.Now[lanes-1], c.Base[lanes-1], c.Before[lanes-1]})
			require.Equal(t, uint8(0x11<<(lanes-1)), c.Differ[0])
		}
	}
}
