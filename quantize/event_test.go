package quantize

import (
	"github.com/arche-netcode/netcode/wire"

	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

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

func TestEventsAreInTheDescription(t *testing.T) {
	p, err := Compile(reflect.TypeFor[presses](), "presses")
	require.NoError(t, err)
	require.True(t, p.Events())
	require.Equal(t, "presses{Stick:i8;Fire:bool~event;Buttons:u64~event;Keys[0]:u16~event;Keys[1]:u16~event;"+
		"Wheel:i8~count;Step:i32[-3,9]~count;Shots:u32~count;Last:f32}", string(p.Describe(nil)))
	_, err = ParsePlan("presses{Fire:bool~event}")
	require.ErrorIs(t, err, ErrDescription, "recordings are of components, which have no events")
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
