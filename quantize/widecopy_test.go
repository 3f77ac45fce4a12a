package quantize

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// newFloatRun makes finite float32 lanes and their bytes.
func newFloatRun(random *rand.Rand, n int) (lanes []uint32, buf []byte) {
	lanes = make([]uint32, n)
	for i := range lanes {
		if lanes[i] = random.Uint32(); !finite32(lanes[i]) {
			lanes[i] = math.Float32bits(math.MaxFloat32)
		}
		buf = binary.LittleEndian.AppendUint32(buf, lanes[i])
	}
	return lanes, buf
}

// readRun reads n lanes between others, which have to stay as they are.
func readRun(t *testing.T, rows FloatRows, buf []byte, n int) (lanes []uint32, ok bool) {
	t.Helper()
	all := slices.Repeat([]uint32{0xABAB_ABAB}, n+32)
	ok = rows.Copy(all[16:16+n], buf)
	for i := range 16 {
		require.Equal(t, uint32(0xABAB_ABAB), all[i])
		require.Equal(t, uint32(0xABAB_ABAB), all[len(all)-1-i])
	}
	return all[16 : 16+n], ok
}

// TestRunsAreReadAlike holds that rows are read alike some bytes at a time and 32, of all lengths near those, from any place on.
func TestRunsAreReadAlike(t *testing.T) {
	random, rows := rand.New(rand.NewPCG(23, 1)), NewFloatRows()
	for n := range 300 {
		want, buf := newFloatRun(random, n)
		for shift := range 4 {
			moved := append(make([]byte, shift), buf...)[shift:]
			for _, way := range []FloatRows{rows, {}} {
				lanes, ok := readRun(t, way, moved, n)
				require.True(t, ok, "%d", n)
				require.Equal(t, want, lanes, "%d", n)
			}
		}
	}
}

// TestWhatIsNotFiniteInARunIsRefused holds that of both ways, wherever it stands, whatever its other bits say.
func TestWhatIsNotFiniteInARunIsRefused(t *testing.T) {
	random, rows := rand.New(rand.NewPCG(23, 2)), NewFloatRows()
	for _, n := range []int{3, 8, 16, 31, 32, 40, 77} {
		_, buf := newFloatRun(random, n)
		for at := range n {
			for _, bad := range []uint32{0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0xFFFF_FFFF, 0x7F80_0001} {
				spoilt := slices.Clone(buf)
				binary.LittleEndian.PutUint32(spoilt[4*at:], bad)
				for _, way := range []FloatRows{rows, {}} {
					_, ok := readRun(t, way, spoilt, n)
					require.False(t, ok, "%#x at %d of %d", bad, at, n)
				}
			}
		}
	}
}

// TestARunThatIsCutOffIsRefused holds that of both ways at each byte.
func TestARunThatIsCutOffIsRefused(t *testing.T) {
	random, rows := rand.New(rand.NewPCG(23, 3)), NewFloatRows()
	for _, n := range []int{3, 8, 9, 40} {
		_, buf := newFloatRun(random, n)
		for size := range len(buf) + 1 {
			for _, way := range []FloatRows{rows, {}} {
				_, ok := readRun(t, way, buf[:size:size], n)
				require.Equal(t, size == len(buf), ok, "%d of %d", size, len(buf))
			}
		}
	}
}

// Nothing that is read goes to the heap.
func TestReadingARunAllocatesNothing(t *testing.T) {
	want, buf := newFloatRun(rand.New(rand.NewPCG(23, 4)), 280)
	rows, lanes := NewFloatRows(), make([]uint32, len(want))
	alloctest.Zero(t, 100, func() {
		require.True(t, rows.Copy(lanes, buf))
	})
}

// BenchmarkFloatRun reads 29 rows of ten lanes, on both ways; of many times the fastest counts.
func BenchmarkFloatRun(b *testing.B) {
	want, buf := newFloatRun(rand.New(rand.NewPCG(23, 5)), 290)
	lanes := make([]uint32, len(want))
	for name, rows := range map[string]FloatRows{"plain": {}, "wide": NewFloatRows()} {
		b.Run(name, func(b *testing.B) {
			fastest := time.Hour
			for b.Loop() {
				start := time.Now()
				for range 64 {
					rows.Copy(lanes, buf)
				}
				fastest = min(fastest, time.Since(start))
			}
			b.ReportMetric(float64(fastest.Nanoseconds())/64, "fastest-ns")
		})
	}
}
