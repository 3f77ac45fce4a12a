package quantize

import (
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type coarseBody struct {
	X     float32    `net:"min=-100,max=100,step=0.5"`
	Y     float64    `net:"min=0,max=10,step=0.001"`
	Turn  float32    `net:"angle,bits=12"`
	Q     [4]float32 `net:"quat,bits=9"`
	Level int16      `net:"min=-5,max=5"`
	Exact float32
	Half  float32 `net:"half"`
	Here  uint64  `net:"-"`
}

// TestCoarsePlanHasLargerSteps: fields with steps lose a bit for each doubling, and no other field changes.
func TestCoarsePlanHasLargerSteps(t *testing.T) {
	of := reflect.TypeFor[coarseBody]()
	fine, err := Compile(of, "body")
	require.NoError(t, err)
	for scale, lost := 1, 0; scale <= 32; scale, lost = 2*scale, lost+1 {
		coarse, err := CompileCoarse(of, "far", scale)
		require.NoError(t, err)
		require.Equal(t, "far", coarse.Name())
		require.Equal(t, fine.Lanes(), coarse.Lanes())
		for lane, width := range fine.widths {
			want := int(width)
			switch o := fine.ops[fine.lanes[lane].op]; {
			case o.kind == opQuat && lane == o.lane: // left-out component
			case o.kind == opFixed32 || o.kind == opFixed64 || o.kind == opAngle32 || o.kind == opQuat:
				want -= lost
			}
			require.Equal(t, want, int(coarse.widths[lane]), "lane %d at scale %d", lane, scale)
		}
	}
}

func TestCoarsePlanErrors(t *testing.T) {
	for want, make := range map[string]func() (*Plan, error){
		"a power of two":         func() (*Plan, error) { return CompileCoarse(reflect.TypeFor[coarseBody](), "x", 6) },
		"from 1 to 65536":        func() (*Plan, error) { return CompileCoarse(reflect.TypeFor[coarseBody](), "x", 1<<17) },
		"not 0":                  func() (*Plan, error) { return CompileCoarse(reflect.TypeFor[coarseBody](), "x", 0) },
		"coarseBody.Q":           func() (*Plan, error) { return CompileCoarse(reflect.TypeFor[coarseBody](), "x", 64) },
		"no field of it has":     func() (*Plan, error) { return CompileCoarse(reflect.TypeFor[struct{ X float32 }](), "x", 2) },
		"the wire name is empty": func() (*Plan, error) { return CompileCoarse(reflect.TypeFor[coarseBody](), "", 2) },
		"1 to 2^32-1 steps": func() (*Plan, error) {
			return CompileCoarse(reflect.TypeFor[struct {
				A float32 `net:"angle,bits=1"`
			}](), "x", 2)
		},
	} {
		_, err := make()
		if want == "1 to 2^32-1 steps" {
			want = "an angle has 1 to 32 bits, not 0"
		}
		require.ErrorContains(t, err, want)
	}
}

// TestConversionIsWithinHalfAStep converts rows to a coarser plan and back. Numbers move by at most half a coarse step
// and half a fine one; a row from the coarser plan does not change.
func TestConversionIsWithinHalfAStep(t *testing.T) {
	of := reflect.TypeFor[coarseBody]()
	fine, err := Compile(of, "body")
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		scale := 1 << rapid.IntRange(0, 5).Draw(t, "doublings")
		coarse, err := CompileCoarse(of, "far", scale)
		require.NoError(t, err)
		down, up := NewConversion(fine, coarse), NewConversion(coarse, fine)
		a := math.Pi * rapid.Float64Range(-1, 1).Draw(t, "angle")
		sin, cos := math.Sincos(a)
		was := coarseBody{
			X: rapid.Float32Range(-100, 100).Draw(t, "X"), Y: rapid.Float64Range(0, 10).Draw(t, "Y"), Turn: float32(a),
			Q: [4]float32{float32(0.6 * sin), float32(-0.8 * sin), 0, float32(cos)}, Level: int16(rapid.IntRange(-5, 5).Draw(t, "level")),
			Exact: rapid.Float32Range(-9, 9).Draw(t, "exact"), Half: 0.5, Here: 7,
		}
		row, far, back, again := make([]uint32, fine.Lanes()), make([]uint32, fine.Lanes()), make([]uint32, fine.Lanes()), make([]uint32, fine.Lanes())
		fine.Quantise(unsafe.Pointer(&was), row)
		down.Row(row, far)
		up.Row(far, back)
		down.Row(back, again)
		require.Equal(t, far, again, "what came from the coarser plan is the same in it again")
		got := coarseBody{Here: 9}
		fine.Dequantise(back, unsafe.Pointer(&got))
		half := float64(scale+2) / 2 // of a fine step
		require.InDelta(t, was.X, got.X, 0.5*half+1e-4)
		require.InDelta(t, was.Y, got.Y, 0.001*half+1e-9)
		require.LessOrEqual(t, math.Abs(angleNear(float64(was.Turn-got.Turn))), 2*math.Pi/4096*half+1e-6)
		require.Equal(t, []any{was.Level, was.Exact, was.Half, uint64(9)}, []any{got.Level, got.Exact, got.Half, got.Here})
		dot := 0.0
		for k := range was.Q {
			dot += float64(was.Q[k]) * float64(got.Q[k])
		}
		require.Greater(t, math.Abs(dot), 1-math.Pow(3*half*math.Sqrt2/511, 2))
	})
}
