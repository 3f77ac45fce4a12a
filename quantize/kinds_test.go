package quantize

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/rowtest"
)

// chosen has fields with extrapolations other than the default.
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
	J float32    `net:"axis,extrapolate=linear"` // the default: not in the description
	K [4]float32 `net:"quat,bits=9,extrapolate=none"`
}

func deltaPlan[T any](t testing.TB) *Plan {
	t.Helper()
	p, err := Compile(reflect.TypeFor[T](), reflect.TypeFor[T]().Name())
	require.NoError(t, err)
	return p
}

// drawRow draws the lanes of a row.
func drawRow(random *rand.Rand, p *Plan, near []uint32) []uint32 {
	largest := make([]uint64, p.Lanes())
	for i := range largest {
		largest[i] = p.Lane(i).Largest
	}
	return rowtest.Draw(random, largest, near, p.LegalRow)
}

type (
	coarseTurn struct {
		Q [4]float32 `net:"quat,bits=4"`
	}
	fineTurn struct {
		Q [4]float32 `net:"quat,bits=16"`
	}
)
