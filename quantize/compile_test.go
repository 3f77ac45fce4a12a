package quantize

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

type vec struct{ X, Y float32 }

type team uint8

// everything has a field of each kind.
type everything struct {
	On     bool
	I8     int8
	I16    int16
	I32    int32
	I64    int64
	U8     uint8
	U16    uint16
	U32    uint32
	U64    uint64
	F32    float32
	F64    float64
	_      [3]uint8
	hidden team
	Pos    [2]vec
	Local  *int       `net:"-"`
	Fixed  float32    `net:"min=-1,max=1,step=0.3"`
	Fixed6 float64    `net:"min=0,max=0.1,step=1e-9"`
	Angle  float32    `net:"angle,bits=10"`
	Angle6 float64    `net:"angle,bits=32"`
	Small  int16      `net:"min=-5,max=500"`
	Large  int64      `net:"min=-9223372036854775808,max=9000000000000000000"`
	Half   uint64     `net:"min=10,max=4294967306"`
	Rot    [4]float32 `net:"quat,bits=9"`
	Turns  [2]vec4    `net:"quat,bits=16"`
	Levels [2]uint8   `net:"min=1,max=4"`
}

type vec4 struct{ X, Y, Z, W float32 }

func TestCompileRefusesOtherTypesThanStructs(t *testing.T) {
	require.Equal(t, "Team{value:u8}", string(mustCompile[team](t, "Team").Describe(nil)))
	require.Equal(t, "Pair{[0].X:f32;[0].Y:f32;[1].X:f32;[1].Y:f32}", string(mustCompile[[2]vec](t, "Pair").Describe([]byte{})))
	tagOnly := mustCompile[struct{}](t, "Burning")
	require.Equal(t, "Burning{}", string(tagOnly.Describe(nil)))
	require.Zero(t, tagOnly.Lanes())
	require.Zero(t, tagOnly.Bits())
	require.Zero(t, tagOnly.Size())
	var w wire.BitWriter
	var r wire.BitReader
	tagOnly.WriteRow(&w, nil)
	require.True(t, tagOnly.ReadRow(&r, nil))
	require.Equal(t, Fault{}, tagOnly.Quantise(unsafe.Pointer(&struct{}{}), nil))
	tagOnly.Dequantise(nil, unsafe.Pointer(&struct{}{}))
	require.Zero(t, mustCompile[[1 << 30]struct{}](t, "Huge").Lanes())
	require.Zero(t, mustCompile[struct {
		A [1 << 20]struct {
			P *int `net:"-"`
		}
	}](t, "Local").Lanes())
}

type (
	nested struct {
		Vel struct {
			X float32
			N string
		}
	}
	holder struct {
		Deep [2]struct{ Target ecs.Entity }
	}
)

func TestCompileRefusesTypes(t *testing.T) {
	type chased struct{ Target ecs.Entity }
	for name, c := range map[string]struct {
		typ  reflect.Type
		want []string
	}{
		"nothing":        {nil, []string{"no type"}},
		"string, nested": {reflect.TypeFor[nested](), []string{"nested.Vel.N", "string", "pointer"}},
		"pointer":        {reflect.TypeFor[struct{ P *int }](), []string{".P", "*int", "pointer"}},
		"slice":          {reflect.TypeFor[struct{ S []byte }](), []string{".S", "slice"}},
		"map":            {reflect.TypeFor[struct{ M map[int]int }](), []string{".M", "map"}},
		"interface":      {reflect.TypeFor[struct{ I any }](), []string{".I", "interface"}},
		"channel":        {reflect.TypeFor[struct{ C chan int }](), []string{".C", "chan"}},
		"function":       {reflect.TypeFor[struct{ F func() }](), []string{".F", "func"}},
		"unsafe pointer": {reflect.TypeFor[struct{ U unsafe.Pointer }](), []string{".U", "pointer"}},
		"int":            {reflect.TypeFor[struct{ N int }](), []string{".N", "int32", "platforms"}},
		"uint":           {reflect.TypeFor[struct{ N [2]uint }](), []string{".N[0]", "platforms"}},
		"uintptr":        {reflect.TypeFor[struct{ N uintptr }](), []string{".N", "platforms"}},
		"complex":        {reflect.TypeFor[struct{ N complex64 }](), []string{".N", "two floats"}},
		"entity":         {reflect.TypeFor[chased](), []string{"chased.Target", "entity handles are local to a world"}},
		"entity, deep":   {reflect.TypeFor[holder](), []string{"holder.Deep[0].Target", "local to a world"}},
		"entity alone":   {reflect.TypeFor[ecs.Entity](), []string{"Entity", "local to a world"}},
		"too large":      {reflect.TypeFor[[1 << 20]float32](), []string{"[2048]", "more than 2048 words"}},
		"array alone":    {reflect.TypeFor[[2]string](), []string{"[2]string[0]"}},
	} {
		p, err := Compile(c.typ, "Name")
		require.Nil(t, p, name)
		require.Error(t, err, name)
		for _, want := range c.want {
			require.ErrorContains(t, err, want, name)
		}
	}
}

