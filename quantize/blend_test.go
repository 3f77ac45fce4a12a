package quantize

import (
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

type blended struct {
	X     float32 `net:"min=-10,max=10,step=0.01"`
	Exact float64
	Turn  float32    `net:"angle,bits=12"`
	Spin  [4]float32 `net:"quat,bits=12"`
	Half  float32    `net:"half"`
	Axis  float64    `net:"axis"`
	Count int32
	On    bool
	Own   int `net:"-"`
}

func blendOf[T any](t *testing.T, mode BlendMode) (*Plan, *Blend) {
	p, err := Compile(reflect.TypeFor[T](), "blended")
	require.NoError(t, err)
	b, err := NewBlend(p, mode)
	require.NoError(t, err)
	return p, b
}

func rowOf[T any](p *Plan, v T) []uint32 {
	lanes := make([]uint32, p.Lanes())
	p.Quantise(unsafe.Pointer(&v), lanes)
	return lanes
}

func aboutX(angle float64) [4]float32 {
	return [4]float32{float32(math.Sin(angle / 2)), 0, 0, float32(math.Cos(angle / 2))}
}

func TestBlendMixesEachFieldByItsKind(t *testing.T) {
	p, b := blendOf[blended](t, BlendByKind)
	from := rowOf(p, blended{X: 1, Exact: 10, Turn: 3, Spin: aboutX(0.2), Half: 2, Axis: -1, Count: 4, On: true})
	to := rowOf(p, blended{X: 2, Exact: 30, Turn: -3, Spin: aboutX(1.4), Half: 4, Axis: 1, Count: 8})
	got := blended{Own: 77}
	MixInto(b, &BlendInput{From: from, To: to, Part: 0.5}, &got)
	require.InDelta(t, 1.5, got.X, 0.01)
	require.Equal(t, 20.0, got.Exact)
	require.InDelta(t, math.Pi, math.Abs(float64(got.Turn)), 0.01, "the short way round")
	for k, want := range aboutX(0.8) {
		require.InDelta(t, want, got.Spin[k], 0.002)
	}
	require.Equal(t, float32(3), got.Half)
	require.InDelta(t, 0, got.Axis, 0.01)
	require.Equal(t, int32(4), got.Count, "steps at the end of the way")
	require.True(t, got.On)
	require.Equal(t, 77, got.Own, "not its field")
	MixInto(b, &BlendInput{From: from, To: to, Part: 1}, &got)
	require.Equal(t, int32(8), got.Count)
	require.False(t, got.On)
	MixInto(b, &BlendInput{From: from, To: to, Part: 20}, &got)
	require.Equal(t, float32(10), got.X, "within the bounds of the field")
	require.Equal(t, 1.0, got.Axis)
}

func TestBlendOfTheLargestNumbersIsFinite(t *testing.T) {
	type wide struct{ D float64 }
	p, b := blendOf[wide](t, BlendByKind)
	_, angles := blendOf[wide](t, BlendAngles)
	for _, part := range []float64{0, 0.5, 1, 2} {
		way := BlendInput{From: rowOf(p, wide{-math.MaxFloat64}), To: rowOf(p, wide{math.MaxFloat64}), Part: part}
		for _, b := range []*Blend{b, angles} {
			var got wide
			MixInto(b, &way, &got)
			require.False(t, math.IsNaN(got.D) || math.IsInf(got.D, 0), "%v at %v", got, part)
		}
	}
}

// Whatever the rows and the position between or beyond them, a Blend is finite and quaternions have length 1.
func TestBlendIsAlwaysFinite(t *testing.T) {
	type wild struct {
		F float32
		D float64
		Q [4]float32
	}
	p, byKind := blendOf[wild](t, BlendByKind)
	speed, err := NewBlendWithSpeed(p, p)
	require.NoError(t, err)
	angles, err := NewBlend(p, BlendAngles)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		draw := func() []uint32 {
			v := wild{F: rapid.Float32().Draw(t, "f"), D: rapid.Float64().Draw(t, "d")}
			for k := range v.Q {
				v.Q[k] = rapid.Float32().Draw(t, "q")
			}
			return rowOf(p, v)
		}
		way := BlendInput{From: draw(), To: draw(), Part: rapid.Float64Range(0, 8).Draw(t, "part"), Seconds: 0.1}
		way.FromSpeed, way.ToSpeed = draw(), draw()
		for _, b := range []*Blend{byKind, speed, angles} {
			var got wild
			MixInto(b, &way, &got)
			for _, f := range []float64{float64(got.F), got.D, float64(got.Q[0]), float64(got.Q[3])} {
				require.False(t, math.IsNaN(f) || math.IsInf(f, 0), "%v", got)
			}
		}
	})
}

