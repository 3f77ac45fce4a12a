package wire

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
	clear(middle)
	lanes := make([]uint32, 16)
	require.False(t, rows.Run(lanes, 8, middle[page-32:], 0, 0, 0), "the rest where the first is, and nothing behind it")
	require.True(t, rows.Run(lanes, 8, middle[page-40:], 0, 0, 0))
	for width := range 20 {
		for rest := range 100 {
			f := newFloatRun(random, width, rest, uint(random.IntN(20)))
			buf := f.buf[:max(f.from+4*rest, int(f.at/8)+4*width+8)]
			for _, place := range [][]byte{middle[page-len(buf):], middle[:len(buf)]} {
				copy(place, buf)
				lanes := make([]uint32, width+rest)
				require.True(t, rows.Run(lanes, width, place, f.at, f.from, 4096))
				require.True(t, slices.Equal(f.lanes, lanes))
				require.True(t, rows.Copy(lanes[width:], place[f.from:]))
			}
		}
	}
}
