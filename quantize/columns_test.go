package quantize

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/rowtest"
)

// withoutWide returns the plan without assembly.
func withoutWide(p *Plan) *Plan {
	plain := *p
	plain.wide, plain.runs, plain.block, plain.ops = false, nil, nil, slices.Clone(p.ops)
	for i := range plain.ops {
		plain.ops[i].run, plain.ops[i].quat = 0, nil
	}
	return &plain
}

type (
	place struct {
		X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
	}
	turned struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	// bounded has runs of one to seven bounded fields, separated by other fields.
	bounded struct {
		One   float32    `net:"min=0,max=1,step=0.1"`
		On    bool       //
		Two   [2]float32 `net:"min=-1,max=3,step=0.001"`
		Wee   int8       //
		A     float32    `net:"min=-8,max=-7,step=0.001"`
		B     float32    `net:"min=0,max=3e38,step=1e37"`
		Apart int16      //
		C     float32    `net:"min=-1e-30,max=1e-30,step=1e-33"`
		D     float32    `net:"min=1,max=1.5,step=0.001"`
		E     float32    `net:"min=0.3,max=70.7,step=0.07"`
		Q     [4]float32 `net:"quat,bits=12"`
		Five  [5]float32 `net:"min=-512,max=512,step=0.002"`
		Local float32    `net:"-"`
		Six   [6]float32 `net:"min=0,max=10,step=0.003"`
		Deep  float64    `net:"min=0,max=1,step=0.25"`
		Seven [7]float32 `net:"min=-3,max=3,step=1"`
	}
)

// Adjacent fields form runs of three or four, or two if fewer are left; no field is alone unnecessarily.
func TestRunsOfFields(t *testing.T) {
	var fields []int
	p := mustCompile[bounded](t, "Bounded")
	p.wide, p.runs = true, nil
	p.findRuns()
	for i := range p.ops {
		if n := p.ops[i].run; n > 0 {
			fields = append(fields, int(p.runs[n-1].Fields))
		}
	}
	require.Equal(t, []int{2, 2, 3, 3, 2, 4, 2, 4, 3}, fields)
}

// Without assembly there are no runs. A field with more than 2^31 steps is never in a run.
func TestNoRunsWhereTheProcessorIsNotMadeForThem(t *testing.T) {
	p := mustCompile[bounded](t, "Bounded")
	p.wide, p.runs = false, nil
	for i := range p.ops {
		p.ops[i].run, p.ops[i].quat = 0, nil
	}
	p.findRuns()
	require.Empty(t, p.runs)
	for i := range p.ops {
		require.Nil(t, p.ops[i].quat)
	}
	p.wide = true
	p.ops[0].count = 1<<31 - 1
	p.findRuns()
	require.NotEmpty(t, p.runs)
	require.Zero(t, p.ops[0].run)
	require.Zero(t, p.runOf(0))
}

// The assembly gives the same rows as plain Go, bit for bit: at and near the bounds, half-way between two lanes, out of
// range and NaN, for any number of rows and any offset. The same rows have faults and keep their lanes, and nothing
// else is written.
func TestWideRowsArePlainRows(t *testing.T) { rapid.Check(t, wideRows(t)) }

// FuzzWideRows is TestWideRowsArePlainRows for a fuzzer.
func FuzzWideRows(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(wideRows(f))) }

func wideRows(t testing.TB) func(*rapid.T) {
	p := mustCompile[bounded](t, "Bounded")
	plain := withoutWide(p)
	n, size := p.Lanes(), int(p.Size())
	return func(t *rapid.T) {
		column := make([]bounded, rapid.IntRange(1, 20).Draw(t, "rows"))
		oddity := rapid.SampledFrom([]int{0, 30, 300}).Draw(t, "one odd in")
		for i := range column {
			for k := range p.ops {
				o := &p.ops[k]
				at := unsafe.Add(unsafe.Pointer(&column[i]), o.offset)
				switch o.kind {
				case opFixed32:
					*(*float32)(at) = drawFixed(t, o, oddity)
				case opQuat:
					*(*[4]float32)(at) = drawTurn(t, o, oddity)
				}
			}
		}
		rows := rapid.SliceOfN(rapid.Int32Range(0, int32(len(column)-1)), 0, 40).Draw(t, "which")
		const guard = 5
		wide, single := make([]uint32, len(rows)*n+guard), make([]uint32, len(rows)*n+guard)
		for i := range wide {
			wide[i], single[i] = uint32(i)*0x9E3779B9, uint32(i)*0x9E3779B9
		}
		base := (*byte)(unsafe.Pointer(&column[0]))
		badly := p.QuantiseRows(base, size, rows, wide, nil)
		bad := plain.QuantiseRows(base, size, rows, single, nil)
		require.Equal(t, single, wide)
		slices.Sort(badly)
		slices.Sort(bad)
		require.Equal(t, bad, badly)
	}
}

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

