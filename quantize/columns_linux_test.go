package quantize

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestARunIsReadUpToItsEnd reads runs that end with a page of memory behind which nothing may be read, and some that begin with one.
func TestARunIsReadUpToItsEnd(t *testing.T) {
	page := syscall.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(memory)) })
	require.NoError(t, syscall.Mprotect(memory[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(memory[2*page:], syscall.PROT_NONE))
	middle := memory[page : 2*page : 2*page]
	random, rows := rand.New(rand.NewPCG(23, 6)), NewFloatRows()
	for n := range 300 {
		want, buf := newFloatRun(random, n)
		for _, place := range [][]byte{middle[page-len(buf):], middle[:len(buf)]} {
			copy(place, buf)
			lanes := make([]uint32, n)
			require.True(t, rows.Copy(lanes, place))
			require.True(t, slices.Equal(want, lanes))
		}
	}
}
