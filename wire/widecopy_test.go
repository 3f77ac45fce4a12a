package wire

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// floatRun is rows of float32 lanes as they travel: those of the first from a bit on, those of the others from a byte on.
type floatRun struct {
	lanes       []uint32
	width, from int
	at          uint
	buf         []byte
}

func newFloatRun(random *rand.Rand, width, rest int, at uint) floatRun {
	f := floatRun{width: width, at: at, lanes: make([]uint32, width+rest)}
	for i := range f.lanes {
		if f.lanes[i] = random.Uint32(); !finite32(f.lanes[i]) {
			f.lanes[i] = math.Float32bits(math.MaxFloat32)
		}
	}
	f.write(random)
	return f
}

// write makes the bytes, with others around them; more than eight are behind the first row.
func (f *floatRun) write(random *rand.Rand) {
	before := make([]byte, f.at/8+1)
	for i := range before {
		before[i] = byte(random.Uint32())
	}
	w := NewBitWriter(make([]byte, len(before)+4*len(f.lanes)+20))
	for i := range f.at {
		w.Bool(before[i/8]>>(i%8)&1 != 0)
	}
	for _, v := range f.lanes[:f.width] {
		w.Write(uint64(v), 32)
	}
	w.Write(1, 5)
	w.Align()
	f.from = w.Bits() / 8
	for _, v := range f.lanes[f.width:] {
		w.Write(uint64(v), 32)
	}
	w.Write(random.Uint64(), 64)
	f.buf = w.buf[:w.Finish()]
}

// read reads them into lanes between others, which have to stay as they are, and says what the run came to.
func (f *floatRun) read(t *testing.T, rows FloatRows, buf []byte, ahead int) (lanes []uint32, ok bool) {
	t.Helper()
	all := slices.Repeat([]uint32{0xABAB_ABAB}, len(f.lanes)+32)
	ok = rows.Run(all[16:16+len(f.lanes)], f.width, buf, f.at, f.from, ahead)
	for i := range 16 {
		require.Equal(t, uint32(0xABAB_ABAB), all[i])
		require.Equal(t, uint32(0xABAB_ABAB), all[len(all)-1-i])
	}
	return all[16 : 16+len(f.lanes)], ok
}

// TestRunsAreReadAlike holds that rows are read alike some bytes at a time and 32: of all lengths near those, from every bit, whatever memory is asked for.
func TestRunsAreReadAlike(t *testing.T) {
	random, rows := rand.New(rand.NewPCG(23, 1)), NewFloatRows()
	for width := range 27 {
		for rest := range 150 {
			f := newFloatRun(random, width, rest, 3+uint(width+rest)%8+8*uint(random.IntN(5)))
			for _, ahead := range []int{0, 1, 2 * len(f.lanes), 1 << 16} {
				for _, way := range []FloatRows{rows, {}} {
					lanes, ok := f.read(t, way, f.buf, ahead)
					require.True(t, ok, "%d and %d from %d", width, rest, f.at)
					require.Equal(t, f.lanes, lanes, "%d and %d from %d", width, rest, f.at)
				}
			}
			lanes := make([]uint32, rest+1)
			require.True(t, rows.Copy(lanes[:rest], f.buf[f.from:]))
			require.Equal(t, append(slices.Clone(f.lanes[width:]), 0), lanes)
		}
	}
}

// TestWhatIsNotFiniteInARunIsRefused holds that of both ways, wherever it stands, whatever its other bits say.
func TestWhatIsNotFiniteInARunIsRefused(t *testing.T) {
	random, rows := rand.New(rand.NewPCG(23, 2)), NewFloatRows()
	for _, size := range [][2]int{{3, 20}, {8, 8}, {10, 31}, {10, 32}, {17, 77}} {
		f := newFloatRun(random, size[0], size[1], uint(random.IntN(60)))
		good := slices.Clone(f.lanes)
		for at := range f.lanes {
			for _, bad := range []uint32{0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0xFFFF_FFFF, 0x7F80_0001} {
				f.lanes[at] = bad
				f.write(random)
				for _, way := range []FloatRows{rows, {}} {
					_, ok := f.read(t, way, f.buf, 0)
					require.False(t, ok, "%#x at %d of %v", bad, at, size)
					require.Equal(t, at < f.width, way.Copy(make([]uint32, size[1]), f.buf[f.from:]), "%#x at %d of %v", bad, at, size)
				}
			}
			f.lanes[at] = good[at]
		}
	}
}

// TestARunThatIsCutOffIsRefused holds that of both ways at each byte.
func TestARunThatIsCutOffIsRefused(t *testing.T) {
	random, rows := rand.New(rand.NewPCG(23, 3)), NewFloatRows()
	for _, size := range [][2]int{{3, 9}, {8, 8}, {10, 40}, {12, 0}} {
		f := newFloatRun(random, size[0], size[1], uint(random.IntN(60)))
		least := max(int(f.at/8)+4*f.width+8, f.from+4*size[1])
		for n := 0; n <= len(f.buf); n++ {
			for _, way := range []FloatRows{rows, {}} {
				_, ok := f.read(t, way, f.buf[:n], 0)
				require.Equal(t, n >= least, ok, "%d of %d", n, least)
				require.Equal(t, size[1] == 0 || n >= f.from+4*size[1], way.Copy(make([]uint32, size[1]), f.buf[min(f.from, n):n]))
			}
		}
	}
}

// Nothing that is read goes to the heap.
func TestReadingARunAllocatesNothing(t *testing.T) {
	f := newFloatRun(rand.New(rand.NewPCG(23, 4)), 10, 280, 51)
	rows, lanes := NewFloatRows(), make([]uint32, len(f.lanes))
	alloctest.Zero(t, 100, func() {
		require.True(t, rows.Run(lanes, f.width, f.buf, f.at, f.from, 1000))
	})
}

// BenchmarkFloatRun reads a packet of 29 rows of ten lanes, on both ways; of many times the fastest counts.
func BenchmarkFloatRun(b *testing.B) {
	f := newFloatRun(rand.New(rand.NewPCG(23, 5)), 10, 280, 51)
	lanes := make([]uint32, len(f.lanes))
	for name, rows := range map[string]FloatRows{"plain": {}, "wide": NewFloatRows()} {
		b.Run(name, func(b *testing.B) {
			fastest := time.Hour
			for b.Loop() {
				start := time.Now()
				for range 64 {
					rows.Run(lanes, f.width, f.buf, f.at, f.from, 0)
				}
				fastest = min(fastest, time.Since(start))
			}
			b.ReportMetric(float64(fastest.Nanoseconds())/64, "fastest-ns")
		})
	}
}
