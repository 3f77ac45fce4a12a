package quantize

import (
	"github.com/arche-netcode/netcode/wire"

	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// limited has a field of each kind that has bounds.
type limited struct {
	Fixed  float32 `net:"min=-512,max=512,step=0.25"`
	Wide   float64 `net:"min=0,max=1,step=0.001"`
	Signed int16   `net:"min=-3,max=300"`
	Plain  uint8   `net:"min=1,max=10"`
	In     struct {
		A [2]int32 `net:"min=-5,max=-1"`
	}
	Whole int32
}

func TestOutsideSaysTheValueAndTheBounds(t *testing.T) {
	plan, err := Compile(reflect.TypeFor[limited](), "limited")
	require.NoError(t, err)
	good := limited{Plain: 1}
	good.In.A = [2]int32{-1, -1}
	for want, set := range map[string]func(v *limited){
		"Fixed: 600.5, and its tag allows -512 to 512": func(v *limited) { v.Fixed = 600.5 },
		"Wide: -0.5, and its tag allows 0 to 1":        func(v *limited) { v.Wide = -0.5 },
		"Signed: -4, and its tag allows -3 to 300":     func(v *limited) { v.Signed = -4 },
		"Plain: 11, and its tag allows 1 to 10":        func(v *limited) { v.Plain = 11 },
		"In.A[1]: 0, and its tag allows -5 to -1":      func(v *limited) { v.In.A[1] = 0 },
	} {
		v := good
		set(&v)
		lanes := make([]uint32, plan.Lanes())
		fault := plan.Quantise(reflect.ValueOf(&v).UnsafePointer(), lanes)
		require.Equal(t, wire.OutOfRange, fault.Reason)
		require.Equal(t, want, fault.Field()+": "+plan.Outside(reflect.ValueOf(v), fault))
	}
	require.Empty(t, plan.Outside(reflect.ValueOf(good), Fault{}))
}
