package quantize

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestARunIsReadUpToItsEnd reads runs at the end or the start of a page with no accessible memory beyond it.
func TestARunIsReadUpToItsEnd(t *testing.T) {
	page := syscall.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(memory)) })
	require.NoError(t, syscall.Mprotect(memory[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(memory[2*page:], syscall.PROT_NONE))
	middle := memory[page : 2*page : 2*page]
	random := rand.New(rand.NewPCG(23, 6))
	for n := range 300 {
		want, buf := newFloatRun(random, n)
		for _, place := range [][]byte{middle[page-len(buf):], middle[:len(buf)]} {
			copy(place, buf)
			lanes := make([]uint32, n)
			require.True(t, CopyFloats(lanes, place))
			require.True(t, slices.Equal(want, lanes))
		}
	}
}

// guarded allocates memory between two inaccessible pages and returns its last bytes.
func guarded(t *testing.T, bytes int) []byte {
	page := syscall.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(memory)) })
	require.NoError(t, syscall.Mprotect(memory[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(memory[2*page:], syscall.PROT_NONE))
	return memory[2*page-bytes : 2*page]
}

// Values and rows at the end of memory access nothing beyond it.
func TestValuesEndWhereMemoryDoes(t *testing.T) {
	for _, p := range []*Plan{mustCompile[place](t, "Place"), mustCompile[turned](t, "Turned")} {
		size, words := int(p.Size()), p.Lanes()
		for n := 1; n <= 9; n++ {
			values, lanes := guarded(t, n*size), lanesOver(guarded(t, 4*n*words))
			require.True(t, p.DequantiseRows(values, lanes, words, n))
			require.Zero(t, NewRows(size).DifferingAt(lanesOver(guarded(t, n*size)), lanes, words, n))
			require.True(t, NewRows(size).SameAt(lanesOver(guarded(t, n*size)), lanes, words, n))
			p.SnapRows(values, lanes, n)
		}
	}
}

// lanesOver returns memory as lanes.
func lanesOver(b []byte) []uint32 { return unsafe.Slice((*uint32)(unsafe.Pointer(&b[0])), len(b)/4) }
