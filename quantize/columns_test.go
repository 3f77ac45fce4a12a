package quantize

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/rowtest"
)

type (
	place struct {
		X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
	}
	turned struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
)

// drawFixed draws a value of a field: within its bounds, near one, between two lanes, or a special one.
func drawFixed(t *rapid.T, o *op, oddity int) float32 {
	if oddity > 0 && rapid.IntRange(1, oddity).Draw(t, "odd") == 1 {
		odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, -math.MaxFloat32, float64(math.Nextafter32(float32(o.max), math.MaxFloat32)),
			float64(math.Nextafter32(float32(o.min), -math.MaxFloat32))}
		return float32(rapid.SampledFrom(odd).Draw(t, "what"))
	}
	var v float64
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		v = rapid.SampledFrom([]float64{o.min, o.max, 0, math.Copysign(0, -1), math.SmallestNonzeroFloat32, -1e-40,
			float64(math.Nextafter32(float32(o.max), 0)), float64(math.Nextafter32(float32(o.min), 0))}).Draw(t, "edge")
	case 1:
		v = o.min + (float64(rapid.Uint64Range(0, o.count).Draw(t, "number"))+0.5)*o.step
	default:
		v = rapid.Float64Range(o.min, o.max).Draw(t, "value")
	}
	if f := float32(v); float64(f) >= o.min && float64(f) <= o.max || oddity > 0 {
		return f
	}
	return float32(math.Max(o.min, math.Min(v, o.max)))
}

// drawTurn draws a rotation, sometimes near a tie or with a length slightly different from 1.
func drawTurn(t *rapid.T, o *op, oddity int) (v [4]float32) {
	var c [4]float64
	square := 0.0
	for k := range c {
		c[k] = rapid.Float64Range(-1, 1).Draw(t, "component")
		if oddity > 0 && rapid.IntRange(1, oddity).Draw(t, "tie") == 1 {
			c[k] = rapid.SampledFrom([]float64{1, -1, 1 - 3.9*o.step, 1 - 4.1*o.step, 0, 1e-41, math.NaN(), math.Inf(-1)}).Draw(t, "what")
		}
		square += c[k] * c[k]
	}
	for k := range c {
		v[k] = float32(c[k] / math.Sqrt(square))
	}
	return v
}

type dequantised struct {
	X, Y  float32    `net:"min=-512,max=511.9,step=0.002"`
	Local uint32     `net:"-"`
	Turn  [4]float32 `net:"quat,bits=9"`
	Exact float32
}

// DequantiseRows gives the same values as Dequantise, and does not touch unsent fields.
func TestDequantiseRowsIsDequantise(t *testing.T) {
	p := deltaPlan[dequantised](t)
	random := rand.New(rand.NewPCG(3, 14))
	const stride = 11
	for n := range 20 {
		lanes := make([]uint32, max(1, n)*stride)
		var want, got [20]dequantised
		for k := range n {
			row := lanes[k*stride:][:p.Lanes()]
			copy(row, drawRow(random, p, nil))
			if k%5 == 0 {
				row[0] = uint32(p.ops[0].count) // the largest lane, whose value may exceed max
			}
			want[k].Local, got[k].Local = uint32(k), uint32(k)
			p.Dequantise(row, unsafe.Pointer(&want[k]))
		}
		memory := unsafe.Slice((*byte)(unsafe.Pointer(&got)), unsafe.Sizeof(got))
		require.True(t, p.DequantiseRows(memory[:n*int(p.Size())], lanes, stride, n))
		require.Equal(t, want, got)
	}
	for _, other := range []*Plan{deltaPlan[rowtest.Health](t), deltaPlan[rowtest.Lone](t)} {
		memory := make([]byte, 8)
		require.False(t, other.DequantiseRows(memory, []uint32{1}, 1, 1))
		require.Equal(t, make([]byte, 8), memory)
	}
}