// overlaid is the plain form of Overlay: row by row, up to a row that differs between the copies or has its new value
// already.
func overlaid(live, kept []byte, lanes []uint32, stride, words, n int) (done int) {
	for k := range n {
		row := make([]byte, 0, 4*words)
		for _, v := range lanes[k*stride:][:words] {
			row = binary.NativeEndian.AppendUint32(row, v)
		}
		to, from := live[4*words*k:][:4*words], kept[4*words*k:][:4*words]
		if !slices.Equal(to, from) || slices.Equal(from, row) {
			return k
		}
		copy(to, row)
		copy(from, row)
	}
	return n
}

// overlayCase is two copies of rows and their lanes, each with guard bytes around.
type overlayCase struct {
	words, stride, n int
	live, kept       []byte
	lanes            []uint32
}

const overlayRoom = 64

func (c *overlayCase) copies() (live, kept []byte) {
	return slices.Clone(c.live), slices.Clone(c.kept)
}

// inner returns the part between the guard bytes.
func inner(b []byte) []byte { return b[overlayRoom : len(b)-overlayRoom : len(b)-overlayRoom] }

func newOverlayCase(random *rand.Rand, words, n int) *overlayCase {
	c := &overlayCase{words: words, stride: words + random.IntN(4), n: n}
	few := 1 + random.Uint32N(3) // few different words, so that many are equal
	c.lanes = make([]uint32, max(n-1, 0)*c.stride+words)
	for i := range c.lanes {
		c.lanes[i] = random.Uint32N(few)
	}
	c.kept = make([]byte, 4*words*n+2*overlayRoom)
	for i := range c.kept {
		c.kept[i] = byte(1 + random.IntN(255))
	}
	c.live = slices.Clone(c.kept)
	return c
}

// hold compares Overlay with overlaid. Overlay may stop up to seven rows earlier, at a multiple of eight.
func (c *overlayCase) hold(t *testing.T, p *Plan) {
	t.Helper()
	live, kept := c.copies()
	most := overlaid(inner(live), inner(kept), c.lanes, c.stride, c.words, c.n)
	n := p.Overlay(inner(c.live), inner(c.kept), c.lanes, c.stride)
	if p.wide && (c.words == 3 || c.words == 4) {
		require.Equal(t, most&^(overlayRows-1), n, "%d words, %d rows", c.words, c.n)
	} else {
		require.Zero(t, n)
	}
	n += overlaid(inner(c.live)[4*c.words*n:], inner(c.kept)[4*c.words*n:], c.rest(n), c.stride, c.words, c.n-n)
	require.Equal(t, most, n)
	require.Equal(t, live, c.live, "%d words, %d rows", c.words, c.n)
	require.Equal(t, kept, c.kept, "%d words, %d rows", c.words, c.n)
}

// rest returns the lanes after the first n rows.
func (c *overlayCase) rest(n int) []uint32 {
	if n == c.n {
		return c.lanes
	}
	return c.lanes[n*c.stride:]
}

func overlayPlan(t testing.TB, words int) *Plan {
	p, err := Compile(reflect.ArrayOf(words, reflect.TypeFor[float32]()), "row")
	if err != nil {
		p, err = Compile(reflect.StructOf([]reflect.StructField{{Name: "V", Type: reflect.ArrayOf(words, reflect.TypeFor[float32]())}}), "row")
	}
	require.NoError(t, err)
	require.True(t, p.Plain())
	return p
}