func TestCompileRefusesNames(t *testing.T) {
	for _, name := range []string{"", "a{b", "a}", "a;b", "a:b", "a\nb", "\xff", strings.Repeat("x", 256)} {
		_, err := Compile(reflect.TypeFor[vec](), name)
		require.ErrorContains(t, err, "vec", "%q", name)
		require.ErrorContains(t, err, "wire name", "%q", name)
	}
}

func TestCompileRefusesTags(t *testing.T) {
	f32, f64, i16, u8 := reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[int16](), reflect.TypeFor[uint8]()
	quat := reflect.TypeFor[[4]float32]()
	for _, c := range []struct {
		typ  reflect.Type
		tag  string
		want string
	}{
		{f32, "min=0", "needs both"},
		{f32, "max=0,step=1", "needs both"},
		{f32, "step=1", "needs both"},
		{f32, "min=0,max=1", "needs a step"},
		{f32, "min=1,max=1,step=1", "below"},
		{f32, "min=2,max=1,step=1", "below"},
		{f32, "min=NaN,max=1,step=1", "finite"},
		{f32, "min=0,max=Inf,step=1", "finite"},
		{f32, "min=0,max=1e39,step=1", "finite"},
		{f32, "min=x,max=1,step=1", "finite"},
		{f32, "min=0,max=1,step=0", "above zero"},
		{f32, "min=0,max=1,step=-1", "above zero"},
		{f32, "min=0,max=1,step=NaN", "above zero"},
		{f32, "min=0,max=1,step=Inf", "above zero"},
		{f32, "min=0,max=1,step=1e-8", "cannot hold"},
		{f32, "min=1000000,max=1000001,step=0.01", "cannot hold"},
		{f32, "min=0,max=1,step=1e-300", "steps"},
		{f64, "min=0,max=1,step=1e-10", "steps"},
		{f64, "min=1e15,max=1000000000000001,step=0.5", "cannot hold"},
		{f64, "min=-1.7e308,max=1.7e308,step=1e300", "below"},
		{f32, "angle", "need bits"},
		{f32, "bits=3", "need bits"},
		{f32, "angle,bits=0", "1 to 32"},
		{f32, "angle,bits=25", "cannot hold"},
		{f64, "angle,bits=33", "1 to 32"},
		{f64, "angle,bits=-1", "small number"},
		{f64, "angle,bits=300", "small number"},
		{f32, "angle,bits=3,min=0,max=1", "contradicts"},
		{f32, "angle,quat,bits=3", "contradicts"},
		{f32, "min=0,max=1,step=0.1,bits=3", "need bits"},
		{f32, "quat,bits=9", "does not go with"},
		{f32, "min=0,min=1,max=2,step=1", "twice"},
		{f32, "min=,max=2,step=1", "without a value"},
		{f32, "angle,angle,bits=3", "repeated"},
		{f32, "min=0, max=1,step=1", "unknown"},
		{f32, "fast", "unknown"},
		{f32, "-,fast", "unknown"},
		{f32, "min", "unknown"},
		{f32, "angle=3", "unknown"},
		{f32, ",", "unknown"},
		{f32, "entity", "does not go with"},
		{f32, "entity,min=0,max=1", "contradicts"},
		{u8, "entity", "does not go with"},
		{reflect.TypeFor[vec](), "entity", "does not go with"},
		{reflect.TypeFor[[2]uint32](), "entity", "does not go with"},
		{i16, "min=0,max=1,step=1", "no step"},
		{i16, "min=0,max=40000", "no i16"},
		{i16, "min=0.5,max=4", "no i16"},
		{i16, "min=3,max=3", "below"},
		{i16, "angle,bits=3", "does not go with"},
		{u8, "min=-1,max=4", "no u8"},
		{u8, "min=0,max=256", "no u8"},
		{reflect.TypeFor[bool](), "min=0,max=1", "does not go with"},
		{reflect.TypeFor[vec](), "min=0,max=1,step=1", "does not go with"},
		{reflect.TypeFor[vec](), "quat,bits=9", "does not go with"},
		{reflect.TypeFor[[3]float32](), "quat,bits=9", "does not go with"},
		{quat, "quat,bits=3", "4 to 16"},
		{quat, "quat,bits=17", "4 to 16"},
		{reflect.TypeFor[[4]float64](), "quat,bits=9", "does not go with"},
	} {
		typ := reflect.StructOf([]reflect.StructField{{Name: "Inner", Type: reflect.StructOf([]reflect.StructField{
			{Name: "Field", Type: c.typ, Tag: reflect.StructTag(`net:"` + c.tag + `"`)},
		})}})
		_, err := Compile(typ, "Name")
		require.ErrorContains(t, err, "Inner.Field", "%s %s", c.typ, c.tag)
		require.ErrorContains(t, err, c.want, "%s %s", c.typ, c.tag)
	}
}