func TestBlendModes(t *testing.T) {
	type pair struct {
		A float32
		Q [4]float32
	}
	p, step := blendOf[pair](t, BlendStep)
	from, to := rowOf(p, pair{A: 3, Q: aboutX(0)}), rowOf(p, pair{A: -3, Q: aboutX(1)})
	var got pair
	MixInto(step, &BlendInput{From: from, To: to, Part: 0.9}, &got)
	require.Equal(t, pair{A: 3, Q: aboutX(0)}, got)

	_, err := NewBlend(p, BlendQuats)
	require.ErrorContains(t, err, "no quaternion")
	type only struct{ Q [4]float32 }
	q, quats := blendOf[only](t, BlendQuats)
	var turned only
	MixInto(quats, &BlendInput{From: rowOf(q, only{aboutX(0)}), To: rowOf(q, only{aboutX(2)}), Part: 0.25}, &turned)
	for k, want := range aboutX(0.5) {
		require.InDelta(t, want, turned.Q[k], 1e-6, "at an even rate")
	}
	MixInto(quats, &BlendInput{From: rowOf(q, only{}), To: rowOf(q, only{aboutX(2)}), Part: 0.25}, &turned)
	require.Equal(t, only{aboutX(2)}, turned, "no rotation is taken for the other")

	a, angles := blendOf[position2](t, BlendAngles)
	var at position2
	MixInto(angles, &BlendInput{From: rowOf(a, position2{3, 0}), To: rowOf(a, position2{-3, 1}), Part: 0.5}, &at)
	require.InDelta(t, math.Pi, math.Abs(float64(at.X)), 1e-5)
	require.InDelta(t, 0.5, at.Y, 1e-5)
}

type position2 struct{ X, Y float32 }

// With velocities the curve is exact for falling objects, and straight beyond the end.
func TestBlendWithSpeedIsExactForParabolas(t *testing.T) {
	p, _ := blendOf[position2](t, BlendByKind)
	b, err := NewBlendWithSpeed(p, p)
	require.NoError(t, err)
	at := func(s float64) []uint32 { return rowOf(p, position2{float32(3 * s), float32(10 - 5*s*s)}) }
	speed := func(s float64) []uint32 { return rowOf(p, position2{3, float32(-10 * s)}) }
	way := BlendInput{From: at(1), To: at(1.5), FromSpeed: speed(1), ToSpeed: speed(1.5), Seconds: 0.5}
	for _, part := range []float64{0, 0.2, 0.5, 0.9, 1} {
		way.Part = part
		s := 1 + part/2
		var got position2
		MixInto(b, &way, &got)
		require.InDelta(t, 3*s, got.X, 1e-5)
		require.InDelta(t, 10-5*s*s, got.Y, 1e-5)
	}
	way.Part = 2
	var got position2
	MixInto(b, &way, &got)
	require.InDelta(t, -1.25-15*0.5, got.Y, 1e-5)

	type one struct{ V float32 }
	other, err := Compile(reflect.TypeFor[one](), "one")
	require.NoError(t, err)
	_, err = NewBlendWithSpeed(p, other)
	require.ErrorContains(t, err, "each needs a velocity")
}

func TestBlendFuncAndAllocations(t *testing.T) {
	p, b := blendOf[blended](t, BlendByKind)
	custom, err := NewBlendFunc(p, func(from, to *blended, part float32) blended {
		return blended{Count: from.Count + int32(part*float32(to.Count-from.Count))}
	})
	require.NoError(t, err)
	way := BlendInput{From: rowOf(p, blended{Count: 10}), To: rowOf(p, blended{Count: 20, Turn: 1, Spin: aboutX(1)}), Part: 0.5}
	got := new(blended)
	MixInto(custom, &way, got)
	require.Equal(t, int32(15), got.Count)
	alloctest.Zero(t, 100, func() { MixInto(custom, &way, got); MixInto(b, &way, got) })

	named, err := Compile(reflect.TypeFor[struct {
		Who [2]uint32             `net:"-"`
		At  struct{ A, B uint32 } `net:"entity"`
	}](), "named")
	require.NoError(t, err)
	_, err = NewBlend(named, BlendByKind)
	require.ErrorContains(t, err, "names entities")
}
