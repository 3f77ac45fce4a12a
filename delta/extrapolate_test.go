package delta

import (
	"github.com/arche-netcode/netcode/wire"

	"github.com/arche-netcode/netcode/quantize"

	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// chosen has fields that are extrapolated otherwise than is usual.
type chosen struct {
	A float32    `net:"min=-8,max=8,step=0.01,extrapolate=previous"`
	B float32    `net:"min=-8,max=8,step=0.01,extrapolate=none"`
	C float32    `net:"angle,bits=7,extrapolate=previous"`
	D [4]float32 `net:"quat,bits=9,extrapolate=previous"`
	E uint16     `net:"extrapolate=linear"`
	F float32    `net:"extrapolate=previous"`
	G float32    `net:"extrapolate=none"`
	H int64      `net:"extrapolate=none"`
	I [2]int8    `net:"min=-9,max=80,extrapolate=linear"`
	J float32    `net:"axis,extrapolate=linear"` // as usual: it leaves no trace
	K [4]float32 `net:"quat,bits=9,extrapolate=none"`
}

func TestTagChoosesTheExtrapolation(t *testing.T) {
	p := deltaPlan[chosen](t)
	require.Equal(t, "chosen{A:f32[-8,8,0.01]~previous;B:f32[-8,8,0.01]~none;C:f32angle7~previous;D:quat9~previous;E:u16~linear;"+
		"F:f32~previous;G:f32~none;H:i64~none;I[0]:i8[-9,80]~linear;I[1]:i8[-9,80]~linear;J:f32axis;K:quat9~none}", string(p.Describe(nil)))
	models := make([]quantize.LaneModel, 0, p.Lanes())
	for i := range p.Lanes() {
		models = append(models, p.Lane(i).Model)
	}
	require.Equal(t, []quantize.LaneModel{
		quantize.ModelSame, quantize.ModelRaw, quantize.ModelSame, quantize.ModelLargest, quantize.ModelPart, quantize.ModelPart, quantize.ModelPart, quantize.ModelLinear, quantize.ModelFloat, quantize.ModelRaw,
		quantize.ModelRaw, quantize.ModelRaw, quantize.ModelLinear, quantize.ModelLinear, quantize.ModelLinear, quantize.ModelRaw, quantize.ModelRaw, quantize.ModelRaw, quantize.ModelRaw,
	}, models)
	testDeltaWith(t, p, Shipped())
}

func TestTagOfExtrapolationIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		of  any
		say string
	}{
		"a word": {struct {
			A float32 `net:"extrapolate=soon"`
		}{}, "it is none, previous or linear"},
		"twice": {struct {
			A float32 `net:"extrapolate=none,extrapolate=none"`
		}{}, "twice or without a value"},
		"a boolean": {struct {
			A bool `net:"extrapolate=none"`
		}{}, "a boolean or an entity is not extrapolated"},
		"a half": {struct {
			A float32 `net:"half,extrapolate=linear"`
		}{}, "a half does not go on"},
		"64 bits": {struct {
			A uint64 `net:"extrapolate=linear"`
		}{}, "more than 32 bits"},
		"a double": {struct {
			A float64 `net:"extrapolate=linear"`
		}{}, "more than 32 bits"},
		"a struct": {struct {
			A struct{ B float32 } `net:"extrapolate=none"`
		}{}, "does not go with"},
		"an entity": {struct {
			A wire.NetworkID `net:"entity,extrapolate=none"`
		}{}, "not extrapolated"},
	} {
		_, err := quantize.Compile(reflect.TypeOf(c.of), "x")
		require.ErrorContains(t, err, c.say, name)
	}
}

// falls extrapolates X by gravity in lanes, and turns Q by what it turned.
func falls(extrapolated []uint32, v *quantize.Versions) {
	if v.Before != nil {
		extrapolated[0] = v.Base[0] + uint32(int64(v.Base[0]-v.Before[0])*v.Age/v.Span) - uint32(v.Age*v.Age)
	}
}

func TestOwnExtrapolationTakesThePlaceOfTheUsual(t *testing.T) {
	p := deltaPlan[anyField](t)
	p.ExtrapolateBy("falls", falls)
	require.Equal(t, "falls", p.ExtrapolatedBy())
	require.Contains(t, string(p.Describe(nil)), "anyField{~falls;X:")
	testDeltaWith(t, p, Shipped())

	d, err := NewDelta(p, NewFlat())
	require.NoError(t, err)
	base, before := make([]uint32, p.Lanes()), make([]uint32, p.Lanes())
	copy(base[3:], []uint32{3, 255, 255, 255})
	copy(before[3:], []uint32{3, 255, 255, 255})
	base[0], before[0] = 600, 560
	now := append([]uint32{}, base...)
	v := quantize.Versions{Base: base, Before: before, Age: 4, Span: 4}
	now[0] = 600 + 40 - 16
	for _, s := range d.Append(nil, now, &v) {
		if s.Table.Symbols() == deltaSymbols {
			require.Zero(t, s.Symbol, "exactly as extrapolated")
		}
	}
}

// Whatever the function says, even beyond what lanes hold, rows travel.
func TestWildExtrapolationsStillTravel(t *testing.T) {
	p := deltaPlan[anyField](t)
	word := uint32(1)
	p.ExtrapolateBy("wild", func(extrapolated []uint32, v *quantize.Versions) {
		for i := range extrapolated {
			word = (v.Base[i]+uint32(i))*0x9E3779B1 ^ uint32(v.Age)
			extrapolated[i] = word
		}
	})
	testDeltaWith(t, p, Shipped())
}

func TestOwnExtrapolationsAllocateNothing(t *testing.T) {
	p := deltaPlan[anyField](t)
	p.ExtrapolateBy("falls", falls)
	d, err := NewDelta(p, Shipped())
	require.NoError(t, err)
	base := make([]uint32, p.Lanes())
	now := append([]uint32{}, base...)
	now[0] = 9
	v := &quantize.Versions{Base: base, Before: base, Age: 2, Span: 2}
	list := make([]DeltaSymbol, 0, 40)
	alloctest.Zero(t, 200, func() { list = d.Append(list[:0], now, v) })
}

func TestExtrapolateByRefusesNames(t *testing.T) {
	p := deltaPlan[lone](t)
	for _, name := range []string{"", "a b", "a;b", "~"} {
		require.Panics(t, func() { p.ExtrapolateBy(name, falls) })
	}
}

// What is expected of a field says nothing of how a row of exact floats travels whole.
func TestFloatsAreFloatsWhateverIsExpectedOfThem(t *testing.T) {
	type exact struct {
		X float32 `net:"extrapolate=none"`
		Y float32 `net:"extrapolate=previous"`
		Z float32
	}
	p, err := quantize.Compile(reflect.TypeFor[exact](), "exact")
	require.NoError(t, err)
	require.True(t, p.Floats())
	p.ExtrapolateBy("still", func([]uint32, *quantize.Versions) {})
	require.True(t, p.Floats())
}

// Negative floats without a version before cost what positive ones do.
func TestFloatsBelowZeroAreNear(t *testing.T) {
	type one struct{ X, Y float32 }
	p := deltaPlan[one](t)
	d := flatDelta(t, p)
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float32Range(-1000, -0.001).Draw(t, "f")
		v := quantize.Versions{Base: []uint32{math.Float32bits(f), 0}, Age: 1}
		list := d.Append(nil, []uint32{math.Float32bits(f) + 3, 0}, &v)
		require.Equal(t, uint(0), list[1].RawBits)
	})
}