// presses has an event field of every kind that there is, and two that are state.
type presses struct {
	Stick   int8
	Fire    bool      `net:"event"`
	Buttons uint64    `net:"event"`
	Keys    [2]uint16 `net:"event"`
	Wheel   int8      `net:"event=count"`
	Step    int32     `net:"event=count,min=-3,max=9"`
	Shots   uint32    `net:"event=count"`
	Last    float32
}

func TestEventsAreMergedAndCleared(t *testing.T) {
	p, err := Compile(reflect.TypeFor[presses](), "presses")
	require.NoError(t, err)
	row := func(v presses) []uint32 {
		lanes := make([]uint32, p.Lanes())
		require.Equal(t, wire.NoFault, p.Quantise(unsafe.Pointer(&v), lanes).Reason) // SAFETY: v has the plan's type.
		return lanes
	}
	value := func(lanes []uint32) (v presses) {
		p.Dequantise(lanes, unsafe.Pointer(&v)) // SAFETY: v has the plan's type.
		return v
	}
	a := row(presses{1, false, 1 << 40, [2]uint16{1, 0}, 100, 5, math.MaxUint32 - 1, 1})
	p.MergeEvents(a, row(presses{2, true, 3, [2]uint16{4, 8}, 100, -2, 1, 2}))
	require.Equal(t, presses{1, true, 1<<40 | 3, [2]uint16{5, 8}, 127, 3, math.MaxUint32, 1}, value(a))
	p.MergeEvents(a, row(presses{Wheel: -128, Step: 9, Shots: 1}))
	require.Equal(t, presses{1, true, 1<<40 | 3, [2]uint16{5, 8}, -1, 9, math.MaxUint32, 1}, value(a))
	p.MergeEvents(a, row(presses{Wheel: -128, Step: -3}))
	p.MergeEvents(a, row(presses{Step: -3}))
	require.EqualValues(t, -128, value(a).Wheel)
	require.EqualValues(t, 3, value(a).Step)
	p.ClearEvents(a)
	require.Equal(t, presses{Stick: 1, Last: 1}, value(a))
}

func TestTagOfEventIsRefused(t *testing.T) {
	for want, v := range map[string]any{
		"event is for booleans and for the bits of unsigned integers": struct {
			A int8 `net:"event"`
		}{},
		"without bounds": struct {
			A uint8 `net:"event,min=0,max=9"`
		}{},
		"event=count is for integers": struct {
			A float32 `net:"event=count,min=0,max=1,step=0.1"`
		}{},
		"event=count is for integers:": struct {
			A bool `net:"event=count"`
		}{},
		"at most 32 bits": struct {
			A uint64 `net:"event=count"`
		}{},
		"0 between them": struct {
			A int8 `net:"event=count,min=1,max=9"`
		}{},
		"0 between": struct {
			A int8 `net:"event=count,min=-9,max=-1"`
		}{},
		"unknown or repeated": struct {
			A uint8 `net:"event,event=count"`
		}{},
		"event=count, and - alone": struct {
			A uint8 `net:"event=sum"`
		}{},
		"not extrapolated": struct {
			A uint8 `net:"event,extrapolate=linear"`
		}{},
		"does not go with": struct {
			A struct{ B bool } `net:"event"`
		}{},
	} {
		_, err := Compile(reflect.TypeOf(v), "x")
		require.Error(t, err, want)
		require.Contains(t, err.Error()+":", want)
		require.Contains(t, err.Error(), ".A", "the field is named")
	}
}