// Differing equals comparing each row, for each number of rows and each single differing byte.
func TestDifferingRowsIsComparing(t *testing.T) {
	for _, size := range []int{0, 1, 2, 7, 8, 9, 11, 12, 13, 15, 16, 17, 40} {
		r := NewRows(size)
		for n := range 65 {
			a := make([]byte, n*size)
			for i := range a {
				a[i] = byte(i*7 + n)
			}
			b := slices.Clone(a)
			require.Zero(t, r.Differing(a, b, n))
			for i := range b {
				b[i] ^= 1 << (i % 8)
				want := uint64(1) << (i / size)
				if got := r.Differing(a, b, n); got != want {
					require.Failf(t, "wrong rows", "%d rows of %d bytes, byte %d: %x", n, size, i, got)
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
	})
}

// Memory that is too short panics before anything is read.
func TestDifferingRowsNeedsItsMemory(t *testing.T) {
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*7, 12*7), make([]byte, 12*8), 8) })
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*8), make([]byte, 12*7, 12*7), 8) })
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*9-1), make([]byte, 12*9), 9) })
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*9), make([]byte, 12*9-1), 9) })
}

// TestFloatsAreCopied checks that CopyFloats equals reading lane by lane, and refuses truncated input and numbers that
// are not finite.
func TestFloatsAreCopied(t *testing.T) { rapid.Check(t, copiedFloats) }

// FuzzCopyFloats is TestFloatsAreCopied for a fuzzer.
func FuzzCopyFloats(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(copiedFloats)) }

func copiedFloats(t *rapid.T) {
	values := rapid.SliceOfN(rapid.Float32(), 0, 50).Draw(t, "values")
	if at := rapid.IntRange(0, 200).Draw(t, "at"); at < len(values) {
		values[at] = rapid.SampledFrom([]float32{
			float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.Float32frombits(0xFF80_0001),
		}).Draw(t, "bad")
	}
	var buf []byte
	bad := false
	for _, v := range values {
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		bad = bad || !finite32(math.Float32bits(v))
	}
	short := rapid.IntRange(0, len(buf)).Draw(t, "short")
	buf = append(buf, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "behind")...)
	lanes := make([]uint32, len(values))
	require.Equal(t, !bad, CopyFloats(lanes, buf))
	for i, v := range values {
		require.Equal(t, math.Float32bits(v), lanes[i])
	}
	if short < 4*len(values) {
		require.False(t, CopyFloats(lanes, buf[:short]))
	}
}

// A single number that is not finite is refused, in every position and length.
func TestOneFloatThatIsNotFiniteIsRefused(t *testing.T) {
	for n := 1; n <= 20; n++ {
		for at := range n {
			for _, bad := range []uint32{0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0xFF80_0001} {
				buf, lanes := []byte(nil), make([]uint32, n)
				for i := range n {
					v := math.Float32bits(float32(i) - 1.5)
					if i == at {
						v = bad
					}
					buf = binary.LittleEndian.AppendUint32(buf, v)
				}
				require.False(t, CopyFloats(lanes, buf), "%#x at %d of %d", bad, at, n)
			}
		}
	}
}

// newFloatRun returns finite float32 lanes and their bytes.
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

// readRun reads n lanes between others, which must not change.
func readRun(t *testing.T, buf []byte, n int) (lanes []uint32, ok bool) {
	t.Helper()
	all := slices.Repeat([]uint32{0xABAB_ABAB}, n+32)
	ok = CopyFloats(all[16:16+n], buf)
	for i := range 16 {
		require.Equal(t, uint32(0xABAB_ABAB), all[i])
		require.Equal(t, uint32(0xABAB_ABAB), all[len(all)-1-i])
	}
	return all[16 : 16+n], ok
}

// Runs of all lengths are read at any offset.
func TestRunsAreRead(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 1))
	for n := range 300 {
		want, buf := newFloatRun(random, n)
		for shift := range 4 {
			moved := append(make([]byte, shift), buf...)[shift:]
			lanes, ok := readRun(t, moved, n)
			require.True(t, ok, "%d", n)
			require.Equal(t, want, lanes, "%d", n)
		}
	}
}

// A run is refused wherever it is cut off.
func TestARunThatIsCutOffIsRefused(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 3))
	for _, n := range []int{3, 8, 9, 40} {
		_, buf := newFloatRun(random, n)
		for size := range len(buf) + 1 {
			_, ok := readRun(t, buf[:size:size], n)
			require.Equal(t, size == len(buf), ok, "%d of %d", size, len(buf))
		}
	}
}
