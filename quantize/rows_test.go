package quantize

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Which rows differ is what comparing each says, by plain code too: for each number of them, and each byte that differs alone.
func TestDifferingRowsIsComparing(t *testing.T) {
	for _, size := range []int{0, 1, 2, 7, 8, 9, 11, 12, 13, 15, 16, 17, 40} {
		r := NewRows(size)
		plain := Rows{size: size}
		for n := range 65 {
			a := make([]byte, n*size)
			for i := range a {
				a[i] = byte(i*7 + n)
			}
			b := slices.Clone(a)
			require.Zero(t, r.Differing(a, b, n))
			require.Zero(t, plain.Differing(a, b, n))
			for i := range b {
				b[i] ^= 1 << (i % 8)
				want := uint64(1) << (i / size)
				if got, also := r.Differing(a, b, n), plain.Differing(a, b, n); got != want || also != want {
					require.Failf(t, "wrong rows", "%d rows of %d bytes, byte %d: %x, plain %x", n, size, i, got, also)
				}
				b[i] = a[i]
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		size, n, first := rapid.IntRange(1, 20).Draw(t, "size"), rapid.IntRange(0, 64).Draw(t, "rows"), rapid.IntRange(0, 7).Draw(t, "first")
		a := rapid.SliceOfN(rapid.Byte(), first+n*size, first+n*size+3).Draw(t, "a")[first:]
		b := slices.Clone(a)
		want := uint64(0)
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, max(len(b)-1, 0)), 0, 70).Draw(t, "other") {
			if i < len(b) {
				b[i]++
			}
		}
		for i := range n {
			if !bytes.Equal(a[i*size:(i+1)*size], b[i*size:(i+1)*size]) {
				want |= 1 << i
			}
		}
		require.Equal(t, want, NewRows(size).Differing(a, b, n))
		require.Equal(t, want, Rows{size: size}.Differing(a, b, n))
	})
}

// Of lanes it is the same.
func TestDifferingLanesIsComparing(t *testing.T) {
	a, b := make([]uint32, 3*20), make([]uint32, 3*20)
	b[3*4+2], b[3*19] = 1<<31, 1
	require.Equal(t, uint64(1<<4|1<<19), NewRows(12).DifferingLanes(a, b, 20))
}

// Memory that is not there is not read: less of it than rows panics before anything is.
func TestDifferingRowsNeedsItsMemory(t *testing.T) {
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*7, 12*7), make([]byte, 12*8), 8) })
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*8), make([]byte, 12*7, 12*7), 8) })
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*9-1), make([]byte, 12*9), 9) }, "the last row, which is compared by itself")
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*9), make([]byte, 12*9-1), 9) })
}

// BenchmarkDiffering is 64 rows, by what the processor has and by plain code.
func BenchmarkDiffering(b *testing.B) {
	for _, size := range []int{8, 12, 16} {
		x, y := make([]byte, 64*size), make([]byte, 64*size)
		y[5*size] = 1
		for name, r := range map[string]Rows{"wide": NewRows(size), "plain": {size: size}} {
			b.Run(fmt.Sprint(size, "/", name), func(b *testing.B) {
				best, sum := time.Hour, uint64(0)
				for b.Loop() {
					began := time.Now()
					for range 16 {
						sum += r.Differing(x, y, 64)
					}
					best = min(best, time.Since(began))
				}
				b.ReportMetric(float64(best.Nanoseconds())/1024, "ns/row")
			})
		}
	}
}
