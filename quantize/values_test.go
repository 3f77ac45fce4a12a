package quantize

import (
	"bytes"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/rowtest"
)

// Too little memory panics before anything is written.
func TestValuesNeedTheirMemory(t *testing.T) {
	for _, p := range []*Plan{mustCompile[place](t, "Place"), mustCompile[turned](t, "Turned")} {
		size, words := int(p.Size()), p.Lanes()
		require.Panics(t, func() { p.DequantiseRows(make([]byte, 8*size-1, 8*size), make([]uint32, 8*words), words, 8) })
		require.Panics(t, func() { p.DequantiseRows(make([]byte, 8*size), make([]uint32, 8*words-1, 8*words), words, 8) })
	}
}

type (
	pair struct {
		A, B float32 `net:"min=-8,max=8,step=0.001"`
	}
	six struct {
		F [6]float32 `net:"min=0.3,max=70.7,step=0.07"`
	}
	mixed struct {
		A     float32 `net:"min=-1,max=1,step=0.01"`
		Local uint32  `net:"-"`
		B     uint8
		Q     [4]float32 `net:"quat,bits=9"`
	}
)

// hasRow reports whether each number of a component has a row: it is finite, and a rotation does not have length 0.
func hasRow(p *Plan, at unsafe.Pointer) bool {
	return !slices.ContainsFunc(p.ops, func(o op) bool {
		v, square := unsafe.Add(at, o.offset), 1.0
		switch o.kind {
		case opFixed32:
			square = float64(*(*float32)(v)) + 1e300
		case opQuat:
			square = 0
			for _, x := range *(*[4]float32)(v) {
				square += float64(x) * float64(x)
			}
		}
		return square-square != 0 || square == 0
	})
}

// SnapRows equals Quantise and Dequantise for each component, and does not change one with a value without a row.
// Columns have only floats or other fields, any number of rows, and any value in any place.
func TestSnapRowsIsRowByRow(t *testing.T) {
	for _, p := range snapPlans(t) {
		size, width := int(p.Size()), p.Lanes()
		rapid.Check(t, func(t *rapid.T) { snapRows(t, p) })
		for _, short := range []struct{ column, lanes int }{{1, 0}, {0, 1}} { // SnapRows panics before it writes.
			column, lanes := bytes.Repeat([]byte{0x7f}, 24*size), make([]uint32, 24*width)
			require.Panics(t, func() { p.SnapRows(column[:24*size-short.column], lanes[:24*width-short.lanes], 24) })
			require.Equal(t, bytes.Repeat([]byte{0x7f}, 24*size), column)
			require.Equal(t, make([]uint32, 24*width), lanes)
		}
		column, lanes := make([]byte, 100*size), make([]uint32, 100*width)
		alloctest.Zero(t, 10, func() { p.SnapRows(column, lanes, 100) })
	}
}

// FuzzSnapRows is TestSnapRowsIsRowByRow for a fuzzer.
func FuzzSnapRows(f *testing.F) {
	plans := snapPlans(f)
	rowtest.Fuzz(f, rapid.MakeFuzz(func(t *rapid.T) { snapRows(t, rapid.SampledFrom(plans).Draw(t, "plan")) }))
}

func snapPlans(t testing.TB) []*Plan {
	return []*Plan{mustCompile[place](t, "Place"), mustCompile[pair](t, "Pair"), mustCompile[six](t, "Six"), mustCompile[turned](t, "Turned"), mustCompile[mixed](t, "Mixed")}
}

func snapRows(t *rapid.T, p *Plan) {
	size, width := int(p.Size()), p.Lanes()
	n, oddity := rapid.IntRange(0, 140).Draw(t, "rows"), rapid.SampledFrom([]int{0, 10, 200}).Draw(t, "one odd in")
	column, lanes := make([]byte, (n+2)*size), make([]uint32, (n+2)*width)
	for i := range column {
		column[i] = byte(i * 7)
	}
	for k := range n {
		for i := range p.ops {
			o := &p.ops[i]
			switch at := fieldAt(&column[(1+k)*size], o.offset); o.kind {
			case opFixed32:
				*(*float32)(at) = drawFixed(t, o, oddity)
			case opQuat:
				*(*[4]float32)(at) = drawTurn(t, o, oddity)
			}
		}
	}
	want, rows := slices.Clone(column), slices.Clone(lanes)
	for k := 1; k <= n; k++ {
		at := fieldAt(&want[k*size], 0)
		if p.Quantise(at, rows[k*width:]); hasRow(p, at) {
			p.Dequantise(rows[k*width:], at)
		}
	}
	got, its := slices.Clone(column), slices.Clone(lanes)
	p.SnapRows(got[size:], its[width:], n)
	require.Equal(t, want, got)
	require.Equal(t, rows, its)
}

// DifferingAt equals comparing row by row.
func TestDifferingAtIsComparing(t *testing.T) {
	rapid.Check(t, differingAt)
	require.Panics(t, func() { NewRows(12).DifferingAt(make([]uint32, 6), make([]uint32, 6), 4, 2) })
	require.Panics(t, func() { NewRows(12).DifferingAt(make([]uint32, 5), make([]uint32, 8), 4, 2) })
	rows, a, b := NewRows(16), make([]uint32, 256), make([]uint32, 640)
	alloctest.Zero(t, 10, func() { rows.DifferingAt(a, b, 10, 64) })
}

// FuzzDifferingAt is TestDifferingAtIsComparing for a fuzzer.
func FuzzDifferingAt(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(differingAt)) }

func differingAt(t *rapid.T) {
	words, n := rapid.IntRange(1, 6).Draw(t, "words"), rapid.IntRange(0, 140).Draw(t, "rows")
	stride := words + rapid.IntRange(0, 3).Draw(t, "gap")
	a := make([]uint32, n*words)
	b := make([]uint32, max(0, (n-1)*stride+words))
	want, often := uint64(0), rapid.SampledFrom([]int{3, 300}).Draw(t, "how often")
	same := true
	for i := range n {
		for k := range words {
			a[i*words+k] = rapid.Uint32().Draw(t, "word")
			b[i*stride+k] = a[i*words+k]
		}
		if rapid.IntRange(0, often).Draw(t, "differs") == 0 {
			b[i*stride+rapid.IntRange(0, words-1).Draw(t, "where")] ^= 1 << rapid.IntRange(0, 31).Draw(t, "bit")
			want |= 1 << i
			same = false
		}
	}
	rows := NewRows(4 * words)
	require.Equal(t, same, rows.SameAt(a, b, stride, n))
	if n <= 64 {
		require.Equal(t, want, rows.DifferingAt(a, b, stride, n))
	}
}