// Overlay gives the same result as writing row by row, for every size and number of rows, with a row to stop at in
// every place.
func TestOverlayIsRowByRow(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 1))
	for words := 2; words <= 5; words++ {
		p := overlayPlan(t, words)
		for n := range 34 {
			newOverlayCase(random, words, n).hold(t, p)
			for k := range n {
				for w := range words {
					c := newOverlayCase(random, words, n)
					inner(c.live)[4*(k*words+w)+random.IntN(4)] ^= 1 << random.IntN(8)
					c.hold(t, p)
				}
				for same := range 1 << words { // mask of unchanged words
					c := newOverlayCase(random, words, n)
					for w := range words {
						if same>>w&1 != 0 {
							binary.NativeEndian.PutUint32(inner(c.live)[4*(k*words+w):], c.lanes[k*c.stride+w])
							binary.NativeEndian.PutUint32(inner(c.kept)[4*(k*words+w):], c.lanes[k*c.stride+w])
						}
					}
					c.hold(t, p)
				}
			}
		}
	}
}

// FuzzOverlay changes any bytes of any rows.
func FuzzOverlay(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, uint8(seed), uint8(5*seed), []byte{byte(seed), 1, 2})
	}
	f.Fuzz(func(t *testing.T, seed uint64, words, n uint8, changes []byte) {
		c := newOverlayCase(rand.New(rand.NewPCG(seed, 1)), 2+int(words%4), int(n%34))
		for _, at := range changes {
			if live := inner(c.live); len(live) > 0 {
				live[int(at)*7%len(live)] ^= 1 << (at % 8)
			}
		}
		c.hold(t, overlayPlan(t, 2+int(words%4)))
	})
}

// Fewer lanes than rows panic before anything is written.
func TestOverlayNeedsItsLanes(t *testing.T) {
	random := rand.New(rand.NewPCG(22, 3))
	for _, words := range []int{3, 4} {
		p := overlayPlan(t, words)
		c := newOverlayCase(random, words, 32)
		need := 31*c.stride + words
		for _, length := range []int{0, words, need - 1} {
			kept := slices.Clone(c.live)
			if p.wide {
				require.Panics(t, func() { p.Overlay(inner(c.live), inner(c.kept), c.lanes[:length:length], c.stride) })
			}
			require.Equal(t, kept, c.live)
		}
		require.NotPanics(t, func() { p.Overlay(inner(c.live), inner(c.kept), c.lanes[:need:need], c.stride) })
	}
}

func TestOverlayAllocatesNothing(t *testing.T) {
	p := overlayPlan(t, 3)
	c := newOverlayCase(rand.New(rand.NewPCG(23, 1)), 3, 32)
	alloctest.Zero(t, 10, func() { p.Overlay(inner(c.live), inner(c.kept), c.lanes, c.stride) })
}

// Differing equals comparing each row, also in plain Go, for each number of rows and each single differing byte.
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

// Memory that is too short panics before anything is read.
func TestDifferingRowsNeedsItsMemory(t *testing.T) {
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*7, 12*7), make([]byte, 12*8), 8) })
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*8), make([]byte, 12*7, 12*7), 8) })
	require.Panics(t, func() { NewRows(12).Differing(make([]byte, 12*9-1), make([]byte, 12*9), 9) }, "the last row, which is compared by itself")
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

// TestRunsAreReadAlike checks that FloatRows gives the same rows with and without assembly, for all lengths near 32
// bytes and any offset.
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

// TestRunsWithNonFiniteFloatsAreRefused checks both ways, with the number in every position and with any other bits.
func TestRunsWithNonFiniteFloatsAreRefused(t *testing.T) {
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

// TestARunThatIsCutOffIsRefused checks both ways, cut at each byte.
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

// Reading allocates nothing.
func TestReadingARunAllocatesNothing(t *testing.T) {
	want, buf := newFloatRun(rand.New(rand.NewPCG(23, 4)), 280)
	rows, lanes := NewFloatRows(), make([]uint32, len(want))
	alloctest.Zero(t, 100, func() {
		require.True(t, rows.Copy(lanes, buf))
	})
}
